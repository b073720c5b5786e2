//===- Attention.cpp - gradient of attention ------------------------------===//
//
// Attention is differentiated as what it consists of: two products, a softmax
// and the masks between them.
//
//===----------------------------------------------------------------------===//

#include "RuleUtils.h"
#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

namespace {

/// The parts of one Attention, all heads as dimension 1.
class AttentionParts {
public:
  AttentionParts(AttentionOp op, GradientBuilder &b) : op(op), b(b) {}

  /// (batch, sequence, heads * size) as (batch, heads, sequence, size).
  FailureOr<Value> splitHeads(Value x, std::optional<uint64_t> heads);
  /// x with what came before it along the sequence.
  Value append(Value past, Value x);
  /// a * b for each head; those of `b` serve several of `a` where they are
  /// fewer.
  Value multiply(Value a, Value b, bool transposeB);
  /// The factor of the scores.
  FailureOr<double> getScale();
  /// The scores with the masks applied, and where a key is seen at all (null:
  /// everywhere).
  std::pair<Value, Value> mask(Value scores, Value attnMask, Value lengths,
                               Value past);

private:
  /// attn_mask with its last dimension filled up to the number of keys.
  Value extendMask(Value attnMask, Value scores);
  /// 0, 1, ... as a dimension of the scores that `behind` others follow.
  Value positions(Value scores, int64_t axis);

  AttentionOp op;
  GradientBuilder &b;
};

FailureOr<Value> AttentionParts::splitHeads(Value x,
                                            std::optional<uint64_t> heads) {
  if (b.getRank(x) == 4)
    return x;
  auto type = cast<RankedTensorType>(x.getType());
  if (!heads || *heads == 0 || type.getRank() != 3 || type.isDynamicDim(2))
    return b.unsupported(op, "has no gradient where the size of a head is not "
                             "known at compile time");
  int64_t count = *heads, size = type.getDimSize(2) / count;
  Value split =
      b.reshape(x, b.concat({getSizes(b, x, 0, 2), b.integers({count, size})}));
  return b.transpose(split, {0, 2, 1, 3});
}

Value AttentionParts::append(Value past, Value x) {
  return past ? b.create<ConcatOp>(ValueRange{past, x}, 2) : x;
}

Value AttentionParts::multiply(Value left, Value right, bool transposeRight) {
  int64_t heads = cast<RankedTensorType>(left.getType()).getDimSize(1),
          shared = cast<RankedTensorType>(right.getType()).getDimSize(1);
  bool isShared = heads != shared && shared > 0 && heads > 0;
  Value shape;
  if (isShared) {
    shape = getSizes(b, left, 0, 3);
    left = b.reshape(
        left, b.concat({b.sizeOf(left, 0), b.integers({shared, heads / shared}),
                        getSizes(b, left, 2)}));
    right = b.unsqueeze(right, {2});
  }
  if (transposeRight)
    right = b.transpose(right, isShared ? ArrayRef<int64_t>{0, 1, 2, 4, 3}
                                        : ArrayRef<int64_t>{0, 1, 3, 2});
  Value product = b.create<MatMulOp>(left, right);
  if (!isShared)
    return product;
  return b.reshape(product, b.concat({shape, b.sizeOf(product, 4)}));
}

FailureOr<double> AttentionParts::getScale() {
  if (op.getScale())
    return op.getScale()->convertToFloat();
  auto type = cast<RankedTensorType>(op.getQ().getType());
  int64_t heads = type.getRank() == 3 ? op.getQNumHeads().value_or(0) : 1;
  if (type.isDynamicDim(type.getRank() - 1) || heads == 0)
    return b.unsupported(op, "has no gradient where the size of a head is not "
                             "known at compile time");
  return 1 / std::sqrt(double(type.getShape().back() / heads));
}

Value AttentionParts::extendMask(Value attnMask, Value scores) {
  int64_t rank = b.getRank(attnMask);
  Shape own = *getShape(attnMask), wanted = *getShape(scores);
  if (rank == 0 || own.back() == wanted.back() || own.back().isStatic(1))
    return attnMask;
  Value missing = b.sub(b.sizeOf(scores, 3), b.sizeOf(attnMask, rank - 1));
  Value pads =
      b.concat({b.integers(SmallVector<int64_t>(2 * rank - 1, 0)), missing});
  if (getElementType(attnMask).isInteger(1)) {
    Value numbers = b.cast(attnMask, b.getBuilder().getI64Type());
    return b.cast(b.create<PadOp>(numbers, pads, Value(), Value(), "constant"),
                  getElementType(attnMask));
  }
  Value hidden = b.scalar(-std::numeric_limits<double>::infinity(), attnMask);
  return b.create<PadOp>(attnMask, pads, hidden, Value(), "constant");
}

Value AttentionParts::positions(Value scores, int64_t axis) {
  Value numbers = createIota(b, b.sizeOf(scores, axis));
  return axis == 3 ? numbers : b.unsqueeze(numbers, {1});
}

std::pair<Value, Value> AttentionParts::mask(Value scores, Value attnMask,
                                             Value lengths, Value past) {
  Value seen;
  auto require = [&](Value condition) {
    seen = seen ? b.create<AndOp>(seen, condition) : condition;
  };
  const llvm::fltSemantics &semantics =
      cast<FloatType>(getElementType(scores)).getFloatSemantics();
  Value lowest = b.scalar(
      APFloat::getLargest(semantics, /*Negative=*/true).convertToDouble(),
      scores);
  if (attnMask) {
    attnMask = extendMask(attnMask, scores);
    if (getElementType(attnMask).isInteger(1)) {
      require(attnMask);
    } else {
      scores = b.add(scores, b.castLike(attnMask, scores));
      require(b.create<GreaterOp>(scores, lowest));
    }
  }
  Value key = positions(scores, 3), length;
  if (lengths)
    length =
        b.unsqueeze(b.cast(lengths, b.getBuilder().getI64Type()), {1, 2, 3});
  if (op.getIsCausal()) {
    Value last = positions(scores, 2);
    if (past)
      last = b.add(last, b.sizeOf(past, 2));
    else if (lengths) // the queries are the last of the valid keys
      last = b.add(last, b.sub(length, b.sizeOf(scores, 2)));
    require(b.create<LessOrEqualOp>(key, last));
  }
  if (lengths)
    require(b.create<LessOp>(key, length));
  if (seen)
    scores = b.where(seen, scores, lowest);
  return {scores, seen};
}

} // namespace

