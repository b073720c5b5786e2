//===- Gather.cpp - lower Gather, GatherElements, GatherND and relatives --===//
//
// Indices count from the end when negative. Constant ones were checked by the
// shape function; others are checked in one pass before they are used, and
// forced into range all the same so that no read can leave the tensor.
//
//===----------------------------------------------------------------------===//

#include "Gather.h"
#include "Generate.h"
#include "ReshapeUtils.h"
#include "ShapeScalars.h"

using namespace mlir;
using namespace onnx_aot;

/// i1: low <= value < high.
static Value isWithin(OpBuilder &b, Location l, Value value, Value low,
                      Value high) {
  Type integer = b.getI64Type();
  low = arith::IndexCastOp::create(b, l, integer, low);
  high = arith::IndexCastOp::create(b, l, integer, high);
  if (auto type = dyn_cast<FloatType>(value.getType())) {
    // Sizes that matter are exact in 64 bits.
    if (type.getWidth() < 64)
      value = arith::ExtFOp::create(b, l, b.getF64Type(), value);
    low = arith::SIToFPOp::create(b, l, b.getF64Type(), low);
    high = arith::SIToFPOp::create(b, l, b.getF64Type(), high);
    Value isAbove =
        arith::CmpFOp::create(b, l, arith::CmpFPredicate::OGE, value, low);
    Value isBelow =
        arith::CmpFOp::create(b, l, arith::CmpFPredicate::OLT, value, high);
    return arith::AndIOp::create(b, l, isAbove, isBelow);
  }
  if (value.getType() != integer)
    value = arith::ExtSIOp::create(b, l, integer, value);
  // One unsigned comparison.
  return arith::CmpIOp::create(b, l, arith::CmpIPredicate::ult,
                               arith::SubIOp::create(b, l, value, low),
                               arith::SubIOp::create(b, l, high, low));
}

void onnx_aot::checkIndices(OpBuilder &builder, Operation *op, Value original,
                            Value indices, Value size) {
  if (original && onnx::getConstantIntegers(original) &&
      getConstantIntValue(size))
    return;
  IndexBuilder b(builder, op->getLoc());
  checkRange(builder, op, indices, b.sub(b.constant(0), size), size,
             "an index is out of range");
}

void onnx_aot::checkRange(OpBuilder &builder, Operation *op, Value values,
                          Value low, Value high, const Twine &message) {
  Location loc = op->getLoc();
  Value flat = createFlat(builder, loc, values);
  Value initial =
      createFilled(builder, loc, {},
                   createScalarConstant(builder, loc, 1, builder.getI8Type()));
  // One byte that is 1 while all are within the range.
  AffineMap read = builder.getMultiDimIdentityMap(1);
  AffineMap none = AffineMap::get(1, 0, builder.getContext());
  auto reduction = linalg::GenericOp::create(
      builder, loc, initial.getType(), flat, initial,
      ArrayRef<AffineMap>{read, none},
      ArrayRef<utils::IteratorType>{utils::IteratorType::reduction},
      [&](OpBuilder &b, Location l, ValueRange args) {
        Value inside = isWithin(b, l, args[0], low, high);
        Value flag = arith::ExtUIOp::create(b, l, b.getI8Type(), inside);
        linalg::YieldOp::create(
            b, l, arith::MinUIOp::create(b, l, args[1], flag).getResult());
      });
  Value flag = tensor::ExtractOp::create(builder, loc, reduction.getResult(0),
                                         ValueRange{});
  Value fine = arith::TruncIOp::create(builder, loc, builder.getI1Type(), flag);
  createCheck(builder, op, fine, message);
}

