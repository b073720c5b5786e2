//===- ConvPhases.cpp - adjoints of convolutions with strides -------------===//
//
// Of the products that a spread operand gives, all but one in as many as the
// strides' product have a zero as factor. What is left of them for the results
// at one remainder of their position modulo the strides is a convolution.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "ConvolutionLowering.h"
#include "WindowLowering.h"

#include <numeric>

using namespace mlir;
using namespace onnx_aot;

namespace {

/// One remainder along one dimension: result `stride * q + remainder` sums
/// x[q + first + j * dilation] times the kernel's part, turned round, at j.
struct Phase {
  int64_t remainder, results;
  KernelPart part;
  int64_t dilation, first;

  /// The last element of x that is read, and one.
  int64_t getEnd() const {
    return results + first + (part.count - 1) * dilation;
  }
};

/// The phases of dimension i that have results and a part of the kernel.
SmallVector<Phase> getPhases(const onnx::Window &window, int64_t i,
                             int64_t padLow, int64_t size) {
  int64_t stride = window.strides[i], dilation = window.dilations[i];
  int64_t common = std::gcd(stride, dilation), step = stride / common;
  SmallVector<Phase> phases;
  for (int64_t remainder = 0; remainder < std::min(stride, size); ++remainder) {
    // The kernel's place k meets x[o] where o * stride + k * dilation is this.
    int64_t position = remainder + padLow, at = 0;
    while (at < step && (position - at * dilation) % stride != 0)
      ++at;
    if (at == step || at >= window.kernel[i])
      continue;
    int64_t count = (window.kernel[i] - 1 - at) / step + 1;
    Phase phase{remainder,
                (size - remainder - 1) / stride + 1,
                {at, step, count},
                dilation / common,
                (position - at * dilation) / stride};
    phase.first -= (count - 1) * phase.dilation;
    phases.push_back(phase);
  }
  return phases;
}

} // namespace

Value onnx_aot::createPhasedConvolution(OpBuilder &builder, Location loc,
                                        Convolution conv,
                                        ArrayRef<int64_t> padsLow,
                                        ArrayRef<int64_t> sizes) {
  int64_t rank = conv.window.getRank();
  onnx::ChannelLayout layout(conv.channelsLast, rank + 2);
  auto xType = cast<RankedTensorType>(conv.x.getType());
  Type elementType = xType.getElementType(),
       accumulator = getAccumulatorType(elementType);
  SmallVector<SmallVector<Phase>> phases;
  WindowPads pads;
  SmallVector<int64_t> low;
  int64_t count = 1, all = 1;
  for (int64_t i = 0; i < rank; ++i) {
    phases.push_back(getPhases(conv.window, i, padsLow[i], sizes[i]));
    int64_t before = 0, end = xType.getDimSize(layout.spatial + i), after = end;
    for (const Phase &phase : phases.back()) {
      before = std::max(before, -phase.first);
      after = std::max(after, phase.getEnd());
    }
    low.push_back(before);
    pads.low.push_back(builder.getIndexAttr(before));
    pads.high.push_back(builder.getIndexAttr(after - end));
    count *= phases.back().size();
    all *= std::min(conv.window.strides[i], sizes[i]);
  }
  Value padded = padSpatial(builder, loc, conv.x, layout.spatial, pads,
                            createScalarConstant(builder, loc, 0, elementType));
  // The result, with zeros where there is no phase.
  SmallVector<OpFoldResult> results = getRuntimeSizes(builder, loc, conv.x);
  results[layout.channel] =
      foldSizes(builder, loc, builder.getAffineDimExpr(0) * conv.group,
                getRuntimeSizes(builder, loc, conv.w)[1]);
  for (int64_t i = 0; i < rank; ++i)
    results[layout.spatial + i] = builder.getIndexAttr(sizes[i]);
  Value dx =
      count == all
          ? createEmpty(builder, loc, results, accumulator)
          : createFilled(builder, loc, results,
                         createScalarConstant(builder, loc, 0, accumulator));
  SmallVector<OpFoldResult> ones(rank + 2, builder.getIndexAttr(1)),
      strides = ones;
  for (int64_t i = 0; i < rank; ++i)
    strides[layout.spatial + i] = builder.getIndexAttr(conv.window.strides[i]);
  for (int64_t number = 0; number < count; ++number) {
    Convolution part = conv;
    part.window.strides.assign(rank, 1);
    SmallVector<KernelPart> kernel(rank);
    SmallVector<OpFoldResult> counts(rank),
        offsets(rank + 2, builder.getIndexAttr(0)),
        targets = offsets, reads = getRuntimeSizes(builder, loc, padded);
    for (int64_t i = rank - 1, rest = number; i >= 0; --i) {
      const Phase &phase = phases[i][rest % phases[i].size()];
      rest /= phases[i].size();
      int64_t axis = layout.spatial + i;
      offsets[axis] = builder.getIndexAttr(low[i] + phase.first);
      reads[axis] = builder.getIndexAttr(phase.getEnd() - phase.first);
      targets[axis] = builder.getIndexAttr(phase.remainder);
      counts[i] = builder.getIndexAttr(phase.results);
      kernel[i] = phase.part;
      part.window.kernel[i] = phase.part.count;
      part.window.dilations[i] = phase.dilation;
    }
    part.x = tensor::ExtractSliceOp::create(builder, loc, padded, offsets,
                                            reads, ones);
    part.w = turnWeight(builder, loc, conv.w, conv.group, kernel);
    Value y = createConvolution(builder, loc, part, counts, accumulator);
    dx = tensor::InsertSliceOp::create(builder, loc, y, dx, targets,
                                       getRuntimeSizes(builder, loc, y),
                                       strides);
  }
  return dx;
}
