//===- MatMul.cpp - lower matrix products ---------------------------------===//

#include "Contraction.h"
#include "ShapeScalars.h"
#include "ZeroPoints.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// A factor of a product in numpy.matmul's sense: the tensor and which of its
/// dimensions play which part.
struct Factor {
  Value tensor;
  onnx::Shape shape;
  /// Dimensions that are batch, in the order of the result's batch dimensions.
  SmallVector<int64_t> batch;
  /// The row (of a) or column (of b) dimension; none for a vector.
  std::optional<int64_t> outer;
  int64_t inner;
  bool isUnsigned = false;
};

/// A factor that may be transposed as FusedMatMul describes.
Factor getFactor(Value tensor, onnx::Shape shape, bool isLeft,
                 bool isUnsigned = false, bool swap = false,
                 bool moveBatch = false) {
  Factor factor{tensor, shape, {}, std::nullopt, 0, isUnsigned};
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  if (order.size() == 1)
    return factor;
  if (moveBatch)
    std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (swap)
    std::swap(order.back(), order[order.size() - 2]);
  int64_t row = order[order.size() - 2], column = order.back();
  factor.outer = isLeft ? row : column;
  factor.inner = isLeft ? column : row;
  factor.batch.assign(order.begin(), order.end() - 2);
  return factor;
}

/// Builds the contraction over [batch..., m, n, k].
class ProductBuilder {
public:
  ProductBuilder(ConversionPatternRewriter &rewriter, Location loc, Factor a,
                 Factor b)
      : rewriter(rewriter), loc(loc), a(std::move(a)), b(std::move(b)) {}

  /// The sum of products; result dimensions as numpy.matmul gives them.
  Value build(const LoweringContext &lowering, Value original,
              Type accumulator) {
    onnx::Shape resultShape = *onnx::getShape(original);
    int64_t batchRank = std::max(a.batch.size(), b.batch.size());
    FailureOr<SmallVector<OpFoldResult>> sizes =
        getSizes(rewriter, loc, lowering, original);
    if (failed(sizes))
      sizes = computeSizes(batchRank);
    int64_t numParallel = sizes->size(), next = batchRank;
    int64_t m = a.outer ? next++ : -1, n = b.outer ? next++ : -1;
    int64_t k = numParallel;
    SmallVector<utils::IteratorType> iterators(numParallel,
                                               utils::IteratorType::parallel);
    iterators.push_back(utils::IteratorType::reduction);
    ArrayRef<onnx::Dim> batchShape =
        ArrayRef(resultShape).take_front(batchRank);
    ArrayRef<OpFoldResult> batchSizes = ArrayRef(*sizes).take_front(batchRank);
    SmallVector<IndexedOperand> operands{
        index(a, m, k, batchShape, batchSizes),
        index(b, n, k, batchShape, batchSizes)};
    SmallVector<AffineExpr> parallel;
    for (int64_t i = 0; i < numParallel; ++i)
      parallel.push_back(rewriter.getAffineDimExpr(i));
    AffineMap resultMap =
        AffineMap::get(numParallel + 1, 0, parallel, rewriter.getContext());
    return createContraction(rewriter, loc, operands, resultMap, iterators,
                             *sizes, accumulator);
  }

private:
  SmallVector<OpFoldResult> computeSizes(int64_t batchRank) {
    SmallVector<OpFoldResult> aSizes = getRuntimeSizes(rewriter, loc, a.tensor),
                              bSizes = getRuntimeSizes(rewriter, loc, b.tensor);
    SmallVector<OpFoldResult> sizes;
    auto batchSize = [&](const Factor &factor, ArrayRef<OpFoldResult> all,
                         int64_t i) -> OpFoldResult {
      int64_t own = i - (batchRank - static_cast<int64_t>(factor.batch.size()));
      return own < 0 ? rewriter.getIndexAttr(1) : all[factor.batch[own]];
    };
    for (int64_t i = 0; i < batchRank; ++i)
      sizes.push_back(broadcastSizes(rewriter, loc, batchSize(a, aSizes, i),
                                     batchSize(b, bSizes, i)));
    if (a.outer)
      sizes.push_back(aSizes[*a.outer]);
    if (b.outer)
      sizes.push_back(bSizes[*b.outer]);
    return sizes;
  }

