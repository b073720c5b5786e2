//===- Attention.cpp - lower Attention ------------------------------------===//
//
// Scores are one contraction over the head size, their softmax a chain over the
// last dimension, the result one more contraction. Heads that share keys are an
// iterator of their own, so that no key is copied.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "ConvolutionLowering.h"
#include "Gather.h"
#include "GenericBuilder.h"
#include "IndexedGeneric.h"
#include "ScalarBuilder.h"
#include "ShapeScalars.h"
#include "Softmax.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

using Compare = ScalarBuilder::Compare;

/// q, k or v, (batch, heads, sequence, size) or with the sequence before the
/// heads.
struct HeadTensor {
  Value tensor;
  bool sequenceFirst = false;

  SmallVector<AffineExpr> order(AffineExpr b, AffineExpr h, AffineExpr s,
                                AffineExpr d) const {
    if (sequenceFirst)
      return {b, s, h, d};
    return {b, h, s, d};
  }
  int64_t headDim() const { return sequenceFirst ? 2 : 1; }
  int64_t sequenceDim() const { return sequenceFirst ? 1 : 2; }
};

class AttentionBuilder {
public:
  AttentionBuilder(OpBuilder &builder, onnx::AttentionOp op)
      : builder(builder), loc(op.getLoc()), op(op) {}

  HeadTensor getHeads(Value tensor, std::optional<uint64_t> heads);
  /// The same as (batch, heads, sequence, size), with `past` before it.
  Value getPresent(HeadTensor heads, Value past);
  /// The same as (batch, heads of q, sequence, size).
  HeadTensor repeatHeads(HeadTensor heads, HeadTensor q);
  /// (batch, heads of q, sequence of q, sequence of k).
  Value multiplyKeys(HeadTensor q, HeadTensor k, Type type);
  /// Weights times v in the layout of y.
  Value multiplyValues(Value weights, HeadTensor v, bool isFlat, Type type);
  Value scale(Value scores, HeadTensor q);
  Value cap(Value scores);
  /// Adds the masks, and -inf where a key is not to be seen.
  FailureOr<Value> mask(Value scores, Value attnMask, Value lengths,
                        Value pastLength);
  /// Softmax along the last dimension; rows without any key to see are 0.
  Value softmax(Value scores);

private:
  /// attn_mask with its last dimension filled up to the number of keys.
  FailureOr<Value> extendMask(Value attnMask, OpFoldResult keys, bool isBool);

  OpBuilder &builder;
  Location loc;
  onnx::AttentionOp op;
};

HeadTensor AttentionBuilder::getHeads(Value tensor,
                                      std::optional<uint64_t> heads) {
  if (cast<RankedTensorType>(tensor.getType()).getRank() == 4)
    return {tensor, false};
  return {splitDim(builder, loc, tensor, 2, *heads), true};
}

Value AttentionBuilder::getPresent(HeadTensor heads, Value past) {
  Value tensor = heads.tensor;
  if (heads.sequenceFirst) {
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, tensor);
    std::swap(sizes[1], sizes[2]);
    Value empty = createEmpty(builder, loc, sizes,
                              getElementTypeOrSelf(tensor.getType()));
    tensor = linalg::TransposeOp::create(builder, loc, tensor, empty,
                                         ArrayRef<int64_t>{0, 2, 1, 3})
                 ->getResult(0);
  }
  if (!past)
    return tensor;
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, tensor),
                            pastSizes = getRuntimeSizes(builder, loc, past);
  SmallVector<OpFoldResult> total = sizes;
  total[2] = foldSizes(
      builder, loc, builder.getAffineDimExpr(0) + builder.getAffineDimExpr(1),
      {pastSizes[2], sizes[2]});
  SmallVector<OpFoldResult> offsets(4, builder.getIndexAttr(0)),
      strides(4, builder.getIndexAttr(1));
  Value result =
      createEmpty(builder, loc, total, getElementTypeOrSelf(tensor.getType()));
  SmallVector<OpFoldResult> ownPast = sizes;
  ownPast[2] = pastSizes[2];
  Value first = tensor::InsertSliceOp::create(builder, loc, past, result,
                                              offsets, pastSizes, strides);
  offsets[2] = pastSizes[2];
  return tensor::InsertSliceOp::create(builder, loc, tensor, first, offsets,
                                       sizes, strides);
}

