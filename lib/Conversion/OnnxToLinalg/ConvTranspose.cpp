//===- ConvTranspose.cpp - lower ConvTranspose ----------------------------===//
//
// As a convolution of stride 1: the elements of x are spread `stride` apart
// with zeros between and around, the kernel is turned round.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "ConvolutionLowering.h"
#include "IndexedGeneric.h"
#include "ScalarBuilder.h"
#include "ShapeScalars.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

Spread getSpread(OpBuilder &builder, Location loc,
                 const onnx::TransposedWindow &window, int64_t i,
                 OpFoldResult input) {
  AffineExpr size = builder.getAffineDimExpr(0);
  if (std::optional<int64_t> constant = getConstantIntValue(input))
    size = builder.getAffineConstantExpr(*constant);
  onnx::Dim in(size);
  int64_t reach = window.window.getExtent(i) - 1;
  AffineExpr count = window.getOutputDim(i, in).getExpr();
  AffineExpr first = (window.getPadBegin(i, in) * -1 + reach).getExpr();
  Spread spread;
  spread.count = foldSizes(builder, loc, count, input);
  spread.size = foldSizes(builder, loc, builder.getAffineDimExpr(0) + reach,
                          spread.count);
  spread.first = foldSizes(builder, loc, first, input);
  spread.stride = window.window.strides[i];
  return spread;
}

/// True when all of x certainly lies inside the spread tensor.
bool fits(const onnx::TransposedWindow &window, int64_t i, const Spread &spread,
          OpFoldResult input) {
  std::optional<int64_t> first = getConstantIntValue(spread.first);
  if (!first || *first < 0)
    return false;
  // The last element is at first + (input - 1) * stride < count + extent - 1.
  if (!window.outputShape && !window.window.isSame())
    return window.window.padsEnd[i] <=
           window.outputPadding[i] + window.window.getExtent(i) - 1;
  std::optional<int64_t> in = getConstantIntValue(input),
                         size = getConstantIntValue(spread.size);
  return in && size && *first + (*in - 1) * spread.stride < *size;
}

/// x spread by one strided insertion into zeros.
Value insertSpread(OpBuilder &builder, Location loc, Value x,
                   int64_t firstSpatial, ArrayRef<Spread> spreads,
                   ArrayRef<OpFoldResult> sizes, Value zero) {
  Value zeros = createFilled(builder, loc, sizes, zero);
  if (llvm::is_contained(cast<RankedTensorType>(x.getType()).getShape(), 0))
    return zeros;
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  for (auto [i, spread] : llvm::enumerate(spreads)) {
    offsets[firstSpatial + i] = spread.first;
    strides[firstSpatial + i] = builder.getIndexAttr(spread.stride);
  }
  return tensor::InsertSliceOp::create(builder, loc, x, zeros, offsets,
                                       getRuntimeSizes(builder, loc, x),
                                       strides);
}

/// x spread where some of it may lie outside. x gets a border of zeros, which
/// all other positions read.
Value gatherSpread(OpBuilder &builder, Location loc, Value x,
                   int64_t firstSpatial, ArrayRef<Spread> spreads,
                   ArrayRef<OpFoldResult> sizes, Value zero) {
  SmallVector<OpFoldResult> border(sizes.size(), builder.getIndexAttr(0));
  for (size_t i = 0; i < spreads.size(); ++i)
    border[firstSpatial + i] = builder.getIndexAttr(1);
  Value bordered =
      tensor::PadOp::create(builder, loc, Type(), x, border, border, zero);
  SmallVector<Value> inner =
      toValues(builder, loc, getRuntimeSizes(builder, loc, bordered));
  SmallVector<Value> firsts;
  for (const Spread &spread : spreads)
    firsts.push_back(
        getValueOrCreateConstantIndexOp(builder, loc, spread.first));
  return createFromIndices(
      builder, loc, sizes, zero.getType(),
      [&](OpBuilder &b, Location l, ArrayRef<Value> indices) -> Value {
        SmallVector<Value> source(indices);
        for (auto [i, spread] : llvm::enumerate(spreads)) {
          ScalarBuilder s(b, l, /*isUnsigned=*/false);
          int64_t axis = firstSpatial + i;
          Value offset = s.sub(indices[axis], firsts[i]);
          Value stride = s.like(offset, spread.stride);
          Value quotient = s.create<arith::FloorDivSIOp>(offset, stride);
          Value isWhole = s.compare(ScalarBuilder::Compare::Equal,
                                    s.mul(quotient, stride), offset);
          Value at = s.select(isWhole, s.add(quotient, s.like(offset, 1)),
                              s.like(offset, 0));
          source[axis] = clampIndex(b, l, at, inner[axis]);
        }
        return tensor::ExtractOp::create(b, l, bordered, source);
      });
}

} // namespace

