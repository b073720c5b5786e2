//===- KernelValues.cpp - values at a point of a kernel's dimensions ------===//

#include "KernelWriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace onnx_aot::codegen;

namespace onnx_aot::gpu_kernel {

//===--- Indices ----------------------------------------------------------===//

Value KernelWriter::evaluate(AffineExpr expr, ArrayRef<Value> loops) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return loops[dim.getPosition()];
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return constant(number.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = evaluate(binary.getLHS(), loops);
  Value rhs = evaluate(binary.getRHS(), loops);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return add(lhs, rhs);
  case AffineExprKind::Mul:
    return mul(lhs, rhs);
  case AffineExprKind::Mod:
    return rem(lhs, rhs);
  case AffineExprKind::FloorDiv:
    return div(lhs, rhs);
  default:
    return ceilDiv(lhs, cast<AffineConstantExpr>(binary.getRHS()).getValue());
  }
}

SmallVector<Value> KernelWriter::getIndices(AffineMap map, linalg::GenericOp op,
                                            const Point &point) {
  SmallVector<Value> loops, indices;
  for (unsigned dim : kernel.getDomain().getLoopDims(op))
    loops.push_back(point[dim]);
  for (AffineExpr expr : map.getResults())
    indices.push_back(evaluate(expr, loops));
  return indices;
}

//===--- Bodies -----------------------------------------------------------===//

Value KernelWriter::lookup(IRMapping &mapping, Value value) {
  Value mapped = mapping.lookupOrNull(value);
  return mapped ? mapped : getScalar(value);
}

void KernelWriter::bindInputs(linalg::GenericOp op, const Point &point,
                              IRMapping &mapping,
                              function_ref<bool(OpOperand &)> wanted) {
  for (OpOperand *operand : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(operand);
    if (argument.use_empty() || !wanted(*operand))
      continue;
    if (Value element = provided.lookup(operand)) {
      mapping.map(argument, element);
      continue;
    }
    Value source = operand->get();
    if (!isa<TensorType>(source.getType())) {
      mapping.map(argument, getScalar(source));
      continue;
    }
    AffineMap use = op.getMatchingIndexingMap(operand);
    SmallVector<Value> indices = getIndices(use, op, point);
    linalg::GenericOp producer = kernel.getProducer(source);
    if (!producer) {
      mapping.map(argument, load(source, indices));
      continue;
    }
    unsigned result = cast<OpResult>(source).getResultNumber();
    AffineMap map =
        producer.getMatchingIndexingMap(producer.getDpsInitOperand(result));
    Point at = point;
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      // A constant index reads an axis of one element: any point of it will do.
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (loop && !isa<AffineConstantExpr>(use.getResult(axis)))
        at[kernel.getDomain().getLoopDims(producer)[loop.getPosition()]] =
            indices[axis];
    }
    mapping.map(argument, evaluate(producer, at)[result]);
  }
}

void KernelWriter::evaluateBody(linalg::GenericOp op, const Point &point,
                                IRMapping &mapping,
                                function_ref<bool(Operation *)> skip) {
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (skip(&inner))
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      unsigned dim = kernel.getDomain().getLoopDims(op)[index.getDim()];
      mapping.map(index.getResult(),
                  arith::IndexCastOp::create(builder, builder.getIndexType(),
                                             point[dim])
                      .getResult());
      continue;
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
      SmallVector<Value> indices;
      for (Value index : extract.getIndices())
        indices.push_back(arith::IndexCastOp::create(
            builder, builder.getI32Type(), lookup(mapping, index)));
      mapping.map(extract.getResult(), load(extract.getTensor(), indices));
      continue;
    }
    for (Value operand : inner.getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, getScalar(operand));
    builder.clone(inner, mapping);
  }
}

//===--- Pointwise ops ----------------------------------------------------===//

SmallVector<Value> KernelWriter::evaluate(linalg::GenericOp op,
                                          const Point &point) {
  SmallVector<unsigned> dims;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::parallel)
      dims.push_back(kernel.getDomain().getLoopDims(op)[loop]);
  for (Known &value : known)
    if (value.op == op && llvm::all_of(dims, [&](unsigned dim) {
          return value.point[dim] == point[dim];
        }))
      return value.values;
  assert(isPointwise(op) && "a reduction is computed before it is used");
  IRMapping mapping;
  bindInputs(op, point, mapping, [](OpOperand &) { return true; });
  evaluateBody(op, point, mapping, [](Operation *) { return false; });
  SmallVector<Value> values;
  for (Value yielded : op.getBody()->getTerminator()->getOperands())
    values.push_back(lookup(mapping, yielded));
  known.push_back({op, point, values});
  return values;
}

void KernelWriter::storeResults(const Point &point) {
  linalg::GenericOp op = kernel.getOps().back();
  SmallVector<Value> values = evaluate(op, point);
  for (auto [index, value] : llvm::enumerate(values)) {
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(index));
    store(value, kernel.getFirstOutput() + index, getIndices(map, op, point));
  }
}

//===--- Reductions -------------------------------------------------------===//

Value KernelWriter::combine(const Combiner &combiner, Value a, Value b) {
  Value operands[2] = {b, b};
  operands[combiner.accumulator] = a;
  OperationState state(builder.getLoc(), combiner.op->getName());
  state.addOperands(operands);
  state.addTypes(a.getType());
  state.addAttributes(combiner.op->getAttrs());
  return builder.create(state)->getResult(0);
}

Value KernelWriter::combineLanes(const Combiner &combiner, Value value) {
  for (int64_t distance = kWarp / 2; distance > 0; distance /= 2)
    value = combine(combiner, value, shuffle(value, distance));
  return value;
}

Value KernelWriter::getNeutral(const Combiner &combiner) {
  return arith::ConstantOp::create(builder,
                                   *arith::getNeutralElement(combiner.op));
}

Value KernelWriter::getInitial(linalg::GenericOp op, unsigned result) {
  auto fill = op.getDpsInits()[result].getDefiningOp<linalg::FillOp>();
  return getScalar(fill.getInputs()[0]);
}

SmallVector<Value> KernelWriter::step(linalg::GenericOp op, const Point &point,
                                      ValueRange carried) {
  IRMapping mapping;
  bindInputs(op, point, mapping, [](OpOperand &) { return true; });
  for (auto [init, value] : llvm::zip_equal(op.getDpsInitsMutable(), carried))
    mapping.map(op.getMatchingBlockArgument(&init), value);
  evaluateBody(op, point, mapping, [](Operation *) { return false; });
  SmallVector<Value> values;
  for (Value yielded : op.getBody()->getTerminator()->getOperands())
    values.push_back(lookup(mapping, yielded));
  return values;
}

Value KernelWriter::accumulate(linalg::GenericOp op, const Point &point,
                               Value accumulator) {
  Combiner combiner = *getCombiner(op);
  Operation *combining = combiner.op;
  Value term = combining->getOperand(1 - combiner.accumulator);
  auto product = term.getDefiningOp<arith::MulFOp>();
  bool fused = isa<arith::AddFOp>(combining) && product && term.hasOneUse() &&
               product->getBlock() == op.getBody();
  IRMapping mapping;
  bindInputs(op, point, mapping, [](OpOperand &) { return true; });
  evaluateBody(op, point, mapping, [&](Operation *inner) {
    return inner == combining || (fused && inner == product);
  });
  if (fused)
    return math::FmaOp::create(builder, lookup(mapping, product.getLhs()),
                               lookup(mapping, product.getRhs()), accumulator);
  return combine(combiner, accumulator, lookup(mapping, term));
}

} // namespace onnx_aot::gpu_kernel
