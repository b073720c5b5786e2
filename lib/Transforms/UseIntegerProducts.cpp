//===- UseIntegerProducts.cpp - products of quantized tensors in integers -===//

#include "ConstantData.h"
#include "LayoutRewrites.h"
#include "TransformUtils.h"

#include "onnx-aot/Dialect/Onnx/IR/Quantization.h"
#include "onnx-aot/Transforms/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

namespace onnx_aot {
#define GEN_PASS_DEF_USEINTEGERPRODUCTS
#include "onnx-aot/Transforms/Passes.h.inc"
} // namespace onnx_aot

/// A tensor of 8-bit numbers that a DequantizeLinear makes f32; null otherwise.
static DequantizeLinearOp getDequantized(Value value) {
  auto op = value.getDefiningOp<DequantizeLinearOp>();
  if (!op || op.getBlockSize() != 0 || !getElementType(op.getY()).isF32() ||
      !getElementType(op.getXScale()).isF32())
    return {};
  auto type = dyn_cast<IntegerType>(getElementType(op.getX()));
  return type && type.getWidth() == 8 && getRank(op.getX())
             ? op
             : DequantizeLinearOp();
}

static bool isSinglePoint(Value point) {
  return !point || isSingleElement(point);
}

/// One scale and zero point for the whole tensor.
static bool isPerTensor(DequantizeLinearOp op) {
  return isSingleElement(op.getXScale()) && isSinglePoint(op.getXZeroPoint());
}

/// Constant weights with one scale, or with one for each index of `axis`.
static bool areWeights(DequantizeLinearOp op, int64_t axis) {
  if (!op || !op.getX().getDefiningOp<ConstantOp>())
    return false;
  if (isPerTensor(op))
    return true;
  int64_t rank = *getRank(op.getX());
  FailureOr<int64_t> own = normalizeAxis(op.getAxis(), rank);
  return succeeded(own) && *own == axis && getRank(op.getXScale()) == 1 &&
         (!op.getXZeroPoint() || getRank(op.getXZeroPoint()) == 1);
}

/// Whether sums over so many products run in pairs; others are slow in
/// integers.
static bool isEven(Value weights, int64_t axis) {
  auto type = dyn_cast<RankedTensorType>(weights.getType());
  return type && !type.isDynamicDim(axis) && type.getDimSize(axis) > 0 &&
         type.getDimSize(axis) % 2 == 0;
}

namespace {

// Pattern: MatMul(Dequantize(a), Dequantize(w)) -> Cast(MatMulInteger(a, w)) *
// s
struct UseMatMulInteger : OpRewritePattern<MatMulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatMulOp op,
                                PatternRewriter &rewriter) const override {
    DequantizeLinearOp a = getDequantized(op.getA()),
                       w = getDequantized(op.getB());
    if (!a || !w || !isPerTensor(a) || *getRank(a.getX()) < 2 ||
        *getRank(w.getX()) != 2 || !areWeights(w, 1) || !isEven(w.getX(), 0))
      return failure();
    Location loc = op.getLoc();
    Value sum =
        createInferred<MatMulIntegerOp>(rewriter, loc, a.getX(), w.getX(),
                                        a.getXZeroPoint(), w.getXZeroPoint());
    rewriter.replaceOp(op, createScaledSum(rewriter, loc, sum, a.getXScale(),
                                           w.getXScale(), *getRank(sum) - 1));
    return success();
  }
};

