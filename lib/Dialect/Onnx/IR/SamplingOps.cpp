//===- SamplingOps.cpp - shape functions of Resize and grids --------------===//

#include "onnx-aot/Dialect/Onnx/IR/Sampling.h"
#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"

#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace onnx_aot::onnx;

std::optional<SmallVector<double>>
onnx_aot::onnx::getConstantFloats(Value value) {
  auto constant = value ? value.getDefiningOp<ConstantOp>() : ConstantOp();
  if (!constant)
    return std::nullopt;
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  SmallVector<double> result;
  for (const APFloat &element : elements.getValues<APFloat>())
    result.push_back(element.convertToDouble());
  return result;
}

//===--- Resize -----------------------------------------------------------===//

/// An operand of Resize; null when it is absent or known to be empty.
static Value dropEmpty(Value operand) {
  if (!operand)
    return {};
  std::optional<Shape> shape = getShape(operand);
  return shape && shape->size() == 1 && (*shape)[0].isStatic(0) ? Value()
                                                                : operand;
}

/// Refuses a list operand whose length is known and wrong.
static LogicalResult checkLength(ResizeOp op, Value operand, StringRef name,
                                 int64_t wanted) {
  std::optional<Shape> shape = operand ? getShape(operand) : std::nullopt;
  if (!shape)
    return success();
  if (shape->size() != 1 ||
      ((*shape)[0].isStatic() && !(*shape)[0].isStatic(wanted)))
    return op.emitOpError() << name << " must have " << wanted
                            << " elements, found " << operand.getType();
  return success();
}

FailureOr<ResizeSpec> onnx_aot::onnx::getResizeSpec(ResizeOp op) {
  using Spec = ResizeSpec;
  Spec spec;
  auto mode = llvm::StringSwitch<std::optional<Spec::Mode>>(op.getMode())
                  .Case("nearest", Spec::Mode::Nearest)
                  .Cases({"linear", "bilinear"}, Spec::Mode::Linear)
                  .Cases({"cubic", "bicubic"}, Spec::Mode::Cubic)
                  .Default(std::nullopt);
  if (!mode)
    return op.emitOpError("mode \"")
           << op.getMode()
           << "\" is not known (supported: nearest, linear, cubic)";
  auto transform =
      llvm::StringSwitch<std::optional<Spec::Transform>>(
          op.getCoordinateTransformationMode())
          .Case("half_pixel", Spec::Transform::HalfPixel)
          .Case("half_pixel_symmetric", Spec::Transform::HalfPixelSymmetric)
          .Case("pytorch_half_pixel", Spec::Transform::PytorchHalfPixel)
          .Case("align_corners", Spec::Transform::AlignCorners)
          .Case("asymmetric", Spec::Transform::Asymmetric)
          .Case("tf_crop_and_resize", Spec::Transform::TfCropAndResize)
          .Default(std::nullopt);
  if (!transform)
    return op.emitOpError("coordinate_transformation_mode \"")
           << op.getCoordinateTransformationMode() << "\" is not known";
  auto rounding =
      llvm::StringSwitch<std::optional<Spec::Rounding>>(op.getNearestMode())
          .Cases({"", "round_prefer_floor"}, Spec::Rounding::PreferFloor)
          .Case("round_prefer_ceil", Spec::Rounding::PreferCeil)
          .Case("floor", Spec::Rounding::Floor)
          .Case("ceil", Spec::Rounding::Ceil)
          .Default(std::nullopt);
  if (!rounding)
    return op.emitOpError("nearest_mode \"")
           << op.getNearestMode() << "\" is not known";
  auto policy = llvm::StringSwitch<std::optional<Spec::Policy>>(
                    op.getKeepAspectRatioPolicy())
                    .Case("stretch", Spec::Policy::Stretch)
                    .Case("not_larger", Spec::Policy::NotLarger)
                    .Case("not_smaller", Spec::Policy::NotSmaller)
                    .Default(std::nullopt);
  if (!policy)
    return op.emitOpError("keep_aspect_ratio_policy \"")
           << op.getKeepAspectRatioPolicy() << "\" is not known";
  spec.mode = *mode;
  spec.transform = *transform;
  spec.rounding = *rounding;
  spec.policy = *policy;

  std::optional<int64_t> rank = getRank(op.getX());
  if (!rank)
    return op.emitOpError("input of unknown rank");
  if (op.getAxes() && !op.getAxes()->empty()) {
    FailureOr<SmallVector<int64_t>> axes = checkAxes(op, *op.getAxes(), *rank);
    if (failed(axes))
      return failure();
    spec.axes = *axes;
  } else {
    spec.axes = llvm::to_vector(llvm::seq<int64_t>(0, *rank));
  }
  spec.scales = dropEmpty(op.getScales());
  spec.sizes = dropEmpty(op.getSizes());
  if (*transform == Spec::Transform::TfCropAndResize) {
    spec.roi = dropEmpty(op.getRoi());
    if (!spec.roi)
      return op.emitOpError("tf_crop_and_resize needs a roi");
  }
  if (!spec.scales && !spec.sizes)
    return op.emitOpError("needs scales or sizes");
  if (spec.scales && spec.sizes)
    return op.emitOpError("has both scales and sizes");
  int64_t count = spec.axes.size();
  if (failed(checkLength(op, spec.scales, "scales", count)) ||
      failed(checkLength(op, spec.sizes, "sizes", count)) ||
      failed(checkLength(op, spec.roi, "roi", 2 * count)))
    return failure();
  return spec;
}