Value onnx_aot::turnWeight(OpBuilder &builder, Location loc, Value w,
                           int64_t group, ArrayRef<KernelPart> parts) {
  Value split = group > 1 ? splitDim(builder, loc, w, 0, group) : w;
  int64_t lead = group > 1 ? 1 : 0;
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, split);
  std::swap(sizes[lead], sizes[lead + 1]);
  SmallVector<AffineExpr> exprs;
  if (lead)
    exprs.push_back(builder.getAffineDimExpr(0));
  exprs.push_back(builder.getAffineDimExpr(lead + 1));
  exprs.push_back(builder.getAffineDimExpr(lead));
  for (auto [i, part] : llvm::enumerate(parts)) {
    sizes[lead + 2 + i] = builder.getIndexAttr(part.count);
    exprs.push_back(part.first + (part.count - 1) * part.step -
                    builder.getAffineDimExpr(lead + 2 + i) * part.step);
  }
  AffineMap map = AffineMap::get(sizes.size(), 0, exprs, builder.getContext());
  Value turned = createPointwise(
      builder, loc, {{split, map}}, sizes, getElementTypeOrSelf(w.getType()),
      [](OpBuilder &, Location, ValueRange args) { return args[0]; });
  return group > 1 ? mergeDims(builder, loc, turned, 0) : turned;
}

Value onnx_aot::createTransposedConvolution(OpBuilder &builder, Location loc,
                                            Convolution conv,
                                            ArrayRef<Spread> spreads,
                                            bool allFit) {
  Type elementType = getElementTypeOrSelf(conv.x.getType());
  int64_t rank = conv.window.getRank();
  onnx::ChannelLayout layout(conv.channelsLast, rank + 2);
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, conv.x),
                            counts;
  SmallVector<KernelPart> parts;
  for (auto [i, spread] : llvm::enumerate(spreads)) {
    sizes[layout.spatial + i] = spread.size;
    counts.push_back(spread.count);
    parts.push_back({0, 1, conv.window.kernel[i]});
  }
  Value zero = createScalarConstant(builder, loc, 0, elementType);
  conv.x = allFit ? insertSpread(builder, loc, conv.x, layout.spatial, spreads,
                                 sizes, zero)
                  : gatherSpread(builder, loc, conv.x, layout.spatial, spreads,
                                 sizes, zero);
  conv.w = turnWeight(builder, loc, conv.w, conv.group, parts);
  conv.window.strides.assign(rank, 1);
  return createConvolution(builder, loc, conv, counts,
                           getAccumulatorType(elementType));
}

