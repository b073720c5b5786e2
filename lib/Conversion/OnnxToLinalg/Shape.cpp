//===- Shape.cpp - lower ops that read or change only the shape -------------===//

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
    return builder.createOrFold<arith::IndexCastOp>(loc, i64, cast<Value>(size));
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
SmallVector<OpFoldResult> getReshapeSizes(OpBuilder &builder, onnx::ReshapeOp op,
                                          Value data, Value shape) {
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
      return unsupported(op, "the rank of the result must be known at compile time");
    FailureOr<SmallVector<OpFoldResult>> sizes =
        getSizes(rewriter, loc, lowering, op.getResult());
    if (failed(sizes))
      sizes = getReshapeSizes(rewriter, op, adaptor.getData(), adaptor.getShape());
    MLIRContext *context = op.getContext();
    if (onnx::getProduct(context, *from) != onnx::getProduct(context, *to))
      checkCount(rewriter, op, adaptor.getData(), *sizes);
    rewriter.replaceOp(op, createReshape(rewriter, loc, adaptor.getData(), *from,
                                         *to, *sizes));
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
      return this->unsupported(op,
                               "the rank of the result must be known at compile time");
    FailureOr<SmallVector<OpFoldResult>> sizes =
        getSizes(rewriter, loc, this->lowering, result);
    if (failed(sizes))
      return this->unsupported(op, "axes must be known at compile time");
    rewriter.replaceOp(op, createReshape(rewriter, loc, adaptor.getOperands()[0],
                                         *from, *to, *sizes));
    return success();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgShapePatterns(const LoweringContext &lowering,
                                                 RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<LowerShape, LowerSize, LowerReshape, LowerView<onnx::FlattenOp>,
               LowerView<onnx::SqueezeOp>, LowerView<onnx::UnsqueezeOp>>(lowering,
                                                                         context);
}