// Pattern: Gemm(Dequantize(a), Dequantize(w), c)
//          -> Cast(MatMulInteger(a, w)) * s + c
struct UseGemmInteger : OpRewritePattern<GemmOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GemmOp op,
                                PatternRewriter &rewriter) const override {
    DequantizeLinearOp a = getDequantized(op.getA()),
                       w = getDequantized(op.getB());
    bool isTurned = op.getTransB() != 0;
    if (!a || !w || op.getTransA() || !op.getAlpha().isExactlyValue(1) ||
        (op.getC() && !op.getBeta().isExactlyValue(1)) || !isPerTensor(a) ||
        *getRank(a.getX()) != 2 || *getRank(w.getX()) != 2 ||
        !areWeights(w, isTurned ? 0 : 1) || !isEven(w.getX(), isTurned ? 1 : 0))
      return failure();
    Location loc = op.getLoc();
    Value numbers = w.getX();
    if (isTurned)
      numbers = createTranspose(rewriter, loc, numbers, {1, 0});
    Value sum = createInferred<MatMulIntegerOp>(
        rewriter, loc, a.getX(), numbers, a.getXZeroPoint(), w.getXZeroPoint());
    Value real =
        createScaledSum(rewriter, loc, sum, a.getXScale(), w.getXScale(), 1);
    if (op.getC())
      real = createInferred<AddOp>(rewriter, loc, real, op.getC());
    rewriter.replaceOp(op, real);
    return success();
  }
};

// Pattern: Conv(Dequantize(x), Dequantize(w), b) -> Cast(ConvInteger(x, w)) * s
// + b
struct UseConvInteger : OpRewritePattern<ConvOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvOp op,
                                PatternRewriter &rewriter) const override {
    DequantizeLinearOp x = getDequantized(op.getX()),
                       w = getDequantized(op.getW());
    if (!x || !w || op.getChannelsLast() || !isPerTensor(x) ||
        *getRank(w.getX()) < 3 || !areWeights(w, 0) || !isEven(w.getX(), 1))
      return failure();
    Location loc = op.getLoc();
    Value sum = createInferred<ConvIntegerOp>(
        rewriter, loc, x.getX(), w.getX(), x.getXZeroPoint(), w.getXZeroPoint(),
        op.getAutoPadAttr(), op.getDilationsAttr(), op.getGroupAttr(),
        op.getKernelShapeAttr(), op.getPadsAttr(), op.getStridesAttr());
    Value real =
        createScaledSum(rewriter, loc, sum, x.getXScale(), w.getXScale(), 1);
    if (op.getB()) {
      SmallVector<int64_t> shape(*getRank(w.getX()) - 1, 1);
      shape[0] = -1;
      Value bias = createInferred<ReshapeOp>(
          rewriter, loc, op.getB(), createIntegers(rewriter, loc, shape));
      real = createInferred<AddOp>(rewriter, loc, real, bias);
    }
    rewriter.replaceOp(op, real);
    return success();
  }
};

// Pattern: QLinearMatMul and QLinearConv -> their integer product and
// QuantizeLinear
template <typename OpTy>
struct DecomposeQuantized : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    // What is refused is refused where it is lowered.
    if constexpr (std::is_same_v<OpTy, QLinearMatMulOp>)
      if (!isSingleElement(op.getAScale()) || !isSingleElement(op.getYScale()))
        return failure();
    FailureOr<Value> value = decomposeQuantizedProduct(rewriter, op);
    if (failed(value))
      return failure();
    rewriter.replaceOp(op, *value);
    return success();
  }
};

/// The numbers less their zero points as int8; null where 8 bits do not hold
/// them. A point for each index lies along `axis`.
static ElementsAttr subtractPoints(Value weights, Value points, int64_t axis) {
  std::optional<ConstantData> data = ConstantData::get(weights),
                              zero = ConstantData::get(points);
  if (!data || !zero)
    return {};
  int64_t inner = 1;
  for (int64_t size : data->getShape().drop_front(axis + 1))
    inner *= size;
  int64_t count = data->getShape()[axis];
  if (zero->size() != 1 && zero->size() != count)
    return {};
  Type i8 = IntegerType::get(weights.getContext(), 8);
  ConstantBuilder builder(RankedTensorType::get(data->getShape(), i8));
  for (int64_t i = 0; i < data->size(); ++i) {
    int64_t point = zero->getInteger(zero->size() == 1 ? 0 : i / inner % count);
    int64_t number = data->getInteger(i) - point;
    if (number < -128 || number > 127)
      return {};
    builder.setInteger(i, number);
  }
  return builder.finish();
}

