//===- TensorCoreKernel.cpp - products on tensor cores --------------------===//
//
// Products of 16-bit floats with sums in f32: a warp computes 32x32 results by
// mma instructions. Both operands lie in shared memory with neighbours along
// the reduction side by side, as the instruction's fragments hold them, at a
// pitch that spreads a fragment's rows over the banks.
//
//===----------------------------------------------------------------------===//

#include "KernelFamily.h"
#include "Product.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace onnx_aot::gpu_kernel {

namespace {

constexpr int64_t kTile = 64;     ///< rows and columns of a block's results
constexpr int64_t kWarpTile = 32; ///< of a warp's
constexpr int64_t kDepth = 32;    ///< of a slice
constexpr int64_t kThreads = 128;
constexpr int64_t kPitch = kDepth + 8;
/// Rows, columns and depth of one instruction.
constexpr int64_t kM = 16, kN = 8, kK = 16;
constexpr int64_t kRowParts = kWarpTile / kM, kColumnParts = kWarpTile / kN;
constexpr int64_t kPerPart = 4; ///< results of a thread in one instruction
/// The first architecture with these instructions for both types.
constexpr unsigned kArchitecture = 80;
/// Below this a tile would be mostly empty.
constexpr int64_t kSmall = 16;

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

struct TensorCoreFamily final : KernelFamily {
  StringRef getName() const override { return "tensor"; }
  int64_t getThreads(const KernelAnalysis &) const override { return kThreads; }

  bool matches(const KernelAnalysis &kernel) const override {
    if (kernel.getArchitecture() < kArchitecture)
      return false;
    std::optional<Product> product = findProduct(kernel);
    if (!product || !product->narrow)
      return false;
    return isLargeProduct(kernel, *product, kSmall);
  }

  Value emitBlocks(const KernelAnalysis &kernel,
                   const HostSizes &host) const override {
    return emitTileBlocks(host, *findProduct(kernel), kTile);
  }

  void emit(KernelWriter &w) const override {
    Product product = *findProduct(w.analysis());
    TileGrid grid(w, product, kTile);
    Value rows = w.shared(product.narrow, kTile * kPitch, "rows");
    Value columns = w.shared(product.narrow, kTile * kPitch, "columns");
    Place place(w);
    w.loop(w.blockIndex(), grid.count, w.gridSize(), {},
           [&](Value tile, ValueRange) {
             Point point(w.analysis().getDomain().getNumDims());
             auto [row, column] = grid.place(w, product, tile, kTile, point);
             SmallVector<Value> sums =
                 sumUp(w, product, point, place, row, column, rows, columns);
             store(w, product, point, place, row, column, sums);
             return SmallVector<Value>();
           });
  }

private:
  static SmallVector<Value> sumUp(KernelWriter &w, const Product &product,
                                  const Point &point, const Place &place,
                                  Value row, Value column, Value rows,
                                  Value columns) {
    SmallVector<Value> sums(kRowParts * kColumnParts * kPerPart,
                            w.getInitial(product.op));
    auto at = [&](Value line, Value k) {
      return w.add(w.mul(line, w.constant(kPitch)), k);
    };
    return w.loop(w.constant(0), w.product(product.depth), w.constant(kDepth),
                  sums, [&](Value first, ValueRange carried) {
                    // Nobody reads the slice of before any longer.
                    w.barrier();
                    loadSlice(w, product, product.rows, point, row, first,
                              kTile, kDepth, kThreads, rows, at);
                    loadSlice(w, product, product.columns, point, column, first,
                              kTile, kDepth, kThreads, columns, at);
                    w.barrier();
                    SmallVector<Value> next(carried);
                    for (int64_t k = 0; k < kDepth; k += kK)
                      multiply(w, product, place, k, rows, columns, next);
                    return next;
                  });
  }

  /// Four fragments' words from where this lane's row begins.
  static SmallVector<Value> load(KernelWriter &w, const Product &product,
                                 Value slice, Value line, Value k) {
    Value index = w.add(w.mul(line, w.constant(kPitch)), k);
    SmallVector<Value> words = w.loadMatrices(slice, product.narrow, index);
    if (product.narrow.isF16())
      for (Value &word : words)
        word = LLVM::BitcastOp::create(
            w.b(), VectorType::get({2}, product.narrow), word);
    return words;
  }

  static void multiply(KernelWriter &w, const Product &product,
                       const Place &place, int64_t depth, Value rows,
                       Value columns, SmallVector<Value> &sums) {
    SmallVector<SmallVector<Value>> a, b;
    // Of rows: the upper and the lower half, then the same further along k.
    for (int64_t i = 0; i < kRowParts; ++i)
      a.push_back(load(
          w, product, rows,
          w.add(w.add(place.row, place.matrixRow),
                w.add(w.mul(w.rem(place.matrix, w.constant(2)), w.constant(8)),
                      w.constant(i * kM))),
          w.add(w.mul(w.div(place.matrix, w.constant(2)), w.constant(8)),
                w.constant(depth))));
    // Of columns: both parts along k, then those of the next eight.
    for (int64_t j = 0; j < kColumnParts; j += 2) {
      SmallVector<Value> words = load(
          w, product, columns,
          w.add(w.add(place.column, place.matrixRow),
                w.add(w.mul(w.div(place.matrix, w.constant(2)), w.constant(8)),
                      w.constant(j * kN))),
          w.add(w.mul(w.rem(place.matrix, w.constant(2)), w.constant(8)),
                w.constant(depth)));
      b.push_back({words[0], words[1]});
      b.push_back({words[2], words[3]});
    }
    for (int64_t i = 0; i < kRowParts; ++i)
      for (int64_t j = 0; j < kColumnParts; ++j) {
        auto part = MutableArrayRef<Value>(sums).slice(
            (i * kColumnParts + j) * kPerPart, kPerPart);
        SmallVector<Value> results = w.multiplyFragments(
            a[i], b[j], SmallVector<Value>(part), product.narrow);
        llvm::copy(results, part.begin());
      }
  }

  static void store(KernelWriter &w, const Product &product, const Point &at,
                    const Place &place, Value row, Value column,
                    ArrayRef<Value> sums) {
    for (int64_t i = 0; i < kRowParts; ++i)
      for (int64_t j = 0; j < kColumnParts; ++j)
        for (int64_t part = 0; part < kPerPart; ++part) {
          Value r = w.add(w.add(row, place.row), place.group);
          r = w.add(r, w.constant(i * kM + part / 2 * 8));
          Value c = w.add(w.add(column, place.column), place.pair);
          c = w.add(c, w.constant(j * kN + part % 2));
          storeResult(w, product, at, r, c,
                      sums[(i * kColumnParts + j) * kPerPart + part]);
        }
  }
};

} // namespace

const KernelFamily &getTensorCoreFamily() {
  static const TensorCoreFamily family;
  return family;
}

} // namespace onnx_aot::gpu_kernel
