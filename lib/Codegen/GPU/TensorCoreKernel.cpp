//===- TensorCoreKernel.cpp - products on tensor cores --------------------===//
//
// Products of 16-bit floats with sums in f32, of 8-bit integers with sums in
// i32, and of f32 rounded to TF32 where that is allowed: a warp computes 32x32
// results by mma instructions. Both operands lie in shared memory with
// neighbours along the reduction side by side, as the instruction's fragments
// hold them, at a pitch that spreads a fragment's rows over the banks.
//
//===----------------------------------------------------------------------===//

#include "KernelFamily.h"
#include "Slices.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace onnx_aot::gpu_kernel {

namespace {

constexpr int64_t kTile = 64;     ///< rows and columns of a block's results
constexpr int64_t kWarpTile = 32; ///< of a warp's
constexpr int64_t kThreads = 128;
/// Rows and columns of one instruction.
constexpr int64_t kM = 16, kN = 8;
/// Bytes along the reduction: of a slice, from one of its rows to the next, of
/// one instruction, and of a part that is loaded at once.
constexpr int64_t kSlice = 64, kPitch = kSlice + 16, kStep = 32, kPart = 16;
constexpr int64_t kRowParts = kWarpTile / kM, kColumnParts = kWarpTile / kN;
constexpr int64_t kPerPart = 4; ///< results of a thread in one instruction
/// The first architecture with these instructions for all types.
constexpr unsigned kArchitecture = 80;
/// Below this a tile would be mostly empty.
constexpr int64_t kSmall = 16;

/// What is multiplied.
struct Format {
  Type element; ///< as it lies in shared memory
  NVVM::MMATypes type;
  int64_t bytes;
  /// Elements that take so many bytes.
  int64_t count(int64_t size) const { return size / bytes; }
};

std::optional<Format> findFormat(const KernelAnalysis &kernel,
                                 const Product &product) {
  Type element = product.rows.value.getType();
  if (!product.narrow)
    return kernel.allowsTf32() && element.isF32()
               ? std::optional<Format>({element, NVVM::MMATypes::tf32, 4})
               : std::nullopt;
  if (element.isF16())
    return Format{element, NVVM::MMATypes::f16, 2};
  if (element.isBF16())
    return Format{element, NVVM::MMATypes::bf16, 2};
  return Format{element,
                product.isSigned ? NVVM::MMATypes::s8 : NVVM::MMATypes::u8, 1};
}

/// A thread's place in its warp, as fragments are numbered, and its warp's
/// tile.
struct Place {
  Value group, pair, row, column;
  /// The row that this lane gives the address of when matrices are loaded.
  Value matrix, matrixRow;
  explicit Place(KernelWriter &w) {
    Value lane = w.rem(w.threadIndex(), w.constant(kWarp));
    Value warp = w.div(w.threadIndex(), w.constant(kWarp));
    group = w.div(lane, w.constant(4));
    matrix = w.div(lane, w.constant(8));
    matrixRow = w.rem(lane, w.constant(8));
    pair = w.mul(w.rem(lane, w.constant(4)), w.constant(2));
    row = w.mul(w.div(warp, w.constant(2)), w.constant(kWarpTile));
    column = w.mul(w.rem(warp, w.constant(2)), w.constant(kWarpTile));
  }
};

struct TensorCoreFamily final : ProductFamily {
  explicit TensorCoreFamily(bool isSplit) : ProductFamily(kTile, isSplit) {}

  StringRef getName() const override {
    return isSplit ? "split_tensor" : "tensor";
  }
  int64_t getThreads(const KernelAnalysis &) const override { return kThreads; }

  bool matches(const KernelAnalysis &kernel) const override {
    if (kernel.getArchitecture() < kArchitecture)
      return false;
    std::optional<Product> product = findProduct(kernel);
    return product && findFormat(kernel, *product) &&
           isLargeProduct(kernel, *product, kSmall) &&
           (!isSplit || isWorthSplitting(kernel, *product, kTile));
  }

