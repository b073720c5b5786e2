//===- ShapeMoving.cpp - lower ops that move whole dimensions -------------===//

#include "Generate.h"
#include "ReshapeUtils.h"
#include "ShapeScalars.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

//===--- Transpose --------------------------------------------------------===//

struct LowerTranspose : OnnxLowering<onnx::TransposeOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::TransposeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(adaptor.getData().getType());
    replaceWithCast(rewriter, op,
                    createTransposed(rewriter, op.getLoc(), adaptor.getData(),
                                     op.getPermutation(type.getRank())));
    return success();
  }
};

//===--- Expand and Tile --------------------------------------------------===//

struct LowerExpand : OnnxLowering<onnx::ExpandOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ExpandOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    std::optional<onnx::Shape> from = onnx::getShape(op.getInput());
    std::optional<onnx::Shape> to = onnx::getShape(op.getResult());
    if (!from || !to)
      return unsupported(
          op, "the rank of the result must be known at compile time");
    Type elementType = getElementTypeOrSelf(adaptor.getInput().getType());
    FailureOr<SmallVector<OpFoldResult>> sizes =
        getSizes(rewriter, loc, lowering, op.getResult());
    if (failed(sizes))
      sizes = getExpandedSizes(rewriter, op, adaptor.getInput(),
                               adaptor.getShape(), to->size());
    BroadcastOperand operand =
        broadcastOperand(rewriter, loc, adaptor.getInput(), *from, *to, *sizes);
    if (operand.map.isIdentity()) {
      replaceWithCast(rewriter, op, operand.tensor);
      return success();
    }
    int64_t rank = to->size();
    Value empty = createEmpty(rewriter, loc, *sizes, elementType);
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    auto generic = linalg::GenericOp::create(
        rewriter, loc, empty.getType(), operand.tensor, empty,
        ArrayRef<AffineMap>{operand.map, rewriter.getMultiDimIdentityMap(rank)},
        iterators, [](OpBuilder &b, Location l, ValueRange args) {
          linalg::YieldOp::create(b, l, args[0]);
        });
    replaceWithCast(rewriter, op, generic.getResult(0));
    return success();
  }

private:
  static SmallVector<OpFoldResult> getExpandedSizes(OpBuilder &builder,
                                                    onnx::ExpandOp op,
                                                    Value input, Value shape,
                                                    int64_t rank) {
    Location loc = op.getLoc();
    IndexBuilder b(builder, loc);
    Value one = b.constant(1);
    SmallVector<Value> own, wanted = getIndexElements(builder, loc, shape);
    for (OpFoldResult size : getRuntimeSizes(builder, loc, input))
      own.push_back(b.get(size));
    SmallVector<OpFoldResult> sizes;
    for (int64_t i = rank; i > 0; --i) {
      auto at = [&](ArrayRef<Value> list) {
        int64_t length = list.size();
        return i <= length ? list[length - i] : one;
      };
      Value from = at(own), to = at(wanted);
      Value fromIsOne = b.compare(arith::CmpIPredicate::eq, from, one);
      Value toIsOne = b.compare(arith::CmpIPredicate::eq, to, one);
      Value equal = b.compare(arith::CmpIPredicate::eq, from, to);
      Value fits = builder.createOrFold<arith::OrIOp>(
          loc, builder.createOrFold<arith::OrIOp>(loc, fromIsOne, toIsOne),
          equal);
      createCheck(builder, op, fits, "the shape does not fit the input's");
      sizes.push_back(b.select(fromIsOne, to, from));
    }
    return sizes;
  }
};

