//===- ShapeMaking.cpp - lower ops that make or mask tensors --------------===//

#include "Gather.h"
#include "Generate.h"
#include "ReshapeUtils.h"
#include "ShapeScalars.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

struct LowerConstantOfShape : OnnxLowering<onnx::ConstantOfShapeOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ConstantOfShapeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type =
        dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getType()));
    if (!type)
      return unsupported(
          op, "the rank of the result must be known at compile time");
    Value fill = getFill(rewriter, op, type.getElementType());
    if (!fill)
      return unsupported(op, "value of an unknown kind");
    if (isSmallIntegers(op.getType())) {
      SmallVector<Value> elements(type.getNumElements(), fill);
      rewriter.replaceOp(op, createFromElements(rewriter, loc, type, elements));
      return success();
    }
    FailureOr<SmallVector<OpFoldResult>> sizes =
        getSizes(rewriter, loc, lowering, op.getResult());
    if (failed(sizes)) {
      IndexBuilder b(rewriter, loc);
      sizes = SmallVector<OpFoldResult>();
      for (Value size : getIndexElements(rewriter, loc, adaptor.getInput())) {
        createCheck(rewriter, op,
                    b.compare(arith::CmpIPredicate::sge, size, b.constant(0)),
                    "a size is negative");
        sizes->push_back(getAsOpFoldResult(size));
      }
    }
    replaceWithCast(rewriter, op, createFilled(rewriter, loc, *sizes, fill));
    return success();
  }

private:
  static Value getFill(OpBuilder &builder, onnx::ConstantOfShapeOp op,
                       Type type) {
    Location loc = op.getLoc();
    if (!op.getValue())
      return createScalarConstant(builder, loc, 0, type);
    auto dense = dyn_cast<DenseElementsAttr>(*op.getValue());
    if (!dense)
      return {};
    if (auto floats = dyn_cast<DenseFPElementsAttr>(dense))
      return arith::ConstantOp::create(
          builder, loc, FloatAttr::get(type, *floats.value_begin<APFloat>()));
    if (!isa<IntegerType>(dense.getElementType()))
      return {};
    APInt value = *dense.value_begin<APInt>();
    return arith::ConstantOp::create(
        builder, loc,
        IntegerAttr::get(type,
                         value.zextOrTrunc(type.getIntOrFloatBitWidth())));
  }
};

struct LowerRange : OnnxLowering<onnx::RangeOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::RangeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type type = getElementTypeOrSelf(adaptor.getStart().getType());
    Value start = getOnlyElement(rewriter, loc, adaptor.getStart());
    Value limit = getOnlyElement(rewriter, loc, adaptor.getLimit());
    Value delta = getOnlyElement(rewriter, loc, adaptor.getDelta());
    FailureOr<SmallVector<OpFoldResult>> sizes =
        getSizes(rewriter, loc, lowering, op.getResult());
    if (failed(sizes))
      sizes = SmallVector<OpFoldResult>{
          isa<FloatType>(type)
              ? countFloats(rewriter, op, start, limit, delta)
              : countIntegers(rewriter, op, start, limit, delta)};
    Value result = createGenerated(
        rewriter, loc, *sizes, type, {},
        [&](OpBuilder &b, Location l, ArrayRef<Value> indices,
            ValueRange) -> Value {
          if (!isa<FloatType>(type)) {
            Value i = arith::IndexCastOp::create(b, l, type, indices[0]);
            Value step = arith::MulIOp::create(b, l, i, delta);
            return arith::AddIOp::create(b, l, start, step);
          }
          Value i =
              arith::IndexCastOp::create(b, l, b.getI64Type(), indices[0]);
          i = arith::SIToFPOp::create(b, l, type, i);
          Value step = arith::MulFOp::create(b, l, i, delta);
          return arith::AddFOp::create(b, l, start, step);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }

private:
  static OpFoldResult countIntegers(OpBuilder &builder, onnx::RangeOp op,
                                    Value start, Value limit, Value delta) {
    IndexBuilder b(builder, op.getLoc());
    Value step = b.fromInteger(delta), zero = b.constant(0),
          one = b.constant(1);
    createCheck(builder, op, b.compare(arith::CmpIPredicate::ne, step, zero),
                "delta is 0");
    Value distance = b.sub(b.fromInteger(limit), b.fromInteger(start));
    Value backward = b.isNegative(step);
    distance = b.max(b.select(backward, b.sub(zero, distance), distance), zero);
    step = b.max(b.select(backward, b.sub(zero, step), step), one);
    // Rounds up without overflow.
    Value count = b.div(distance, step);
    Value rest =
        b.compare(arith::CmpIPredicate::ne, b.rem(distance, step), zero);
    return getAsOpFoldResult(b.add(count, b.select(rest, one, zero)));
  }

  static OpFoldResult countFloats(OpBuilder &builder, onnx::RangeOp op,
                                  Value start, Value limit, Value delta) {
    Location loc = op.getLoc();
    Type f64 = builder.getF64Type();
    auto widen = [&](Value value) -> Value {
      return value.getType() == f64
                 ? value
                 : arith::ExtFOp::create(builder, loc, f64, value).getResult();
    };
    Value distance =
        arith::SubFOp::create(builder, loc, widen(limit), widen(start));
    Value count = math::CeilOp::create(
        builder, loc,
        arith::DivFOp::create(builder, loc, distance, widen(delta)));
    // Also false for NaN, which a zero delta gives.
    Value bound = createScalarConstant(builder, loc, 1LL << 53, f64);
    createCheck(builder, op,
                arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT,
                                      count, bound),
                "the range has no end");
    Value zero = createScalarConstant(builder, loc, 0, f64);
    count = arith::MaximumFOp::create(builder, loc, count, zero);
    count = arith::MinimumFOp::create(builder, loc, count, bound);
    Value integer =
        arith::FPToSIOp::create(builder, loc, builder.getI64Type(), count);
    return getAsOpFoldResult(IndexBuilder(builder, loc).fromInteger(integer));
  }
};

