//===- IndexedGeneric.cpp - elements computed from coordinates ------------===//

#include "IndexedGeneric.h"
#include "ScalarBuilder.h"

using namespace mlir;

namespace onnx_aot {

Value createFromIndices(OpBuilder &builder, Location loc,
                        ArrayRef<OpFoldResult> sizes, Type elementType,
                        IndexBody body) {
  int64_t rank = sizes.size();
  SmallVector<AffineMap> maps{builder.getMultiDimIdentityMap(rank)};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  Value empty = createEmpty(builder, loc, sizes, elementType);
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), ValueRange{}, empty, maps,
             iterators,
             [&](OpBuilder &b, Location l, ValueRange) {
               SmallVector<Value> indices;
               for (int64_t i = 0; i < rank; ++i)
                 indices.push_back(linalg::IndexOp::create(b, l, i));
               linalg::YieldOp::create(b, l, body(b, l, indices));
             })
      .getResult(0);
}

Value createReductionFromIndices(OpBuilder &builder, Location loc,
                                 ArrayRef<OpFoldResult> sizes,
                                 ArrayRef<OpFoldResult> reducedSizes,
                                 Value init, IndexReductionBody body) {
  int64_t rank = sizes.size(), numLoops = rank + reducedSizes.size();
  SmallVector<AffineExpr> result, reduced;
  for (int64_t i = 0; i < numLoops; ++i)
    (i < rank ? result : reduced).push_back(builder.getAffineDimExpr(i));
  SmallVector<AffineMap> maps{
      AffineMap::get(numLoops, 0, reduced, builder.getContext()),
      AffineMap::get(numLoops, 0, result, builder.getContext())};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators.append(reducedSizes.size(), utils::IteratorType::reduction);
  // A tensor without contents tells the generic the size of the reduced space.
  Value shape = createEmpty(builder, loc, reducedSizes, init.getType());
  Value filled = createFilled(builder, loc, sizes, init);
  return linalg::GenericOp::create(
             builder, loc, filled.getType(), shape, filled, maps, iterators,
             [&](OpBuilder &b, Location l, ValueRange args) {
               SmallVector<Value> indices;
               for (int64_t i = 0; i < numLoops; ++i)
                 indices.push_back(linalg::IndexOp::create(b, l, i));
               ArrayRef<Value> all(indices);
               linalg::YieldOp::create(b, l,
                                       body(b, l, all.take_front(rank),
                                            all.drop_front(rank), args[1]));
             })
      .getResult(0);
}

SmallVector<Value> createFor(OpBuilder &builder, Location loc, Value lower,
                             Value upper, ValueRange initial, ForBody body) {
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(
      builder, loc, lower, upper, one, initial,
      [&](OpBuilder &b, Location l, Value index, ValueRange carried) {
        scf::YieldOp::create(b, l, body(b, l, index, carried));
      });
  return SmallVector<Value>(loop.getResults());
}

Value clampIndex(OpBuilder &builder, Location loc, Value index, Value size) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value last = builder.createOrFold<arith::SubIOp>(loc, size, one);
  Value below = arith::MinSIOp::create(builder, loc, index, last);
  return arith::MaxSIOp::create(builder, loc, below, zero);
}

Value isInside(OpBuilder &builder, Location loc, Value index, Value size) {
  // Unsigned: a negative index is larger than any size.
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, index,
                               size);
}

SmallVector<Value> toValues(OpBuilder &builder, Location loc,
                            ArrayRef<OpFoldResult> sizes) {
  return llvm::map_to_vector(sizes, [&](OpFoldResult size) {
    return getValueOrCreateConstantIndexOp(builder, loc, size);
  });
}

Value toIndex(OpBuilder &builder, Location loc, Value number) {
  ScalarBuilder s(builder, loc, /*isUnsigned=*/false);
  Value floor = math::FloorOp::create(builder, loc, number);
  // Saturates well inside 32 bits, so that sums of a few indices do not wrap.
  Value limit = s.like(floor, 1 << 30);
  Value low = s.create<arith::MaxNumFOp>(floor, s.like(floor, -(1 << 30)));
  Value bounded = s.create<arith::MinNumFOp>(low, limit);
  Value integer = s.create<arith::FPToSIOp>(builder.getI64Type(), bounded);
  return s.create<arith::IndexCastOp>(builder.getIndexType(), integer);
}

Value toFloat(OpBuilder &builder, Location loc, Value index, Type type) {
  Value integer =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
  return arith::SIToFPOp::create(builder, loc, type, integer);
}

} // namespace onnx_aot