/// Output size from a constant scale, `extent` being the part of the input that
/// a roi selects.
static FailureOr<Dim> scaleDim(ResizeOp op, Dim dim, double scale,
                               double extent) {
  if (!(scale > 0) || !std::isfinite(scale) || !std::isfinite(extent))
    return op.emitOpError("scale ") << scale << " is not a positive number";
  if (dim.isStatic()) {
    double size = std::floor(static_cast<float>(
        static_cast<float>(dim.getStatic()) * static_cast<float>(extent) *
        static_cast<float>(scale)));
    if (!(size >= 0 && size < 4294967296.0))
      return op.emitOpError("scale ") << scale << " gives too large a size";
    return Dim::constant(op.getContext(), static_cast<int64_t>(size));
  }
  if (extent != 1)
    return Dim::unknown();
  if (scale == std::floor(scale) && scale < 65536)
    return dim * static_cast<int64_t>(scale);
  double inverse = 1 / scale;
  if (inverse == std::floor(inverse) && inverse < 65536)
    return dim.floorDiv(static_cast<int64_t>(inverse));
  return Dim::unknown();
}

/// Sizes under a keep_aspect_ratio_policy: one scale for all axes.
static void keepAspectRatio(const ResizeSpec &spec, MLIRContext *context,
                            ArrayRef<Dim> sizes, Shape &shape) {
  bool known = true;
  std::optional<double> scale;
  for (auto [axis, size] : llvm::zip_equal(spec.axes, sizes)) {
    known &= size.isStatic() && shape[axis].isStatic();
    if (!known || shape[axis].getStatic() == 0)
      continue;
    double own = double(size.getStatic()) / double(shape[axis].getStatic());
    bool better =
        !scale || (spec.policy == ResizeSpec::Policy::NotLarger ? own < *scale
                                                                : own > *scale);
    if (better)
      scale = own;
  }
  for (int64_t axis : spec.axes) {
    if (!known)
      shape[axis] = Dim::unknown();
    else if (scale)
      shape[axis] =
          Dim::constant(context, static_cast<int64_t>(std::floor(
                                     *scale * shape[axis].getStatic() + 0.5)));
  }
}

