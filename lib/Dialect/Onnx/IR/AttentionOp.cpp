//===- AttentionOp.cpp - shape function of Attention ----------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;
using namespace onnx_aot::onnx;

/// q, k or v as (batch, heads, sequence, size).
static FailureOr<Shape> getHeads(AttentionOp op, Shape shape,
                                 std::optional<uint64_t> heads,
                                 StringRef name) {
  if (shape.size() == 4)
    return shape;
  if (shape.size() != 3)
    return op.emitOpError() << name << " must have rank 3 or 4";
  if (!heads || static_cast<int64_t>(*heads) < 1)
    return op.emitOpError(
        "needs positive q_num_heads and kv_num_heads for operands "
        "of rank 3");
  int64_t count = *heads;
  if (shape[2].isStatic() && shape[2].getStatic() % count != 0)
    return op.emitOpError() << name << " has size " << shape[2].getStatic()
                            << ", not a multiple of " << count << " heads";
  return Shape{shape[0], Dim::constant(op.getContext(), count), shape[1],
               shape[2].floorDiv(count)};
}

static bool contradict(Dim a, Dim b) {
  return a.isStatic() && b.isStatic() && a != b;
}

LogicalResult AttentionOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type qType = getElementType(getQ()), vType = getElementType(getV());
  std::optional<Shape> q = getShape(getQ()), k = getShape(getK()),
                       v = getShape(getV());
  if (!q || !k || !v) {
    types.push_back(UnrankedTensorType::get(qType));
    types.push_back(UnrankedTensorType::get(getElementType(getK())));
    types.push_back(UnrankedTensorType::get(vType));
    types.push_back(UnrankedTensorType::get(qType));
    return success();
  }
  if (q->size() != k->size() || q->size() != v->size())
    return emitOpError("q, k and v differ in rank");
  if (getQkMatmulOutputMode() > 3)
    return emitOpError("qk_matmul_output_mode is ")
           << static_cast<int64_t>(getQkMatmulOutputMode())
           << " (supported: 0 to 3)";
  bool isFlat = q->size() == 3;
  FailureOr<Shape> qHeads = getHeads(*this, *q, getQNumHeads(), "q"),
                   kHeads = getHeads(*this, *k, getKvNumHeads(), "k"),
                   vHeads = getHeads(*this, *v, getKvNumHeads(), "v");
  if (failed(qHeads) || failed(kHeads) || failed(vHeads))
    return failure();
  if (contradict((*qHeads)[3], (*kHeads)[3]))
    return emitOpError("q and k differ in head size");
  if (contradict((*kHeads)[1], (*vHeads)[1]) ||
      contradict((*kHeads)[2], (*vHeads)[2]))
    return emitOpError("k and v differ in heads or sequence length");
  if (contradict((*qHeads)[0], (*kHeads)[0]) ||
      contradict((*qHeads)[0], (*vHeads)[0]))
    return emitOpError("q, k and v differ in batch size");
  if ((*qHeads)[1].isStatic() && (*kHeads)[1].isStatic() &&
      ((*kHeads)[1].getStatic() < 1 ||
       (*qHeads)[1].getStatic() % (*kHeads)[1].getStatic() != 0))
    return emitOpError("has ")
           << (*qHeads)[1].getStatic() << " heads of q, not a multiple of "
           << (*kHeads)[1].getStatic() << " heads of k";
  Shape presentKey = *kHeads, presentValue = *vHeads;
  if (static_cast<bool>(getPastKey()) != static_cast<bool>(getPastValue()))
    return emitOpError("needs both past_key and past_value, or neither");
  auto append = [&](Value past, Shape &present) -> LogicalResult {
    std::optional<Shape> shape = getShape(past);
    if (!shape) {
      present[2] = Dim::unknown();
      return success();
    }
    if (shape->size() != 4 || contradict((*shape)[0], present[0]) ||
        contradict((*shape)[1], present[1]) ||
        contradict((*shape)[3], present[3]))
      return emitOpError("past of type ") << past.getType() << " does not fit";
    present[2] = (*shape)[2] + present[2];
    return success();
  };
  if (getPastKey() && (failed(append(getPastKey(), presentKey)) ||
                       failed(append(getPastValue(), presentValue))))
    return failure();
  if (Value mask = getAttnMask())
    if (std::optional<Shape> shape = getShape(mask);
        shape && (shape->size() < 2 || shape->size() > 4))
      return emitOpError("attn_mask must have rank 2 to 4");
  if (Value lengths = getNonpadKvSeqlen())
    if (std::optional<Shape> shape = getShape(lengths);
        shape && (shape->size() != 1 || contradict((*shape)[0], (*qHeads)[0])))
      return emitOpError("nonpad_kv_seqlen must have one element per batch");
  Shape y = isFlat
                ? Shape{(*q)[0], (*q)[1], (*qHeads)[1] * (*vHeads)[3]}
                : Shape{(*qHeads)[0], (*qHeads)[1], (*qHeads)[2], (*vHeads)[3]};
  types.push_back(getTensorType(y, qType));
  types.push_back(getTensorType(presentKey, getElementType(getK())));
  types.push_back(getTensorType(presentValue, vType));
  types.push_back(getTensorType(
      {(*qHeads)[0], (*qHeads)[1], (*qHeads)[2], presentKey[2]}, qType));
  return success();
}
