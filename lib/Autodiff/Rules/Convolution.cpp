//===- Convolution.cpp - gradients of convolutions ------------------------===//
//
// Conv, its adjoint in x (ConvBackwardData, which is also ConvTranspose) and
// its adjoint in w (ConvBackwardWeight) are linear in two operands each, and
// their gradients are made of one another.
//
//===----------------------------------------------------------------------===//

#include "RuleUtils.h"
#include "Rules.h"
#include "onnx-aot/Dialect/Onnx/IR/Window.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

namespace {

/// The attributes that the three ops share.
struct Geometry {
  StringAttr autoPad;
  DenseI64ArrayAttr dilations, kernel, pads, strides;
  IntegerAttr group;

  template <typename OpTy>
  static Geometry get(OpTy op) {
    return {op.getAutoPadAttr(), op.getDilationsAttr(), op.getKernelShapeAttr(),
            op.getPadsAttr(),    op.getStridesAttr(),   op.getGroupAttr()};
  }
};

/// Fills the kernel's sizes in from the weight.
LogicalResult findKernel(Operation *op, Value w, Geometry &geometry,
                         GradientBuilder &b) {
  auto type = cast<RankedTensorType>(w.getType());
  if (geometry.kernel && !geometry.kernel.empty())
    return success();
  ArrayRef<int64_t> sizes = type.getShape().drop_front(2);
  if (llvm::any_of(sizes, ShapedType::isDynamic))
    return b.unsupported(op, "kernel size is not known at compile time "
                             "(supported: a weight of static spatial size, or "
                             "kernel_shape)");
  geometry.kernel = b.getBuilder().getDenseI64ArrayAttr(sizes);
  return success();
}

/// The convolution as far as `like` goes: a pool that rounds its size up may
/// have fewer windows than fit.
Value convolve(GradientBuilder &b, Value x, Value w, Value like,
               const Geometry &g) {
  Value y = b.create<ConvOp>(x, w, Value(), g.autoPad, g.dilations, g.group,
                             g.kernel, g.pads, g.strides, UnitAttr());
  if (y.getType() == like.getType())
    return y;
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(0, b.getRank(like)));
  return b.create<SliceOp>(y, b.integers(SmallVector<int64_t>(axes.size(), 0)),
                           b.shapeOf(like), b.integers(axes), Value());
}

Value backwardData(GradientBuilder &b, Value dy, Value w, Value like,
                   const Geometry &g) {
  return b.create<train::ConvBackwardDataOp>(dy, w, b.shapeOf(like), g.autoPad,
                                             g.dilations, g.group, g.kernel,
                                             g.pads, g.strides, UnitAttr());
}

Value backwardWeight(GradientBuilder &b, Value x, Value dy, const Geometry &g) {
  return b.create<train::ConvBackwardWeightOp>(x, dy, g.kernel, g.autoPad,
                                               g.dilations, g.group, g.pads,
                                               g.strides, UnitAttr());
}

/// The bias is added to every element of its channel.
void accumulateBias(GradientBuilder &b, Value bias, Value dy) {
  if (!bias || !b.isActive(bias))
    return;
  SmallVector<int64_t> axes{0};
  for (int64_t axis = 2; axis < b.getRank(dy); ++axis)
    axes.push_back(axis);
  b.accumulate(bias, b.sum(dy, axes, /*keepDims=*/false));
}

} // namespace

/// y = conv(x, w) + b
static LogicalResult gradConv(ConvOp op, GradientBuilder &b) {
  Value dy = b.getGradient(op.getY());
  Geometry geometry = Geometry::get(op);
  if (op.getChannelsLast())
    return b.unsupported(op, "with channels_last has no gradient");
  if (failed(findKernel(op, op.getW(), geometry, b)))
    return failure();
  if (b.isActive(op.getX()))
    b.accumulate(op.getX(),
                 backwardData(b, dy, op.getW(), op.getX(), geometry));
  if (b.isActive(op.getW()))
    b.accumulate(op.getW(), backwardWeight(b, op.getX(), dy, geometry));
  accumulateBias(b, op.getB(), dy);
  return success();
}

/// dx = conv'(dy, w): linear in both
static LogicalResult gradConvBackwardData(train::ConvBackwardDataOp op,
                                          GradientBuilder &b) {
  Value dx = b.getGradient(op.getDx());
  Geometry geometry = Geometry::get(op);
  if (op.getChannelsLast())
    return b.unsupported(op, "with channels_last has no gradient");
  if (failed(findKernel(op, op.getW(), geometry, b)))
    return failure();
  if (b.isActive(op.getDy()))
    b.accumulate(op.getDy(), convolve(b, dx, op.getW(), op.getDy(), geometry));
  if (b.isActive(op.getW()))
    b.accumulate(op.getW(), backwardWeight(b, dx, op.getDy(), geometry));
  return success();
}