  void emit(KernelWriter &w) const override {
    Product product = *findProduct(w.analysis());
    Format format = *findFormat(w.analysis(), product);
    product.roundsToTf32 = format.type == NVVM::MMATypes::tf32;
    const int64_t depth = format.count(kSlice), pitch = format.count(kPitch);
    Slices slices(w, product,
                  {kTile, depth, kThreads, /*lineStride=*/pitch,
                   /*depthStride=*/1, kTile * pitch});
    Place place(w);
    auto multiply = [&](ValueRange sums, Value rows, Value columns) {
      SmallVector<Value> next(sums);
      for (int64_t k = 0; k < depth; k += format.count(kStep))
        multiplyStep(w, format, slices, product, place, k, rows, columns, next);
      return next;
    };
    forEachTile(w, product, kTile, depth, isSplit,
                [&](const Point &point, const TilePart &part) {
                  SmallVector<Value> sums(
                      kRowParts * kColumnParts * kPerPart,
                      getInitialSum(w, product, bool(part.part)));
                  store(w, product, point, part, place,
                        slices.sumUp(point, part, sums, multiply));
                });
  }

private:
  /// Four fragments' words from where this lane's row begins.
  static SmallVector<Value> load(KernelWriter &w, const Format &format,
                                 bool isRaw, Value slice, Value line, Value k) {
    Value index = w.add(w.mul(line, w.constant(format.count(kPitch))), k);
    SmallVector<Value> words = w.loadMatrices(slice, format.element, index);
    if (format.element.isF16())
      for (Value &word : words)
        word = LLVM::BitcastOp::create(
            w.b(), VectorType::get({2}, format.element), word);
    if (isRaw && format.type == NVVM::MMATypes::tf32)
      for (Value &word : words)
        word = w.roundToTf32(word);
    return words;
  }

  static void multiplyStep(KernelWriter &w, const Format &format,
                           const Slices &slices, const Product &product,
                           const Place &place, int64_t depth, Value rows,
                           Value columns, SmallVector<Value> &sums) {
    SmallVector<SmallVector<Value>> a, b;
    Value part = w.constant(format.count(kPart));
    // Of rows: the upper and the lower half, then the same further along k.
    for (int64_t i = 0; i < kRowParts; ++i)
      a.push_back(load(
          w, format, slices.isRaw(product.rows), rows,
          w.add(w.add(place.row, place.matrixRow),
                w.add(w.mul(w.rem(place.matrix, w.constant(2)), w.constant(8)),
                      w.constant(i * kM))),
          w.add(w.mul(w.div(place.matrix, w.constant(2)), part),
                w.constant(depth))));
    // Of columns: both parts along k, then those of the next eight.
    for (int64_t j = 0; j < kColumnParts; j += 2) {
      SmallVector<Value> words = load(
          w, format, slices.isRaw(product.columns), columns,
          w.add(w.add(place.column, place.matrixRow),
                w.add(w.mul(w.div(place.matrix, w.constant(2)), w.constant(8)),
                      w.constant(j * kN))),
          w.add(w.mul(w.rem(place.matrix, w.constant(2)), part),
                w.constant(depth)));
      b.push_back({words[0], words[1]});
      b.push_back({words[2], words[3]});
    }
    for (int64_t i = 0; i < kRowParts; ++i)
      for (int64_t j = 0; j < kColumnParts; ++j) {
        auto sum = MutableArrayRef<Value>(sums).slice(
            (i * kColumnParts + j) * kPerPart, kPerPart);
        SmallVector<Value> results = w.multiplyFragments(
            a[i], b[j], SmallVector<Value>(sum), format.type);
        llvm::copy(results, sum.begin());
      }
  }

  static void store(KernelWriter &w, const Product &product, const Point &at,
                    const TilePart &tile, const Place &place,
                    ArrayRef<Value> sums) {
    for (int64_t i = 0; i < kRowParts; ++i)
      for (int64_t j = 0; j < kColumnParts; ++j)
        for (int64_t part = 0; part < kPerPart; ++part) {
          Value r = w.add(w.add(tile.row, place.row), place.group);
          r = w.add(r, w.constant(i * kM + part / 2 * 8));
          Value c = w.add(w.add(tile.column, place.column), place.pair);
          c = w.add(c, w.constant(j * kN + part % 2));
          storeResult(w, product, at, tile, r, c,
                      sums[(i * kColumnParts + j) * kPerPart + part]);
        }
  }
};

} // namespace

const KernelFamily &getTensorCoreFamily(bool isSplit) {
  static const TensorCoreFamily whole(false), split(true);
  return isSplit ? split : whole;
}

} // namespace onnx_aot::gpu_kernel
