//===- Window.cpp - geometry of convolution and pooling windows -----------===//

#include "onnx-aot/Dialect/Onnx/IR/Window.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace onnx_aot::onnx {

/// Products of two such numbers and sums of a few of them fit 64 bits.
static constexpr int64_t kMaxWindowNumber = int64_t(1) << 31;

/// Fills one list: `count` defaults, or the given numbers after their checks.
static LogicalResult readList(Operation *op, StringRef name,
                              std::optional<ArrayRef<int64_t>> given,
                              size_t count, int64_t byDefault, int64_t minimum,
                              SmallVectorImpl<int64_t> &list) {
  if (!given || given->empty()) {
    list.assign(count, byDefault);
    return success();
  }
  if (given->size() != count)
    return op->emitOpError(name)
           << " has " << given->size() << " entries, expected " << count;
  for (int64_t number : *given)
    if (number < minimum || number > kMaxWindowNumber)
      return op->emitOpError(name)
             << " has " << number << " (supported: " << minimum << " to "
             << kMaxWindowNumber << ")";
  list.assign(given->begin(), given->end());
  return success();
}

FailureOr<Window> getWindow(Operation *op, const WindowAttrs &attrs) {
  Window window;
  size_t rank = attrs.kernel.size();
  if (rank == 0)
    return op->emitOpError("needs a kernel of at least one dimension");
  SmallVector<int64_t> pads;
  if (failed(readList(op, "kernel_shape", attrs.kernel, rank, 1, 1,
                      window.kernel)) ||
      failed(
          readList(op, "strides", attrs.strides, rank, 1, 1, window.strides)) ||
      failed(readList(op, "dilations", attrs.dilations, rank, 1, 1,
                      window.dilations)) ||
      failed(readList(op, "pads", attrs.pads, 2 * rank, 0, 0, pads)))
    return failure();
  auto autoPad = llvm::StringSwitch<std::optional<AutoPad>>(attrs.autoPad)
                     .Cases({"", "NOTSET"}, AutoPad::NotSet)
                     .Case("VALID", AutoPad::Valid)
                     .Case("SAME_UPPER", AutoPad::SameUpper)
                     .Case("SAME_LOWER", AutoPad::SameLower)
                     .Default(std::nullopt);
  if (!autoPad)
    return op->emitOpError("auto_pad \"")
           << attrs.autoPad
           << "\" is not known (supported: NOTSET, VALID, SAME_UPPER, "
              "SAME_LOWER)";
  window.autoPad = *autoPad;
  window.ceilMode = attrs.ceilMode;
  // Explicit pads have no meaning beside another auto_pad.
  if (window.autoPad != AutoPad::NotSet)
    pads.assign(2 * rank, 0);
  window.padsBegin.assign(pads.begin(), pads.begin() + rank);
  window.padsEnd.assign(pads.begin() + rank, pads.end());
  return window;
}

Dim Window::getOutputDim(int64_t i, Dim input) const {
  if (isSame())
    return input.ceilDiv(strides[i]);
  Dim spare = input + (padsBegin[i] + padsEnd[i] - getExtent(i));
  if (!ceilMode)
    return spare.floorDiv(strides[i]) + 1;
  // Rounding up may start a window in the end padding: such windows are left
  // out, so that at most ceil((input + padsBegin) / stride) remain.
  int64_t beyond = padsEnd[i] - getExtent(i) + strides[i];
  return (input + (padsBegin[i] + std::min<int64_t>(beyond, 0)))
      .ceilDiv(strides[i]);
}

FailureOr<Shape> getWindowOutput(Operation *op, const Window &window,
                                 ArrayRef<Dim> input) {
  if (static_cast<int64_t>(input.size()) != window.getRank())
    return op->emitOpError("input has ")
           << input.size() << " spatial dimensions, but its kernel has "
           << window.getRank();
  Shape output;
  for (auto [i, dim] : llvm::enumerate(input)) {
    output.push_back(window.getOutputDim(i, dim));
    if (output.back().isStatic() && output.back().getStatic() < 0)
      return op->emitOpError("window of extent ")
             << window.getExtent(i) << " does not fit into spatial dimension "
             << i << " of size " << dim.getStatic();
  }
  return output;
}

//===--- ConvTranspose ----------------------------------------------------===//

FailureOr<TransposedWindow>
getTransposedWindow(Operation *op, const Window &window,
                    std::optional<ArrayRef<int64_t>> outputPadding,
                    std::optional<ArrayRef<int64_t>> outputShape) {
  TransposedWindow result{window, {}, std::nullopt};
  size_t rank = window.getRank();
  if (failed(readList(op, "output_padding", outputPadding, rank, 0, 0,
                      result.outputPadding)))
    return failure();
  if (outputShape && !outputShape->empty()) {
    // Some files give the batch and channel sizes too.
    if (outputShape->size() == rank + 2)
      outputShape = outputShape->drop_front(2);
    result.outputShape.emplace();
    if (failed(readList(op, "output_shape", outputShape, rank, 0, 0,
                        *result.outputShape)))
      return failure();
  }
  return result;
}

Dim TransposedWindow::getOutputDim(int64_t i, Dim input) const {
  if (outputShape && input.isKnown())
    return Dim::constant(input.getExpr().getContext(), (*outputShape)[i]);
  if (window.isSame())
    return input * window.strides[i];
  return (input - 1) * window.strides[i] +
         (outputPadding[i] + window.getExtent(i) - window.padsBegin[i] -
          window.padsEnd[i]);
}

Dim TransposedWindow::getPadBegin(int64_t i, Dim input) const {
  if (!outputShape && !window.isSame()) {
    MLIRContext *context = input.getExpr().getContext();
    return Dim::constant(context, window.padsBegin[i]);
  }
  Dim total = (input - 1) * window.strides[i] +
              (outputPadding[i] + window.getExtent(i)) - getOutputDim(i, input);
  if (total.isStatic() && total.getStatic() < 0)
    return total * 0;
  // The odd element goes to the end with SAME_UPPER, to the beginning else.
  return window.autoPad == AutoPad::SameUpper ? total.floorDiv(2)
                                              : total.ceilDiv(2);
}

} // namespace onnx_aot::onnx