/// dw = sum of dy x: linear in both
static LogicalResult gradConvBackwardWeight(train::ConvBackwardWeightOp op,
                                            GradientBuilder &b) {
  Value dw = b.getGradient(op.getDw());
  Geometry geometry = Geometry::get(op);
  if (op.getChannelsLast())
    return b.unsupported(op, "with channels_last has no gradient");
  if (b.isActive(op.getX()))
    b.accumulate(op.getX(),
                 backwardData(b, op.getDy(), dw, op.getX(), geometry));
  if (b.isActive(op.getDy()))
    b.accumulate(op.getDy(), convolve(b, op.getX(), dw, op.getDy(), geometry));
  return success();
}

/// The convolution whose adjoint a ConvTranspose is: its pads, from the rules
/// that give the output's size.
static LogicalResult findPads(ConvTransposeOp op, Geometry &geometry,
                              GradientBuilder &b) {
  FailureOr<Window> window =
      getWindow(op, {geometry.kernel, op.getStrides(), op.getDilations(),
                     op.getPads(), op.getAutoPad(), false});
  FailureOr<TransposedWindow> transposed = failure();
  if (succeeded(window))
    transposed = getTransposedWindow(op, *window, op.getOutputPadding(),
                                     op.getOutputShape());
  if (failed(transposed))
    return b.unsupported(op, "with these attributes has no gradient");
  Shape x = *getShape(op.getX());
  int64_t rank = window->getRank();
  SmallVector<int64_t> pads(2 * rank);
  for (int64_t i = 0; i < rank; ++i) {
    int64_t begin = window->padsBegin[i],
            end = window->padsEnd[i] - transposed->outputPadding[i];
    if (transposed->outputShape || window->isSame()) {
      // The output is given: what is left over is cut off.
      if (!x[i + 2].isStatic())
        return b.unsupported(op, "has no gradient where its pads depend on "
                                 "sizes that only the run knows");
      begin = transposed->getPadBegin(i, x[i + 2]).getStatic();
      end = (x[i + 2].getStatic() - 1) * window->strides[i] +
            window->getExtent(i) -
            transposed->getOutputDim(i, x[i + 2]).getStatic() - begin;
    }
    if (begin < 0)
      return b.unsupported(op, "with negative pads has no gradient");
    pads[i] = begin;
    // Where the output is longer than the windows reach, none is added.
    pads[rank + i] = std::max<int64_t>(end, 0);
  }
  geometry.pads = b.getBuilder().getDenseI64ArrayAttr(pads);
  geometry.autoPad = StringAttr();
  return success();
}

/// y = conv'(x, w) + b
static LogicalResult gradConvTranspose(ConvTransposeOp op, GradientBuilder &b) {
  Value dy = b.getGradient(op.getY());
  Geometry geometry = Geometry::get(op);
  if (failed(findKernel(op, op.getW(), geometry, b)) ||
      failed(findPads(op, geometry, b)))
    return failure();
  if (b.isActive(op.getX()))
    b.accumulate(op.getX(), convolve(b, dy, op.getW(), op.getX(), geometry));
  if (b.isActive(op.getW()))
    b.accumulate(op.getW(), backwardWeight(b, dy, op.getX(), geometry));
  accumulateBias(b, op.getB(), dy);
  return success();
}

/// Columns summed into an image: the columns of the gradient are what a
/// convolution with one kernel for each element of a block reads.
static LogicalResult gradCol2Im(Col2ImOp op, GradientBuilder &b) {
  std::optional<SmallVector<int64_t>> block =
      getConstantIntegers(op.getBlockShape());
  if (!block)
    return b.unsupported(op,
                         "has no gradient where block_shape is not known at "
                         "compile time");
  Value input = op.getInput(), dy = b.getGradient(op.getOutput());
  int64_t elements = 1;
  for (int64_t size : *block)
    elements *= size;
  SmallVector<int64_t> shape{elements, 1};
  shape.append(*block);
  Value unit = b.create<EyeLikeOp>(
      createFilled(b, b.integers({elements, elements}), 0.0, dy), IntegerAttr(),
      0);
  Value planes =
      b.reshape(dy, b.concat({b.mul(b.sizeOf(dy, 0), b.sizeOf(dy, 1)),
                              b.integers({1}), getSizes(b, dy, 2)}));
  Value columns =
      b.create<ConvOp>(planes, b.reshape(unit, b.integers(shape)), Value(),
                       StringAttr(), op.getDilationsAttr(), IntegerAttr(),
                       b.getBuilder().getDenseI64ArrayAttr(*block),
                       op.getPadsAttr(), op.getStridesAttr(), UnitAttr());
  b.accumulate(input, b.reshapeLike(columns, input));
  return success();
}

void onnx_aot::populateConvolutionGradientRules(MLIRContext *context) {
  attachRule<ConvOp, gradConv>(context);
  attachRule<ConvTransposeOp, gradConvTranspose>(context);
  attachRule<Col2ImOp, gradCol2Im>(context);
  attachRule<train::ConvBackwardDataOp, gradConvBackwardData>(context);
  attachRule<train::ConvBackwardWeightOp, gradConvBackwardWeight>(context);
}
