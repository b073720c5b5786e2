//===- TransposeKernel.cpp - a tile at a time through shared memory -------===//
//
// Pointwise ops that read along one dimension what they write along another. A
// thread for each result would touch as many lines of memory as there are
// threads. A block reads a tile of 32x32 elements along the lines of the input
// to shared memory, and evaluates the op along those of the result.
//
//===----------------------------------------------------------------------===//

#include "KernelFamily.h"

using namespace mlir;
using namespace onnx_aot::codegen;

namespace onnx_aot::gpu_kernel {

namespace {

constexpr int64_t kTile = 32, kThreads = 256, kSteps = kThreads / kTile;
/// With shorter lines a tile would be mostly empty.
constexpr int64_t kLeast = 16;
/// Tiles of elements of 8 bytes that fit shared memory.
constexpr size_t kMostInputs = 4;

/// Which dimensions run along the lines of memory.
struct Turn {
  /// Inputs whose lines are not those of the result.
  SmallVector<OpOperand *> inputs;
  /// What is contiguous in these inputs, in the result, and the rest.
  SmallVector<unsigned> read, written, batch;
};

Type getElement(OpOperand *input) {
  return getElementTypeOrSelf(input->get().getType());
}

/// Elements from one line of a tile to the next: an odd number of words, so
/// that a column's elements lie in different banks.
int64_t getPitch(Type element) {
  return kTile + std::max<int64_t>(32 / element.getIntOrFloatBitWidth(), 1);
}

/// The dimension of each axis of an operand; nothing where one has none.
std::optional<SmallVector<unsigned>> getAxisDims(const KernelAnalysis &kernel,
                                                 linalg::GenericOp op,
                                                 OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (map.getNumResults() == 0 || !map.isProjectedPermutation())
    return std::nullopt;
  SmallVector<unsigned> dims;
  for (unsigned axis = 0; axis < map.getNumResults(); ++axis)
    dims.push_back(
        kernel.getDomain().getLoopDims(op)[map.getDimPosition(axis)]);
  return dims;
}

/// Elements along the last axis of the buffer lie side by side.
bool hasLines(const KernelAnalysis &kernel, Value tensor) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  if (!argument || !isa<TensorType>(tensor.getType()))
    return false;
  auto buffer = cast<MemRefType>(kernel.getTypes()[argument.getArgNumber()]);
  SmallVector<int64_t> strides;
  int64_t offset;
  return !buffer.getElementType().isInteger(1) &&
         succeeded(buffer.getStridesAndOffset(strides, offset)) &&
         !strides.empty() && strides.back() == 1;
}

/// The longest end of `dims` without one of `others`.
SmallVector<unsigned> takeEnd(ArrayRef<unsigned> dims,
                              ArrayRef<unsigned> others) {
  auto last = llvm::find_if(llvm::reverse(dims), [&](unsigned dim) {
    return llvm::is_contained(others, dim);
  });
  return SmallVector<unsigned>(last.base(), dims.end());
}

std::optional<Turn> findTurn(const KernelAnalysis &kernel) {
  linalg::GenericOp op = kernel.getOps().front();
  if (kernel.getOps().size() != 1 || !isPointwise(op))
    return std::nullopt;
  SmallVector<unsigned> order = getResultOrder(kernel);
  Turn turn;
  for (OpOperand *input : op.getDpsInputOperands()) {
    std::optional<SmallVector<unsigned>> dims = getAxisDims(kernel, op, *input);
    if (!dims || !hasLines(kernel, input->get()) ||
        op.getMatchingBlockArgument(input).use_empty() ||
        dims->back() == order.back() ||
        !llvm::is_contained(*dims, order.back()) ||
        turn.inputs.size() == kMostInputs)
      continue;
    if (turn.inputs.empty()) {
      turn.read = takeEnd(*dims, {order.back()});
      turn.written = takeEnd(order, turn.read);
    }
    if (dims->back() == turn.read.back())
      turn.inputs.push_back(input);
  }
  auto isLong = [&](ArrayRef<unsigned> dims) {
    return kernel.getStaticProduct(dims).value_or(kLeast) >= kLeast;
  };
  if (turn.inputs.empty() || !isLong(turn.read) || !isLong(turn.written))
    return std::nullopt;
  for (unsigned dim : order)
    if (!llvm::is_contained(turn.read, dim) &&
        !llvm::is_contained(turn.written, dim))
      turn.batch.push_back(dim);
  return turn;
}

struct TransposeFamily final : KernelFamily {
  StringRef getName() const override { return "transpose"; }
  bool matches(const KernelAnalysis &kernel) const override {
    return findTurn(kernel).has_value();
  }
  int64_t getThreads(const KernelAnalysis &) const override { return kThreads; }