namespace {

struct LowerConvTranspose : OnnxLowering<onnx::ConvTransposeOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ConvTransposeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getType()));
    std::optional<int64_t> xRank = onnx::getRank(op.getX());
    if (!type || !xRank || *xRank != type.getRank() ||
        !isa<FloatType>(type.getElementType()))
      return unsupported(op, "needs floats of known rank");
    auto wType = cast<RankedTensorType>(adaptor.getW().getType());
    int64_t group = op.getGroup();
    if (group > 1 && (wType.isDynamicDim(0) || wType.isDynamicDim(1)))
      return unsupported(op,
                         "channels per group are not known at compile time");
    FailureOr<onnx::Window> window = onnx::getConvWindow(op, op.getAutoPad());
    if (failed(window))
      return failure();
    FailureOr<onnx::TransposedWindow> transposed = onnx::getTransposedWindow(
        op, *window, op.getOutputPadding(), op.getOutputShape());
    if (failed(transposed))
      return failure();

    Location loc = op.getLoc();
    Type elementType = type.getElementType();
    Value x = adaptor.getX();
    SmallVector<OpFoldResult> inputs = getRuntimeSizes(rewriter, loc, x);
    SmallVector<Spread> spreads;
    bool allFit = true;
    for (int64_t i = 0; i < window->getRank(); ++i) {
      spreads.push_back(
          getSpread(rewriter, loc, *transposed, i, inputs[i + 2]));
      allFit &= fits(*transposed, i, spreads.back(), inputs[i + 2]);
    }
    Convolution conv{x, adaptor.getW(), false, false, false, group, *window};
    Value y = createTransposedConvolution(rewriter, loc, conv, spreads, allFit);
    if (Value bias = adaptor.getB())
      y = addBias(rewriter, loc, y, bias, /*channel=*/1, elementType);
    y = convertFloats(rewriter, loc, y, elementType);
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }
};

//===--- Col2Im -----------------------------------------------------------===//

struct LowerCol2Im : OnnxLowering<onnx::Col2ImOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::Col2ImOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getType()));
    std::optional<SmallVector<int64_t>> block =
        onnx::getConstantIntegers(op.getBlockShape());
    auto inputType = dyn_cast<RankedTensorType>(adaptor.getInput().getType());
    if (!type || !inputType || inputType.getRank() != 3)
      return unsupported(op,
                         "image_shape must have a known number of elements");
    auto blockType =
        dyn_cast<RankedTensorType>(adaptor.getBlockShape().getType());
    if (blockType.getRank() != 1 ||
        blockType.getDimSize(0) + 2 != type.getRank())
      return unsupported(op,
                         "the number of elements in block_shape must be known "
                         "and be that of image_shape");
    // Sizes that only the run knows: the rest of the window does not need them.
    bool isDynamic = !block;
    if (isDynamic)
      block.emplace(type.getRank() - 2, 1);
    FailureOr<onnx::Window> window =
        onnx::getWindow(op, {*block, op.getStrides(), op.getDilations(),
                             op.getPads(), "", false});
    if (failed(window))
      return failure();

    Location loc = op.getLoc();
    Value input = adaptor.getInput();
    int64_t rank = window->getRank();
    SmallVector<Value> kernel =
        getKernel(rewriter, op, adaptor, *window, isDynamic);
    SmallVector<OpFoldResult> columns = getRuntimeSizes(rewriter, loc, input);
    IndexBuilder ib(rewriter, loc);
    Value elements = ib.product(kernel);
    Value channels = ib.div(ib.get(columns[1]), elements);
    if (isDynamic || !getConstantIntValue(columns[1]))
      createCheck(rewriter, op,
                  ib.compare(arith::CmpIPredicate::eq,
                             ib.mul(channels, elements), ib.get(columns[1])),
                  "the number of rows is no multiple of the block's elements");
    SmallVector<OpFoldResult> sizes{columns[0], getAsOpFoldResult(channels)};
    SmallVector<Value> blocks;
    for (int64_t i = 0; i < rank; ++i) {
      OpFoldResult size = getImageSize(rewriter, loc, op, adaptor, type, i);
      sizes.push_back(size);
      // Windows along this dimension: from the first to the last that fits.
      Value padded = ib.add(
          ib.get(size), ib.constant(window->padsBegin[i] + window->padsEnd[i]));
      Value extent = ib.add(ib.mul(ib.sub(kernel[i], ib.constant(1)),
                                   ib.constant(window->dilations[i])),
                            ib.constant(1));
      Value steps = ib.div(ib.max(ib.sub(padded, extent), ib.constant(0)),
                           ib.constant(window->strides[i]));
      Value fits = ib.compare(arith::CmpIPredicate::sge, padded, extent);
      blocks.push_back(
          ib.select(fits, ib.add(steps, ib.constant(1)), ib.constant(0)));
    }
    checkSize(rewriter, op, input, 2, getAsOpFoldResult(ib.product(blocks)),
              "the last axis and the number of blocks");
    Value limit = getValueOrCreateConstantIndexOp(rewriter, loc, columns[2]);
    Type elementType = type.getElementType();
    Type accumulator = getAccumulatorType(elementType);
    Value zero = createScalarConstant(rewriter, loc, 0, accumulator);
    Value y = createReductionFromIndices(
        rewriter, loc, sizes, getAsOpFoldResult(kernel), zero,
        [&](OpBuilder &b, Location l, ArrayRef<Value> indices,
            ArrayRef<Value> taps, Value running) -> Value {
          ScalarBuilder s(b, l, /*isUnsigned=*/false);
          Value row = indices[1], column, isHit;
          for (int64_t i = 0; i < rank; ++i) {
            row = s.add(s.mul(row, kernel[i]), taps[i]);
            Value offset =
                s.sub(s.add(indices[i + 2], s.like(row, window->padsBegin[i])),
                      s.mul(taps[i], s.like(row, window->dilations[i])));
            Value stride = s.like(row, window->strides[i]);
            Value at = s.create<arith::FloorDivSIOp>(offset, stride);
            Value isWhole = s.compare(ScalarBuilder::Compare::Equal,
                                      s.mul(at, stride), offset);
            Value hit =
                s.create<arith::AndIOp>(isWhole, isInside(b, l, at, blocks[i]));
            isHit = isHit ? s.create<arith::AndIOp>(isHit, hit) : hit;
            column = column ? s.add(s.mul(column, blocks[i]), at) : at;
          }
          Value inside =
              s.create<arith::AndIOp>(isHit, isInside(b, l, column, limit));
          auto read = scf::IfOp::create(
              b, l, inside,
              [&](OpBuilder &inner, Location) {
                Value element = tensor::ExtractOp::create(
                    inner, l, input, ValueRange{indices[0], row, column});
                scf::YieldOp::create(
                    inner, l, convertScalar(inner, l, element, accumulator));
              },
              [&](OpBuilder &inner, Location) {
                scf::YieldOp::create(inner, l, zero);
              });
          return createAdd(b, l, running, read.getResult(0));
        });
    y = convertFloats(rewriter, loc, y, elementType);
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }

private:
  /// The block's sizes. One below 1 would be a window of nothing.
  static SmallVector<Value> getKernel(OpBuilder &builder, onnx::Col2ImOp op,
                                      OpAdaptor adaptor,
                                      const onnx::Window &window,
                                      bool isDynamic) {
    IndexBuilder b(builder, op.getLoc());
    if (!isDynamic)
      return llvm::map_to_vector(
          window.kernel, [&](int64_t size) { return b.constant(size); });
    SmallVector<Value> kernel =
        getIndexElements(builder, op.getLoc(), adaptor.getBlockShape());
    for (Value &size : kernel) {
      createCheck(builder, op,
                  b.compare(arith::CmpIPredicate::sge, size, b.constant(1)),
                  "a size in block_shape is not positive");
      size = b.max(size, b.constant(1));
    }
    return kernel;
  }

  static OpFoldResult getImageSize(OpBuilder &builder, Location loc,
                                   onnx::Col2ImOp op, OpAdaptor adaptor,
                                   RankedTensorType type, int64_t i) {
    if (!type.isDynamicDim(i + 2))
      return builder.getIndexAttr(type.getDimSize(i + 2));
    Value at = arith::ConstantIndexOp::create(builder, loc, i);
    Value size =
        tensor::ExtractOp::create(builder, loc, adaptor.getImageShape(), at);
    Value index =
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), size);
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    return arith::MaxSIOp::create(builder, loc, index, zero).getResult();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgConvTransposePatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerConvTranspose, LowerCol2Im>(lowering,
                                                patterns.getContext());
}