  /// The factor's indexing map. A batch dimension that only at run time turns
  /// out to be broadcast is expanded first.
  IndexedOperand index(const Factor &factor, int64_t outer, int64_t inner,
                       ArrayRef<onnx::Dim> batchShape,
                       ArrayRef<OpFoldResult> batchSizes) {
    int64_t numLoops = inner + 1,
            offset = batchShape.size() - factor.batch.size();
    int64_t rank = factor.shape.size();
    SmallVector<AffineExpr> exprs(rank);
    onnx::Shape wanted = factor.shape;
    SmallVector<OpFoldResult> wantedSizes =
        getRuntimeSizes(rewriter, loc, factor.tensor);
    bool ambiguous = false;
    for (auto [i, dim] : llvm::enumerate(factor.batch)) {
      onnx::Dim own = factor.shape[dim], result = batchShape[offset + i];
      bool isUnit = own.isStatic(1) && own != result;
      exprs[dim] = isUnit ? rewriter.getAffineConstantExpr(0)
                          : rewriter.getAffineDimExpr(offset + i);
      ambiguous |= own != result && !isUnit;
      wanted[dim] = result;
      wantedSizes[dim] = batchSizes[offset + i];
    }
    if (factor.outer)
      exprs[*factor.outer] = rewriter.getAffineDimExpr(outer);
    exprs[factor.inner] = rewriter.getAffineDimExpr(inner);
    Value tensor = factor.tensor;
    if (ambiguous) {
      tensor = broadcastOperand(rewriter, loc, tensor, factor.shape, wanted,
                                wantedSizes)
                   .tensor;
      for (auto [i, dim] : llvm::enumerate(factor.batch))
        exprs[dim] = rewriter.getAffineDimExpr(offset + i);
    }
    return {tensor, AffineMap::get(numLoops, 0, exprs, rewriter.getContext()),
            factor.isUnsigned};
  }

  ConversionPatternRewriter &rewriter;
  Location loc;
  Factor a, b;
};

/// Memory type of a result, or null with an error when it has none or when an
/// operand has no known rank.
RankedTensorType getLowerableType(Operation *op, Value result) {
  for (Value operand : op->getOperands())
    if (!onnx::getRank(operand)) {
      op->emitOpError("operand of unknown rank");
      return {};
    }
  auto type =
      dyn_cast_or_null<RankedTensorType>(convertOnnxType(result.getType()));
  if (!type)
    op->emitOpError("result type ")
        << result.getType() << " has no memory form";
  return type;
}

/// Multiplies by alpha where it is not 1. Integers only by whole numbers.
FailureOr<Value> createScaled(OpBuilder &builder, Location loc, Value scalar,
                              double factor) {
  Type type = scalar.getType();
  if (factor == 1)
    return scalar;
  if (!isa<FloatType>(type) &&
      (factor != std::floor(factor) || std::abs(factor) >= 2147483648.0))
    return failure();
  return createMul(builder, loc, scalar,
                   createScalarConstant(builder, loc, factor, type));
}

//===--- Patterns ---------------------------------------------------------===//

struct LowerMatMul : OnnxLowering<onnx::MatMulOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::MatMulOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getLowerableType(op, op.getY());
    if (!type)
      return failure();
    ProductBuilder product(
        rewriter, op.getLoc(),
        getFactor(adaptor.getA(), *onnx::getShape(op.getA()), /*isLeft=*/true),
        getFactor(adaptor.getB(), *onnx::getShape(op.getB()),
                  /*isLeft=*/false));
    Value sum = product.build(lowering, op.getY(),
                              getAccumulatorType(type.getElementType()));
    Value result =
        convertFloats(rewriter, op.getLoc(), sum, type.getElementType());
    rewriter.replaceOp(op, castTensor(rewriter, op.getLoc(), result, type));
    return success();
  }
};

