//===- Shape.cpp - lower ops that read or change only the shape -----------===//

#include "ReshapeUtils.h"
#include "ShapeScalars.h"

#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

struct LowerShape : OnnxLowering<onnx::ShapeOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ShapeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> sizes =
        getRuntimeSizes(rewriter, loc, adaptor.getData());
    auto [start, end] = op.getRange(sizes.size());
    SmallVector<Value> elements;
    for (OpFoldResult size : ArrayRef(sizes).slice(start, end - start))
      elements.push_back(toInteger(rewriter, loc, size));
    rewriter.replaceOp(op, createFromElements(rewriter, loc,
                                              convertOnnxType(op.getType()),
                                              elements));
    return success();
  }

  static Value toInteger(OpBuilder &builder, Location loc, OpFoldResult size) {
    Type i64 = builder.getI64Type();
    if (std::optional<int64_t> constant = getConstantIntValue(size))
      return createScalarConstant(builder, loc, *constant, i64);
    return builder.createOrFold<arith::IndexCastOp>(loc, i64,
                                                    cast<Value>(size));
  }
};

struct LowerSize : OnnxLowering<onnx::SizeOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::SizeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IndexBuilder b(rewriter, loc);
    Value count = b.constant(1);
    for (OpFoldResult size : getRuntimeSizes(rewriter, loc, adaptor.getData()))
      count = b.mul(count, b.get(size));
    Value element = LowerShape::toInteger(rewriter, loc, count);
    rewriter.replaceOp(op, createFromElements(rewriter, loc,
                                              convertOnnxType(op.getType()),
                                              element));
    return success();
  }
};

/// Sizes of a Reshape from the elements of its shape operand.
SmallVector<OpFoldResult> getReshapeSizes(OpBuilder &builder,
                                          onnx::ReshapeOp op, Value data,
                                          Value shape) {
  Location loc = op.getLoc();
  IndexBuilder b(builder, loc);
  SmallVector<OpFoldResult> inputSizes = getRuntimeSizes(builder, loc, data);
  Value total = b.constant(1);
  for (OpFoldResult size : inputSizes)
    total = b.mul(total, b.get(size));
  SmallVector<Value> sizes = getIndexElements(builder, loc, shape);
  Value zero = b.constant(0), one = b.constant(1), given = one;
  for (auto [index, size] : llvm::enumerate(sizes)) {
    if (op.getAllowzero() == 0 && index < inputSizes.size()) {
      Value isZero = b.compare(arith::CmpIPredicate::eq, size, zero);
      size = b.select(isZero, b.get(inputSizes[index]), size);
    }
    given = b.mul(given, b.select(b.isNegative(size), one, size));
  }
  Value rest = b.div(total, b.max(given, one));
  SmallVector<OpFoldResult> result;
  for (Value size : sizes)
    result.push_back(b.select(b.isNegative(size), rest, size));
  return result;
}

struct LowerReshape : OnnxLowering<onnx::ReshapeOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ReshapeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    std::optional<onnx::Shape> from = onnx::getShape(op.getData());
    std::optional<onnx::Shape> to = onnx::getShape(op.getResult());
    if (!from || !to)
      return unsupported(
          op, "the rank of the result must be known at compile time");
    FailureOr<SmallVector<OpFoldResult>> sizes =
        getSizes(rewriter, loc, lowering, op.getResult());
    if (failed(sizes))
      sizes =
          getReshapeSizes(rewriter, op, adaptor.getData(), adaptor.getShape());
    MLIRContext *context = op.getContext();
    if (onnx::getProduct(context, *from) != onnx::getProduct(context, *to))
      checkCount(rewriter, op, adaptor.getData(), *sizes);
    rewriter.replaceOp(op, createReshape(rewriter, loc, adaptor.getData(),
                                         *from, *to, *sizes));
    return success();
  }

private:
  /// Stops the run when a shape that is not provably right does not fit.
  static void checkCount(OpBuilder &builder, onnx::ReshapeOp op, Value data,
                         ArrayRef<OpFoldResult> sizes) {
    IndexBuilder b(builder, op.getLoc());
    Value before = b.constant(1), after = b.constant(1);
    for (OpFoldResult size : getRuntimeSizes(builder, op.getLoc(), data))
      before = b.mul(before, b.get(size));
    for (OpFoldResult size : sizes)
      after = b.mul(after, b.get(size));
    createCheck(builder, op, b.compare(arith::CmpIPredicate::eq, before, after),
                "the shape does not have as many elements as the input");
  }
};

//===--- Axes known at run time -------------------------------------------===//

/// For each of `rank` dimensions whether it is one of the axes, as i1. Ends the
/// run where an axis is out of range or there twice.
SmallVector<Value> getAxisFlags(OpBuilder &builder, Operation *op, Value axes,
                                int64_t rank) {
  IndexBuilder b(builder, op->getLoc());
  Value size = b.constant(rank);
  SmallVector<Value> positions = getIndexElements(builder, op->getLoc(), axes);
  for (Value &axis : positions) {
    axis = b.select(b.isNegative(axis), b.add(axis, size), axis);
    createCheck(builder, op, b.compare(arith::CmpIPredicate::ult, axis, size),
                "an axis is out of range");
  }
  SmallVector<Value> flags;
  for (int64_t dim = 0; dim < rank; ++dim) {
    Value count = b.constant(0);
    for (Value axis : positions)
      count = b.add(count, b.select(b.compare(arith::CmpIPredicate::eq, axis,
                                              b.constant(dim)),
                                    b.constant(1), b.constant(0)));
    createCheck(builder, op,
                b.compare(arith::CmpIPredicate::ule, count, b.constant(1)),
                "an axis is there twice");
    flags.push_back(b.compare(arith::CmpIPredicate::eq, count, b.constant(1)));
  }
  return flags;
}