HeadTensor AttentionBuilder::repeatHeads(HeadTensor heads, HeadTensor q) {
  IndexBuilder b(builder, loc);
  SmallVector<OpFoldResult> own = getRuntimeSizes(builder, loc, heads.tensor);
  Value wanted = b.get(getRuntimeSizes(builder, loc, q.tensor)[q.headDim()]);
  Value count = b.get(own[heads.headDim()]);
  Value sharing =
      b.max(b.div(wanted, b.max(count, b.constant(1))), b.constant(1));
  createCheck(
      builder, op,
      b.compare(arith::CmpIPredicate::eq, b.mul(sharing, count), wanted),
      "the heads of q are no multiple of the heads of k");
  SmallVector<OpFoldResult> sizes{own[0], getAsOpFoldResult(wanted),
                                  own[heads.sequenceDim()], own[3]};
  Value repeated = createFromIndices(
      builder, loc, sizes, getElementTypeOrSelf(heads.tensor.getType()),
      [&](OpBuilder &inner, Location l, ArrayRef<Value> at) -> Value {
        IndexBuilder i(inner, l);
        SmallVector<Value> source(at);
        source[heads.headDim()] = i.div(at[1], sharing);
        source[heads.sequenceDim()] = at[2];
        return tensor::ExtractOp::create(inner, l, heads.tensor, source);
      });
  return {repeated, false};
}

/// Heads of q for each head of k: 1 when equal.
int64_t getSharing(HeadTensor q, HeadTensor k) {
  auto qType = cast<RankedTensorType>(q.tensor.getType()),
       kType = cast<RankedTensorType>(k.tensor.getType());
  int64_t qHeads = qType.getDimSize(q.headDim()),
          kHeads = kType.getDimSize(k.headDim());
  if (ShapedType::isDynamic(qHeads) || ShapedType::isDynamic(kHeads))
    return 1;
  return qHeads / kHeads;
}

Value AttentionBuilder::multiplyKeys(HeadTensor q, HeadTensor k, Type type) {
  MLIRContext *context = builder.getContext();
  int64_t sharing = getSharing(q, k);
  SmallVector<OpFoldResult> qSizes = getRuntimeSizes(builder, loc, q.tensor),
                            kSizes = getRuntimeSizes(builder, loc, k.tensor);
  OpFoldResult queries = qSizes[q.sequenceDim()],
               keys = kSizes[k.sequenceDim()];
  SmallVector<AffineExpr> d;
  int64_t numLoops = sharing == 1 ? 5 : 6;
  for (int64_t i = 0; i < numLoops; ++i)
    d.push_back(builder.getAffineDimExpr(i));
  SmallVector<utils::IteratorType> iterators(numLoops,
                                             utils::IteratorType::parallel);
  iterators.back() = utils::IteratorType::reduction;
  auto map = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(numLoops, 0, exprs, context);
  };
  if (sharing == 1) // [b, h, q, k, d]
    return createContraction(builder, loc,
                             {{q.tensor, map(q.order(d[0], d[1], d[2], d[4]))},
                              {k.tensor, map(k.order(d[0], d[1], d[3], d[4]))}},
                             map({d[0], d[1], d[2], d[3]}), iterators,
                             {qSizes[0], qSizes[q.headDim()], queries, keys},
                             type);
  // [b, h, g, q, k, d]
  OpFoldResult heads = kSizes[k.headDim()];
  Value split = splitDim(builder, loc, q.tensor, q.headDim(),
                         *getConstantIntValue(heads));
  SmallVector<AffineExpr> qExprs{d[0], d[1], d[2], d[3], d[5]};
  if (q.sequenceFirst)
    qExprs = {d[0], d[3], d[1], d[2], d[5]};
  Value scores = createContraction(
      builder, loc,
      {{split, map(qExprs)}, {k.tensor, map(k.order(d[0], d[1], d[4], d[5]))}},
      map({d[0], d[1], d[2], d[3], d[4]}), iterators,
      {qSizes[0], heads, builder.getIndexAttr(sharing), queries, keys}, type);
  return mergeDims(builder, loc, scores, 1);
}

