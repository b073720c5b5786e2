//===- Generate.cpp - tensors computed element by element -----------------===//

#include "Generate.h"
#include "ReshapeUtils.h"

using namespace mlir;

namespace onnx_aot {

Value createGenerated(OpBuilder &builder, Location loc,
                      ArrayRef<OpFoldResult> sizes, Type elementType,
                      ArrayRef<GeneratedInput> inputs, ElementBody body) {
  int64_t rank = sizes.size();
  SmallVector<Value> tensors;
  SmallVector<AffineMap> maps;
  for (const GeneratedInput &input : inputs) {
    SmallVector<AffineExpr> exprs;
    for (int64_t dim : input.dims)
      exprs.push_back(builder.getAffineDimExpr(dim));
    tensors.push_back(input.tensor);
    maps.push_back(AffineMap::get(rank, 0, exprs, builder.getContext()));
  }
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  Value empty = createEmpty(builder, loc, sizes, elementType);
  auto generic = linalg::GenericOp::create(
      builder, loc, empty.getType(), tensors, empty, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange args) {
        SmallVector<Value> indices;
        for (int64_t i = 0; i < rank; ++i)
          indices.push_back(linalg::IndexOp::create(b, l, i));
        linalg::YieldOp::create(b, l, body(b, l, indices, args.drop_back()));
      });
  return generic.getResult(0);
}

void replaceWithCast(ConversionPatternRewriter &rewriter, Operation *op,
                     Value result) {
  Type type = convertOnnxType(op->getResult(0).getType());
  rewriter.replaceOp(op, createCast(rewriter, op->getLoc(), result, type));
}

SmallVector<Value> createLoop(OpBuilder &builder, Location loc, Value count,
                              ValueRange initial, LoopBody body) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(
      builder, loc, zero, count, one, initial,
      [&](OpBuilder &b, Location l, Value index, ValueRange carried) {
        scf::YieldOp::create(b, l, body(b, l, index, carried));
      });
  return SmallVector<Value>(loop.getResults());
}

static SmallVector<Value> createLoopNestFrom(OpBuilder &builder, Location loc,
                                             ArrayRef<Value> sizes,
                                             SmallVectorImpl<Value> &indices,
                                             ValueRange carried,
                                             LoopNestBody body) {
  if (sizes.empty())
    return body(builder, loc, indices, carried);
  return createLoop(
      builder, loc, sizes.front(), carried,
      [&](OpBuilder &b, Location l, Value index, ValueRange values) {
        indices.push_back(index);
        SmallVector<Value> results =
            createLoopNestFrom(b, l, sizes.drop_front(), indices, values, body);
        indices.pop_back();
        return results;
      });
}

SmallVector<Value> createLoopNest(OpBuilder &builder, Location loc,
                                  ArrayRef<OpFoldResult> sizes,
                                  ValueRange initial, LoopNestBody body) {
  SmallVector<Value> values, indices;
  for (OpFoldResult size : sizes)
    values.push_back(getValueOrCreateConstantIndexOp(builder, loc, size));
  return createLoopNestFrom(builder, loc, values, indices, initial, body);
}

SmallVector<Value> createIf(
    OpBuilder &builder, Location loc, Value condition,
    llvm::function_ref<SmallVector<Value>(OpBuilder &, Location)> then,
    llvm::function_ref<SmallVector<Value>(OpBuilder &, Location)> otherwise) {
  auto branch = scf::IfOp::create(
      builder, loc, condition,
      [&](OpBuilder &b, Location l) { scf::YieldOp::create(b, l, then(b, l)); },
      [&](OpBuilder &b, Location l) {
        scf::YieldOp::create(b, l, otherwise(b, l));
      });
  return SmallVector<Value>(branch.getResults());
}

} // namespace onnx_aot