/// Whether all zero points are 0: then they may be left out.
static bool areZero(Value points) {
  auto numbers = getConstantIntegers(points);
  return numbers &&
         llvm::all_of(*numbers, [](int64_t number) { return number == 0; });
}

// Pattern: MatMulInteger(a, w, p, q) -> MatMulInteger(a, w - q, p), also
// without a p of 0; the same for ConvInteger
template <typename OpTy>
struct MergeZeroPoints : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    constexpr bool isConv = std::is_same_v<OpTy, ConvIntegerOp>;
    MutableOperandRange left = getLeftPoint(op), right = getRightPoint(op);
    if (!left.empty() && areZero(left[0].get())) {
      rewriter.modifyOpInPlace(op, [&] { left.clear(); });
      return success();
    }
    std::optional<int64_t> rank = getRank(op->getOperand(1));
    if (right.empty() || !rank || *rank < 2 || (!isConv && *rank != 2))
      return failure();
    if (areZero(right[0].get())) {
      rewriter.modifyOpInPlace(op, [&] { right.clear(); });
      return success();
    }
    ElementsAttr centred =
        subtractPoints(op->getOperand(1), right[0].get(), isConv ? 0 : 1);
    if (!centred)
      return failure();
    Value weights = createConstant(rewriter, op.getLoc(), centred);
    rewriter.modifyOpInPlace(op, [&] {
      right.clear();
      op->setOperand(1, weights);
    });
    return success();
  }

private:
  static MutableOperandRange getLeftPoint(MatMulIntegerOp op) {
    return op.getAZeroPointMutable();
  }
  static MutableOperandRange getLeftPoint(ConvIntegerOp op) {
    return op.getXZeroPointMutable();
  }
  static MutableOperandRange getRightPoint(MatMulIntegerOp op) {
    return op.getBZeroPointMutable();
  }
  static MutableOperandRange getRightPoint(ConvIntegerOp op) {
    return op.getWZeroPointMutable();
  }
};

// Pattern: Gather(Dequantize(x), i) -> Dequantize(Gather(x, i)), with one scale
struct GatherNumbers : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    DequantizeLinearOp table = getDequantized(op.getData());
    if (!table || !isPerTensor(table))
      return failure();
    Value rows = createInferred<GatherOp>(rewriter, op.getLoc(), table.getX(),
                                          op.getIndices(), op.getAxisAttr());
    auto real = cast<DequantizeLinearOp>(rewriter.clone(*table));
    real.getXMutable().assign(rows);
    if (failed(inferAndSetResultTypes(real)))
      return failure();
    rewriter.replaceOp(op, real.getY());
    return success();
  }
};

/// Whether all that reads a matrix sums products along its axis `axis`.
static bool isReducedAlong(Value matrix, int64_t axis) {
  return llvm::all_of(matrix.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto turned = dyn_cast<TransposeOp>(user))
      return getRank(turned->getResult(0)) == 2 && getRank(matrix) == 2 &&
             !llvm::any_of(turned->getResult(0).getUsers(),
                           llvm::IsaPred<TransposeOp>) &&
             turned.getPermutation(2) == SmallVector<int64_t>{1, 0} &&
             isReducedAlong(turned->getResult(0), 1 - axis);
    if (use.getOperandNumber() != 1)
      return false;
    if (auto gemm = dyn_cast<GemmOp>(user))
      return axis == (gemm.getTransB() ? 1 : 0);
    return isa<MatMulOp>(user) && axis == 0;
  });
}

/// Numbers of four bits, with a scale for each block of whole words of eight of
/// them along the reduction of products.
static bool isPackable(DequantizeLinearOp op, const ConstantData &numbers,
                       const QuantizationLayout &layout) {
  constexpr int64_t kPerWord = 8;
  if (layout.kind != QuantizationLayout::Blocked ||
      numbers.getShape().size() != 2 || layout.blockSize % kPerWord != 0 ||
      numbers.getShape()[layout.axis] % layout.blockSize != 0 ||
      cast<IntegerType>(numbers.getElementType()).getWidth() != 8 ||
      !isReducedAlong(op.getY(), layout.axis))
    return false;
  int64_t least = numbers.getInteger(0), most = least;
  for (int64_t i = 1; i < numbers.size(); ++i) {
    least = std::min(least, numbers.getInteger(i));
    most = std::max(most, numbers.getInteger(i));
  }
  return most - least <= 15;
}