Value AttentionBuilder::multiplyValues(Value weights, HeadTensor v, bool isFlat,
                                       Type type) {
  MLIRContext *context = builder.getContext();
  int64_t sharing = getSharing({weights, false}, v);
  SmallVector<OpFoldResult> wSizes = getRuntimeSizes(builder, loc, weights),
                            vSizes = getRuntimeSizes(builder, loc, v.tensor);
  SmallVector<AffineExpr> d;
  int64_t numLoops = sharing == 1 ? 5 : 6;
  for (int64_t i = 0; i < numLoops; ++i)
    d.push_back(builder.getAffineDimExpr(i));
  SmallVector<utils::IteratorType> iterators(numLoops,
                                             utils::IteratorType::parallel);
  iterators.back() = utils::IteratorType::reduction;
  auto map = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(numLoops, 0, exprs, context);
  };
  Value y;
  if (sharing == 1) { // [b, h, q, d, k]
    SmallVector<AffineExpr> result{d[0], d[1], d[2], d[3]};
    SmallVector<OpFoldResult> sizes{wSizes[0], wSizes[1], wSizes[2], vSizes[3]};
    if (isFlat) {
      std::swap(result[1], result[2]);
      std::swap(sizes[1], sizes[2]);
    }
    y = createContraction(builder, loc,
                          {{weights, map({d[0], d[1], d[2], d[4]})},
                           {v.tensor, map(v.order(d[0], d[1], d[4], d[3]))}},
                          map(result), iterators, sizes, type);
  } else { // [b, h, g, q, d, k]
    OpFoldResult heads = vSizes[v.headDim()];
    Value split =
        splitDim(builder, loc, weights, 1, *getConstantIntValue(heads));
    SmallVector<AffineExpr> result{d[0], d[1], d[2], d[3], d[4]};
    OpFoldResult group = builder.getIndexAttr(sharing);
    SmallVector<OpFoldResult> sizes{wSizes[0], heads, group, wSizes[2],
                                    vSizes[3]};
    if (isFlat) {
      result = {d[0], d[3], d[1], d[2], d[4]};
      sizes = {wSizes[0], wSizes[2], heads, group, vSizes[3]};
    }
    y = createContraction(builder, loc,
                          {{split, map({d[0], d[1], d[2], d[3], d[5]})},
                           {v.tensor, map(v.order(d[0], d[1], d[5], d[4]))}},
                          map(result), iterators, sizes, type);
    y = mergeDims(builder, loc, y, isFlat ? 2 : 1);
  }
  return isFlat ? mergeDims(builder, loc, y, 2) : y;
}

Value AttentionBuilder::scale(Value scores, HeadTensor q) {
  Type type = getElementTypeOrSelf(scores.getType());
  if (op.getScale()) {
    double factor = op.getScale()->convertToDouble();
    return createMapped(builder, loc, scores, type,
                        [&](OpBuilder &b, Location l, ValueRange args) {
                          ScalarBuilder s(b, l, /*isUnsigned=*/false);
                          return s.mul(args[0], s.like(args[0], factor));
                        });
  }
  // 1 / sqrt(head size)
  OpFoldResult size = getRuntimeSizes(builder, loc, q.tensor).back();
  ScalarBuilder s(builder, loc, /*isUnsigned=*/false);
  Value factor;
  if (std::optional<int64_t> known = getConstantIntValue(size)) {
    factor = s.constant(1 / std::sqrt(double(*known)), type);
  } else {
    Type f64 = builder.getF64Type();
    Value root =
        s.create<math::SqrtOp>(toFloat(builder, loc, cast<Value>(size), f64));
    factor = convertScalar(builder, loc, s.div(s.constant(1, f64), root), type);
  }
  return createMapped(builder, loc, scores, type,
                      [&](OpBuilder &b, Location l, ValueRange args) {
                        ScalarBuilder o(b, l, /*isUnsigned=*/false);
                        return o.mul(args[0], factor);
                      });
}

Value AttentionBuilder::cap(Value scores) {
  double limit = op.getSoftcap().convertToDouble();
  if (!(limit > 0))
    return scores;
  return createMapped(builder, loc, scores,
                      getElementTypeOrSelf(scores.getType()),
                      [&](OpBuilder &b, Location l, ValueRange args) {
                        ScalarBuilder s(b, l, /*isUnsigned=*/false);
                        Value c = s.like(args[0], limit);
                        return s.mul(s.tanh(s.div(args[0], c)), c);
                      });
}

FailureOr<Value> AttentionBuilder::extendMask(Value attnMask, OpFoldResult keys,
                                              bool isBool) {
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, attnMask);
  if (sizes.back() == keys)
    return attnMask;
  Type type = getElementTypeOrSelf(attnMask.getType());
  OpFoldResult missing = foldMaxOfSizes(
      builder, loc, builder.getAffineDimExpr(0) - builder.getAffineDimExpr(1),
      builder.getAffineConstantExpr(0), {keys, sizes.back()});
  ScalarBuilder s(builder, loc, /*isUnsigned=*/false);
  Value hidden = isBool ? s.constant(0, type) : s.lowest(type);
  SmallVector<OpFoldResult> low(sizes.size(), builder.getIndexAttr(0)),
      high = low;
  high.back() = missing;
  return Value(
      tensor::PadOp::create(builder, loc, Type(), attnMask, low, high, hidden));
}

