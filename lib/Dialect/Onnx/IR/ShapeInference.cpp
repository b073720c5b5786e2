//===- ShapeInference.cpp - helpers of shape functions --------------------===//

#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"
#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace onnx_aot::onnx {

//===--- Arithmetic on dimensions -----------------------------------------===//

Dim getProduct(MLIRContext *context, ArrayRef<Dim> dims) {
  Dim product = Dim::constant(context, 1);
  for (Dim dim : dims)
    product = product * dim;
  return product;
}

/// Splits a product into its constant and its other factors.
static int64_t splitFactors(AffineExpr expr,
                            SmallVectorImpl<AffineExpr> &factors) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || binary.getKind() != AffineExprKind::Mul) {
    factors.push_back(expr);
    return 1;
  }
  int64_t left = splitFactors(binary.getLHS(), factors);
  int64_t right = splitFactors(binary.getRHS(), factors);
  int64_t product;
  return llvm::MulOverflow(left, right, product) ? 0 : product;
}

Dim divideExactly(Dim dividend, Dim divisor) {
  if (!dividend.isKnown() || !divisor.isKnown())
    return Dim::unknown();
  SmallVector<AffineExpr> above, below;
  int64_t numerator = splitFactors(dividend.getExpr(), above);
  int64_t denominator = splitFactors(divisor.getExpr(), below);
  if (denominator == 0 || denominator == std::numeric_limits<int64_t>::min() ||
      numerator == std::numeric_limits<int64_t>::min())
    return Dim::unknown();
  for (AffineExpr factor : below) {
    auto *match = llvm::find(above, factor);
    if (match == above.end())
      return Dim::unknown();
    above.erase(match);
  }
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  if (int64_t common = std::gcd(numerator, denominator); common > 1) {
    numerator /= common;
    denominator /= common;
  }
  MLIRContext *context = dividend.getExpr().getContext();
  Dim quotient = Dim::constant(context, numerator);
  for (AffineExpr factor : above)
    quotient = quotient * Dim(factor);
  if (denominator == 1)
    return quotient;
  return quotient.isStatic() ? Dim::unknown() : quotient.floorDiv(denominator);
}

static bool isNonNegative(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() >= 0;
  if (isa<AffineSymbolExpr>(expr))
    return true;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  return binary && isNonNegative(binary.getLHS()) &&
         isNonNegative(binary.getRHS());
}

bool isNonNegative(Dim dim) {
  return dim.isKnown() && isNonNegative(dim.getExpr());
}

std::string toString(Dim dim) {
  if (!dim.isKnown())
    return "?";
  std::string text;
  llvm::raw_string_ostream(text) << dim.getExpr();
  return text;
}

Dim getNamedDim(Operation *op, const Twine &name) {
  Operation *module = op;
  while (module->getParentOp())
    module = module->getParentOp();
  // No input's dimension has a name that starts with '#'.
  unsigned symbol = getOrAddSymbol(module, ("#" + name).str());
  return Dim(getAffineSymbolExpr(symbol, op->getContext()));
}

Dim getMinimum(Operation *op, Dim a, Dim b) {
  if (!a.isKnown() || !b.isKnown())
    return Dim::unknown();
  if (isNonNegative(b - a))
    return a;
  if (isNonNegative(a - b))
    return b;
  return getNamedDim(op, "min(" + toString(a) + ", " + toString(b) + ")");
}

Dim getMaximum(Operation *op, Dim a, Dim b) {
  if (!a.isKnown() || !b.isKnown())
    return Dim::unknown();
  if (isNonNegative(b - a))
    return b;
  if (isNonNegative(a - b))
    return a;
  return getNamedDim(op, "max(" + toString(a) + ", " + toString(b) + ")");
}

//===--- Slices -----------------------------------------------------------===//

SliceRange clampSlice(int64_t start, int64_t end, int64_t step, int64_t size) {
  auto fromEnd = [&](int64_t index) {
    // INT64_MIN + size cannot overflow; clamping does the rest.
    return index < 0 ? index + size : index;
  };
  int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
  int64_t first =
      std::clamp<int64_t>(fromEnd(start), 0, std::max<int64_t>(highest, 0));
  int64_t last = std::clamp<int64_t>(fromEnd(end), lowest,
                                     std::max<int64_t>(highest, lowest));
  uint64_t distance = step > 0 ? last - first : first - last;
  if (size == 0 || (step > 0 ? last <= first : first <= last))
    return {0, 0};
  uint64_t stride = step > 0 ? step : -static_cast<uint64_t>(step);
  return {first, static_cast<int64_t>((distance - 1) / stride + 1)};
}

