//===- OrtCheckpoint.cpp - checkpoints of ONNX Runtime Training -----------===//
//
// Those are FlatBuffers with the identifier "ODTC". The format in short: all
// offsets are 32-bit and relative; a table begins with the distance back to its
// list of field places; a vector begins with its length. The reader below
// follows no offset that leaves the buffer.
//
//===----------------------------------------------------------------------===//
#include "CheckpointText.h"

#include "Text.h"
#include "Types.h"

#include <cstring>
#include <set>

namespace onnx_aot::runtime {

namespace {

/// Numbers of the fields in their tables, in the order of ORT's schema.
enum CheckpointField { Version, ModuleState, OptimizerGroups, PropertyBag };
enum ModuleField { Trainable, Frozen, IsNominal, HasExternalData };
enum TensorField { Name, DocString, Dims, DataType, RawData };
enum GroupField { GroupName, Step, InitialLearningRate, OptimizerStates };
enum OptimizerField { ParameterName, Momentums };

class Buffer {
public:
  Buffer(const void *data, uint64_t bytes)
      : data(static_cast<const unsigned char *>(data)), bytes(bytes) {}

  /// The number at `place`; 0 and no longer good if it is not inside.
  template <typename T>
  T number(uint64_t place) {
    T value = T();
    if (place > bytes || bytes - place < sizeof(T))
      good = false;
    else
      std::memcpy(&value, data + place, sizeof(T));
    return value;
  }
  /// Where the offset at `place` leads to.
  uint64_t follow(uint64_t place) { return place + number<uint32_t>(place); }
  const unsigned char *range(uint64_t place, uint64_t count) {
    if (place > bytes || bytes - place < count)
      good = false;
    return good ? data + place : nullptr;
  }

  const unsigned char *data;
  uint64_t bytes;
  bool good = true;
  /// Bytes of text still to be read. Texts may share memory in the file; a file
  /// that repeats itself endlessly is made, not saved.
  uint64_t textLeft = bytes <= UINT64_MAX / 16 ? 16 * bytes : UINT64_MAX;
};

/// A vector: its first element and length.
struct Vector {
  uint64_t place = 0, size = 0;
};

class Table {
public:
  Table(Buffer &buffer, uint64_t place) : buffer(buffer), place(place) {
    int64_t fields =
        static_cast<int64_t>(place) - buffer.number<int32_t>(place);
    if (fields < 0 || !buffer.good) {
      buffer.good = false;
      return;
    }
    list = static_cast<uint64_t>(fields);
    listBytes = buffer.number<uint16_t>(list);
  }