struct LowerFusedMatMul : OnnxLowering<onnx::FusedMatMulOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::FusedMatMulOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getLowerableType(op, op.getY());
    if (!type)
      return failure();
    if (!isa<FloatType>(type.getElementType()))
      return unsupported(op,
                         "on integers is not supported (supported: floats)");
    Location loc = op.getLoc();
    ProductBuilder product(
        rewriter, loc,
        getFactor(adaptor.getA(), *onnx::getShape(op.getA()), /*isLeft=*/true,
                  false, op.getTransA(), op.getTransBatchA()),
        getFactor(adaptor.getB(), *onnx::getShape(op.getB()), /*isLeft=*/false,
                  false, op.getTransB(), op.getTransBatchB()));
    Value sum = product.build(lowering, op.getY(),
                              getAccumulatorType(type.getElementType()));
    double alpha = op.getAlpha().convertToDouble();
    if (alpha != 1)
      sum = createMapped(rewriter, loc, sum, type.getElementType(),
                         [&](OpBuilder &b, Location l, ValueRange args) {
                           Value scaled = *createScaled(b, l, args[0], alpha);
                           return convertScalar(b, l, scaled,
                                                type.getElementType());
                         });
    Value result = convertFloats(rewriter, loc, sum, type.getElementType());
    rewriter.replaceOp(op, castTensor(rewriter, loc, result, type));
    return success();
  }
};

struct LowerGemm : OnnxLowering<onnx::GemmOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::GemmOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getLowerableType(op, op.getY());
    if (!type)
      return failure();
    Location loc = op.getLoc();
    Type elementType = type.getElementType();
    double alpha = op.getAlpha().convertToDouble(),
           beta = op.getBeta().convertToDouble();
    if (!isa<FloatType>(elementType) &&
        (alpha != std::floor(alpha) || beta != std::floor(beta)))
      return unsupported(op,
                         "alpha and beta on integers must be whole numbers");
    ProductBuilder product(rewriter, loc,
                           getFactor(adaptor.getA(), *onnx::getShape(op.getA()),
                                     /*isLeft=*/true, false, op.getTransA()),
                           getFactor(adaptor.getB(), *onnx::getShape(op.getB()),
                                     /*isLeft=*/false, false, op.getTransB()));
    Value sum =
        product.build(lowering, op.getY(), getAccumulatorType(elementType));
    // beta = 0 drops c, as BLAS does: its NaN must not reach the result.
    Value c = beta == 0 ? Value() : adaptor.getC();
    Value result = sum;
    if (c || alpha != 1)
      result = addScaled(rewriter, loc, op, sum, c, alpha, beta, elementType);
    result = convertFloats(rewriter, loc, result, elementType);
    rewriter.replaceOp(op, castTensor(rewriter, loc, result, type));
    return success();
  }

private:
  /// alpha * sum + beta * c in one pointwise generic.
  static Value addScaled(OpBuilder &builder, Location loc, onnx::GemmOp op,
                         Value sum, Value c, double alpha, double beta,
                         Type elementType) {
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, sum);
    Type accumulator = getElementTypeOrSelf(sum.getType());
    SmallVector<IndexedOperand> operands{
        {sum, builder.getMultiDimIdentityMap(2)}};
    if (c) {
      BroadcastOperand broadcast =
          broadcastOperand(builder, loc, c, *onnx::getShape(op.getC()),
                           *onnx::getShape(op.getY()), sizes);
      operands.push_back({broadcast.tensor, broadcast.map});
    }
    return createPointwise(
        builder, loc, operands, sizes, elementType,
        [&](OpBuilder &b, Location l, ValueRange args) {
          Value value = *createScaled(b, l, args[0], alpha);
          if (c) {
            Value added = convertScalar(b, l, args[1], accumulator);
            value = createAdd(b, l, value, *createScaled(b, l, added, beta));
          }
          return convertScalar(b, l, value, elementType);
        });
  }
};

