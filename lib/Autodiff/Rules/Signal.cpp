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
  if (op.getInverse() && op.getOnesided())
    return b.unsupported(op, "with inverse and onesided has no gradient");
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
