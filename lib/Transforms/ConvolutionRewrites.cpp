//===- ConvolutionRewrites.cpp - padding into convolutions ----------------===//

#include "Rewrites.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

/// The constant pads of a Pad with zeros that leaves batch and channels alone,
/// as Conv has them (all begins, then all ends).
static std::optional<SmallVector<int64_t>> getSpatialZeroPads(PadOp pad) {
  std::optional<int64_t> rank = getRank(pad.getData());
  auto pads = getConstantIntegers(pad.getPads());
  if (!rank || *rank < 3 || !pads || pad.getAxes() ||
      pad.getMode() != "constant" ||
      static_cast<int64_t>(pads->size()) != 2 * *rank ||
      (pad.getConstantValue() && getSplatNumber(pad.getConstantValue()) != 0.0))
    return std::nullopt;
  SmallVector<int64_t> spatial;
  for (auto [index, size] : llvm::enumerate(*pads)) {
    bool isSpatial = static_cast<int64_t>(index) % *rank >= 2;
    // Negative pads remove elements.
    if (size < 0 || (!isSpatial && size != 0) || size > INT32_MAX)
      return std::nullopt;
    if (isSpatial)
      spatial.push_back(size);
  }
  return spatial;
}

namespace {

// Pattern: Conv(Pad(x, zeros)) -> Conv(x) with larger pads
struct PadIntoConv : OpRewritePattern<ConvOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvOp op,
                                PatternRewriter &rewriter) const override {
    auto pad = op.getX().getDefiningOp<PadOp>();
    if (!pad || op.getChannelsLast() ||
        (op.getAutoPad() != "NOTSET" && op.getAutoPad() != "VALID"))
      return failure();
    std::optional<SmallVector<int64_t>> sizes = getSpatialZeroPads(pad);
    if (!sizes)
      return failure();
    // VALID says that there are no other pads.
    if (op.getPads() && op.getAutoPad() == "NOTSET") {
      if (op.getPads()->size() != sizes->size())
        return failure();
      for (auto [size, own] : llvm::zip_equal(*sizes, *op.getPads()))
        if (llvm::AddOverflow(size, own, size))
          return failure();
    }
    rewriter.modifyOpInPlace(op, [&] {
      op.getXMutable().assign(pad.getData());
      op.setAutoPad("NOTSET");
      op.setPads(ArrayRef(*sizes));
    });
    return success();
  }
};

} // namespace

void onnx_aot::populateConvolutionRewrites(RewritePatternSet &patterns) {
  patterns.add<PadIntoConv>(patterns.getContext());
}
