//===- ControlFlow.cpp - lower If, Loop and Scan --------------------------===//
//
// A body moves into an scf.execute_region inside of the scf loop; what is
// around it (conditions, slices, scan outputs) is written in terms of its
// results.
//
//===----------------------------------------------------------------------===//

#include "Generate.h"
#include "ReshapeUtils.h"
#include "ShapeScalars.h"

#include "onnx-aot/Dialect/Onnx/IR/ControlFlow.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// Ends a body that was moved: its outputs under the types of the op around it.
struct LowerYield : OnnxLowering<onnx::YieldOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::YieldOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Operation *parent = op->getParentOp();
    if (!isa<scf::IfOp, scf::ExecuteRegionOp>(parent))
      return failure();
    SmallVector<Value> results;
    for (auto [value, type] :
         llvm::zip_equal(adaptor.getOutputs(), parent->getResultTypes()))
      results.push_back(createCast(rewriter, op.getLoc(), value, type));
    rewriter.replaceOpWithNewOp<scf::YieldOp>(op, results);
    return success();
  }
};

/// The converted types of values; fails where one has no memory form.
FailureOr<SmallVector<Type>> convertTypes(TypeRange types) {
  SmallVector<Type> converted;
  for (Type type : types) {
    Type memoryType = convertOnnxType(type);
    if (!isa_and_nonnull<RankedTensorType>(memoryType))
      return failure();
    converted.push_back(memoryType);
  }
  return converted;
}

constexpr StringLiteral kRankNeeded =
    "values of its graphs must be tensors of a rank known at compile time";

/// i1 from a bool tensor of one element.
Value getCondition(OpBuilder &builder, Location loc, Value tensor) {
  Value byte = getOnlyElement(builder, loc, tensor);
  return arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ne, byte,
      createScalarConstant(builder, loc, 0, byte.getType()));
}

struct LowerIf : OnnxLowering<onnx::IfOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::IfOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<SmallVector<Type>> types = convertTypes(op.getResultTypes());
    if (failed(types))
      return unsupported(op, kRankNeeded);
    Location loc = op.getLoc();
    Value condition = getCondition(rewriter, loc, adaptor.getCond());
    auto branch =
        scf::IfOp::create(rewriter, loc, *types, condition,
                          /*addThenBlock=*/false, /*addElseBlock=*/false);
    rewriter.inlineRegionBefore(op.getThenBranch(), branch.getThenRegion(),
                                branch.getThenRegion().end());
    rewriter.inlineRegionBefore(op.getElseBranch(), branch.getElseRegion(),
                                branch.getElseRegion().end());
    rewriter.replaceOp(op, branch.getResults());
    return success();
  }
};

/// Moves a body to the rewriter's place, its arguments being `arguments`; gives
/// the body's outputs.
FailureOr<SmallVector<Value>> moveBody(ConversionPatternRewriter &rewriter,
                                       const LoweringContext &lowering,
                                       Location loc, Region &body,
                                       ArrayRef<Type> types,
                                       ArrayRef<Value> arguments) {
  auto region = scf::ExecuteRegionOp::create(rewriter, loc, types);
  OpBuilder::InsertionGuard guard(rewriter);
  FailureOr<Block *> converted =
      rewriter.convertRegionTypes(&body, *lowering.typeConverter);
  if (failed(converted))
    return failure();
  Block *block = rewriter.createBlock(&region.getRegion());
  rewriter.inlineBlockBefore(*converted, block, block->end(), arguments);
  return SmallVector<Value>(region.getResults());
}

/// The next value of a carried tensor. Where its size does not change it is
/// written over the last one, so that all iterations share one buffer.
Value carryOn(OpBuilder &builder, Location loc, Value next, Value carried) {
  auto type = cast<RankedTensorType>(carried.getType());
  next = createCast(builder, loc, next, type);
  if (!type.hasStaticShape())
    return next;
  return overwrite(builder, loc, next, carried);
}

/// A buffer in which the values of all iterations are collected.
struct ScanOutput {
  /// Where the new dimension is.
  int64_t axis = 0;
  bool isReversed = false;
  /// Type of one iteration's value.
  RankedTensorType type;
  /// The first value tells the sizes: until then the buffer has no elements.
  bool isLate = false;
};

