//===- Scatter.cpp - lower ScatterElements, ScatterND and TensorScatter ---===//
//
// Updates are applied one after the other in row-major order: of several to one
// place the last one wins, and reductions are summed in a fixed order.
//
//===----------------------------------------------------------------------===//

#include "Gather.h"
#include "Generate.h"
#include "ScalarBuilder.h"
#include "ShapeScalars.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// The element that an update leaves behind.
Value combine(OpBuilder &builder, Location loc, StringRef reduction,
              Value current, Value update, bool isUnsigned) {
  ScalarBuilder scalars(builder, loc, isUnsigned);
  if (reduction == "none")
    return update;
  if (reduction == "add")
    return scalars.add(current, update);
  if (reduction == "mul")
    return scalars.mul(current, update);
  return reduction == "max" ? scalars.max(current, update)
                            : scalars.min(current, update);
}

/// Writes all updates; `address` gives the place of an update's coordinates.
Value scatter(OpBuilder &builder, Location loc, Value data, Value updates,
              StringRef reduction, bool isUnsigned,
              llvm::function_ref<SmallVector<Value>(OpBuilder &, Location,
                                                    ArrayRef<Value>)>
                  address) {
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, updates);
  return createLoopNest(
      builder, loc, sizes, data,
      [&](OpBuilder &b, Location l, ArrayRef<Value> indices,
          ValueRange carried) -> SmallVector<Value> {
        SmallVector<Value> place = address(b, l, indices);
        Value update = tensor::ExtractOp::create(b, l, updates, indices);
        Value current = tensor::ExtractOp::create(b, l, carried[0], place);
        Value next = combine(b, l, reduction, current, update, isUnsigned);
        return {tensor::InsertOp::create(b, l, next, carried[0], place)};
      })[0];
}

/// Known to have no elements: nothing is written, and a slice of it would lie
/// out of bounds.
bool isEmpty(Value tensor) {
  return llvm::is_contained(cast<RankedTensorType>(tensor.getType()).getShape(),
                            0);
}

struct LowerScatterElements : OnnxLowering<onnx::ScatterElementsOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ScatterElementsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value data = adaptor.getData(), indices = adaptor.getIndices();
    if (isEmpty(adaptor.getUpdates())) {
      rewriter.replaceOp(op, data);
      return success();
    }
    int64_t rank = cast<RankedTensorType>(data.getType()).getRank();
    int64_t axis = *onnx::normalizeAxis(op.getAxis(), rank);
    IndexBuilder outside(rewriter, loc);
    SmallVector<OpFoldResult> dataSizes = getRuntimeSizes(rewriter, loc, data);
    SmallVector<OpFoldResult> counts = getRuntimeSizes(rewriter, loc, indices);
    SmallVector<OpFoldResult> updateSizes =
        getRuntimeSizes(rewriter, loc, adaptor.getUpdates());
    Value size = outside.get(dataSizes[axis]);
    checkIndices(rewriter, op, op.getIndices(), indices, size);
    for (int64_t i = 0; i < rank; ++i) {
      Value count = outside.get(counts[i]);
      createCheck(rewriter, op,
                  outside.compare(arith::CmpIPredicate::eq, count,
                                  outside.get(updateSizes[i])),
                  "indices and updates differ in dimension " + Twine(i));
      if (i != axis)
        createCheck(rewriter, op,
                    outside.compare(arith::CmpIPredicate::sle, count,
                                    outside.get(dataSizes[i])),
                    "indices are larger than data in dimension " + Twine(i));
    }
    rewriter.replaceOp(
        op,
        scatter(rewriter, loc, data, adaptor.getUpdates(), op.getReduction(),
                onnx::getElementType(op.getData()).isUnsignedInteger(),
                [&](OpBuilder &b, Location l, ArrayRef<Value> at) {
                  IndexBuilder inside(b, l);
                  Value index = tensor::ExtractOp::create(b, l, indices, at);
                  SmallVector<Value> place(at);
                  place[axis] =
                      inside.wrapIndex(inside.fromInteger(index), size);
                  return place;
                }));
    return success();
  }
};

