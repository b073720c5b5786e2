//===- Tensor.cpp - a tensor that owns its memory -------------------------===//
#include "onnx-aot/runtime/Tensor.h"

#include "Memory.h"
#include "Text.h"
#include "Types.h"

#include <cstring>

namespace onnx_aot::runtime {

Expected<Tensor> Tensor::create(OnnxAotType type,
                                const std::vector<int64_t> &dims) {
  const TypeInfo *info = typeInfo(type);
  if (!info || !info->bytes)
    return invalidArgument("tensor type ", info ? info->name : "unknown",
                           " has no element size");
  if (dims.size() > ONNX_AOT_MAX_RANK)
    return invalidArgument("tensor rank is ", dims.size(), ", at most ",
                           ONNX_AOT_MAX_RANK, " is supported");
  int32_t rank = static_cast<int32_t>(dims.size());
  std::optional<uint64_t> bytes = tensorBytes(info->bytes, dims.data(), rank);
  if (!bytes)
    return invalidArgument("tensor of shape ", shapeText(dims.data(), rank),
                           " has a negative size or does not fit memory");
  Tensor tensor;
  tensor.memory.reset(allocateAligned(*bytes));
  if (!tensor.memory)
    return Status(ONNX_AOT_OUT_OF_MEMORY,
                  concat("no memory for a tensor of ", *bytes, " bytes"));
  std::memset(tensor.memory.get(), 0, *bytes);
  tensor.theType = type;
  tensor.theDims = dims;
  tensor.theBytes = *bytes;
  tensor.theSize = static_cast<int64_t>(*bytes / info->bytes);
  return tensor;
}

Expected<Tensor> Tensor::copyOf(OnnxAotType type,
                                const std::vector<int64_t> &dims,
                                const void *data, uint64_t bytes) {
  Expected<Tensor> tensor = create(type, dims);
  if (!tensor)
    return tensor;
  if (bytes != tensor->bytes())
    return invalidArgument("tensor of ", tensor->bytes(),
                           " bytes is given values of ", bytes, " bytes");
  if (bytes)
    std::memcpy(tensor->data(), data, bytes);
  return tensor;
}

OnnxAotTensor Tensor::view() const {
  OnnxAotTensor view = {};
  view.data = memory.get();
  view.bytes = theBytes;
  view.type = theType;
  view.rank = static_cast<int32_t>(theDims.size());
  for (size_t i = 0; i < theDims.size(); ++i)
    view.dims[i] = theDims[i];
  return view;
}

} // namespace onnx_aot::runtime