/// Stores one iteration's value.
Value insertIteration(OpBuilder &builder, Location loc, Value buffer,
                      Value value, int64_t axis, Value position) {
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, value);
  sizes.insert(sizes.begin() + axis, builder.getIndexAttr(1));
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), builder.getIndexAttr(1));
  offsets[axis] = position;
  return tensor::InsertSliceOp::create(builder, loc, value, buffer, offsets,
                                       sizes, strides);
}

/// The slice of a scan input that one iteration sees.
Value extractIteration(OpBuilder &builder, Location loc, Value tensor,
                       int64_t axis, Value position, Type type) {
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, tensor);
  sizes[axis] = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), builder.getIndexAttr(1));
  offsets[axis] = position;
  SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(sizes))
    if (static_cast<int64_t>(i) != axis)
      shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  auto sliceType =
      RankedTensorType::get(shape, getElementTypeOrSelf(tensor.getType()));
  Value slice = tensor::ExtractSliceOp::create(builder, loc, sliceType, tensor,
                                               offsets, sizes, strides);
  return createCast(builder, loc, slice, type);
}

/// The buffer for `length` values of a body's output; without elements where
/// its other sizes are not known before the loop runs, or where `isLate` says
/// so. `none` is 0.
Value createScanBuffer(ConversionPatternRewriter &rewriter, Location loc,
                       const LoweringContext &lowering, Value result,
                       ScanOutput &output, Value length, Value none) {
  onnx::Shape shape = *onnx::getShape(result);
  SmallVector<OpFoldResult> sizes;
  for (auto [i, dim] : llvm::enumerate(shape)) {
    if (static_cast<int64_t>(i) == output.axis) {
      sizes.push_back(getAsOpFoldResult(length));
      continue;
    }
    FailureOr<OpFoldResult> size =
        getSize(rewriter, loc, lowering, dim, result);
    output.isLate |= failed(size);
    sizes.push_back(succeeded(size) ? *size : getAsOpFoldResult(none));
  }
  if (output.isLate)
    sizes[output.axis] = getAsOpFoldResult(none);
  Value buffer =
      createEmpty(rewriter, loc, sizes, output.type.getElementType());
  if (!output.isLate)
    return buffer;
  SmallVector<int64_t> dynamic;
  for (auto [i, size] : llvm::enumerate(output.type.getShape()))
    dynamic.push_back(size);
  dynamic.insert(dynamic.begin() + output.axis, ShapedType::kDynamic);
  return createCast(
      rewriter, loc, buffer,
      RankedTensorType::get(dynamic, output.type.getElementType()));
}

/// The buffer of a late scan output with room at `count`, the number of values
/// that it holds: a larger one of `capacity` values when it is full.
Value makeRoom(OpBuilder &builder, Operation *op, const ScanOutput &output,
               Value buffer, Value value, Value count, Value capacity) {
  Location loc = op->getLoc();
  IndexBuilder b(builder, loc);
  SmallVector<OpFoldResult> own = getRuntimeSizes(builder, loc, buffer);
  SmallVector<OpFoldResult> wanted = getRuntimeSizes(builder, loc, value);
  wanted.insert(wanted.begin() + output.axis, getAsOpFoldResult(capacity));
  Value isFirst = b.compare(arith::CmpIPredicate::eq, count, b.constant(0));
  for (auto [dim, pair] : llvm::enumerate(llvm::zip_equal(own, wanted))) {
    if (static_cast<int64_t>(dim) == output.axis)
      continue;
    Value isSame = b.compare(arith::CmpIPredicate::eq, b.get(std::get<0>(pair)),
                             b.get(std::get<1>(pair)));
    createCheck(builder, op,
                builder.createOrFold<arith::OrIOp>(loc, isFirst, isSame),
                "a scan output changes its shape");
  }
  Value isFull =
      b.compare(arith::CmpIPredicate::sge, count, b.get(own[output.axis]));
  return createIf(
      builder, loc, isFull,
      [&](OpBuilder &inner, Location l) -> SmallVector<Value> {
        Value larger = createEmpty(inner, l, wanted,
                                   getElementTypeOrSelf(buffer.getType()));
        SmallVector<OpFoldResult> offsets(own.size(), inner.getIndexAttr(0));
        SmallVector<OpFoldResult> strides(own.size(), inner.getIndexAttr(1));
        larger = tensor::InsertSliceOp::create(inner, l, buffer, larger,
                                               offsets, own, strides);
        return {createCast(inner, l, larger, buffer.getType())};
      },
      [&](OpBuilder &, Location) -> SmallVector<Value> { return {buffer}; })[0];
}

