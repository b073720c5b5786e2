//===- GenericBuilder.cpp - maps and reductions as linalg.generic ---------===//

#include "GenericBuilder.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;
using namespace onnx_aot;

/// The generic that both kinds are; `iterators` tells the rank.
static Value createGeneric(OpBuilder &builder, Location loc,
                           ArrayRef<GenericInput> inputs, Value output,
                           AffineMap outputMap,
                           ArrayRef<utils::IteratorType> iterators,
                           bool readsOutput, ScalarBody body) {
  SmallVector<Value> tensors;
  SmallVector<AffineMap> maps;
  for (const GenericInput &input : inputs) {
    tensors.push_back(input.tensor);
    maps.push_back(input.map
                       ? input.map
                       : builder.getMultiDimIdentityMap(iterators.size()));
  }
  maps.push_back(outputMap);
  return linalg::GenericOp::create(
             builder, loc, output.getType(), tensors, output, maps, iterators,
             [&](OpBuilder &b, Location l, ValueRange args) {
               Value result = body(b, l, readsOutput ? args : args.drop_back());
               linalg::YieldOp::create(b, l, result);
             })
      .getResult(0);
}

Value onnx_aot::createMap(OpBuilder &builder, Location loc,
                          ArrayRef<OpFoldResult> sizes, Type elementType,
                          ArrayRef<GenericInput> inputs, ScalarBody body) {
  SmallVector<utils::IteratorType> iterators(sizes.size(),
                                             utils::IteratorType::parallel);
  return createGeneric(builder, loc, inputs,
                       createEmpty(builder, loc, sizes, elementType),
                       builder.getMultiDimIdentityMap(sizes.size()), iterators,
                       /*readsOutput=*/false, body);
}

Value onnx_aot::createReduction(OpBuilder &builder, Location loc,
                                ArrayRef<OpFoldResult> sizes,
                                ArrayRef<bool> reduced, Value init,
                                ArrayRef<GenericInput> inputs,
                                ScalarBody body) {
  SmallVector<utils::IteratorType> iterators;
  for (bool gone : reduced)
    iterators.push_back(gone ? utils::IteratorType::reduction
                             : utils::IteratorType::parallel);
  Value output = createFilled(builder, loc, getKeptSizes(sizes, reduced), init);
  return createGeneric(builder, loc, inputs, output,
                       getKeptMap(builder.getContext(), reduced), iterators,
                       /*readsOutput=*/true, body);
}

AffineMap onnx_aot::getKeptMap(MLIRContext *context, ArrayRef<bool> reduced) {
  SmallVector<AffineExpr> exprs;
  for (auto [index, gone] : llvm::enumerate(reduced))
    if (!gone)
      exprs.push_back(getAffineDimExpr(index, context));
  return AffineMap::get(reduced.size(), 0, exprs, context);
}

SmallVector<OpFoldResult> onnx_aot::getKeptSizes(ArrayRef<OpFoldResult> sizes,
                                                 ArrayRef<bool> reduced) {
  SmallVector<OpFoldResult> kept;
  for (auto [size, gone] : llvm::zip_equal(sizes, reduced))
    if (!gone)
      kept.push_back(size);
  return kept;
}

Value onnx_aot::expandReduced(OpBuilder &builder, Location loc, Value kept,
                              ArrayRef<OpFoldResult> sizes,
                              ArrayRef<bool> reduced) {
  if (llvm::none_of(reduced, [](bool gone) { return gone; }))
    return kept;
  SmallVector<OpFoldResult> expanded;
  SmallVector<int64_t> staticSizes;
  SmallVector<ReassociationIndices> groups;
  auto keptType = cast<RankedTensorType>(kept.getType());
  // Each kept dimension takes the reduced ones after it, the first also those
  // before it; a scalar has no groups at all.
  bool seenKept = false;
  for (auto [index, gone] : llvm::enumerate(reduced)) {
    expanded.push_back(gone ? builder.getIndexAttr(1) : sizes[index]);
    if (keptType.getRank() == 0)
      continue;
    if (groups.empty() || (!gone && seenKept))
      groups.emplace_back();
    groups.back().push_back(index);
    seenKept |= !gone;
  }
  int64_t next = 0;
  for (bool gone : reduced)
    staticSizes.push_back(gone ? 1 : keptType.getDimSize(next++));
  // A kept dimension is dynamic exactly where its type says so.
  for (auto [size, staticSize] : llvm::zip_equal(expanded, staticSizes))
    if (!ShapedType::isDynamic(staticSize))
      size = builder.getIndexAttr(staticSize);
  auto type = RankedTensorType::get(staticSizes, keptType.getElementType());
  return tensor::ExpandShapeOp::create(builder, loc, type, kept, groups,
                                       expanded);
}

Value onnx_aot::createReducedCount(OpBuilder &builder, Location loc,
                                   ArrayRef<OpFoldResult> sizes,
                                   ArrayRef<bool> reduced, Type type) {
  AffineExpr product = builder.getAffineConstantExpr(1);
  SmallVector<OpFoldResult> factors;
  for (auto [size, gone] : llvm::zip_equal(sizes, reduced)) {
    if (!gone)
      continue;
    product = product * builder.getAffineSymbolExpr(factors.size());
    factors.push_back(size);
  }
  OpFoldResult count = affine::makeComposedFoldedAffineApply(
      builder, loc, AffineMap::get(0, factors.size(), product), factors);
  if (std::optional<int64_t> known = getConstantIntValue(count))
    return createScalarConstant(builder, loc, *known, type);
  Value integer = arith::IndexCastOp::create(
      builder, loc, builder.getI64Type(),
      getValueOrCreateConstantIndexOp(builder, loc, count));
  if (isa<FloatType>(type))
    return arith::SIToFPOp::create(builder, loc, type, integer);
  if (integer.getType() == type)
    return integer;
  return arith::TruncIOp::create(builder, loc, type, integer);
}

Value onnx_aot::castToOnnxType(OpBuilder &builder, Location loc, Value value,
                               Type onnxType) {
  Type type = convertOnnxType(onnxType);
  if (!type || value.getType() == type)
    return value;
  return tensor::CastOp::create(builder, loc, type, value);
}
