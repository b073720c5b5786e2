//===- WindowLowering.cpp - padding and indexing of windows ---------------===//

#include "WindowLowering.h"
#include "Contraction.h"

using namespace mlir;

namespace onnx_aot {

SmallVector<OpFoldResult> getWindowCounts(OpBuilder &builder, Location loc,
                                          const onnx::Window &window,
                                          ArrayRef<OpFoldResult> spatialSizes) {
  SmallVector<OpFoldResult> counts;
  for (auto [i, size] : llvm::enumerate(spatialSizes)) {
    AffineExpr input = builder.getAffineDimExpr(0);
    AffineExpr count = window.getOutputDim(i, onnx::Dim(input)).getExpr();
    // Code generation refuses sizes below zero, where no window fits.
    counts.push_back(foldSizes(builder, loc, count, size));
  }
  return counts;
}

WindowPads getWindowPads(OpBuilder &builder, Location loc,
                         const onnx::Window &window,
                         ArrayRef<OpFoldResult> spatialSizes,
                         ArrayRef<OpFoldResult> counts) {
  WindowPads pads;
  AffineExpr input = builder.getAffineDimExpr(0),
             count = builder.getAffineDimExpr(1),
             none = builder.getAffineConstantExpr(0);
  for (int64_t i = 0, e = window.getRank(); i < e; ++i) {
    SmallVector<OpFoldResult> sizes{spatialSizes[i], counts[i]};
    AffineExpr read = (count - 1) * window.strides[i] + window.getExtent(i);
    if (window.isSame()) {
      OpFoldResult total =
          foldMaxOfSizes(builder, loc, read - input, none, sizes);
      AffineExpr all = builder.getAffineDimExpr(0);
      AffineExpr low = window.autoPad == onnx::AutoPad::SameUpper
                           ? all.floorDiv(2)
                           : all.ceilDiv(2);
      pads.low.push_back(foldSizes(builder, loc, low, total));
      pads.high.push_back(foldSizes(builder, loc, all - low, total));
      continue;
    }
    pads.low.push_back(builder.getIndexAttr(window.padsBegin[i]));
    if (!window.ceilMode) {
      pads.high.push_back(builder.getIndexAttr(window.padsEnd[i]));
      continue;
    }
    pads.high.push_back(foldMaxOfSizes(
        builder, loc, read - input - window.padsBegin[i],
        builder.getAffineConstantExpr(window.padsEnd[i]), sizes));
  }
  return pads;
}

Value padSpatial(OpBuilder &builder, Location loc, Value x,
                 int64_t firstSpatial, const WindowPads &pads, Value padding) {
  auto isZero = [](OpFoldResult pad) { return isConstantIntValue(pad, 0); };
  if (llvm::all_of(pads.low, isZero) && llvm::all_of(pads.high, isZero))
    return x;
  int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
  SmallVector<OpFoldResult> low(rank, builder.getIndexAttr(0)),
      high(rank, builder.getIndexAttr(0));
  llvm::copy(pads.low, low.begin() + firstSpatial);
  llvm::copy(pads.high, high.begin() + firstSpatial);
  return tensor::PadOp::create(builder, loc, Type(), x, low, high, padding);
}

AffineExpr getWindowExpr(const onnx::Window &window, int64_t i,
                         AffineExpr output, AffineExpr kernel) {
  return output * window.strides[i] + kernel * window.dilations[i];
}

} // namespace onnx_aot
