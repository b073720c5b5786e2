//===- Sequences.cpp - sequences and optionals in files -------------------===//
#include "Sequences.h"

#include "Compare.h"

#include <algorithm>
#include <cstring>

namespace onnx_aot::run {

namespace {

/// Columns of a sequence's table: the rank, then this many sizes.
constexpr int64_t maxEntryRank = 8;
constexpr int64_t columns = 1 + maxEntryRank;

bool is(const OnnxAotValueInfo &info, uint32_t part) {
  return info.flags & part;
}

/// The entries of a sequence, in order, taken out of the arrays.
Expected<std::vector<Tensor>> takeEntries(std::map<std::string, Tensor> &arrays,
                                          const OnnxAotValueInfo &info) {
  std::vector<Tensor> entries;
  while (true) {
    std::string name =
        std::string(info.name) + "[" + std::to_string(entries.size()) + "]";
    auto found = arrays.find(name);
    if (found == arrays.end())
      return entries;
    auto entry =
        asWanted(std::move(found->second), static_cast<OnnxAotType>(info.type));
    if (!entry)
      return entry.status();
    arrays.erase(found);
    if (entry->type() != info.type)
      return userError(
          "'" + name + "' has type " + onnxAotTypeName(entry->type()) +
          ", the sequence's entries have " + onnxAotTypeName(info.type));
    if (entry->dims().size() > static_cast<size_t>(maxEntryRank))
      return userError("'" + name + "' has rank " +
                       std::to_string(entry->dims().size()) +
                       " (supported in a sequence: up to " +
                       std::to_string(maxEntryRank) + ")");
    entries.push_back(std::move(*entry));
  }
}

/// Puts the two tensors of a sequence into the arrays.
Status addSequence(std::map<std::string, Tensor> &arrays,
                   const OnnxAotValueInfo &elements,
                   const OnnxAotValueInfo &shapes,
                   const std::vector<Tensor> &entries) {
  int64_t count = 0, length = static_cast<int64_t>(entries.size());
  for (const Tensor &entry : entries)
    count += entry.size();
  auto data = Tensor::create(static_cast<OnnxAotType>(elements.type), {count});
  auto table = Tensor::create(ONNX_AOT_INT64, {length, columns});
  if (!data)
    return data.status();
  if (!table)
    return table.status();
  char *to = data->dataAs<char>();
  int64_t *row = table->dataAs<int64_t>();
  for (const Tensor &entry : entries) {
    if (entry.bytes())
      std::memcpy(to, entry.data(), entry.bytes());
    to += entry.bytes();
    row[0] = static_cast<int64_t>(entry.dims().size());
    for (int64_t d = 0; d < maxEntryRank; ++d)
      row[1 + d] = d < row[0] ? entry.dims()[d] : 1;
    row += columns;
  }
  // Strings are to outlive the entries that they come from.
  if (elements.type == ONNX_AOT_STRING)
    data =
        Tensor::copyOf(data->type(), data->dims(), data->data(), data->bytes());
  if (!data)
    return data.status();
  arrays[elements.name] = std::move(*data);
  arrays[shapes.name] = std::move(*table);
  return Status();
}

/// The entries of a sequence as views of its elements.
Status splitSequence(const std::string &name, const OnnxAotTensor &elements,
                     const OnnxAotTensor &shapes,
                     std::vector<std::string> &names,
                     std::vector<OnnxAotTensor> &tensors) {
  uint64_t elementBytes = onnxAotTypeBytes(elements.type), begin = 0;
  int64_t length = shapes.dims[0];
  const int64_t *row = static_cast<const int64_t *>(shapes.data);
  for (int64_t i = 0; i < length; ++i, row += columns) {
    OnnxAotTensor entry = {};
    entry.type = elements.type;
    entry.rank = static_cast<int32_t>(row[0]);
    entry.bytes = elementBytes;
    bool fits = row[0] >= 0 && row[0] <= maxEntryRank;
    for (int32_t d = 0; fits && d < entry.rank; ++d) {
      entry.dims[d] = row[1 + d];
      fits = row[1 + d] >= 0 &&
             !__builtin_mul_overflow(entry.bytes, uint64_t(row[1 + d]),
                                     &entry.bytes);
    }
    if (!fits || entry.bytes > elements.bytes - begin)
      return userError("output '" + name + "' is no sequence: entry " +
                       std::to_string(i) + " does not fit its elements");
    entry.data = static_cast<char *>(elements.data) + begin;
    begin += entry.bytes;
    names.push_back(name + "[" + std::to_string(i) + "]");
    tensors.push_back(entry);
  }
  return Status();
}

/// A model may list a value twice as an output; a file has it once.
Status addOnce(const std::string &name, const OnnxAotTensor &tensor,
               std::vector<std::string> &names,
               std::vector<OnnxAotTensor> &tensors) {
  auto known = std::find(names.begin(), names.end(), name);
  if (known == names.end()) {
    names.push_back(name);
    tensors.push_back(tensor);
    return Status();
  }
  const OnnxAotTensor &other = tensors[size_t(known - names.begin())];
  if (other.type == tensor.type && other.rank == tensor.rank &&
      std::equal(tensor.dims, tensor.dims + tensor.rank, other.dims) &&
      other.bytes == tensor.bytes &&
      (!tensor.bytes || !std::memcmp(other.data, tensor.data, tensor.bytes)))
    return Status();
  return userError("two results have the name '" + name +
                   "' and different values, a file has place for one");
}

} // namespace

std::string sequenceName(const std::string &array) {
  size_t open = array.rfind('[');
  if (open == array.npos || array.back() != ']' || open + 2 >= array.size())
    return array;
  for (size_t i = open + 1; i + 1 < array.size(); ++i)
    if (array[i] < '0' || array[i] > '9')
      return array;
  return array.substr(0, open);
}

Expected<Tensor> asWanted(Tensor tensor, OnnxAotType wanted) {
  bool standsIn =
      (wanted == ONNX_AOT_BFLOAT16 && tensor.type() == ONNX_AOT_UINT16) ||
      (isNarrow(wanted) && tensor.type() == ONNX_AOT_UINT8);
  if (!standsIn)
    return tensor;
  return Tensor::copyOf(wanted, tensor.dims(), tensor.data(), tensor.bytes());
}

Status joinInputs(const runtime::Module &module,
                  std::map<std::string, Tensor> &arrays) {
  for (int32_t i = 0; i < module->num_inputs; ++i) {
    const OnnxAotValueInfo *info = &module->inputs[i];
    const OnnxAotValueInfo *present = nullptr;
    if (is(*info, ONNX_AOT_VALUE_PRESENT) && i + 1 < module->num_inputs) {
      present = info;
      info = &module->inputs[++i];
    }
    bool isThere = arrays.count(info->name);
    if (is(*info, ONNX_AOT_VALUE_ELEMENTS) && i + 1 < module->num_inputs) {
      auto entries = takeEntries(arrays, *info);
      if (!entries)
        return entries.status();
      isThere = !entries->empty();
      if (Status status =
              addSequence(arrays, *info, module->inputs[++i], *entries);
          !status.ok())
        return status;
    } else if (present && !isThere) {
      // Something of the right rank: nobody reads it.
      std::vector<int64_t> dims;
      for (int32_t d = 0; d < info->rank; ++d)
        dims.push_back(info->dims[d] < 0 ? 0 : info->dims[d]);
      auto nothing = Tensor::create(static_cast<OnnxAotType>(info->type), dims);
      if (!nothing)
        return nothing.status();
      arrays[info->name] = std::move(*nothing);
    }
    if (present) {
      auto flag = Tensor::of<uint8_t>(ONNX_AOT_BOOL, {}, {uint8_t(isThere)});
      if (!flag)
        return flag.status();
      arrays[present->name] = std::move(*flag);
    }
  }
  return Status();
}

Status splitOutputs(const runtime::Module &module,
                    std::vector<std::string> &names,
                    std::vector<OnnxAotTensor> &tensors) {
  std::vector<std::string> splitNames;
  std::vector<OnnxAotTensor> splitTensors;
  for (size_t i = 0; i < names.size(); ++i) {
    bool isOutput = i < static_cast<size_t>(module->num_outputs);
    uint32_t flags = isOutput ? module->outputs[i].flags : 0;
    bool isThere = true;
    if (flags & ONNX_AOT_VALUE_PRESENT && i + 1 < names.size()) {
      isThere = *static_cast<const uint8_t *>(tensors[i].data);
      flags = module->outputs[++i].flags;
    }
    if (flags & ONNX_AOT_VALUE_ELEMENTS && i + 1 < names.size()) {
      if (isThere)
        if (Status status = splitSequence(names[i], tensors[i], tensors[i + 1],
                                          splitNames, splitTensors);
            !status.ok())
          return status;
      ++i;
    } else if (isThere) {
      splitNames.push_back(names[i]);
      splitTensors.push_back(tensors[i]);
    }
  }
  names.clear();
  tensors.clear();
  for (size_t i = 0; i < splitNames.size(); ++i)
    if (Status status = addOnce(splitNames[i], splitTensors[i], names, tensors);
        !status.ok())
      return status;
  return Status();
}

} // namespace onnx_aot::run
