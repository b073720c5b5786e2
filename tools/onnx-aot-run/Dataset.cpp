//===- Dataset.cpp - samples and the order they come in -------------------===//
#include "Dataset.h"

#include "Compare.h"
#include "Npz.h"

#include "onnx-aot/runtime/Checkpoint.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>

namespace onnx_aot::run {

using runtime::Checkpoint;
using runtime::CheckpointTensor;
using runtime::TrainingModule;

namespace {

uint64_t mix(uint64_t z) { // splitmix64's output function
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

std::string shapeOf(const int64_t *dims, int32_t rank) {
  std::string text = "[";
  for (int32_t i = 0; i < rank; ++i)
    text += (i ? ", " : "") + (dims[i] < 0 ? "?" : std::to_string(dims[i]));
  return text + "]";
}

bool isZip(const std::string &path) {
  char magic[2] = {};
  std::ifstream(path, std::ios::binary).read(magic, 2);
  return magic[0] == 'P' && magic[1] == 'K';
}

using Arrays = std::map<std::string, OnnxAotTensor>;

/// Arrays of a file, whose memory `memory` keeps.
Expected<Arrays> readArrays(const std::string &path,
                            const std::set<std::string> &wanted,
                            std::shared_ptr<void> &memory) {
  Arrays arrays;
  if (isZip(path)) {
    auto read = readNpz(path, wanted);
    if (!read)
      return read.status();
    auto kept =
        std::make_shared<std::map<std::string, Tensor>>(std::move(*read));
    for (auto &[name, tensor] : *kept)
      arrays[name] = tensor.view();
    memory = kept;
    return arrays;
  }
  Expected<Checkpoint> read = Checkpoint::load(path);
  if (!read)
    return read.status();
  auto kept = std::make_shared<Checkpoint>(std::move(*read));
  for (const CheckpointTensor &tensor : kept->parameters) {
    OnnxAotTensor view = {};
    view.data = const_cast<void *>(tensor.data);
    view.bytes = tensor.bytes;
    view.type = tensor.type;
    view.rank = static_cast<int32_t>(tensor.dims.size());
    std::copy(tensor.dims.begin(), tensor.dims.end(), view.dims);
    arrays[tensor.name] = view;
  }
  memory = kept;
  return arrays;
}

/// Checks an array against what the module takes, apart from the first axis.
Status checkArray(const OnnxAotTensor &array, const OnnxAotValueInfo &info,
                  const std::string &who) {
  bool same = array.type == info.type && array.rank == info.rank;
  for (int32_t d = 1; same && d < info.rank; ++d)
    same = info.dims[d] < 0 || info.dims[d] == array.dims[d];
  if (same)
    return Status();
  return userError(who + " is " + onnxAotTypeName(array.type) + " " +
                   shapeOf(array.dims, array.rank) + ", the module takes " +
                   onnxAotTypeName(info.type) + " " +
                   shapeOf(info.dims, info.rank) +
                   ", samples along the first axis");
}

/// Makes float64 of float32, in memory of its own.
void widen(OnnxAotTensor &array, std::vector<double> &wide) {
  if (array.type != ONNX_AOT_FLOAT32)
    return;
  uint64_t count = array.bytes / sizeof(float);
  for (uint64_t i = 0; i < count; ++i)
    wide.push_back(
        elementAsDouble(array.type, array.data, static_cast<int64_t>(i)));
  array.type = ONNX_AOT_FLOAT64;
  array.data = wide.data();
  array.bytes = count * sizeof(double);
}

} // namespace

std::vector<int64_t> shuffledOrder(int64_t count, uint64_t seed,
                                   uint64_t epoch) {
  uint64_t state = mix(mix(seed + 0x9e3779b97f4a7c15) + epoch);
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (uint64_t left = order.size(); left > 1; --left) {
    // A number below `left`, all equally likely: the last, incomplete run of
    // numbers is left out.
    uint64_t limit = UINT64_MAX - UINT64_MAX % left, number;
    do
      number = mix(state += 0x9e3779b97f4a7c15);
    while (number >= limit);
    std::swap(order[left - 1], order[number % left]);
  }
  return order;
}

const OnnxAotValueInfo *findInputInfo(const OnnxAotTraining &training,
                                      int32_t index) {
  for (const OnnxAotProgram *program :
       {&training.train, &training.fused, &training.eval})
    for (int32_t i = 0; program->module && i < program->module->num_inputs; ++i)
      if (program->inputs[i].role == ONNX_AOT_ROLE_USER &&
          program->inputs[i].index == index)
        return &program->module->inputs[i];
  return nullptr;
}

Expected<int64_t> fixedBatch(const TrainingModule &module) {
  int64_t fixed = 0;
  for (int32_t i = 0; i < module->num_inputs; ++i) {
    const OnnxAotValueInfo *info = findInputInfo(module.descriptor(), i);
    if (!info)
      continue;
    std::string who = "input '" + std::string(module->inputs[i]) + "'";
    if (!info->rank)
      return userError(who + " is a scalar and has no axis for samples: train "
                             "such a model through the C or C++ interface");
    if (info->dims[0] < 0)
      continue;
    if (!info->dims[0] || (fixed && fixed != info->dims[0]))
      return userError(who + " takes batches of " +
                       std::to_string(info->dims[0]) + " samples, another " +
                       "input of " + std::to_string(fixed));
    fixed = info->dims[0];
  }
  return fixed;
}

Expected<Dataset> Dataset::load(const std::string &path,
                                const TrainingModule &module) {
  Dataset data;
  data.thePath = path;
  data.count = -1;
  std::set<std::string> names;
  for (int32_t i = 0; i < module->num_inputs; ++i)
    names.insert(module->inputs[i]);
  auto arrays = readArrays(path, names, data.memory);
  if (!arrays)
    return arrays.status();
  for (int32_t i = 0; i < module->num_inputs; ++i) {
    Column column;
    std::string who =
        "'" + std::string(module->inputs[i]) + "' in '" + path + "'";
    auto found = arrays->find(module->inputs[i]);
    if (found == arrays->end())
      return userError("'" + path + "' has no array for " +
                       (i >= module->num_inputs - module->num_targets
                            ? "target '"
                            : "input '") +
                       module->inputs[i] + "'");
    column.all = found->second;
    if (const OnnxAotValueInfo *info = findInputInfo(module.descriptor(), i)) {
      if (info->type == ONNX_AOT_BFLOAT16 && column.all.type == ONNX_AOT_UINT16)
        column.all.type = ONNX_AOT_BFLOAT16; // numpy's stand-in
      if (info->type == ONNX_AOT_FLOAT64)
        widen(column.all, column.wide);
      if (Status status = checkArray(column.all, *info, who); !status.ok())
        return status;
    }
    int64_t rows = column.all.rank ? column.all.dims[0] : 0;
    if (data.count >= 0 && rows != data.count)
      return userError(who + " has " + std::to_string(rows) + " samples, '" +
                       module->inputs[0] + "' has " +
                       std::to_string(data.count));
    data.count = rows;
    column.rowBytes = rows ? column.all.bytes / static_cast<uint64_t>(rows) : 0;
    data.columns.push_back(std::move(column));
  }
  if (data.count <= 0)
    return userError("'" + path + "' has no samples");
  data.views.resize(data.columns.size());
  return data;
}

const std::vector<OnnxAotTensor> &
Dataset::batch(const std::vector<int64_t> *order, int64_t begin, int64_t rows) {
  for (size_t i = 0; i < columns.size(); ++i) {
    Column &column = columns[i];
    OnnxAotTensor &view = views[i];
    view = column.all;
    view.dims[0] = rows;
    view.bytes = column.rowBytes * static_cast<uint64_t>(rows);
    char *all = static_cast<char *>(column.all.data);
    // Rows in order need no copy if they are aligned as the whole is.
    uint64_t offset = column.rowBytes * static_cast<uint64_t>(begin);
    if (!order) {
      view.data = all + offset;
      continue;
    }
    column.staged.resize(view.bytes);
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(
          column.staged.data() + column.rowBytes * static_cast<uint64_t>(row),
          all + column.rowBytes * static_cast<uint64_t>((*order)[begin + row]),
          column.rowBytes);
    view.data = column.staged.data();
  }
  return views;
}

} // namespace onnx_aot::run
