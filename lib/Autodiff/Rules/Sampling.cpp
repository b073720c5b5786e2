//===- Sampling.cpp - gradients of ops that sample images -----------------===//

#include "RuleUtils.h"
#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

/// Element `index` of a 1-D tensor as a tensor of one element.
static Value pick(GradientBuilder &b, Value list, int64_t index) {
  return b.create<SliceOp>(list, b.integers({index}), b.integers({index + 1}),
                           b.integers({0}), Value());
}

/// Whether an axis is certainly left as it is. A crop may change it even so.
static bool keepsAxis(ResizeOp op, int64_t axis, size_t place) {
  if (op.getCoordinateTransformationMode() == "tf_crop_and_resize")
    return false;
  if (op.getSizes())
    return (*getShape(op.getX()))[axis] == (*getShape(op.getY()))[axis];
  auto constant = op.getScales().getDefiningOp<ConstantOp>();
  auto scales = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                         : DenseElementsAttr();
  if (!scales || !scales.getElementType().isF32() ||
      place >= static_cast<size_t>(scales.getNumElements()))
    return false;
  return scales.getValues<float>()[place] == 1.0f;
}

/// What a Resize does along one axis, as a matrix (out, in): the same Resize of
/// the unit matrix.
static Value getMatrix(ResizeOp op, int64_t axis, int64_t place, int64_t count,
                       GradientBuilder &b) {
  Value x = op.getX(), size = b.sizeOf(x, axis), scales, sizes, roi;
  Value unit = b.create<EyeLikeOp>(
      createFilled(b, b.concat({size, size}), 0.0, x), IntegerAttr(), 0);
  if (op.getSizes())
    sizes = pick(b, op.getSizes(), place);
  else
    scales = pick(b, op.getScales(), place);
  if (op.getRoi() &&
      op.getCoordinateTransformationMode() == "tf_crop_and_resize")
    roi = b.concat(
        {pick(b, op.getRoi(), place), pick(b, op.getRoi(), count + place)});
  OpBuilder &builder = b.getBuilder();
  return b.create<ResizeOp>(unit, roi, scales, sizes, op.getAntialiasAttr(),
                            builder.getDenseI64ArrayAttr({0}),
                            op.getCoordinateTransformationModeAttr(),
                            op.getCubicCoeffAAttr(), op.getExcludeOutsideAttr(),
                            builder.getF32FloatAttr(0.0f), StringAttr(),
                            op.getModeAttr(), op.getNearestModeAttr());
}

/// y = M_0 x M_1' ...: a matrix along each axis, whose transpose takes dy back.
static LogicalResult gradResize(ResizeOp op, GradientBuilder &b) {
  Value x = op.getX(), dx = b.getGradient(op.getY());
  int64_t rank = b.getRank(x);
  if (op.getSizes() && op.getKeepAspectRatioPolicy() != "stretch")
    return b.unsupported(op, "with keep_aspect_ratio_policy has no gradient");
  if (!op.getSizes() && !op.getScales())
    return b.unsupported(op, "needs scales or sizes");
  SmallVector<int64_t> axes;
  if (op.getAxes() && !op.getAxes()->empty())
    axes.assign(op.getAxes()->begin(), op.getAxes()->end());
  else
    axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (auto [place, given] : llvm::enumerate(axes)) {
    int64_t axis = given < 0 ? given + rank : given;
    if (keepsAxis(op, axis, place))
      continue;
    Value matrix = getMatrix(op, axis, place, axes.size(), b);
    SmallVector<int64_t> swap = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    std::swap(swap[axis], swap.back());
    dx = axis + 1 == rank ? dx : b.transpose(dx, swap);
    dx = b.create<MatMulOp>(dx, matrix);
    dx = axis + 1 == rank ? dx : b.transpose(dx, swap);
  }
  b.accumulate(x, dx);
  return success();
}

void onnx_aot::populateSamplingGradientRules(MLIRContext *context) {
  attachRule<ResizeOp, gradResize>(context);
}
