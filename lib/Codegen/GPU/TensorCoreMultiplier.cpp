//===- TensorCoreMultiplier.cpp - products on tensor cores ----------------===//
//
// Products of 16-bit floats with sums in f32, of 8-bit integers with sums in
// i32, and of f32 rounded to TF32 where that is allowed, by mma instructions.
// Both operands lie in shared memory with neighbours along the reduction side
// by side, as the instruction's fragments hold them, at a pitch that spreads a
// fragment's rows over the banks.
//
//===----------------------------------------------------------------------===//

#include "Multiplier.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace onnx_aot::gpu_kernel {

namespace {

constexpr int64_t kThreads = kTensorCoreThreads, kWarps = kThreads / kWarp;
/// Rows and columns of one instruction.
constexpr int64_t kM = 16, kN = 8;
/// Bytes along the reduction: of a slice, from one of its rows to the next, of
/// one instruction, and of a part that is loaded at once.
constexpr int64_t kSlice = 64, kPitch = kSlice + 16, kStep = 32, kPart = 16;
/// The first architecture with these instructions for all types.
constexpr unsigned kArchitecture = 80;

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

class TensorCoreMultiplier final : public Multiplier {
public:
  /// Warps stand in a square, or one below the other.
  TensorCoreMultiplier(KernelWriter &writer, const Format &format,
                       Sharing sharing)
      : w(writer), format(format),
        warpColumns(sharing == Sharing::Square ? 2 : 1),
        rowParts(kTile * warpColumns / kWarps / kM),
        columnParts(kTile / warpColumns / kN) {
    Value lane = w.rem(w.threadIndex(), w.constant(kWarp));
    Value warp = w.div(w.threadIndex(), w.constant(kWarp));
    group = w.div(lane, w.constant(4));
    matrix = w.div(lane, w.constant(8));
    matrixRow = w.rem(lane, w.constant(8));
    pair = w.mul(w.rem(lane, w.constant(4)), w.constant(2));
    row =
        w.mul(w.div(warp, w.constant(warpColumns)), w.constant(rowParts * kM));
    column = w.mul(w.rem(warp, w.constant(warpColumns)),
                   w.constant(columnParts * kN));
  }

  Slices::Form getForm() const override {
    return {kTile,
            format.count(kSlice),
            kThreads,
            /*lineStride=*/format.count(kPitch),
            /*depthStride=*/1,
            kTile * format.count(kPitch)};
  }
  SmallVector<int64_t> getRowDistances() const override { return {1, 2}; }

  SmallVector<Value> getRows() const override {
    SmallVector<Value> rows;
    for (int64_t i = 0; i < 2 * rowParts; ++i)
      rows.push_back(w.add(w.add(row, group), w.constant(i * kM / 2)));
    return rows;
  }
  SmallVector<Value> getColumns() const override {
    SmallVector<Value> columns;
    for (int64_t j = 0; j < columnParts; ++j)
      for (int64_t k = 0; k < 2; ++k)
        columns.push_back(w.add(w.add(column, pair), w.constant(j * kN + k)));
    return columns;
  }

  SmallVector<Value> multiply(ValueRange sums, Value rows,
                              Value columns) override {
    SmallVector<Value> next(sums);
    for (int64_t k = 0; k < format.count(kSlice); k += format.count(kStep))
      multiplyStep(k, rows, columns, next);
    return next;
  }

private:
  /// Four fragments' words from where this lane's row begins.
  SmallVector<Value> load(Value slice, Value line, Value k) {
    Value index = w.add(w.mul(line, w.constant(format.count(kPitch))), k);
    SmallVector<Value> words = w.loadMatrices(slice, format.element, index);
    for (Value &word : words)
      if (format.element.isF16())
        word = LLVM::BitcastOp::create(
            w.b(), VectorType::get({2}, format.element), word);
      else if (format.type == NVVM::MMATypes::tf32)
        word = w.roundToTf32(word);
    return words;
  }

  void multiplyStep(int64_t depth, Value rows, Value columns,
                    SmallVector<Value> &sums) {
    SmallVector<SmallVector<Value>> a, b;
    Value part = w.constant(format.count(kPart));
    // Of rows: the upper and the lower half, then the same further along k.
    for (int64_t i = 0; i < rowParts; ++i)
      a.push_back(load(
          rows,
          w.add(w.add(row, matrixRow),
                w.add(w.mul(w.rem(matrix, w.constant(2)), w.constant(8)),
                      w.constant(i * kM))),
          w.add(w.mul(w.div(matrix, w.constant(2)), part), w.constant(depth))));
    // Of columns: both parts along k, then those of the next eight.
    for (int64_t j = 0; j < columnParts; j += 2) {
      SmallVector<Value> words = load(
          columns,
          w.add(w.add(column, matrixRow),
                w.add(w.mul(w.div(matrix, w.constant(2)), w.constant(8)),
                      w.constant(j * kN))),
          w.add(w.mul(w.rem(matrix, w.constant(2)), part), w.constant(depth)));
      b.push_back({words[0], words[1]});
      b.push_back({words[2], words[3]});
    }
    // An instruction's results: two neighbours, then those eight rows below.
    for (int64_t i = 0; i < rowParts; ++i)
      for (int64_t j = 0; j < columnParts; ++j) {
        auto place = [&](int64_t number) -> Value & {
          return sums[(2 * i + number / 2) * 2 * columnParts + 2 * j +
                      number % 2];
        };
        SmallVector<Value> results = w.multiplyFragments(
            a[i], b[j], {place(0), place(1), place(2), place(3)}, format.type);
        for (auto [number, result] : llvm::enumerate(results))
          place(number) = result;
      }
  }

  KernelWriter &w;
  Format format;
  int64_t warpColumns, rowParts, columnParts;
  /// The thread's place in its warp, as fragments are numbered, and its warp's
  /// in the tile.
  Value group, pair, row, column;
  /// The row that this lane gives the address of when matrices are loaded.
  Value matrix, matrixRow;
};

} // namespace

bool isForTensorCores(const KernelAnalysis &kernel, const Product &product) {
  return kernel.getArchitecture() >= kArchitecture &&
         findFormat(kernel, product);
}

std::unique_ptr<Multiplier> createTensorCoreMultiplier(KernelWriter &writer,
                                                       const Product &product,
                                                       Sharing sharing) {
  return std::make_unique<TensorCoreMultiplier>(
      writer, *findFormat(writer.analysis(), product), sharing);
}

} // namespace onnx_aot::gpu_kernel