struct LowerScatterND : OnnxLowering<onnx::ScatterNDOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ScatterNDOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value data = adaptor.getData(), indices = adaptor.getIndices();
    if (isEmpty(adaptor.getUpdates())) {
      rewriter.replaceOp(op, data);
      return success();
    }
    auto indexType = cast<RankedTensorType>(indices.getType());
    int64_t outer = indexType.getRank() - 1;
    SmallVector<OpFoldResult> dataSizes = getRuntimeSizes(rewriter, loc, data);
    int64_t depth =
        outer + static_cast<int64_t>(dataSizes.size()) -
        cast<RankedTensorType>(adaptor.getUpdates().getType()).getRank();
    if (outer < 0 || depth < 1 ||
        depth > static_cast<int64_t>(dataSizes.size()))
      return unsupported(op,
                         "the rank of updates does not fit data and indices");
    IndexBuilder outside(rewriter, loc);
    checkSize(rewriter, op, indices, outer, rewriter.getIndexAttr(depth),
              "indices and the ranks of data and updates");
    SmallVector<OpFoldResult> expected =
        getRuntimeSizes(rewriter, loc, indices);
    expected.pop_back();
    llvm::append_range(expected, ArrayRef(dataSizes).drop_front(depth));
    SmallVector<OpFoldResult> updateSizes =
        getRuntimeSizes(rewriter, loc, adaptor.getUpdates());
    for (auto [want, got] : llvm::zip_equal(expected, updateSizes))
      createCheck(rewriter, op,
                  outside.compare(arith::CmpIPredicate::eq, outside.get(want),
                                  outside.get(got)),
                  "updates do not fit data and indices");
    SmallVector<Value> addressed;
    for (OpFoldResult size : ArrayRef(dataSizes).take_front(depth))
      addressed.push_back(outside.get(size));
    checkAddresses(rewriter, op, indices, addressed);
    rewriter.replaceOp(
        op,
        scatter(rewriter, loc, data, adaptor.getUpdates(), op.getReduction(),
                onnx::getElementType(op.getData()).isUnsignedInteger(),
                [&](OpBuilder &b, Location l, ArrayRef<Value> at) {
                  IndexBuilder inside(b, l);
                  SmallVector<Value> address(at.take_front(outer)), place;
                  for (auto [i, size] : llvm::enumerate(addressed)) {
                    address.push_back(inside.constant(i));
                    Value index =
                        tensor::ExtractOp::create(b, l, indices, address);
                    address.pop_back();
                    place.push_back(
                        inside.wrapIndex(inside.fromInteger(index), size));
                  }
                  llvm::append_range(place, at.drop_front(outer));
                  return place;
                }));
    return success();
  }
};

struct LowerTensorScatter : OnnxLowering<onnx::TensorScatterOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::TensorScatterOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value cache = adaptor.getPastCache(), update = adaptor.getUpdate();
    Value starts = adaptor.getWriteIndices();
    if (isEmpty(update)) {
      rewriter.replaceOp(op, cache);
      return success();
    }
    auto type = cast<RankedTensorType>(cache.getType());
    int64_t rank = type.getRank();
    int64_t axis = *onnx::normalizeAxis(op.getAxis(), rank);
    bool isCircular = op.getMode() == "circular";
    IndexBuilder outside(rewriter, loc);
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, cache);
    SmallVector<OpFoldResult> written = getRuntimeSizes(rewriter, loc, update);
    Value length = outside.get(sizes[axis]), count = outside.get(written[axis]);
    for (int64_t i = 0; i < rank; ++i)
      createCheck(rewriter, op,
                  outside.compare(i == axis ? arith::CmpIPredicate::sle
                                            : arith::CmpIPredicate::eq,
                                  outside.get(written[i]),
                                  outside.get(sizes[i])),
                  "update does not fit past_cache in dimension " + Twine(i));
    // The last place where a run may start.
    Value end = isCircular ? length
                           : outside.add(outside.sub(length, count),
                                         outside.constant(1));
    if (starts)
      checkIndices(rewriter, op, op.getWriteIndices(), starts, end);
    SmallVector<GeneratedInput> inputs{
        {cache, llvm::to_vector(llvm::seq<int64_t>(0, rank))}};
    if (starts)
      inputs.push_back({starts, {0}});
    Value result = createGenerated(
        rewriter, loc, sizes, type.getElementType(), inputs,
        [&](OpBuilder &b, Location l, ArrayRef<Value> at,
            ValueRange args) -> Value {
          IndexBuilder inside(b, l);
          Value start =
              starts ? inside.fromInteger(args[1]) : inside.constant(0);
          Value offset = inside.sub(at[axis], start);
          if (isCircular)
            offset = inside.select(inside.isNegative(offset),
                                   inside.add(offset, length), offset);
          // One unsigned comparison says 0 <= offset < count.
          Value isWritten =
              inside.compare(arith::CmpIPredicate::ult, offset, count);
          auto branch = scf::IfOp::create(
              b, l, isWritten,
              [&](OpBuilder &then, Location thenLoc) {
                SmallVector<Value> source(at);
                source[axis] = offset;
                Value element =
                    tensor::ExtractOp::create(then, thenLoc, update, source);
                scf::YieldOp::create(then, thenLoc, element);
              },
              [&](OpBuilder &otherwise, Location otherwiseLoc) {
                scf::YieldOp::create(otherwise, otherwiseLoc, args[0]);
              });
          return branch.getResult(0);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgScatterPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerScatterElements, LowerScatterND, LowerTensorScatter>(
      lowering, patterns.getContext());
}