struct LowerMatMulInteger : OnnxLowering<onnx::MatMulIntegerOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::MatMulIntegerOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getLowerableType(op, op.getY());
    if (!type)
      return failure();
    Location loc = op.getLoc();
    bool aUnsigned = isUnsignedTensor(op.getA()),
         bUnsigned = isUnsignedTensor(op.getB());
    onnx::Shape aShape = *onnx::getShape(op.getA()),
                bShape = *onnx::getShape(op.getB());
    Value a = adaptor.getA(), b = adaptor.getB();
    if (Value zero = adaptor.getAZeroPoint();
        zero && !isZeroConstant(op.getAZeroPoint())) {
      onnx::Shape zeroShape = *onnx::getShape(op.getAZeroPoint());
      // One zero point per row: a column beside the matrix.
      if (zeroShape.size() == 1 && !zeroShape[0].isStatic(1)) {
        zeroShape.push_back(onnx::Dim::constant(op.getContext(), 1));
        zero = makeColumn(rewriter, loc, zero);
      }
      if (!mayBroadcast(zeroShape, aShape))
        return unsupported(op, "a_zero_point does not fit a (supported: one "
                               "element, or one per row)");
      a = subtractZeroPoint(rewriter, op, a, aShape, zero, zeroShape,
                            aUnsigned);
      aUnsigned = false;
    }
    if (Value zero = adaptor.getBZeroPoint();
        zero && !isZeroConstant(op.getBZeroPoint())) {
      onnx::Shape zeroShape = *onnx::getShape(op.getBZeroPoint());
      if (!mayBroadcast(zeroShape, bShape))
        return unsupported(op, "b_zero_point does not fit b");
      b = subtractZeroPoint(rewriter, op, b, bShape, zero, zeroShape,
                            bUnsigned);
      bUnsigned = false;
    }
    ProductBuilder product(rewriter, loc,
                           getFactor(a, aShape, /*isLeft=*/true, aUnsigned),
                           getFactor(b, bShape, /*isLeft=*/false, bUnsigned));
    Value sum = product.build(lowering, op.getY(), rewriter.getI32Type());
    rewriter.replaceOp(op, castTensor(rewriter, loc, sum, type));
    return success();
  }

private:
  static Value makeColumn(OpBuilder &builder, Location loc, Value list) {
    auto type = cast<RankedTensorType>(list.getType());
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, list);
    sizes.push_back(builder.getIndexAttr(1));
    return tensor::ExpandShapeOp::create(
        builder, loc,
        RankedTensorType::get({type.getDimSize(0), 1}, type.getElementType()),
        list, SmallVector<ReassociationIndices>{{0, 1}}, sizes);
  }

  /// Whether a zero point may fit a tensor without making it larger.
  static bool mayBroadcast(ArrayRef<onnx::Dim> zero,
                           ArrayRef<onnx::Dim> tensor) {
    if (zero.size() > tensor.size())
      return false;
    return llvm::all_of(llvm::zip_equal(zero, tensor.take_back(zero.size())),
                        [](auto pair) {
                          auto [own, other] = pair;
                          return own == other || !own.isStatic() ||
                                 own.isStatic(1) || !other.isStatic();
                        });
  }

  /// tensor - zero in 16 bits, exact for 8-bit operands. The zero point
  /// broadcasts; where only the run knows its sizes, the run checks them.
  static Value subtractZeroPoint(OpBuilder &builder, Operation *op,
                                 Value tensor, const onnx::Shape &shape,
                                 Value zero, const onnx::Shape &zeroShape,
                                 bool isUnsigned) {
    Location loc = op->getLoc();
    int64_t rank = shape.size(), offset = rank - zeroShape.size();
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, tensor);
    IndexBuilder b(builder, loc);
    for (auto [i, size] :
         llvm::enumerate(getRuntimeSizes(builder, loc, zero))) {
      if (zeroShape[i] == shape[offset + i] || zeroShape[i].isStatic(1))
        continue;
      Value own = b.get(size);
      Value isOne = b.compare(arith::CmpIPredicate::eq, own, b.constant(1));
      Value fits =
          b.compare(arith::CmpIPredicate::eq, own, b.get(sizes[offset + i]));
      createCheck(builder, op,
                  builder.createOrFold<arith::OrIOp>(loc, isOne, fits),
                  "a zero point does not fit its operand");
    }
    BroadcastOperand operand =
        broadcastOperand(builder, loc, zero, zeroShape, shape, sizes);
    Type wide = builder.getI16Type();
    return createPointwise(
        builder, loc,
        {{tensor, builder.getMultiDimIdentityMap(rank)},
         {operand.tensor, operand.map}},
        sizes, wide, [&](OpBuilder &b, Location l, ValueRange args) -> Value {
          return arith::SubIOp::create(
              b, l, convertScalar(b, l, args[0], wide, isUnsigned),
              convertScalar(b, l, args[1], wide, isUnsigned));
        });
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgMatMulPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerMatMul, LowerFusedMatMul, LowerGemm, LowerMatMulInteger>(
      lowering, patterns.getContext());
}
