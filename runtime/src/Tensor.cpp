//===- Tensor.cpp - a tensor that owns its memory -------------------------===//
#include "onnx-aot/runtime/Tensor.h"

#include "Memory.h"
#include "Text.h"
#include "Types.h"

#include <cstring>
#include <new>

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
  if (type == ONNX_AOT_STRING)
    if (Status status = tensor->copyTexts(); !status.ok())
      return status;
  return tensor;
}

/// Lets the strings refer to a copy of what they refer to.
Status Tensor::copyTexts() {
  auto *strings = dataAs<OnnxAotString>();
  uint64_t total = 0;
  bool overflow = false;
  for (int64_t i = 0; i < theSize; ++i) {
    if (strings[i].size && !strings[i].data)
      return invalidArgument("string ", i, " of ", strings[i].size,
                             " bytes is null");
    overflow |= __builtin_add_overflow(total, strings[i].size, &total);
  }
  texts.reset(overflow ? nullptr : new (std::nothrow) char[total ? total : 1]);
  if (!texts)
    return Status(ONNX_AOT_OUT_OF_MEMORY,
                  concat("no memory for strings of ", total, " bytes"));
  char *next = texts.get();
  for (int64_t i = 0; i < theSize; ++i) {
    if (strings[i].size)
      std::memcpy(next, strings[i].data, strings[i].size);
    strings[i].data = next;
    next += strings[i].size;
  }
  return Status();
}

Expected<Tensor> Tensor::ofStrings(const std::vector<int64_t> &dims,
                                   const std::vector<std::string> &values) {
  std::vector<OnnxAotString> strings;
  for (const std::string &value : values)
    strings.push_back({value.data(), value.size()});
  return copyOf(ONNX_AOT_STRING, dims, strings.data(),
                strings.size() * sizeof(OnnxAotString));
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
