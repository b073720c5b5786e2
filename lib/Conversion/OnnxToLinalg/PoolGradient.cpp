//===- PoolGradient.cpp - lower the adjoint of MaxPool --------------------===//
//
// First the place of each window's maximum, as a number in the kernel; then
// each element of x sums the windows that have it there.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "ConvolutionLowering.h"
#include "ShapeScalars.h"
#include "WindowLowering.h"
#include "onnx-aot/Dialect/Train/IR/Train.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

constexpr auto kParallel = utils::IteratorType::parallel;
constexpr auto kReduction = utils::IteratorType::reduction;

/// Iterators over the dimensions of an image, then those of a window.
SmallVector<utils::IteratorType> getIterators(int64_t rank) {
  SmallVector<utils::IteratorType> iterators(rank + 2, kParallel);
  iterators.append(rank, kReduction);
  return iterators;
}

/// Maps of what windows read, of a tensor of their own shape and of an image.
struct WindowMaps {
  AffineMap read, kernel, image;
};

WindowMaps getMaps(OpBuilder &builder, const onnx::Window &window,
                   onnx::ChannelLayout layout) {
  int64_t rank = window.getRank(), numLoops = 2 * rank + 2;
  SmallVector<AffineExpr> image, kernel;
  for (int64_t i = 0; i < numLoops; ++i)
    (i < rank + 2 ? image : kernel).push_back(builder.getAffineDimExpr(i));
  SmallVector<AffineExpr> read = image;
  for (int64_t i = 0; i < rank; ++i) {
    AffineExpr &expr = read[layout.spatial + i];
    expr = getWindowExpr(window, i, expr, kernel[i]);
  }
  MLIRContext *context = builder.getContext();
  return {AffineMap::get(numLoops, 0, read, context),
          AffineMap::get(numLoops, 0, kernel, context),
          AffineMap::get(numLoops, 0, image, context)};
}

struct LowerMaxPoolBackward : OnnxLowering<train::MaxPoolBackwardOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(train::MaxPoolBackwardOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<onnx::Window> window = onnx::getPoolWindow(op);
    auto type = cast<RankedTensorType>(convertOnnxType(op.getType()));
    if (failed(window))
      return failure();
    Location loc = op.getLoc();
    int64_t rank = window->getRank();
    onnx::ChannelLayout layout(op.getChannelsLast(), rank + 2);
    PhasedWindows windows{*window, layout, {}, {}, {}, {}};
    windows.sizes = getRuntimeSizes(rewriter, loc, adaptor.getX());
    SmallVector<OpFoldResult> dySizes =
        getRuntimeSizes(rewriter, loc, adaptor.getDy());
    auto spatial = ArrayRef(windows.sizes).slice(layout.spatial, rank),
         given = ArrayRef(dySizes).slice(layout.spatial, rank);
    WindowPads pads = getWindowPads(rewriter, loc, *window, spatial, given);
    auto sizes = getConstantIntValues(spatial),
         counts = getConstantIntValues(given),
         low = getConstantIntValues(pads.low);
    if (!sizes || !counts || !low)
      return unsupported(op, "spatial sizes are not known at compile time");
    windows.padsLow = *low;
    windows.spatial = *sizes;
    windows.counts = *counts;

    Value places = findPlaces(rewriter, loc, windows, adaptor.getX(),
                              adaptor.getY(), pads);
    Type accumulator = getAccumulatorType(type.getElementType());
    Value none = arith::ConstantIntOp::create(rewriter, loc, -1, /*width=*/32);
    Value zero = createScalarConstant(rewriter, loc, 0, type.getElementType());
    Value dx = createPhased(
        rewriter, loc, windows, {{places, none}, {adaptor.getDy(), zero}},
        accumulator, [&](ArrayRef<Phase> phases, ValueRange stretches) {
          return sumWindows(rewriter, loc, windows, phases, stretches,
                            accumulator);
        });
    dx = convertFloats(rewriter, loc, dx, type.getElementType());
    rewriter.replaceOp(op, castTensor(rewriter, loc, dx, type));
    return success();
  }