FailureOr<Value> AttentionBuilder::mask(Value scores, Value attnMask,
                                        Value lengths, Value pastLength) {
  bool isCausal = op.getIsCausal() != 0;
  if (!attnMask && !lengths && !isCausal)
    return scores;
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, scores);
  Type type = getElementTypeOrSelf(scores.getType());
  Value numQueries = getValueOrCreateConstantIndexOp(builder, loc, sizes[2]);
  SmallVector<IndexedOperand> operands{
      {scores, builder.getMultiDimIdentityMap(4)}};
  bool isBool = false;
  if (attnMask) {
    isBool = onnx::getElementType(op.getAttnMask()).isInteger(1);
    FailureOr<Value> extended = extendMask(attnMask, sizes[3], isBool);
    if (failed(extended))
      return failure();
    onnx::Shape own = *onnx::getShape(op.getAttnMask()),
                wanted = *onnx::getShape(op.getQkMatmulOutput());
    own.back() = wanted.back();
    BroadcastOperand operand =
        broadcastOperand(builder, loc, *extended, own, wanted, sizes);
    operands.push_back({operand.tensor, operand.map});
  }
  if (lengths) {
    ScalarBuilder s(builder, loc, /*isUnsigned=*/false);
    Value zero = s.constant(0, builder.getIndexType());
    Value keys = getValueOrCreateConstantIndexOp(builder, loc, sizes[3]);
    checkRange(builder, op, lengths, zero, s.add(keys, s.like(keys, 1)),
               "an element of nonpad_kv_seqlen is out of range");
    operands.push_back(
        {lengths, AffineMap::get(4, 0, builder.getAffineDimExpr(0))});
  }
  return createPointwise(
      builder, loc, operands, sizes, type,
      [&](OpBuilder &b, Location l, ValueRange args) {
        ScalarBuilder s(b, l, /*isUnsigned=*/false);
        Value score = args[0], hidden = s.lowest(type);
        if (attnMask && isBool) {
          Value isSeen =
              s.compare(Compare::NotEqual, args[1], s.like(args[1], 0));
          score = s.select(isSeen, score, hidden);
        } else if (attnMask) {
          score = s.add(score, convertScalar(b, l, args[1], type));
        }
        Value key = linalg::IndexOp::create(b, l, 3);
        if (isCausal) {
          Value query = linalg::IndexOp::create(b, l, 2);
          Value last = query;
          if (pastLength) {
            last = s.add(query, pastLength);
          } else if (lengths) { // the queries are the last of the valid keys
            Value length =
                s.create<arith::IndexCastOp>(b.getIndexType(), args.back());
            last = s.add(query, s.sub(length, numQueries));
          }
          score =
              s.select(s.compare(Compare::Greater, key, last), hidden, score);
        }
        if (lengths) {
          Value position =
              s.create<arith::IndexCastOp>(args.back().getType(), key);
          score = s.select(
              s.compare(Compare::GreaterOrEqual, position, args.back()), hidden,
              score);
        }
        return score;
      });
}

Value AttentionBuilder::softmax(Value scores) {
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, scores);
  Type type = getElementTypeOrSelf(scores.getType());
  SmallVector<bool> reduced{false, false, false, true};
  AffineMap kept = getKeptMap(builder.getContext(), reduced);
  ScalarBuilder outer(builder, loc, /*isUnsigned=*/false);
  Value maximum =
      createReduction(builder, loc, sizes, reduced, outer.lowest(type),
                      {scores}, [](OpBuilder &b, Location l, ValueRange args) {
                        ScalarBuilder s(b, l, /*isUnsigned=*/false);
                        return createRowMaximum(s, args[1], args[0]);
                      });
  Value exponentials =
      createMap(builder, loc, sizes, type, {scores, {maximum, kept}},
                [&](OpBuilder &b, Location l, ValueRange args) {
                  ScalarBuilder s(b, l, /*isUnsigned=*/false);
                  Value isHidden =
                      s.compare(Compare::Equal, args[1], s.lowest(type));
                  Value shift = s.select(isHidden, s.like(args[1], 0), args[1]);
                  return s.exp(s.sub(args[0], shift));
                });
  Value sum = createReduction(builder, loc, sizes, reduced,
                              outer.constant(0, type), {exponentials},
                              [](OpBuilder &b, Location l, ValueRange args) {
                                return createAdd(b, l, args[1], args[0]);
                              });
  return createMap(builder, loc, sizes, type, {exponentials, {sum, kept}},
                   [](OpBuilder &b, Location l, ValueRange args) {
                     ScalarBuilder s(b, l, /*isUnsigned=*/false);
                     Value zero = s.like(args[1], 0);
                     Value isEmpty = s.compare(Compare::Equal, args[1], zero);
                     return s.select(isEmpty, zero, s.div(args[0], args[1]));
                   });
}