// Pattern: Dequantize(constants) -> a constant: what is left of them is
// multiplied as f32 in every run. It takes four times the bytes of the numbers
// at most.
struct FoldWeights : OpRewritePattern<DequantizeLinearOp> {
  FoldWeights(MLIRContext *context, bool keepBlocks)
      : OpRewritePattern(context), keepBlocks(keepBlocks) {}
  LogicalResult matchAndRewrite(DequantizeLinearOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<ConstantData> x = ConstantData::get(op.getX()),
                                scale = ConstantData::get(op.getXScale()),
                                point;
    if (op.getXZeroPoint())
      point = ConstantData::get(op.getXZeroPoint());
    auto type = dyn_cast<RankedTensorType>(op.getY().getType());
    if (!x || !scale || (op.getXZeroPoint() && !point) || !type ||
        !type.getElementType().isF32() || !scale->getElementType().isF32() ||
        !isa<IntegerType>(x->getElementType()) || x->size() == 0)
      return failure();
    FailureOr<QuantizationLayout> layout = getQuantizationLayout(
        op, op.getX(), op.getXScale(), op.getAxis(), op.getBlockSize());
    if (failed(layout) || (keepBlocks && isPackable(op, *x, *layout)))
      return failure();
    int64_t inner = 1, size = 1, block = 1;
    if (layout->kind != QuantizationLayout::PerTensor) {
      size = x->getShape()[layout->axis];
      for (int64_t other : x->getShape().drop_front(layout->axis + 1))
        inner *= other;
      if (layout->kind == QuantizationLayout::Blocked)
        block = layout->blockSize;
    }
    int64_t blocks = llvm::divideCeil(size, block);
    bool isBlocked = layout->kind == QuantizationLayout::Blocked;
    int64_t expected = layout->kind == QuantizationLayout::PerTensor ? 1
                       : isBlocked ? x->size() / size * blocks
                                   : size;
    auto fits = [&](const ConstantData &data) {
      return data.size() == expected || data.size() == 1;
    };
    if (!fits(*scale) || (point && !fits(*point)))
      return failure();
    ConstantBuilder result(
        RankedTensorType::get(x->getShape(), type.getElementType()));
    for (int64_t i = 0; i < x->size(); ++i) {
      int64_t at = i / inner % size / block, place = at;
      if (isBlocked)
        place = (i / inner / size * blocks + at) * inner + i % inner;
      auto pick = [&](const ConstantData &data) {
        return data.size() == 1 ? 0 : place;
      };
      int64_t number =
          x->getInteger(i) - (point ? point->getInteger(pick(*point)) : 0);
      // Exact in double but for the last rounding, like the product of floats.
      result.setFloat(i, static_cast<double>(static_cast<float>(number)) *
                             scale->getFloat(pick(*scale)));
    }
    rewriter.replaceOp(op,
                       createConstant(rewriter, op.getLoc(), result.finish()));
    return success();
  }

private:
  bool keepBlocks;
};

struct UseIntegerProducts
    : onnx_aot::impl::UseIntegerProductsBase<UseIntegerProducts> {
  using UseIntegerProductsBase::UseIntegerProductsBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns
        .add<UseMatMulInteger, UseGemmInteger, UseConvInteger,
             DecomposeQuantized<QLinearMatMulOp>,
             DecomposeQuantized<QLinearConvOp>, GatherNumbers,
             MergeZeroPoints<MatMulIntegerOp>, MergeZeroPoints<ConvIntegerOp>>(
            &getContext());
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
    // Only what found no integer product.
    RewritePatternSet rest(&getContext());
    rest.add<FoldWeights>(&getContext(), keepBlocks);
    (void)applyPatternsGreedily(getOperation(), std::move(rest));
    if (failed(inferAllTypes(getOperation())))
      signalPassFailure();
  }
};
} // namespace