/// y = softmax(scale * q * k' + mask) * v
static LogicalResult gradAttention(AttentionOp op, GradientBuilder &b) {
  AttentionParts parts(op, b);
  // Optional operands have segments: null where one is left out.
  SmallVector<Value> operands{op.getQ(),
                              op.getK(),
                              op.getV(),
                              op.getAttnMask(),
                              op.getPastKey(),
                              op.getPastValue(),
                              op.getNonpadKvSeqlen()};
  auto decompose = [&](ArrayRef<Value> in) -> FailureOr<SmallVector<Value>> {
    FailureOr<Value> q = parts.splitHeads(in[0], op.getQNumHeads()),
                     k = parts.splitHeads(in[1], op.getKvNumHeads()),
                     v = parts.splitHeads(in[2], op.getKvNumHeads());
    FailureOr<double> scale = parts.getScale();
    if (failed(q) || failed(k) || failed(v) || failed(scale))
      return failure();
    Value keys = parts.append(in[4], *k), values = parts.append(in[5], *v);
    Value scores = b.mul(parts.multiply(*q, keys, true), *scale);
    SmallVector<Value> stages{scores};
    if (double cap = op.getSoftcap().convertToFloat(); cap > 0)
      scores = b.mul(b.create<TanhOp>(b.mul(scores, 1 / cap)), cap);
    stages.push_back(scores);
    auto [masked, seen] = parts.mask(scores, in[3], in[6], in[4]);
    stages.push_back(masked);
    Value weights = b.create<SoftmaxOp>(masked, -1);
    if (seen) // rows without any key to see are 0
      weights = b.select(seen, weights);
    stages.push_back(weights);
    Value y = parts.multiply(weights, values, false);
    if (b.getRank(op.getY()) == 3)
      y = b.reshapeLike(b.transpose(y, {0, 2, 1, 3}), op.getY());
    uint64_t mode = op.getQkMatmulOutputMode();
    return SmallVector<Value>{y, keys, values,
                              mode < stages.size() ? stages[mode] : Value()};
  };
  return differentiateAs(op, b, operands, decompose);
}

void onnx_aot::populateAttentionGradientRules(MLIRContext *context) {
  attachRule<AttentionOp, gradAttention>(context);
}