struct LowerAttention : OnnxLowering<onnx::AttentionOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::AttentionOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    for (Value operand : op->getOperands())
      if (!onnx::getRank(operand))
        return unsupported(op, "operand of unknown rank");
    onnx::Shape qShape = *onnx::getShape(op.getQ());
    Type elementType = onnx::getElementType(op.getQ());
    if (!isa<FloatType>(elementType))
      return unsupported(op, "needs floats");
    Location loc = op.getLoc();
    bool isFlat = qShape.size() == 3;
    Type compute = getAccumulatorType(elementType);
    if (op.getSoftmaxPrecision() == 11) // double
      compute = rewriter.getF64Type();
    AttentionBuilder attention(rewriter, op);
    HeadTensor q = attention.getHeads(adaptor.getQ(), op.getQNumHeads()),
               k = attention.getHeads(adaptor.getK(), op.getKvNumHeads()),
               v = attention.getHeads(adaptor.getV(), op.getKvNumHeads());
    Value pastLength;
    if (Value past = adaptor.getPastKey())
      pastLength = getValueOrCreateConstantIndexOp(
          rewriter, loc, getRuntimeSizes(rewriter, loc, past)[2]);
    Value presentKey, presentValue;
    if (pastLength || !op.getPresentKey().use_empty()) {
      presentKey = attention.getPresent(k, adaptor.getPastKey());
      k = {presentKey, false};
    }
    if (pastLength || !op.getPresentValue().use_empty()) {
      presentValue = attention.getPresent(v, adaptor.getPastValue());
      v = {presentValue, false};
    }

    // Heads that only the run can count are repeated for the queries' heads.
    if (!areHeadsKnown(op, q, k)) {
      k = attention.repeatHeads(k, q);
      v = attention.repeatHeads(v, q);
    }
    Value scores = attention.scale(attention.multiplyKeys(q, k, compute), q);
    SmallVector<Value> stages{scores};
    stages.push_back(attention.cap(scores));
    FailureOr<Value> masked =
        attention.mask(stages.back(), adaptor.getAttnMask(),
                       adaptor.getNonpadKvSeqlen(), pastLength);
    if (failed(masked))
      return failure();
    stages.push_back(*masked);
    stages.push_back(attention.softmax(*masked));
    Value y = attention.multiplyValues(stages.back(), v, isFlat, compute);

    // Mode 0 shows the scores, then capped, masked, normalized.
    SmallVector<Value> results{y, presentKey, presentValue,
                               stages[op.getQkMatmulOutputMode()]};
    for (auto [result, original] : llvm::zip_equal(results, op->getResults())) {
      auto type = cast<RankedTensorType>(convertOnnxType(original.getType()));
      if (original.use_empty() || !result) {
        // Nothing reads it: any tensor of the type serves.
        SmallVector<OpFoldResult> sizes;
        for (int64_t size : type.getShape())
          sizes.push_back(
              rewriter.getIndexAttr(ShapedType::isDynamic(size) ? 0 : size));
        result = createEmpty(rewriter, loc, sizes, type.getElementType());
      }
      result = convertFloats(rewriter, loc, result, type.getElementType());
      result = castTensor(rewriter, loc, result, type);
    }
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  /// Whether it is known how many heads of q share one of k.
  static bool areHeadsKnown(onnx::AttentionOp op, HeadTensor q, HeadTensor k) {
    auto qType = cast<RankedTensorType>(q.tensor.getType()),
         kType = cast<RankedTensorType>(k.tensor.getType());
    if (!qType.isDynamicDim(q.headDim()) && !kType.isDynamicDim(k.headDim()))
      return true;
    onnx::Shape qShape = *onnx::getShape(op.getQ()),
                kShape = *onnx::getShape(op.getK());
    return qShape.size() == 4 && qShape[1] == kShape[1];
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgAttentionPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerAttention>(lowering, patterns.getContext());
}