//===--- Scan -------------------------------------------------------------===//

struct LowerScan : OnnxLowering<onnx::ScanOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ScanOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Block &body = op.getBody().front();
    FailureOr<SmallVector<Type>> argumentTypes =
        convertTypes(body.getArgumentTypes());
    FailureOr<SmallVector<Type>> yieldTypes =
        convertTypes(body.back().getOperandTypes());
    FailureOr<SmallVector<Type>> resultTypes =
        convertTypes(op.getResultTypes());
    if (failed(argumentTypes) || failed(yieldTypes) || failed(resultTypes))
      return unsupported(op, kRankNeeded);
    ValueRange inputs = adaptor.getOperands();
    int64_t numScanned = op.getNumScanInputs();
    int64_t numCarried = inputs.size() - numScanned;
    ValueRange scanned = inputs.drop_front(numCarried);
    SmallVector<int64_t> axes;
    for (auto [i, input] : llvm::enumerate(scanned))
      axes.push_back(*onnx::normalizeAxis(
          getEntry(op.getScanInputAxes(), i),
          cast<RankedTensorType>(input.getType()).getRank()));
    Value length = getLength(rewriter, op, scanned, axes);

    SmallVector<Value> initial;
    for (int64_t i = 0; i < numCarried; ++i)
      initial.push_back(
          createCast(rewriter, loc, inputs[i], (*argumentTypes)[i]));
    Value none = getHiddenZero(rewriter, loc, inputs);
    SmallVector<ScanOutput> outputs;
    for (int64_t i = numCarried, e = op.getNumResults(); i < e; ++i) {
      auto type = cast<RankedTensorType>((*yieldTypes)[i]);
      outputs.push_back(
          {*onnx::normalizeAxis(
               getEntry(op.getScanOutputAxes(), i - numCarried),
               type.getRank() + 1),
           getEntry(op.getScanOutputDirections(), i - numCarried) != 0, type});
      initial.push_back(createScanBuffer(rewriter, loc, lowering,
                                         op.getResult(i), outputs.back(),
                                         length, none));
    }

    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    auto loop = scf::ForOp::create(rewriter, loc, zero, length, one, initial);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(loop.getBody());
      if (!loop.getBody()->empty())
        rewriter.eraseOp(&loop.getBody()->back());
      rewriter.setInsertionPointToEnd(loop.getBody());
      IndexBuilder b(rewriter, loc);
      Value forward = loop.getInductionVar();
      Value backward = b.sub(b.sub(length, one), forward);
      SmallVector<Value> arguments(
          loop.getRegionIterArgs().take_front(numCarried));
      for (int64_t i = 0; i < numScanned; ++i) {
        bool isReversed = getEntry(op.getScanInputDirections(), i) != 0;
        arguments.push_back(extractIteration(rewriter, loc, scanned[i], axes[i],
                                             isReversed ? backward : forward,
                                             (*argumentTypes)[numCarried + i]));
      }
      FailureOr<SmallVector<Value>> moved = moveBody(
          rewriter, lowering, loc, op.getBody(), *yieldTypes, arguments);
      if (failed(moved))
        return unsupported(op, kRankNeeded);
      ValueRange results = *moved;
      SmallVector<Value> next;
      for (int64_t i = 0; i < numCarried; ++i)
        next.push_back(
            carryOn(rewriter, loc, results[i], loop.getRegionIterArgs()[i]));
      for (auto [i, output] : llvm::enumerate(outputs)) {
        Value buffer = loop.getRegionIterArgs()[numCarried + i],
              value = results[numCarried + i];
        if (output.isLate)
          buffer =
              makeRoom(rewriter, op, output, buffer, value, forward, length);
        next.push_back(insertIteration(rewriter, loc, buffer, value,
                                       output.axis,
                                       output.isReversed ? backward : forward));
      }
      scf::YieldOp::create(rewriter, loc, next);
    }
    SmallVector<Value> results;
    for (auto [result, type] : llvm::zip_equal(loop.getResults(), *resultTypes))
      results.push_back(createCast(rewriter, loc, result, type));
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  static int64_t getEntry(std::optional<ArrayRef<int64_t>> list, size_t index) {
    return list && index < list->size() ? (*list)[index] : 0;
  }

  /// 0, of which upstream's canonicalization does not know that it is: it takes
  /// the static sizes of what an scf.for starts with for those of all
  /// iterations.
  static Value getHiddenZero(OpBuilder &builder, Location loc,
                             ValueRange inputs) {
    IndexBuilder b(builder, loc);
    Value zero = b.constant(0);
    for (Value input : inputs)
      for (OpFoldResult size : getRuntimeSizes(builder, loc, input))
        if (!getConstantIntValue(size))
          return b.min(b.get(size), zero);
    return zero;
  }

  static Value getLength(OpBuilder &builder, onnx::ScanOp op,
                         ValueRange scanned, ArrayRef<int64_t> axes) {
    IndexBuilder b(builder, op.getLoc());
    Value length;
    for (auto [input, axis] : llvm::zip_equal(scanned, axes)) {
      Value size = b.get(getRuntimeSizes(builder, op.getLoc(), input)[axis]);
      if (length)
        createCheck(builder, op,
                    b.compare(arith::CmpIPredicate::eq, size, length),
                    "scan inputs have different lengths");
      else
        length = size;
    }
    return length;
  }
};