struct LowerTile : OnnxLowering<onnx::TileOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::TileOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IndexBuilder b(rewriter, loc);
    Value input = adaptor.getInput();
    int64_t rank = cast<RankedTensorType>(input.getType()).getRank();
    SmallVector<OpFoldResult> own = getRuntimeSizes(rewriter, loc, input);
    auto repeatsType = cast<RankedTensorType>(adaptor.getRepeats().getType());
    if (!repeatsType.hasStaticShape() || repeatsType.getNumElements() != rank)
      return unsupported(op,
                         "the number of repeats must be known at compile time");
    SmallVector<Value> repeats =
        getIndexElements(rewriter, loc, adaptor.getRepeats());
    // The result as repeats x size per dimension: a broadcast of the input.
    SmallVector<OpFoldResult> split, sizes;
    SmallVector<int64_t> dims;
    for (int64_t i = 0; i < rank; ++i) {
      createCheck(
          rewriter, op,
          b.compare(arith::CmpIPredicate::sge, repeats[i], b.constant(0)),
          "a number of repeats is negative");
      split.push_back(getAsOpFoldResult(repeats[i]));
      split.push_back(own[i]);
      sizes.push_back(getAsOpFoldResult(b.mul(repeats[i], b.get(own[i]))));
      dims.push_back(2 * i + 1);
    }
    // No view joins a size that only the run knows with one of 0.
    auto type = cast<RankedTensorType>(convertOnnxType(op.getType()));
    if (llvm::is_contained(type.getShape(), 0)) {
      replaceWithCast(rewriter, op,
                      createEmpty(rewriter, loc, sizes, type.getElementType()));
      return success();
    }
    Value tiled = createGenerated(rewriter, loc, split,
                                  getElementTypeOrSelf(input.getType()),
                                  GeneratedInput{input, dims},
                                  [](OpBuilder &, Location, ArrayRef<Value>,
                                     ValueRange args) { return args[0]; });
    if (rank > 0) {
      SmallVector<ReassociationIndices> pairs;
      for (int64_t i = 0; i < rank; ++i)
        pairs.push_back({2 * i, 2 * i + 1});
      tiled = tensor::CollapseShapeOp::create(rewriter, loc, tiled, pairs);
    }
    replaceWithCast(rewriter, op, tiled);
    return success();
  }
};

//===--- Concat and Split -------------------------------------------------===//

struct LowerConcat : OnnxLowering<onnx::ConcatOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ConcatOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(convertOnnxType(op.getType()));
    if (isShapeArithmetic(op) && type.getRank() == 1) {
      SmallVector<Value> elements;
      for (Value input : adaptor.getInputs())
        llvm::append_range(elements, getElements(rewriter, loc, input));
      rewriter.replaceOp(op, createFromElements(rewriter, loc, type, elements));
      return success();
    }
    int64_t axis = *onnx::normalizeAxis(op.getAxis(), type.getRank());
    IndexBuilder b(rewriter, loc);
    SmallVector<SmallVector<OpFoldResult>> sizes;
    Value total = b.constant(0);
    for (Value input : adaptor.getInputs()) {
      sizes.push_back(getRuntimeSizes(rewriter, loc, input));
      total = b.add(total, b.get(sizes.back()[axis]));
    }
    checkOtherSizes(rewriter, op, sizes, axis);
    SmallVector<OpFoldResult> resultSizes = sizes[0];
    for (auto [i, size] : llvm::enumerate(type.getShape()))
      if (!ShapedType::isDynamic(size))
        resultSizes[i] = rewriter.getIndexAttr(size);
    if (type.isDynamicDim(axis))
      resultSizes[axis] = getAsOpFoldResult(total);
    Value result =
        createEmpty(rewriter, loc, resultSizes, type.getElementType());
    SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(type.getRank(), rewriter.getIndexAttr(1));
    for (auto [input, own] : llvm::zip_equal(adaptor.getInputs(), sizes)) {
      // A part without elements may lie beyond the end, where no slice can.
      if (hasNoElements(resultSizes) || hasNoElements(own))
        continue;
      // Slices say statically what the result's type says.
      for (auto [i, size] : llvm::enumerate(resultSizes))
        if (static_cast<int64_t>(i) != axis && isa<Attribute>(size))
          own[i] = size;
      result = tensor::InsertSliceOp::create(rewriter, loc,
                                             castTo(rewriter, loc, input, own),
                                             result, offsets, own, strides);
      offsets[axis] =
          getAsOpFoldResult(b.add(b.get(offsets[axis]), b.get(own[axis])));
    }
    replaceWithCast(rewriter, op, result);
    return success();
  }