namespace {

struct LowerGather : OnnxLowering<onnx::GatherOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::GatherOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value data = adaptor.getData(), indices = adaptor.getIndices();
    auto dataType = cast<RankedTensorType>(data.getType());
    auto indexType = cast<RankedTensorType>(indices.getType());
    int64_t axis = *onnx::normalizeAxis(op.getAxis(), dataType.getRank());
    if (replaceByScalars(op, data, rewriter))
      return success();
    IndexBuilder outside(rewriter, loc);
    SmallVector<OpFoldResult> dataSizes = getRuntimeSizes(rewriter, loc, data);
    SmallVector<OpFoldResult> indexSizes =
        getRuntimeSizes(rewriter, loc, indices);
    Value size = outside.get(dataSizes[axis]);
    checkIndices(rewriter, op, op.getIndices(), indices, size);
    SmallVector<OpFoldResult> sizes(ArrayRef(dataSizes).take_front(axis));
    llvm::append_range(sizes, indexSizes);
    llvm::append_range(sizes, ArrayRef(dataSizes).drop_front(axis + 1));
    GeneratedInput input{indices, llvm::to_vector(llvm::seq<int64_t>(
                                      axis, axis + indexType.getRank()))};
    Value result = createGenerated(
        rewriter, loc, sizes, dataType.getElementType(), input,
        [&](OpBuilder &b, Location l, ArrayRef<Value> at,
            ValueRange args) -> Value {
          IndexBuilder inside(b, l);
          SmallVector<Value> source(at.take_front(axis));
          source.push_back(inside.wrapIndex(inside.fromInteger(args[0]), size));
          llvm::append_range(source, at.drop_front(axis + indexType.getRank()));
          return tensor::ExtractOp::create(b, l, data, source);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }

private:
  /// Constant elements of a shape tensor are picked as scalars.
  static bool replaceByScalars(onnx::GatherOp op, Value data,
                               ConversionPatternRewriter &rewriter) {
    std::optional<SmallVector<int64_t>> indices =
        onnx::getConstantIntegers(op.getIndices());
    auto type = cast<RankedTensorType>(data.getType());
    if (!indices || type.getRank() != 1 || !isShapeArithmetic(op))
      return false;
    SmallVector<Value> elements = getElements(rewriter, op.getLoc(), data),
                       picked;
    for (int64_t index : *indices)
      picked.push_back(elements[*onnx::normalizeAxis(index, elements.size())]);
    rewriter.replaceOp(op, createFromElements(rewriter, op.getLoc(),
                                              convertOnnxType(op.getType()),
                                              picked));
    return true;
  }
};

struct LowerGatherElements : OnnxLowering<onnx::GatherElementsOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::GatherElementsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value data = adaptor.getData(), indices = adaptor.getIndices();
    auto dataType = cast<RankedTensorType>(data.getType());
    int64_t rank = dataType.getRank();
    int64_t axis = *onnx::normalizeAxis(op.getAxis(), rank);
    IndexBuilder outside(rewriter, loc);
    SmallVector<OpFoldResult> dataSizes = getRuntimeSizes(rewriter, loc, data);
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, indices);
    Value size = outside.get(dataSizes[axis]);
    checkIndices(rewriter, op, op.getIndices(), indices, size);
    checkFits(rewriter, op, dataSizes, sizes, axis);
    Value result = createGenerated(
        rewriter, loc, sizes, dataType.getElementType(),
        GeneratedInput{indices, llvm::to_vector(llvm::seq<int64_t>(0, rank))},
        [&](OpBuilder &b, Location l, ArrayRef<Value> at,
            ValueRange args) -> Value {
          IndexBuilder inside(b, l);
          SmallVector<Value> source(at);
          source[axis] = inside.wrapIndex(inside.fromInteger(args[0]), size);
          return tensor::ExtractOp::create(b, l, data, source);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }

private:
  static void checkFits(OpBuilder &builder, Operation *op,
                        ArrayRef<OpFoldResult> dataSizes,
                        ArrayRef<OpFoldResult> sizes, int64_t axis) {
    IndexBuilder b(builder, op->getLoc());
    for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(dataSizes, sizes))) {
      auto [size, count] = pair;
      if (static_cast<int64_t>(i) != axis)
        createCheck(
            builder, op,
            b.compare(arith::CmpIPredicate::sle, b.get(count), b.get(size)),
            "indices are larger than data in dimension " + Twine(i));
    }
  }
};

