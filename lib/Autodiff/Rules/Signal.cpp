//===- Signal.cpp - gradients of Fourier transforms -----------------------===//

#include "RuleUtils.h"
#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

/// x with an axis cut off or filled up with zeros to a size (one element).
static Value fitAxis(GradientBuilder &b, Value x, int64_t axis, Value size) {
  Value missing = b.sub(size, b.sizeOf(x, axis));
  Value pads = b.concat({b.integers({0}), missing});
  return b.create<PadOp>(x, pads, Value(), b.integers({axis}), "constant");
}

/// A real y from the first half of its transform: the transform of dy, where
/// what stands for two mirrored entries counts twice.
static Value gradRealInverse(DFTOp op, int64_t axis, GradientBuilder &b) {
  Value dy = b.getGradient(op.getOutput());
  Value half = b.create<DFTOp>(dy, Value(), b.integer(axis), /*inverse=*/0,
                               /*onesided=*/1);
  Value size = b.sizeOf(dy, axis), entry = createIota(b, b.sizeOf(half, axis));
  Value isSingle =
      b.create<OrOp>(b.create<EqualOp>(entry, b.integer(0)),
                     b.create<EqualOp>(b.mul(entry, b.integers({2})), size));
  Value weight = b.div(b.where(isSingle, b.scalar(1.0, dy), b.scalar(2.0, dy)),
                       b.castLike(size, dy));
  SmallVector<int64_t> later;
  for (int64_t i = axis + 1; i < b.getRank(dy); ++i)
    later.push_back(i - axis);
  Value dx = b.mul(half, b.unsqueeze(weight, later));
  return fitAxis(b, dx, axis, b.sizeOf(op.getInput(), axis));
}

/// Y = F X along an axis, where the transform may see less or more than x, and
/// show less than all of Y. The adjoint of F is the inverse transform without
/// its division.
static LogicalResult gradDft(DFTOp op, GradientBuilder &b) {
  Value x = op.getInput(), dy = b.getGradient(op.getOutput());
  int64_t rank = b.getRank(x), axis = -2;
  if (op.getAxis()) {
    std::optional<SmallVector<int64_t>> given =
        getConstantIntegers(op.getAxis());
    if (!given || given->size() != 1)
      return b.unsupported(op,
                           "has no gradient along an axis that only the run "
                           "knows");
    axis = given->front();
  }
  axis = axis < 0 ? axis + rank : axis;
  if (op.getInverse() && op.getOnesided()) {
    b.accumulate(x, gradRealInverse(op, axis, b));
    return success();
  }
  Value length = b.sizeOf(x, axis);
  if (op.getDftLength())
    length = b.reshape(b.cast(op.getDftLength(), b.getBuilder().getI64Type()),
                       b.integers({1}));
  if (op.getOnesided())
    dy = fitAxis(b, dy, axis, length);
  Value dx =
      b.create<DFTOp>(dy, Value(), b.integer(axis), op.getInverse() ? 0 : 1, 0);
  Value factor = b.castLike(length, dx);
  dx = op.getInverse() ? b.div(dx, factor) : b.mul(dx, factor);
  if (!getShape(x)->back().isStatic(2)) // a signal that may be real
    dx = b.create<SliceOp>(dx, b.integers({0}), b.sizeOf(x, rank - 1),
                           b.integers({rank - 1}), Value());
  if (op.getDftLength())
    dx = fitAxis(b, dx, axis, b.sizeOf(x, axis));
  b.accumulate(x, dx);
  return success();
}

/// Fourier transforms of the windowed frames of a signal
static LogicalResult gradStft(STFTOp op, GradientBuilder &b) {
  Type i64 = b.getBuilder().getI64Type();
  auto decompose = [&](ArrayRef<Value> in) -> FailureOr<SmallVector<Value>> {
    Value signal = in[0], window = in[1], length;
    if (op.getFrameLength())
      length = b.reshape(b.cast(op.getFrameLength(), i64), b.integers({1}));
    else
      length = b.sizeOf(window, 0);
    Value step = b.reshape(b.cast(op.getFrameStep(), i64), b.integers({1}));
    Value first = b.mul(createIota(b, b.sizeOf(op.getOutput(), 1)), step);
    Value at = b.add(b.unsqueeze(first, {1}), createIota(b, length));
    if (b.getRank(signal) == 2)
      signal = b.unsqueeze(signal, {2});
    Value frames = b.create<GatherOp>(signal, at, 1);
    if (window)
      frames = b.mul(frames, b.unsqueeze(window, {1}));
    return SmallVector<Value>{b.create<DFTOp>(frames, Value(), b.integer(2), 0,
                                              op.getOnesided() ? 1 : 0)};
  };
  if (!op.getWindow() && !op.getFrameLength())
    return b.unsupported(op, "needs a window or a frame_length");
  return differentiateAs(op, b, {op.getSignal(), op.getWindow()}, decompose);
}

void onnx_aot::populateSignalGradientRules(MLIRContext *context) {
  attachRule<DFTOp, gradDft>(context);
  attachRule<STFTOp, gradStft>(context);
}