//===--- Loop -------------------------------------------------------------===//

struct LowerLoop : OnnxLowering<onnx::LoopOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::LoopOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Block &body = op.getBody().front();
    FailureOr<SmallVector<Type>> argumentTypes =
        convertTypes(TypeRange(body.getArgumentTypes()).drop_front(2));
    FailureOr<SmallVector<Type>> yieldTypes =
        convertTypes(body.back().getOperandTypes());
    FailureOr<SmallVector<Type>> resultTypes =
        convertTypes(op.getResultTypes());
    if (failed(argumentTypes) || failed(yieldTypes) || failed(resultTypes))
      return unsupported(op, kRankNeeded);
    IndexBuilder b(rewriter, loc);
    int64_t numCarried = op.getVInitial().size();
    bool isCounted = onnx::runsAllIterations(op);
    Value zero = b.constant(0), limit;
    if (adaptor.getM())
      limit = b.max(
          b.fromInteger(getOnlyElement(rewriter, loc, adaptor.getM())), zero);

    // Carried: position, condition, the body's values, scan outputs.
    Value yes = arith::ConstantIntOp::create(rewriter, loc, 1, 1);
    SmallVector<Value> initial{
        zero, adaptor.getCond() ? getCondition(rewriter, loc, adaptor.getCond())
                                : yes};
    for (auto [value, type] :
         llvm::zip_equal(adaptor.getVInitial(), *argumentTypes))
      initial.push_back(createCast(rewriter, loc, value, type));
    SmallVector<ScanOutput> outputs;
    for (int64_t i = numCarried, e = op.getNumResults(); i < e; ++i) {
      // A loop of unknown length starts with no room and grows.
      outputs.push_back(
          {0, false, cast<RankedTensorType>((*yieldTypes)[i + 1]), !isCounted});
      Value buffer =
          createScanBuffer(rewriter, loc, lowering, op.getResult(i),
                           outputs.back(), isCounted ? limit : zero, zero);
      SmallVector<int64_t> shape(
          cast<RankedTensorType>(buffer.getType()).getShape());
      shape[0] = ShapedType::kDynamic;
      initial.push_back(createCast(
          rewriter, loc, buffer,
          RankedTensorType::get(shape, outputs.back().type.getElementType())));
    }
    SmallVector<Type> types;
    for (Value value : initial)
      types.push_back(value.getType());

    auto loop = scf::WhileOp::create(rewriter, loc, types, initial);
    OpBuilder::InsertionGuard guard(rewriter);
    SmallVector<Location> locations(types.size(), loc);
    Block *before =
        rewriter.createBlock(&loop.getBefore(), {}, types, locations);
    Value goesOn = before->getArgument(1);
    if (limit)
      goesOn = arith::AndIOp::create(
          rewriter, loc, goesOn,
          arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                before->getArgument(0), limit));
    scf::ConditionOp::create(rewriter, loc, goesOn, before->getArguments());

    Block *after = rewriter.createBlock(&loop.getAfter(), {}, types, locations);
    FailureOr<SmallVector<Value>> next =
        runIteration(rewriter, op, after->getArguments(), *argumentTypes,
                     *yieldTypes, outputs, isCounted ? limit : Value());
    if (failed(next))
      return unsupported(op, kRankNeeded);
    scf::YieldOp::create(rewriter, loc, *next);

    rewriter.setInsertionPointAfter(loop);
    SmallVector<Value> results(loop.getResults().drop_front(2));
    for (auto [output, result] : llvm::zip_equal(
             outputs, MutableArrayRef(results).drop_front(numCarried)))
      if (output.isLate)
        result = cutToLength(rewriter, loc, result, loop.getResult(0));
    for (auto [result, type] : llvm::zip_equal(results, *resultTypes))
      result = createCast(rewriter, loc, result, type);
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  FailureOr<SmallVector<Value>>
  runIteration(ConversionPatternRewriter &rewriter, onnx::LoopOp op,
               ValueRange carried, ArrayRef<Type> argumentTypes,
               ArrayRef<Type> yieldTypes, ArrayRef<ScanOutput> outputs,
               Value limit) const {
    Location loc = op.getLoc();
    IndexBuilder b(rewriter, loc);
    int64_t numCarried = argumentTypes.size();
    Value number = arith::IndexCastOp::create(
        rewriter, loc, rewriter.getI64Type(), carried[0]);
    Value byte =
        arith::ExtUIOp::create(rewriter, loc, rewriter.getI8Type(), carried[1]);
    Block &body = op.getBody().front();
    SmallVector<Value> arguments;
    Value scalars[] = {number, byte};
    for (auto [i, scalar] : llvm::enumerate(scalars))
      arguments.push_back(createFromElements(
          rewriter, loc, convertOnnxType(body.getArgument(i).getType()),
          scalar));
    llvm::append_range(arguments, carried.slice(2, numCarried));
    FailureOr<SmallVector<Value>> moved =
        moveBody(rewriter, lowering, loc, op.getBody(), yieldTypes, arguments);
    if (failed(moved))
      return failure();
    ValueRange results = *moved;
    SmallVector<Value> next{b.add(carried[0], b.constant(1)),
                            getCondition(rewriter, loc, results[0])};
    for (int64_t i = 0; i < numCarried; ++i)
      next.push_back(carryOn(rewriter, loc, results[i + 1], carried[i + 2]));
    for (auto [output, buffer, value] :
         llvm::zip_equal(outputs, carried.drop_front(numCarried + 2),
                         results.drop_front(numCarried + 1))) {
      Value room = buffer;
      if (output.isLate) {
        // The room doubles, so that copying costs no more than the values.
        Value capacity = limit;
        if (!capacity)
          capacity = b.max(b.add(carried[0], carried[0]), b.constant(8));
        room =
            makeRoom(rewriter, op, output, buffer, value, carried[0], capacity);
      }
      next.push_back(
          createCast(rewriter, loc,
                     insertIteration(rewriter, loc, room, value, 0, carried[0]),
                     buffer.getType()));
    }
    return next;
  }

  /// The values that a buffer really holds.
  static Value cutToLength(OpBuilder &builder, Location loc, Value buffer,
                           Value length) {
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, buffer);
    sizes[0] = getAsOpFoldResult(length);
    SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(sizes.size(), builder.getIndexAttr(1));
    return createSlice(builder, loc, buffer, offsets, sizes, strides);
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgControlFlowPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerYield, LowerIf, LowerScan, LowerLoop>(
      lowering, patterns.getContext());
}