  Value emitBlocks(const KernelAnalysis &kernel,
                   const HostSizes &host) const override {
    Turn turn = *findTurn(kernel);
    Value tiles = host.mul(host.ceilDiv(host.product(turn.read), kTile),
                           host.ceilDiv(host.product(turn.written), kTile));
    return host.minimum(host.mul(tiles, host.product(turn.batch)), kMaxBlocks);
  }

  void emit(KernelWriter &w) const override {
    Turn turn = *findTurn(w.analysis());
    SmallVector<Value> tiles;
    for (OpOperand *input : turn.inputs)
      tiles.push_back(w.shared(getElement(input),
                               kTile * getPitch(getElement(input)),
                               ("tile" + Twine(w.nextNumber())).str()));
    Value across = w.ceilDiv(w.product(turn.written), kTile);
    Value down = w.ceilDiv(w.product(turn.read), kTile);
    Value count = w.mul(w.mul(across, down), w.product(turn.batch));
    w.loop(w.blockIndex(), count, w.gridSize(), {},
           [&](Value number, ValueRange) {
             Point point(w.analysis().getDomain().getNumDims());
             Value rest = w.div(number, across);
             w.delinearize(w.div(rest, down), turn.batch, point);
             Value written = w.mul(w.rem(number, across), w.constant(kTile));
             Value read = w.mul(w.rem(rest, down), w.constant(kTile));
             // Nobody reads the tile of before any longer.
             w.barrier();
             readTile(w, turn, tiles, point, read, written);
             w.barrier();
             writeTile(w, turn, tiles, point, read, written);
             return SmallVector<Value>();
           });
  }

private:
  /// Runs over the elements of a tile, those along the first of its sides by
  /// neighbouring threads; `body` gets their places in the tile.
  static void overTile(KernelWriter &w, function_ref<void(Value, Value)> body) {
    Value fast = w.rem(w.threadIndex(), w.constant(kTile));
    Value slow = w.div(w.threadIndex(), w.constant(kTile));
    w.loop(slow, w.constant(kTile), w.constant(kSteps), {},
           [&](Value line, ValueRange) {
             body(fast, line);
             return SmallVector<Value>();
           });
  }

  /// Runs `body` with the point of an element, if that is inside.
  static void whenInside(KernelWriter &w, const Turn &turn, Point point,
                         Value read, Value written,
                         function_ref<void(const Point &)> body) {
    Value isInside = w.both(w.less(read, w.product(turn.read)),
                            w.less(written, w.product(turn.written)));
    w.when(isInside, [&] {
      w.delinearize(read, turn.read, point);
      w.delinearize(written, turn.written, point);
      body(point);
    });
  }

  static Value getPlace(KernelWriter &w, OpOperand *input, Value read,
                        Value written) {
    return w.add(w.mul(written, w.constant(getPitch(getElement(input)))), read);
  }

  static void readTile(KernelWriter &w, const Turn &turn, ArrayRef<Value> tiles,
                       const Point &point, Value read, Value written) {
    linalg::GenericOp op = w.analysis().getOps().front();
    overTile(w, [&](Value fast, Value slow) {
      whenInside(w, turn, point, w.add(read, fast), w.add(written, slow),
                 [&](const Point &at) {
                   for (auto [input, tile] :
                        llvm::zip_equal(turn.inputs, tiles))
                     w.storeShared(
                         w.load(input->get(),
                                w.getIndices(op.getMatchingIndexingMap(input),
                                             op, at)),
                         tile, getPlace(w, input, fast, slow));
                 });
    });
  }

  static void writeTile(KernelWriter &w, const Turn &turn,
                        ArrayRef<Value> tiles, const Point &point, Value read,
                        Value written) {
    overTile(w, [&](Value fast, Value slow) {
      whenInside(
          w, turn, point, w.add(read, slow), w.add(written, fast),
          [&](const Point &at) {
            for (auto [input, tile] : llvm::zip_equal(turn.inputs, tiles))
              w.provide(*input, w.loadShared(tile, getElement(input),
                                             getPlace(w, input, slow, fast)));
            w.storeResults(at);
          });
    });
  }
};

} // namespace

const KernelFamily &getTransposeFamily() {
  static const TransposeFamily family;
  return family;
}

} // namespace onnx_aot::gpu_kernel