  /// The place of a field, 0 if it is absent.
  uint64_t field(int index) {
    uint64_t at = 4 + 2 * static_cast<uint64_t>(index);
    if (!buffer.good || at + 2 > listBytes)
      return 0;
    uint16_t offset = buffer.number<uint16_t>(list + at);
    return offset ? place + offset : 0;
  }
  template <typename T>
  T number(int index, T absent = T()) {
    uint64_t at = field(index);
    return at ? buffer.number<T>(at) : absent;
  }
  Vector vector(int index, uint64_t elementBytes) {
    uint64_t at = field(index);
    if (!at)
      return {};
    at = buffer.follow(at);
    uint64_t size = buffer.number<uint32_t>(at);
    if (!buffer.range(at + 4, size * elementBytes))
      return {};
    return {at + 4, size};
  }
  std::string text(int index) {
    Vector chars = vector(index, 1);
    if (chars.size > buffer.textLeft) {
      buffer.good = false;
      return "";
    }
    buffer.textLeft -= chars.size;
    return std::string(
        reinterpret_cast<const char *>(buffer.data) + chars.place, chars.size);
  }
  /// The tables of a vector; at most as many as a file can hold.
  std::vector<Table> tables(int index) {
    std::vector<Table> all;
    Vector offsets = vector(index, 4);
    for (uint64_t i = 0; i < offsets.size && buffer.good; ++i)
      all.emplace_back(buffer, buffer.follow(offsets.place + 4 * i));
    return all;
  }
  bool has(int index) { return field(index) != 0; }
  Table table(int index) { return Table(buffer, buffer.follow(field(index))); }

private:
  Buffer &buffer;
  uint64_t place, list = 0, listBytes = 0;
};

Status takeTensor(Table table, Buffer &buffer, bool nominal,
                  CheckpointTensor &tensor, const std::string &what) {
  std::string who = concat(what, ": tensor ", quoted(tensor.name));
  tensor.type = table.number<int32_t>(DataType);
  const TypeInfo *type = typeInfo(tensor.type);
  if (!type || !type->bytes)
    return invalidArgument(who, " has type ", tensor.type,
                           ", which is not supported");
  Vector dims = table.vector(Dims, sizeof(int64_t));
  if (dims.size > ONNX_AOT_MAX_RANK)
    return invalidArgument(who, " has rank ", dims.size,
                           ", supported are 0 to ", ONNX_AOT_MAX_RANK);
  for (uint64_t i = 0; i < dims.size; ++i)
    tensor.dims.push_back(buffer.number<int64_t>(dims.place + 8 * i));
  if (nominal)
    return Status();
  Vector raw = table.vector(RawData, 1);
  tensor.bytes = raw.size;
  tensor.data = buffer.data + raw.place;
  std::optional<uint64_t> needed =
      tensorBytes(type->bytes, tensor.dims.data(),
                  static_cast<int32_t>(tensor.dims.size()));
  if (!needed || *needed != tensor.bytes)
    return invalidArgument(
        who, " has ", tensor.bytes, " bytes, its shape ",
        shapeText(tensor.dims.data(), static_cast<int32_t>(tensor.dims.size())),
        " needs others (data in a second file is not supported)");
  return Status();
}

Status takeParameters(Table &module, int field, Buffer &buffer,
                      Checkpoint &checkpoint, std::set<std::string> &names,
                      const std::string &what) {
  for (Table &table : module.tables(field)) {
    CheckpointTensor tensor;
    tensor.name = table.text(Name);
    if (!names.insert(tensor.name).second)
      return invalidArgument(what, " has parameter ", quoted(tensor.name),
                             " twice");
    if (Status status = takeTensor(table, buffer,
                                   checkpoint.contents == Checkpoint::Nominal,
                                   tensor, what);
        !status.ok())
      return status;
    checkpoint.parameters.push_back(std::move(tensor));
  }
  return Status();
}

/// Optimizer state. ORT names it by number: AdamW's are PyTorch's exp_avg and
/// exp_avg_sq; what SGD keeps under that name is never used.
Status takeOptimizer(Table &group, Buffer &buffer, Checkpoint &checkpoint,
                     const std::string &what) {
  static const char *const slotNames[] = {"exp_avg", "exp_avg_sq"};
  Progress &progress = checkpoint.progress;
  progress.updates = progress.steps = group.number<int64_t>(Step);
  progress.learningRate = group.number<float>(InitialLearningRate, 0.001f);
  if (progress.updates < 0)
    return invalidArgument(what, " counts ", progress.updates, " updates");
  checkpoint.contents = Checkpoint::Training;
  checkpoint.optimizer = "sgd";
  std::set<std::string> names;
  for (Table &state : group.tables(OptimizerStates)) {
    std::string parameter = state.text(ParameterName);
    std::vector<Table> moments = state.tables(Momentums);
    if (!names.insert(parameter).second || moments.size() > 2)
      return invalidArgument(what, " has unknown optimizer state of ",
                             quoted(parameter));
    if (moments.size() < 2)
      continue;
    checkpoint.optimizer = "adamw";
    for (size_t i = 0; i < 2; ++i) {
      CheckpointTensor tensor;
      tensor.name = parameter;
      tensor.slot = slotNames[i];
      if (Status status = takeTensor(moments[i], buffer, false, tensor, what);
          !status.ok())
        return status;
      checkpoint.slots.push_back(std::move(tensor));
    }
  }
  return Status();
}

void takeProperties(Table bag, Checkpoint &checkpoint) {
  enum { Integers, Floats, Strings };
  for (Table &entry : bag.tables(Integers))
    checkpoint.properties[entry.text(0)] = entry.number<int64_t>(1);
  for (Table &entry : bag.tables(Floats))
    checkpoint.properties[entry.text(0)] = entry.number<float>(1);
  for (Table &entry : bag.tables(Strings))
    checkpoint.properties[entry.text(0)] = entry.text(1);
}

Status readTables(Buffer &buffer, Checkpoint &checkpoint,
                  const std::string &what) {
  Table root(buffer, buffer.follow(0));
  int32_t version = root.number<int32_t>(Version);
  if (buffer.good && version != 1 && version != 2)
    return invalidArgument(what, " is a checkpoint of ONNX Runtime of version ",
                           version, ", supported are 1 and 2");
  if (!buffer.good || !root.has(ModuleState))
    return invalidArgument(what, " has no parameters");
  Table module = root.table(ModuleState);
  if (module.number<uint8_t>(HasExternalData))
    return invalidArgument(what, " has its parameters in a second file, which "
                                 "is not supported");
  if (module.number<uint8_t>(IsNominal))
    checkpoint.contents = Checkpoint::Nominal;
  std::set<std::string> names;
  for (int field : {int(Trainable), int(Frozen)})
    if (Status status =
            takeParameters(module, field, buffer, checkpoint, names, what);
        !status.ok())
      return status;
  std::vector<Table> groups = root.tables(OptimizerGroups);
  if (groups.size() > 1)
    return invalidArgument(what, " has ", groups.size(),
                           " optimizer groups, supported is 1");
  if (!groups.empty() && checkpoint.contents != Checkpoint::Nominal)
    if (Status status = takeOptimizer(groups[0], buffer, checkpoint, what);
        !status.ok())
      return status;
  if (root.has(PropertyBag))
    takeProperties(root.table(PropertyBag), checkpoint);
  return Status();
}

} // namespace

bool isOrtCheckpoint(const void *data, uint64_t bytes) {
  return bytes >= 8 &&
         !std::memcmp(static_cast<const char *>(data) + 4, "ODTC", 4);
}

Expected<Checkpoint> readOrtCheckpoint(const void *data, uint64_t bytes,
                                       const std::string &what) {
  Buffer buffer(data, bytes);
  Checkpoint checkpoint;
  Status status = readTables(buffer, checkpoint, what);
  if (!buffer.good)
    return invalidArgument(what, " is a damaged checkpoint of ONNX Runtime: an "
                                 "offset leads out of it");
  if (!status.ok())
    return status;
  return checkpoint;
}

} // namespace onnx_aot::runtime