private:
  /// Where each window first has its maximum: as a number in the row-major
  /// kernel, or the kernel's size where no element of x is one.
  static Value findPlaces(OpBuilder &builder, Location loc,
                          const PhasedWindows &windows, Value x, Value y,
                          const WindowPads &pads) {
    const onnx::Window &window = windows.window;
    int64_t rank = window.getRank(), elements = 1;
    for (int64_t size : window.kernel)
      elements *= size;
    Type elementType = getElementTypeOrSelf(x.getType());
    Value zero = createScalarConstant(builder, loc, 0, elementType);
    Value padded =
        padSpatial(builder, loc, x, windows.layout.spatial, pads, zero);
    Value last = arith::ConstantIntOp::create(builder, loc, elements, 32);
    Value shape =
        tensor::EmptyOp::create(builder, loc, window.kernel, elementType);
    Value init =
        createFilled(builder, loc, getRuntimeSizes(builder, loc, y), last);
    WindowMaps maps = getMaps(builder, window, windows.layout);
    auto body = [&](OpBuilder &b, Location l, ValueRange args) {
      Value equal = arith::CmpFOp::create(b, l, arith::CmpFPredicate::OEQ,
                                          args[0], args[1]);
      // A window with a NaN has NaN as its maximum.
      Value isNan = arith::CmpFOp::create(b, l, arith::CmpFPredicate::UNO,
                                          args[0], args[0]);
      Value hit = arith::OrIOp::create(b, l, equal, isNan), place;
      for (int64_t i = 0; i < rank; ++i) {
        Value tap = linalg::IndexOp::create(b, l, rank + 2 + i);
        if (padded != x) {
          Value output =
              linalg::IndexOp::create(b, l, windows.layout.spatial + i);
          IndexBuilder ib(b, l);
          Value position =
              ib.sub(ib.add(ib.mul(output, ib.constant(window.strides[i])),
                            ib.mul(tap, ib.constant(window.dilations[i]))),
                     ib.constant(windows.padsLow[i]));
          hit = arith::AndIOp::create(
              b, l, hit,
              ib.compare(arith::CmpIPredicate::ult, position,
                         ib.constant(windows.spatial[i])));
        }
        place = addDigit(b, l, place, window.kernel[i], tap);
      }
      Value number = arith::IndexCastOp::create(b, l, b.getI32Type(), place);
      Value taken = arith::SelectOp::create(b, l, hit, number, last);
      linalg::YieldOp::create(
          b, l, arith::MinSIOp::create(b, l, args[3], taken).getResult());
    };
    return linalg::GenericOp::create(
               builder, loc, init.getType(), ValueRange{padded, y, shape}, init,
               ArrayRef<AffineMap>{maps.read, maps.image, maps.kernel,
                                   maps.image},
               getIterators(rank), body)
        .getResult(0);
  }

  /// number * base + digit; the digit where there is no number yet.
  static Value addDigit(OpBuilder &b, Location loc, Value number, int64_t base,
                        Value digit) {
    if (!number)
      return digit;
    IndexBuilder ib(b, loc);
    return ib.add(ib.mul(number, ib.constant(base)), digit);
  }

  /// For the elements of x at some phases: the sum of dy over the windows whose
  /// maximum they are. `stretches` are those of the places and of dy.
  static Value sumWindows(OpBuilder &builder, Location loc,
                          const PhasedWindows &windows, ArrayRef<Phase> phases,
                          ValueRange stretches, Type accumulator) {
    onnx::Window window = windows.window;
    int64_t rank = window.getRank();
    SmallVector<OpFoldResult> sizes = windows.sizes;
    for (auto [i, phase] : llvm::enumerate(phases)) {
      window.kernel[i] = phase.part.count;
      window.dilations[i] = phase.dilation;
      window.strides[i] = 1;
      sizes[windows.layout.spatial + i] = builder.getIndexAttr(phase.results);
    }
    Value zero = createScalarConstant(builder, loc, 0, accumulator);
    Value init = createFilled(builder, loc, sizes, zero);
    Value shape =
        tensor::EmptyOp::create(builder, loc, window.kernel, accumulator);
    WindowMaps maps = getMaps(builder, window, windows.layout);
    auto body = [&](OpBuilder &b, Location l, ValueRange args) {
      Value place;
      for (auto [i, phase] : llvm::enumerate(phases)) {
        // The kernel's part is turned round.
        const KernelPart &part = phase.part;
        Value tap = linalg::IndexOp::create(b, l, rank + 2 + i);
        IndexBuilder ib(b, l);
        Value digit =
            ib.sub(ib.constant(part.first + (part.count - 1) * part.step),
                   ib.mul(tap, ib.constant(part.step)));
        place = addDigit(b, l, place, windows.window.kernel[i], digit);
      }
      Value number = arith::IndexCastOp::create(b, l, b.getI32Type(), place);
      Value isHere = arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq,
                                           args[0], number);
      Value share = convertScalar(b, l, args[1], accumulator);
      Value taken = arith::SelectOp::create(b, l, isHere, share, zero);
      linalg::YieldOp::create(
          b, l, arith::AddFOp::create(b, l, args[3], taken).getResult());
    };
    return linalg::GenericOp::create(
               builder, loc, init.getType(),
               ValueRange{stretches[0], stretches[1], shape}, init,
               ArrayRef<AffineMap>{maps.read, maps.read, maps.kernel,
                                   maps.image},
               getIterators(rank), body)
        .getResult(0);
  }
};

} // namespace

void onnx_aot::populatePoolGradientPatterns(const LoweringContext &lowering,
                                            RewritePatternSet &patterns) {
  patterns.add<LowerMaxPoolBackward>(lowering, patterns.getContext());
}
