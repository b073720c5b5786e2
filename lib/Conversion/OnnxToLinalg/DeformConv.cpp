//===- DeformConv.cpp - lower DeformConv ----------------------------------===//
//
// The displaced samples become a tensor (n, c, kernel, output), which a
// contraction multiplies with the weight.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "ConvolutionLowering.h"
#include "IndexedGeneric.h"
#include "ScalarBuilder.h"
#include "WindowLowering.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// x[n, c] at a position in floats, bilinear, 0 outside.
Value sample(ScalarBuilder &s, Value x, Value n, Value c,
             ArrayRef<Value> position, ArrayRef<Value> lengths, Type compute) {
  OpBuilder &b = s.getBuilder();
  Location loc = s.getLoc();
  SmallVector<Value> base, ratio;
  for (Value at : position) {
    Value floor = s.create<math::FloorOp>(at);
    ratio.push_back(s.sub(at, floor));
    base.push_back(toIndex(b, loc, at));
  }
  Value sum;
  for (int64_t corner = 0; corner < 4; ++corner) {
    SmallVector<Value> at{n, c};
    Value weight, inside;
    for (int64_t i = 0; i < 2; ++i) {
      bool isUpper = (corner >> (1 - i)) & 1;
      Value index = s.add(base[i], s.like(base[i], isUpper));
      Value own = isUpper ? ratio[i] : s.sub(s.like(ratio[i], 1), ratio[i]);
      weight = weight ? s.mul(weight, own) : own;
      Value isIn = isInside(b, loc, index, lengths[i]);
      inside = inside ? s.create<arith::AndIOp>(inside, isIn) : isIn;
      at.push_back(clampIndex(b, loc, index, lengths[i]));
    }
    Value element = s.create<tensor::ExtractOp>(x, at);
    Value term = s.mul(convertScalar(b, loc, element, compute), weight);
    term = s.select(inside, term, s.like(term, 0));
    sum = sum ? s.add(sum, term) : term;
  }
  return sum;
}

struct LowerDeformConv : OnnxLowering<onnx::DeformConvOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::DeformConvOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getType()));
    for (Value operand : op->getOperands())
      if (!onnx::getRank(operand))
        return unsupported(op, "operand of unknown rank");
    if (!type || type.getRank() != 4 || !isa<FloatType>(type.getElementType()))
      return unsupported(op, "needs floats and two spatial dimensions");
    FailureOr<onnx::Window> window = onnx::getConvWindow(op, "");
    if (failed(window))
      return failure();
    auto wType = cast<RankedTensorType>(adaptor.getW().getType());
    int64_t group = op.getGroup(), offsetGroup = op.getOffsetGroup();
    if (group > 1 && (wType.isDynamicDim(0) || wType.isDynamicDim(1)))
      return unsupported(op,
                         "channels per group are not known at compile time");

    Location loc = op.getLoc();
    Value x = adaptor.getX(), offset = adaptor.getOffset(),
          mask = adaptor.getMask();
    Type elementType = type.getElementType();
    Type compute = getAccumulatorType(elementType);
    SmallVector<OpFoldResult> xSizes = getRuntimeSizes(rewriter, loc, x);
    SmallVector<OpFoldResult> counts =
        getWindowCounts(rewriter, loc, *window, ArrayRef(xSizes).drop_front(2));
    SmallVector<Value> lengths = toValues(rewriter, loc, xSizes);
    int64_t height = window->kernel[0], width = window->kernel[1];
    SmallVector<OpFoldResult> sizes{xSizes[0],
                                    xSizes[1],
                                    rewriter.getIndexAttr(height),
                                    rewriter.getIndexAttr(width),
                                    counts[0],
                                    counts[1]};
    Value samples = createFromIndices(
        rewriter, loc, sizes, compute,
        [&](OpBuilder &b, Location l, ArrayRef<Value> at) -> Value {
          ScalarBuilder s(b, l, /*isUnsigned=*/false);
          auto c = [&](int64_t value) { return s.like(at[0], value); };
          // Channels share offsets in offset_group runs.
          Value perGroup = s.create<arith::DivSIOp>(lengths[1], c(offsetGroup));
          perGroup = s.max(perGroup, c(1));
          Value own = s.create<arith::DivSIOp>(at[1], perGroup);
          Value tap = s.add(s.mul(at[2], c(width)), at[3]);
          Value channel = s.add(s.mul(own, c(height * width)), tap);
          SmallVector<Value> position;
          for (int64_t i = 0; i < 2; ++i) {
            Value start = s.sub(s.mul(at[4 + i], c(window->strides[i])),
                                c(window->padsBegin[i]));
            Value base =
                s.add(start, s.mul(at[2 + i], c(window->dilations[i])));
            Value coordinate = s.add(s.mul(channel, c(2)), c(i));
            Value moved = s.create<tensor::ExtractOp>(
                offset, ValueRange{at[0], coordinate, at[4], at[5]});
            position.push_back(s.add(toFloat(b, l, base, compute),
                                     convertScalar(b, l, moved, compute)));
          }
          Value element = sample(s, x, at[0], at[1], position,
                                 {lengths[2], lengths[3]}, compute);
          if (!mask)
            return element;
          Value factor = s.create<tensor::ExtractOp>(
              mask, ValueRange{at[0], channel, at[4], at[5]});
          return s.mul(element, convertScalar(b, l, factor, compute));
        });
    Value y = multiply(rewriter, loc, samples, adaptor.getW(), group, counts,
                       compute);
    if (Value bias = adaptor.getB())
      y = addBias(rewriter, loc, y, bias, /*channel=*/1, elementType);
    y = convertFloats(rewriter, loc, y, elementType);
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }

private:
  /// y[n, (g), m, o] = sum_{c, k} samples[n, (g), c, k, o] * w[(g), m, c, k].
  static Value multiply(OpBuilder &builder, Location loc, Value samples,
                        Value w, int64_t group, ArrayRef<OpFoldResult> counts,
                        Type compute) {
    bool hasGroups = group > 1;
    if (hasGroups) {
      samples = splitDim(builder, loc, samples, 1, group);
      w = splitDim(builder, loc, w, 0, group);
    }
    int64_t numParallel = hasGroups ? 5 : 4, next = 0;
    SmallVector<AffineExpr> d;
    for (int64_t i = 0; i < numParallel + 3; ++i)
      d.push_back(builder.getAffineDimExpr(i));
    AffineExpr n = d[next++], g = hasGroups ? d[next++] : AffineExpr();
    AffineExpr m = d[next++], oh = d[next++], ow = d[next++];
    AffineExpr c = d[next++], kh = d[next++], kw = d[next++];
    SmallVector<AffineExpr> sExprs{n}, wExprs, yExprs{n};
    if (hasGroups) {
      sExprs.push_back(g);
      wExprs.push_back(g);
      yExprs.push_back(g);
    }
    sExprs.append({c, kh, kw, oh, ow});
    wExprs.append({m, c, kh, kw});
    yExprs.append({m, oh, ow});
    SmallVector<utils::IteratorType> iterators(numParallel,
                                               utils::IteratorType::parallel);
    iterators.append(3, utils::IteratorType::reduction);
    auto map = [&](ArrayRef<AffineExpr> exprs) {
      return AffineMap::get(numParallel + 3, 0, exprs, builder.getContext());
    };
    SmallVector<OpFoldResult> wSizes = getRuntimeSizes(builder, loc, w);
    SmallVector<OpFoldResult> sizes{getRuntimeSizes(builder, loc, samples)[0]};
    sizes.append(wSizes.begin(), wSizes.begin() + (hasGroups ? 2 : 1));
    sizes.append(counts.begin(), counts.end());
    Value y = createContraction(builder, loc,
                                {{samples, map(sExprs)}, {w, map(wExprs)}},
                                map(yExprs), iterators, sizes, compute);
    return hasGroups ? mergeDims(builder, loc, y, 1) : y;
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgDeformConvPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerDeformConv>(lowering, patterns.getContext());
}