private:
  static bool hasNoElements(ArrayRef<OpFoldResult> sizes) {
    return llvm::any_of(
        sizes, [](OpFoldResult size) { return isConstantIntValue(size, 0); });
  }

  /// The tensor with the type that these sizes have.
  static Value castTo(OpBuilder &builder, Location loc, Value tensor,
                      ArrayRef<OpFoldResult> sizes) {
    SmallVector<int64_t> shape;
    for (OpFoldResult size : sizes)
      shape.push_back(isa<Attribute>(size) ? *getConstantIntValue(size)
                                           : ShapedType::kDynamic);
    Type elementType = getElementTypeOrSelf(tensor.getType());
    return createCast(builder, loc, tensor,
                      RankedTensorType::get(shape, elementType));
  }

  /// Dimensions beside the axis must be equal; where that is not provable, the
  /// run checks.
  static void checkOtherSizes(OpBuilder &builder, onnx::ConcatOp op,
                              ArrayRef<SmallVector<OpFoldResult>> sizes,
                              int64_t axis) {
    IndexBuilder b(builder, op.getLoc());
    onnx::Shape result = *onnx::getShape(op.getResult());
    for (auto [index, input] : llvm::enumerate(op.getInputs())) {
      onnx::Shape own = *onnx::getShape(input);
      for (auto [i, dim] : llvm::enumerate(own)) {
        if (static_cast<int64_t>(i) == axis || dim == result[i])
          continue;
        Value expected = result[i].isStatic()
                             ? b.constant(result[i].getStatic())
                             : b.get(sizes[0][i]);
        createCheck(builder, op,
                    b.compare(arith::CmpIPredicate::eq, b.get(sizes[index][i]),
                              expected),
                    "inputs differ in dimension " + Twine(i));
      }
    }
  }
};

struct LowerSplit : OnnxLowering<onnx::SplitOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::SplitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IndexBuilder b(rewriter, loc);
    Value input = adaptor.getInput();
    auto type = cast<RankedTensorType>(input.getType());
    int64_t axis = *onnx::normalizeAxis(op.getAxis(), type.getRank());
    if (Value split = adaptor.getSplit())
      if (cast<RankedTensorType>(split.getType()).getShape() !=
          ArrayRef<int64_t>{op.getNumResults()})
        return unsupported(op, "split must have a length for each output");
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, input);
    SmallVector<Value> parts =
        getParts(rewriter, op, adaptor.getSplit(), b.get(sizes[axis]), axis);
    SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(type.getRank(), rewriter.getIndexAttr(1));
    SmallVector<Value> results;
    Value offset = b.constant(0);
    for (auto [part, result] : llvm::zip_equal(parts, op.getResults())) {
      sizes[axis] = getAsOpFoldResult(part);
      offsets[axis] = getAsOpFoldResult(offset);
      Value slice = createSlice(rewriter, loc, input, offsets, sizes, strides);
      results.push_back(
          createCast(rewriter, loc, slice, convertOnnxType(result.getType())));
      offset = b.add(offset, part);
    }
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  static SmallVector<Value> getParts(OpBuilder &builder, onnx::SplitOp op,
                                     Value split, Value size, int64_t axis) {
    IndexBuilder b(builder, op.getLoc());
    SmallVector<Value> parts;
    if (!split) {
      Value part = b.ceilDiv(size, b.constant(op.getNumResults())), rest = size;
      for (unsigned i = 0; i < op.getNumResults(); ++i) {
        parts.push_back(b.min(part, rest));
        rest = b.sub(rest, parts.back());
      }
      return parts;
    }
    parts = getIndexElements(builder, op.getLoc(), split);
    Value sum = b.constant(0);
    for (Value part : parts) {
      createCheck(builder, op,
                  b.compare(arith::CmpIPredicate::sge, part, b.constant(0)),
                  "a size in split is negative");
      sum = b.add(sum, part);
    }
    createCheck(builder, op, b.compare(arith::CmpIPredicate::eq, sum, size),
                "the sizes in split do not sum to the dimension");
    return parts;
  }
};