struct LowerGatherND : OnnxLowering<onnx::GatherNDOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::GatherNDOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value data = adaptor.getData(), indices = adaptor.getIndices();
    auto dataType = cast<RankedTensorType>(data.getType());
    auto indexType = cast<RankedTensorType>(indices.getType());
    if (indexType.getRank() == 0 ||
        indexType.isDynamicDim(indexType.getRank() - 1))
      return unsupported(op, "the last dimension of indices must be static");
    int64_t outer = indexType.getRank() - 1, batch = op.getBatchDims();
    int64_t depth = indexType.getDimSize(outer);
    IndexBuilder outside(rewriter, loc);
    SmallVector<OpFoldResult> dataSizes = getRuntimeSizes(rewriter, loc, data);
    SmallVector<OpFoldResult> indexSizes =
        getRuntimeSizes(rewriter, loc, indices);
    SmallVector<Value> addressed;
    for (int64_t i = 0; i < depth; ++i)
      addressed.push_back(outside.get(dataSizes[batch + i]));
    for (int64_t i = 0; i < batch; ++i)
      createCheck(rewriter, op,
                  outside.compare(arith::CmpIPredicate::sle,
                                  outside.get(indexSizes[i]),
                                  outside.get(dataSizes[i])),
                  "batch dimensions of data and indices differ");
    checkAddresses(rewriter, op, indices, addressed);
    SmallVector<OpFoldResult> sizes(ArrayRef(indexSizes).take_front(outer));
    llvm::append_range(sizes, ArrayRef(dataSizes).drop_front(batch + depth));
    Value result = createGenerated(
        rewriter, loc, sizes, dataType.getElementType(), {},
        [&](OpBuilder &b, Location l, ArrayRef<Value> at, ValueRange) -> Value {
          IndexBuilder inside(b, l);
          SmallVector<Value> source(at.take_front(batch));
          SmallVector<Value> address(at.take_front(outer));
          for (auto [i, size] : llvm::enumerate(addressed)) {
            address.push_back(inside.constant(i));
            Value index = tensor::ExtractOp::create(b, l, indices, address);
            address.pop_back();
            source.push_back(inside.wrapIndex(inside.fromInteger(index), size));
          }
          llvm::append_range(source, at.drop_front(outer));
          return tensor::ExtractOp::create(b, l, data, source);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }
};

struct LowerArrayFeatureExtractor
    : OnnxLowering<onnx::ArrayFeatureExtractorOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ArrayFeatureExtractorOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value data = adaptor.getX();
    auto dataType = cast<RankedTensorType>(data.getType());
    int64_t rank = dataType.getRank();
    Value indices = createFlat(rewriter, loc, adaptor.getY());
    IndexBuilder outside(rewriter, loc);
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, data);
    Value size = outside.get(sizes.back());
    checkIndices(rewriter, op, op.getY(), indices, size);
    sizes.back() = getRuntimeSizes(rewriter, loc, indices)[0];
    // A 1-D input counts as one row.
    if (rank == 1)
      sizes.insert(sizes.begin(), rewriter.getIndexAttr(1));
    Value result = createGenerated(
        rewriter, loc, sizes, dataType.getElementType(),
        GeneratedInput{indices, {static_cast<int64_t>(sizes.size()) - 1}},
        [&](OpBuilder &b, Location l, ArrayRef<Value> at,
            ValueRange args) -> Value {
          IndexBuilder inside(b, l);
          SmallVector<Value> source(at.take_back(rank));
          source.back() = inside.wrapIndex(inside.fromInteger(args[0]), size);
          return tensor::ExtractOp::create(b, l, data, source);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }
};

} // namespace

void onnx_aot::checkAddresses(OpBuilder &builder, Operation *op, Value indices,
                              ArrayRef<Value> sizes) {
  Location loc = op->getLoc();
  SmallVector<OpFoldResult> counts = getRuntimeSizes(builder, loc, indices);
  SmallVector<OpFoldResult> offsets(counts.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(counts.size(), builder.getIndexAttr(1));
  counts.back() = builder.getIndexAttr(1);
  for (auto [i, size] : llvm::enumerate(sizes)) {
    offsets.back() = builder.getIndexAttr(i);
    Value column = tensor::ExtractSliceOp::create(builder, loc, indices,
                                                  offsets, counts, strides);
    checkIndices(builder, op, Value(), column, size);
  }
}

void onnx_aot::populateOnnxToLinalgGatherPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerGather, LowerGatherElements, LowerGatherND,
               LowerArrayFeatureExtractor>(lowering, patterns.getContext());
}