/// Exporters write "to the end" as the largest int32 or int64.
static bool isBeyondAnySize(Dim dim) {
  return dim.isStatic() &&
         dim.getStatic() >= std::numeric_limits<int32_t>::max();
}
static bool isBeforeAnySize(Dim dim) {
  return dim.isStatic() &&
         dim.getStatic() <= -std::numeric_limits<int32_t>::max();
}

Dim getSliceSize(Operation *op, Dim size, Dim start, Dim end, Dim step) {
  if (!size.isKnown() || !start.isKnown() || !end.isKnown() ||
      !step.isStatic() || step.isStatic(0))
    return Dim::unknown();
  MLIRContext *context = op->getContext();
  int64_t stride = step.getStatic();
  if (size.isStatic() && start.isStatic() && end.isStatic())
    return Dim::constant(context, clampSlice(start.getStatic(), end.getStatic(),
                                             stride, size.getStatic())
                                      .count);
  Dim zero = Dim::constant(context, 0);
  bool toEnd = end == size || isBeyondAnySize(end);
  bool whole = (start.isStatic(0) && toEnd && stride > 0) ||
               ((start.isStatic(-1) || isBeyondAnySize(start)) &&
                isBeforeAnySize(end) && stride < 0);
  if (whole && stride != std::numeric_limits<int64_t>::min())
    return size.ceilDiv(std::abs(stride));
  if (stride == 1 && start.isStatic(0)) {
    if (isNonNegative(end))
      return getMinimum(op, end.isStatic() ? size : end,
                        end.isStatic() ? end : size);
    if (end.isStatic())
      return getMaximum(op, size + end, zero);
  }
  if (stride == 1 && start.isStatic() && toEnd) {
    int64_t first = start.getStatic();
    if (first > 0)
      return getMaximum(op, size - first, zero);
    if (first != std::numeric_limits<int64_t>::min())
      return getMinimum(op, size, Dim::constant(context, -first));
  }
  return getNamedDim(op, "slice(" + toString(size) + ", " + toString(start) +
                             ", " + toString(end) + ", " + Twine(stride) + ")");
}

//===--- Checks that report at the op -------------------------------------===//

FailureOr<int64_t> checkAxis(Operation *op, int64_t axis, int64_t rank) {
  FailureOr<int64_t> result = normalizeAxis(axis, rank);
  if (failed(result))
    return op->emitOpError("axis ")
           << axis << " is out of range for rank " << rank;
  return result;
}

FailureOr<SmallVector<int64_t>> checkAxes(Operation *op, ArrayRef<int64_t> axes,
                                          int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    FailureOr<int64_t> normal = checkAxis(op, axis, rank);
    if (failed(normal))
      return failure();
    if (llvm::is_contained(result, *normal))
      return op->emitOpError("axis ") << axis << " is given twice";
    result.push_back(*normal);
  }
  return result;
}

LogicalResult checkIntegerList(Operation *op, Value operand, StringRef name) {
  if (!operand)
    return success();
  if (!isa<IntegerType>(getElementType(operand)))
    return op->emitOpError()
           << name << " must hold integers, found " << operand.getType();
  if (std::optional<int64_t> rank = getRank(operand); rank && *rank > 1)
    return op->emitOpError()
           << name << " must be 1-D, found " << operand.getType();
  return success();
}

//===--- Results ----------------------------------------------------------===//

Shape getUnknownShape(int64_t rank) { return Shape(rank, Dim::unknown()); }

Type getUnrankedType(Type elementType) {
  return UnrankedTensorType::get(elementType);
}

OpFoldResult foldShapeValue(Operation *op) {
  Value result = op->getResult(0);
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type || !type.hasStaticShape() ||
      !isa<IntegerType>(type.getElementType()))
    return {};
  std::optional<SmallVector<Dim>> elements = getShapeValue(result);
  if (!elements ||
      !llvm::all_of(*elements, [](Dim dim) { return dim.isStatic(); }))
    return {};
  unsigned width = type.getElementType().getIntOrFloatBitWidth();
  bool isUnsigned = type.getElementType().isUnsignedInteger() || width == 1;
  SmallVector<APInt> values;
  for (Dim element : *elements) {
    int64_t value = element.getStatic();
    if (isUnsigned ? value < 0 || !llvm::isUIntN(width, value)
                   : !llvm::isIntN(width, value))
      return {};
    values.push_back(APInt(width, value, /*isSigned=*/!isUnsigned));
  }
  return DenseElementsAttr::get(type, values);
}

} // namespace onnx_aot::onnx
