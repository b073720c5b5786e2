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

/// The phases of dimension i that have results and a part of the kernel.
static SmallVector<Phase> getPhases(const onnx::Window &window, int64_t i,
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

Value onnx_aot::createPhased(
    OpBuilder &builder, Location loc, const PhasedWindows &windows,
    ArrayRef<WindowOperand> operands, Type elementType,
    function_ref<Value(ArrayRef<Phase>, ValueRange)> compute) {
  const onnx::Window &window = windows.window;
  int64_t rank = window.getRank(), spatial = windows.layout.spatial;
  SmallVector<SmallVector<Phase>> phases;
  WindowPads pads;
  SmallVector<int64_t> low;
  int64_t number = 1, all = 1;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t size = windows.spatial[i], end = windows.counts[i];
    phases.push_back(getPhases(window, i, windows.padsLow[i], size));
    int64_t before = 0, after = end;
    for (const Phase &phase : phases.back()) {
      before = std::max(before, -phase.first);
      after = std::max(after, phase.getEnd());
    }
    low.push_back(before);
    pads.low.push_back(builder.getIndexAttr(before));
    pads.high.push_back(builder.getIndexAttr(after - end));
    number *= phases.back().size();
    all *= std::min(window.strides[i], size);
  }
  SmallVector<Value> padded;
  for (const WindowOperand &operand : operands)
    padded.push_back(padSpatial(builder, loc, operand.tensor, spatial, pads,
                                operand.padding));
  // Zeros where there is no phase.
  Value dx =
      number == all
          ? createEmpty(builder, loc, windows.sizes, elementType)
          : createFilled(builder, loc, windows.sizes,
                         createScalarConstant(builder, loc, 0, elementType));
  SmallVector<OpFoldResult> ones(rank + 2, builder.getIndexAttr(1)),
      strides = ones;
  for (int64_t i = 0; i < rank; ++i)
    strides[spatial + i] = builder.getIndexAttr(window.strides[i]);
  for (int64_t at = 0; at < number; ++at) {
    SmallVector<Phase> chosen(rank);
    SmallVector<OpFoldResult> offsets(rank + 2, builder.getIndexAttr(0)),
        targets = offsets;
    for (int64_t i = rank - 1, rest = at; i >= 0; --i) {
      chosen[i] = phases[i][rest % phases[i].size()];
      rest /= phases[i].size();
      offsets[spatial + i] = builder.getIndexAttr(low[i] + chosen[i].first);
      targets[spatial + i] = builder.getIndexAttr(chosen[i].remainder);
    }
    SmallVector<Value> stretches;
    for (Value tensor : padded) {
      SmallVector<OpFoldResult> reads = getRuntimeSizes(builder, loc, tensor);
      for (int64_t i = 0; i < rank; ++i)
        reads[spatial + i] =
            builder.getIndexAttr(chosen[i].getEnd() - chosen[i].first);
      stretches.push_back(tensor::ExtractSliceOp::create(builder, loc, tensor,
                                                         offsets, reads, ones));
    }
    Value part = compute(chosen, stretches);
    dx = tensor::InsertSliceOp::create(builder, loc, part, dx, targets,
                                       getRuntimeSizes(builder, loc, part),
                                       strides);
  }
  return dx;
}

Value onnx_aot::createPhasedConvolution(OpBuilder &builder, Location loc,
                                        Convolution conv,
                                        const PhasedWindows &windows) {
  Type elementType = getElementTypeOrSelf(conv.x.getType()),
       accumulator = getAccumulatorType(elementType);
  Value zero = createScalarConstant(builder, loc, 0, elementType);
  return createPhased(
      builder, loc, windows, {{conv.x, zero}}, accumulator,
      [&](ArrayRef<Phase> phases, ValueRange stretches) {
        Convolution part = conv;
        part.x = stretches.front();
        SmallVector<KernelPart> kernel;
        SmallVector<OpFoldResult> counts;
        for (auto [i, phase] : llvm::enumerate(phases)) {
          kernel.push_back(phase.part);
          counts.push_back(builder.getIndexAttr(phase.results));
          part.window.kernel[i] = phase.part.count;
          part.window.dilations[i] = phase.dilation;
          part.window.strides[i] = 1;
        }
        part.w = turnWeight(builder, loc, conv.w, conv.group, kernel);
        return createConvolution(builder, loc, part, counts, accumulator);
      });
}
