//===- RuleUtils.cpp - what rules of several categories use ---------------===//

#include "RuleUtils.h"
#include "Rules.h"
#include "onnx-aot/Autodiff/BuildGradient.h"

using namespace mlir;
using namespace onnx_aot::onnx;

namespace onnx_aot {

Value createFilled(GradientBuilder &b, Value shape, double value, Value like) {
  Type elementType = getElementType(like);
  Attribute element = b.getBuilder().getFloatAttr(elementType, value);
  return b.create<ConstantOfShapeOp>(
      shape,
      DenseElementsAttr::get(RankedTensorType::get({1}, elementType), element));
}

Value getSizes(GradientBuilder &b, Value x, int64_t first,
               std::optional<int64_t> last) {
  auto type = cast<RankedTensorType>(x.getType());
  ArrayRef<int64_t> sizes =
      type.getShape().slice(first, last.value_or(type.getRank()) - first);
  if (llvm::none_of(sizes, ShapedType::isDynamic))
    return b.integers(sizes);
  return b.create<ShapeOp>(
      x, last ? b.getBuilder().getI64IntegerAttr(*last) : IntegerAttr(), first);
}

Value createIota(GradientBuilder &b, Value count) {
  return b.create<RangeOp>(b.integer(0), b.squeeze(count, {0}), b.integer(1));
}

Value createSign(GradientBuilder &b, Value x) {
  return b.create<train::StopGradientOp>(b.create<SignOp>(x));
}

LogicalResult differentiateAs(Operation *op, GradientBuilder &b,
                              ArrayRef<Value> operands,
                              Decomposition decompose) {
  // Copies of the operands, so that what one owes to another outside the op is
  // not counted here.
  SmallVector<Value> copies, xs, originals, ys, seeds;
  for (Value operand : operands) {
    copies.push_back(operand);
    if (!operand || !b.isActive(operand) ||
        !isDifferentiable(operand.getType()))
      continue;
    copies.back() = b.create<IdentityOp>(operand);
    xs.push_back(copies.back());
    originals.push_back(operand);
  }
  FailureOr<SmallVector<Value>> results = decompose(copies);
  if (failed(results))
    return failure();
  for (auto [result, value] : llvm::zip(op->getResults(), *results))
    if (Value seed = b.getGradient(result)) {
      if (!value)
        return b.unsupported(op, "has no gradient for result number " +
                                     Twine(result.getResultNumber()));
      ys.push_back(value);
      seeds.push_back(b.castLike(seed, value));
    }
  FailureOr<SmallVector<Value>> gradients =
      buildGradient(b.getBuilder(), ys, seeds, xs);
  if (failed(gradients))
    return b.unsupported(op, "is made of ops that have no gradient");
  for (auto [operand, gradient] : llvm::zip_equal(originals, *gradients))
    if (gradient)
      b.accumulate(operand, gradient);
  return success();
}

} // namespace onnx_aot