//===--- Blocks of pixels -------------------------------------------------===//

/// Reshape to six dimensions, transpose, reshape to four.
Value moveBlocks(OpBuilder &builder, Location loc, Value input,
                 ArrayRef<OpFoldResult> split, ArrayRef<int64_t> perm,
                 ArrayRef<ReassociationIndices> merged) {
  Value blocks =
      createUnflat(builder, loc, createFlat(builder, loc, input), split);
  Value moved = createTransposed(builder, loc, blocks, perm);
  return tensor::CollapseShapeOp::create(builder, loc, moved, merged);
}

struct LowerDepthToSpace : OnnxLowering<onnx::DepthToSpaceOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::DepthToSpaceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IndexBuilder b(rewriter, loc);
    SmallVector<OpFoldResult> sizes =
        getRuntimeSizes(rewriter, loc, adaptor.getInput());
    OpFoldResult block = rewriter.getIndexAttr(op.getBlocksize());
    Value area = b.constant(op.getBlocksize() * op.getBlocksize());
    Value channels = b.get(sizes[1]);
    createCheck(rewriter, op,
                b.compare(arith::CmpIPredicate::eq, b.rem(channels, area),
                          b.constant(0)),
                "channels are not a multiple of blocksize squared");
    OpFoldResult depth = getAsOpFoldResult(b.div(channels, area));
    bool depthFirst = op.getMode() == "CRD";
    SmallVector<OpFoldResult> split =
        depthFirst ? SmallVector<OpFoldResult>{sizes[0], depth,    block,
                                               block,    sizes[2], sizes[3]}
                   : SmallVector<OpFoldResult>{sizes[0], block,    block,
                                               depth,    sizes[2], sizes[3]};
    SmallVector<int64_t> perm = depthFirst
                                    ? SmallVector<int64_t>{0, 1, 4, 2, 5, 3}
                                    : SmallVector<int64_t>{0, 3, 4, 1, 5, 2};
    replaceWithCast(rewriter, op,
                    moveBlocks(rewriter, loc, adaptor.getInput(), split, perm,
                               {{0}, {1}, {2, 3}, {4, 5}}));
    return success();
  }
};

struct LowerSpaceToDepth : OnnxLowering<onnx::SpaceToDepthOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::SpaceToDepthOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IndexBuilder b(rewriter, loc);
    SmallVector<OpFoldResult> sizes =
        getRuntimeSizes(rewriter, loc, adaptor.getInput());
    Value block = b.constant(op.getBlocksize());
    SmallVector<OpFoldResult> split{sizes[0], sizes[1]};
    for (OpFoldResult size : ArrayRef(sizes).drop_front(2)) {
      createCheck(rewriter, op,
                  b.compare(arith::CmpIPredicate::eq, b.rem(b.get(size), block),
                            b.constant(0)),
                  "a size is not a multiple of blocksize");
      split.push_back(getAsOpFoldResult(b.div(b.get(size), block)));
      split.push_back(getAsOpFoldResult(block));
    }
    SmallVector<int64_t> perm = op.getMode() == "DCR"
                                    ? SmallVector<int64_t>{0, 3, 5, 1, 2, 4}
                                    : SmallVector<int64_t>{0, 1, 3, 5, 2, 4};
    replaceWithCast(rewriter, op,
                    moveBlocks(rewriter, loc, adaptor.getInput(), split, perm,
                               {{0}, {1, 2, 3}, {4}, {5}}));
    return success();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgShapeMovingPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerTranspose, LowerExpand, LowerTile, LowerConcat, LowerSplit,
               LowerDepthToSpace, LowerSpaceToDepth>(lowering,
                                                     patterns.getContext());
}