/// sizes[position] for a position that only the run knows; 1 outside.
Value pickSize(IndexBuilder &b, ArrayRef<OpFoldResult> sizes, Value position) {
  Value picked = b.constant(1);
  for (auto [index, size] : llvm::enumerate(sizes))
    picked = b.select(
        b.compare(arith::CmpIPredicate::eq, position, b.constant(index)),
        b.get(size), picked);
  return picked;
}

FailureOr<SmallVector<OpFoldResult>>
getSizesAtRuntime(OpBuilder &builder, onnx::UnsqueezeOp op,
                  ArrayRef<OpFoldResult> sizes, ValueRange operands,
                  int64_t rank) {
  if (!cast<RankedTensorType>(operands[1].getType()).hasStaticShape())
    return failure();
  IndexBuilder b(builder, op.getLoc());
  SmallVector<OpFoldResult> result;
  Value position = b.constant(0);
  for (Value isNew : getAxisFlags(builder, op, operands[1], rank)) {
    result.push_back(
        b.select(isNew, b.constant(1), pickSize(b, sizes, position)));
    position = b.select(isNew, position, b.add(position, b.constant(1)));
  }
  return result;
}

FailureOr<SmallVector<OpFoldResult>>
getSizesAtRuntime(OpBuilder &builder, onnx::SqueezeOp op,
                  ArrayRef<OpFoldResult> sizes, ValueRange operands,
                  int64_t rank) {
  if (operands.size() < 2 ||
      !cast<RankedTensorType>(operands[1].getType()).hasStaticShape())
    return failure();
  IndexBuilder b(builder, op.getLoc());
  SmallVector<Value> result(rank, b.constant(1));
  Value position = b.constant(0);
  for (auto [size, isDropped] : llvm::zip_equal(
           sizes, getAxisFlags(builder, op, operands[1], sizes.size()))) {
    Value own = b.get(size), one = b.constant(1);
    createCheck(
        builder, op,
        b.compare(arith::CmpIPredicate::eq, b.select(isDropped, own, one), one),
        "a dimension to drop is not 1");
    for (auto [index, value] : llvm::enumerate(result)) {
      Value isHere =
          b.compare(arith::CmpIPredicate::eq, position, b.constant(index));
      value = b.select(isDropped, value, b.select(isHere, own, value));
    }
    position = b.select(isDropped, position, b.add(position, one));
  }
  return llvm::map_to_vector(
      result, [](Value size) { return getAsOpFoldResult(size); });
}

FailureOr<SmallVector<OpFoldResult>> getSizesAtRuntime(OpBuilder &,
                                                       onnx::FlattenOp,
                                                       ArrayRef<OpFoldResult>,
                                                       ValueRange, int64_t) {
  return failure();
}

/// Flatten, Squeeze and Unsqueeze: the result's sizes follow from the input's.
template <typename OpTy>
struct LowerView : OnnxLowering<OpTy> {
  using OnnxLowering<OpTy>::OnnxLowering;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value input = op->getOperand(0), result = op->getResult(0);
    std::optional<onnx::Shape> from = onnx::getShape(input);
    std::optional<onnx::Shape> to = onnx::getShape(result);
    if (!from || !to)
      return this->unsupported(
          op, "the rank of the result must be known at compile time");
    FailureOr<SmallVector<OpFoldResult>> sizes =
        getSizes(rewriter, loc, this->lowering, result);
    if (failed(sizes))
      sizes = getSizesAtRuntime(
          rewriter, op,
          getRuntimeSizes(rewriter, loc, adaptor.getOperands()[0]),
          adaptor.getOperands(), to->size());
    if (failed(sizes))
      return this->unsupported(op, "sizes must be known at compile time");
    if constexpr (std::is_same_v<OpTy, onnx::SqueezeOp>)
      checkDropped(rewriter, op, adaptor.getOperands()[0]);
    rewriter.replaceOp(op,
                       createReshape(rewriter, loc, adaptor.getOperands()[0],
                                     *from, *to, *sizes));
    return success();
  }

private:
  /// Without axes every 1 goes; one that only the run finds would change the
  /// rank. With axes, what goes must be 1.
  static void checkDropped(OpBuilder &builder, onnx::SqueezeOp op, Value data) {
    IndexBuilder b(builder, op.getLoc());
    SmallVector<OpFoldResult> sizes =
        getRuntimeSizes(builder, op.getLoc(), data);
    if (op.getAxes()) {
      if (auto axes = onnx::getConstantIntegers(op.getAxes()))
        for (int64_t axis : *axes)
          checkSize(builder, op, data, *onnx::normalizeAxis(axis, sizes.size()),
                    builder.getIndexAttr(1), "a dimension to drop is not 1");
      return;
    }
    for (OpFoldResult size : sizes)
      if (!getConstantIntValue(size))
        createCheck(
            builder, op,
            b.compare(arith::CmpIPredicate::ne, b.get(size), b.constant(1)),
            "a dimension that is dropped without being in axes must be "
            "known to be 1 at compile time");
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgShapePatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<LowerShape, LowerSize, LowerReshape, LowerView<onnx::FlattenOp>,
               LowerView<onnx::SqueezeOp>, LowerView<onnx::UnsqueezeOp>>(
      lowering, context);
}