LogicalResult ResizeOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getX());
  std::optional<Shape> shape = getShape(getX());
  if (!shape) {
    types.push_back(UnrankedTensorType::get(elementType));
    return success();
  }
  FailureOr<ResizeSpec> spec = getResizeSpec(*this);
  if (failed(spec))
    return failure();
  if (spec->sizes) {
    if (failed(checkIntegerList(*this, spec->sizes, "sizes")))
      return failure();
    std::optional<SmallVector<Dim>> sizes = getShapeValue(spec->sizes);
    if (!sizes || sizes->size() != spec->axes.size())
      sizes.emplace(spec->axes.size(), Dim::unknown());
    for (Dim size : *sizes)
      if (size.isStatic() &&
          (size.getStatic() < 0 || size.getStatic() > (int64_t(1) << 32)))
        return emitOpError("sizes has ") << size.getStatic();
    if (spec->policy != ResizeSpec::Policy::Stretch)
      keepAspectRatio(*spec, getContext(), *sizes, *shape);
    else
      for (auto [axis, size] : llvm::zip_equal(spec->axes, *sizes))
        (*shape)[axis] = size;
  } else {
    std::optional<SmallVector<double>> scales = getConstantFloats(spec->scales),
                                       roi = getConstantFloats(spec->roi);
    for (auto [i, axis] : llvm::enumerate(spec->axes)) {
      bool known = scales && (!spec->roi || roi);
      if (!known) {
        (*shape)[axis] = Dim::unknown();
        continue;
      }
      double extent = roi ? (*roi)[i + spec->axes.size()] - (*roi)[i] : 1.0;
      FailureOr<Dim> scaled =
          scaleDim(*this, (*shape)[axis], (*scales)[i], extent);
      if (failed(scaled))
        return failure();
      (*shape)[axis] = *scaled;
    }
  }
  types.push_back(getTensorType(*shape, elementType));
  return success();
}

//===--- Grids ------------------------------------------------------------===//

LogicalResult GridSampleOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getX());
  std::optional<Shape> x = getShape(getX()), grid = getShape(getGrid());
  if (!x || !grid) {
    types.push_back(UnrankedTensorType::get(elementType));
    return success();
  }
  if (x->size() < 3 || grid->size() != x->size())
    return emitOpError(
               "needs an input and a grid of one rank of 3 or more, found ")
           << getX().getType() << " and " << getGrid().getType();
  int64_t spatialRank = x->size() - 2;
  if (grid->back().isStatic() && !grid->back().isStatic(spatialRank))
    return emitOpError("grid has positions of ")
           << grid->back().getStatic() << " coordinates, expected "
           << spatialRank;
  if ((*x)[0].isStatic() && (*grid)[0].isStatic() && (*x)[0] != (*grid)[0])
    return emitOpError("input and grid differ in their batch size");
  Shape result{(*x)[0], (*x)[1]};
  result.append(grid->begin() + 1, grid->end() - 1);
  types.push_back(getTensorType(result, elementType));
  return success();
}

LogicalResult AffineGridOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getTheta());
  if (failed(checkIntegerList(*this, getSize(), "size")))
    return failure();
  std::optional<Shape> theta = getShape(getTheta());
  std::optional<SmallVector<Dim>> size = getShapeValue(getSize());
  if (!theta || !size) {
    types.push_back(UnrankedTensorType::get(elementType));
    return success();
  }
  int64_t spatialRank = static_cast<int64_t>(size->size()) - 2;
  if (spatialRank != 2 && spatialRank != 3)
    return emitOpError("size has ")
           << size->size() << " elements (supported: 4, 5)";
  if (theta->size() != 3 ||
      ((*theta)[1].isStatic() && !(*theta)[1].isStatic(spatialRank)) ||
      ((*theta)[2].isStatic() && !(*theta)[2].isStatic(spatialRank + 1)))
    return emitOpError("theta of type ")
           << getTheta().getType() << " does not fit " << spatialRank
           << " spatial dimensions";
  for (Dim dim : *size)
    if (dim.isStatic() && dim.getStatic() < 0)
      return emitOpError("size has a negative element");
  if ((*size)[0].isStatic() && (*theta)[0].isStatic() &&
      (*size)[0] != (*theta)[0])
    return emitOpError("size and theta differ in their batch size");
  Shape result{(*theta)[0]};
  result.append(size->begin() + 2, size->end());
  result.push_back(Dim::constant(getContext(), spatialRank));
  types.push_back(getTensorType(result, elementType));
  return success();
}