/// One where `condition` of the coordinates holds, else zero.
struct LowerEyeLike : OnnxLowering<onnx::EyeLikeOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::EyeLikeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type =
        dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getType()));
    if (!type)
      return unsupported(op, "dtype has no memory form");
    Value one = createScalarConstant(rewriter, loc, 1, type.getElementType());
    Value zero = createScalarConstant(rewriter, loc, 0, type.getElementType());
    Value result = createGenerated(
        rewriter, loc, getRuntimeSizes(rewriter, loc, adaptor.getInput()),
        type.getElementType(), {},
        [&](OpBuilder &b, Location l, ArrayRef<Value> indices,
            ValueRange) -> Value {
          IndexBuilder inside(b, l);
          Value diagonal = inside.sub(indices[1], indices[0]);
          Value hit = inside.compare(arith::CmpIPredicate::eq, diagonal,
                                     inside.constant(op.getK()));
          return arith::SelectOp::create(b, l, hit, one, zero);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }
};

struct LowerTrilu : OnnxLowering<onnx::TriluOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::TriluOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IndexBuilder outside(rewriter, loc);
    Value input = adaptor.getInput();
    auto type = cast<RankedTensorType>(input.getType());
    int64_t rank = type.getRank();
    Value k = outside.constant(0);
    if (adaptor.getK())
      k = outside.fromInteger(getOnlyElement(rewriter, loc, adaptor.getK()));
    // Beyond the size of a matrix, k changes nothing; this cannot overflow.
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, input);
    Value rows = outside.get(sizes[rank - 2]),
          columns = outside.get(sizes[rank - 1]);
    k = outside.min(outside.max(k, outside.sub(outside.constant(-1), rows)),
                    outside.add(columns, outside.constant(1)));
    Value zero = createScalarConstant(rewriter, loc, 0, type.getElementType());
    bool upper = op.getUpper() != 0;
    Value result = createGenerated(
        rewriter, loc, sizes, type.getElementType(),
        GeneratedInput{input, llvm::to_vector(llvm::seq<int64_t>(0, rank))},
        [&](OpBuilder &b, Location l, ArrayRef<Value> indices,
            ValueRange args) -> Value {
          IndexBuilder inside(b, l);
          Value diagonal = inside.sub(indices[rank - 1], indices[rank - 2]);
          Value keeps = inside.compare(upper ? arith::CmpIPredicate::sge
                                             : arith::CmpIPredicate::sle,
                                       diagonal, k);
          return arith::SelectOp::create(b, l, keeps, args[0], zero);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }
};

struct LowerReverseSequence : OnnxLowering<onnx::ReverseSequenceOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ReverseSequenceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value input = adaptor.getInput();
    int64_t batch = op.getBatchAxis(), time = op.getTimeAxis();
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, input);
    IndexBuilder outside(rewriter, loc);
    Value steps = outside.get(sizes[time]);
    checkSize(rewriter, op, adaptor.getSequenceLens(), 0, sizes[batch],
              "sequence_lens and the batch");
    checkRange(rewriter, op, adaptor.getSequenceLens(), outside.constant(0),
               outside.add(steps, outside.constant(1)),
               "an element of sequence_lens is out of range");
    Value result = createGenerated(
        rewriter, loc, sizes, getElementTypeOrSelf(input.getType()),
        GeneratedInput{adaptor.getSequenceLens(), {batch}},
        [&](OpBuilder &b, Location l, ArrayRef<Value> indices,
            ValueRange args) -> Value {
          IndexBuilder inside(b, l);
          Value length = inside.min(inside.fromInteger(args[0]), steps);
          SmallVector<Value> source(indices);
          Value reversed =
              inside.sub(inside.sub(length, inside.constant(1)), indices[time]);
          source[time] = inside.select(inside.isNegative(reversed),
                                       indices[time], reversed);
          return tensor::ExtractOp::create(b, l, input, source);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgShapeMakingPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerConstantOfShape, LowerRange, LowerEyeLike, LowerTrilu,
               LowerReverseSequence>(lowering, patterns.getContext());
}
