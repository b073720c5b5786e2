//===- ExportModel.cpp - trained values into an ONNX file -----------------===//
//
// An ONNX file is a protocol buffer: a sequence of fields, each a number with
// a wire type and a value, some of which are messages again. To exchange the
// data of initializers one need not understand the rest: it is copied as it is.
// The numbers are those of onnx.proto.
//
//===----------------------------------------------------------------------===//
#include "AtomicFile.h"
#include "Text.h"
#include "TrainerState.h"
#include "Types.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>

namespace onnx_aot::runtime {

namespace {

constexpr uint64_t modelGraph = 7, graphInitializer = 5;
constexpr uint64_t tensorDims = 1, tensorType = 2, tensorName = 8,
                   tensorRawData = 9, tensorDataLocation = 14,
                   tensorFloatData = 4, tensorDoubleData = 10;
/// Fields that hold a tensor's data, one way or another.
const std::set<uint64_t> tensorData = {4, 5, 6, 7, 9, 10, 11, 13, 14};
/// A protocol buffer's own limit.
constexpr uint64_t largestFile = (uint64_t(1) << 31) - 1;

enum WireType { Varint = 0, Fixed64 = 1, Length = 2, Fixed32 = 5 };

struct Field {
  uint64_t number = 0, type = 0;
  Bytes all{};         ///< with its tag
  Bytes content{};     ///< of a field with a length or of fixed size
  uint64_t varint = 0; ///< of a field that is a number
};

/// Walks over the fields of a message.
class Fields {
public:
  explicit Fields(Bytes message)
      : next(static_cast<const unsigned char *>(message.data)),
        end(next + message.count) {}

  /// The next field; false at the end or where the message is malformed.
  bool read(Field &field) {
    if (!good || next == end)
      return false;
    const unsigned char *begin = next;
    uint64_t tag = varint();
    field = Field();
    field.number = tag >> 3;
    field.type = tag & 7;
    switch (field.type) {
    case Varint:
      field.varint = varint();
      break;
    case Fixed64:
      field.content = {next, 8};
      skip(8);
      break;
    case Fixed32:
      field.content = {next, 4};
      skip(4);
      break;
    case Length: {
      uint64_t count = varint();
      const unsigned char *content = next;
      skip(count);
      field.content = {content, count};
      break;
    }
    default: // groups: onnx.proto has none
      good = false;
    }
    field.all = {begin, static_cast<uint64_t>(next - begin)};
    return good;
  }

  bool good = true;

private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (next == end)
        break;
      unsigned char byte = *next++;
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
    good = false;
    return 0;
  }
  void skip(uint64_t count) {
    if (count > static_cast<uint64_t>(end - next))
      good = false;
    else
      next += count;
  }

  const unsigned char *next, *end;
};

std::string varintText(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7)
    text += static_cast<char>(value | 0x80);
  return text += static_cast<char>(value);
}

/// Tag and length of a field whose content follows.
std::string lengthField(uint64_t number, uint64_t count) {
  return varintText(number << 3 | Length) + varintText(count);
}

/// A message under construction: pieces of the old one and new bytes.
struct Message {
  std::vector<Bytes> parts;
  uint64_t count = 0;
  void add(Bytes bytes) {
    parts.push_back(bytes);
    count += bytes.count;
  }
  void add(const Message &message) {
    parts.insert(parts.end(), message.parts.begin(), message.parts.end());
    count += message.count;
  }
};

class Exporter {
public:
  Exporter(const std::map<std::string, ExportedTensor> &tensors,
           const std::string &what)
      : tensors(tensors), what(what) {}

  /// Without a path it only checks.
  Status exportTo(Bytes model, const std::string *path);

private:
  Status exportGraph(Bytes graph, Message &out);
  Status exportInitializer(Bytes tensor, Message &out);
  Status compare(const std::string &name, int64_t type,
                 const std::vector<int64_t> &dims, const ExportedTensor &own);
  Status malformed() const { return invalidArgument(what, " is no ONNX file"); }
  /// Keeps new bytes until the file is written.
  Bytes keep(std::string text) {
    kept.push_back(std::move(text));
    return {kept.back().data(), kept.back().size()};
  }

  const std::map<std::string, ExportedTensor> &tensors;
  const std::string &what;
  std::deque<std::string> kept;
  std::set<std::string> done;
};

Status Exporter::compare(const std::string &name, int64_t type,
                         const std::vector<int64_t> &dims,
                         const ExportedTensor &own) {
  auto text = [](const std::vector<int64_t> &shape) {
    return shapeText(shape.data(), static_cast<int32_t>(shape.size()));
  };
  if (type != own.type || dims != own.dims)
    return invalidArgument(what, ": initializer ", quoted(name), " is of type ",
                           type, " and shape ", text(dims),
                           ", the trained one of type ", own.type,
                           " and shape ", text(own.dims),
                           ": it is not the model that was compiled");
  if (own.type >= ONNX_AOT_UINT4 && own.type != ONNX_AOT_FLOAT8E8M0)
    return invalidArgument("parameter ", quoted(name), " has type ",
                           typeInfo(own.type)->name,
                           ", which cannot be exported");
  return Status();
}

/// W + scale * b a in W's place.
template <typename T>
static void addUpdate(std::string &data, const ExportedTensor &own) {
  const T *a = static_cast<const T *>(own.a),
          *b = static_cast<const T *>(own.b);
  int64_t out = own.dims[own.isTransposed ? 1 : 0],
          in = own.dims[own.isTransposed ? 0 : 1];
  std::vector<double> sums(static_cast<size_t>(in));
  for (int64_t to = 0; to < out; ++to) {
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t k = 0; k < own.rank; ++k)
      for (int64_t from = 0; from < in; ++from)
        sums[from] += double(b[to * own.rank + k]) * double(a[k * in + from]);
    for (int64_t from = 0; from < in; ++from) {
      int64_t index = own.isTransposed ? from * out + to : to * in + from;
      char *place = data.data() + index * int64_t(sizeof(T));
      T value;
      std::memcpy(&value, place, sizeof(T));
      value = static_cast<T>(double(value) + own.scale * sums[from]);
      std::memcpy(place, &value, sizeof(T));
    }
  }
}

/// Copies an initializer, with the trained data if it is a parameter.
Status Exporter::exportInitializer(Bytes tensor, Message &out) {
  std::string name;
  std::vector<int64_t> dims;
  int64_t type = 0, location = 0;
  std::vector<Bytes> data;
  Message others;
  Fields fields(tensor);
  for (Field field; fields.read(field);) {
    if (!tensorData.count(field.number))
      others.add(field.all);
    if (field.number == tensorRawData || field.number == tensorFloatData ||
        field.number == tensorDoubleData)
      data.push_back(field.content);
    if (field.number == tensorName && field.type == Length)
      name.assign(static_cast<const char *>(field.content.data),
                  field.content.count);
    if (field.number == tensorType && field.type == Varint)
      type = static_cast<int64_t>(field.varint);
    if (field.number == tensorDataLocation && field.type == Varint)
      location = static_cast<int64_t>(field.varint);
    if (field.number == tensorDims && field.type == Varint)
      dims.push_back(static_cast<int64_t>(field.varint));
    if (field.number == tensorDims && field.type == Length) {
      // Packed: bare numbers, read here as fields' values are.
      const char *digits = static_cast<const char *>(field.content.data);
      uint64_t value = 0;
      int shift = 0;
      for (uint64_t i = 0; i < field.content.count; ++i) {
        if (shift > 63)
          return malformed();
        value |= uint64_t(digits[i] & 0x7f) << shift;
        shift += 7;
        if (digits[i] & 0x80)
          continue;
        dims.push_back(static_cast<int64_t>(value));
        value = 0;
        shift = 0;
      }
    }
  }
  if (!fields.good)
    return malformed();
  auto found = tensors.find(name);
  bool isReplaced = found != tensors.end() && found->second.data;
  if (!isReplaced && location)
    return invalidArgument(what, ": initializer ", quoted(name),
                           " has its data in another file, which cannot be "
                           "exported");
  if (found == tensors.end()) {
    out.add(keep(lengthField(graphInitializer, tensor.count)));
    out.add(tensor);
    return Status();
  }
  const ExportedTensor &own = found->second;
  if (Status status = compare(name, type, dims, own); !status.ok())
    return status;
  done.insert(name);
  Message trained;
  trained.add(others);
  trained.add(keep(lengthField(tensorRawData, own.bytes)));
  if (own.data) {
    trained.add({own.data, own.bytes});
  } else {
    std::string sum;
    for (Bytes piece : data)
      sum.append(static_cast<const char *>(piece.data), piece.count);
    if (sum.size() != own.bytes)
      return malformed();
    if (own.type == ONNX_AOT_FLOAT64)
      addUpdate<double>(sum, own);
    else
      addUpdate<float>(sum, own);
    trained.add(keep(std::move(sum)));
  }
  out.add(keep(lengthField(graphInitializer, trained.count)));
  out.add(trained);
  return Status();
}

Status Exporter::exportGraph(Bytes graph, Message &out) {
  Fields fields(graph);
  for (Field field; fields.read(field);) {
    if (field.number != graphInitializer || field.type != Length) {
      out.add(field.all);
      continue;
    }
    if (Status status = exportInitializer(field.content, out); !status.ok())
      return status;
  }
  return fields.good ? Status() : malformed();
}

Status Exporter::exportTo(Bytes model, const std::string *path) {
  Message out;
  int graphs = 0;
  Fields fields(model);
  for (Field field; fields.read(field);) {
    if (field.number != modelGraph || field.type != Length) {
      out.add(field.all);
      continue;
    }
    ++graphs;
    Message graph;
    if (Status status = exportGraph(field.content, graph); !status.ok())
      return status;
    out.add(keep(lengthField(modelGraph, graph.count)));
    out.add(graph);
  }
  if (!fields.good || graphs != 1)
    return malformed();
  for (const auto &[name, tensor] : tensors)
    if (!done.count(name))
      return invalidArgument(what, " has no initializer ", quoted(name),
                             ": it is not the model that was compiled");
  if (out.count > largestFile)
    return invalidArgument("the trained model has ", out.count,
                           " bytes, an ONNX file at most ", largestFile);
  return path ? writeFileAtomically(*path, out.parts) : Status();
}

} // namespace

Status exportOnnx(const void *model, uint64_t bytes,
                  const std::map<std::string, ExportedTensor> &tensors,
                  const std::string *path, const std::string &what) {
  return Exporter(tensors, what).exportTo({model, bytes}, path);
}

Status Trainer::exportModel(const std::string &path,
                            const std::string &source) {
  if (Status status = state->checkReady(); !status.ok())
    return status;
  if (Status status = state->fetch(); !status.ok())
    return status;
  return exportTo(&path, source);
}

Status Trainer::checkExport(const std::string &source) {
  return exportTo(nullptr, source);
}

Status Trainer::exportTo(const std::string *path, const std::string &source) {
  std::map<std::string, ExportedTensor> tensors;
  for (int32_t i = 0; i < theModule->num_parameters; ++i) {
    OnnxAotTensor tensor = state->parameter(i);
    tensors[theModule->parameters[i].name] = {
        tensor.type,
        {tensor.dims, tensor.dims + tensor.rank},
        tensor.data,
        tensor.bytes};
  }
  for (int32_t i = 0; i < theModule->num_adapters; ++i) {
    const OnnxAotAdapter &adapter = theModule->adapters[i];
    OnnxAotTensor a = parameter(adapter.a), b = parameter(adapter.b);
    ExportedTensor sum{a.type, {b.dims[0], a.dims[1]}, nullptr, 0};
    if (adapter.transposed)
      std::swap(sum.dims[0], sum.dims[1]);
    sum.bytes = a.bytes / uint64_t(a.dims[0] * a.dims[1]) *
                uint64_t(sum.dims[0] * sum.dims[1]);
    sum.a = a.data;
    sum.b = b.data;
    sum.rank = a.dims[0];
    sum.isTransposed = adapter.transposed;
    sum.scale = adapter.scale;
    // The file has the sum alone.
    tensors.erase(theModule->parameters[adapter.a].name);
    tensors.erase(theModule->parameters[adapter.b].name);
    tensors[adapter.weight] = sum;
  }
  if (source.empty()) {
    if (!theModule->model)
      return invalidArgument("the module does not keep the model that it was "
                             "compiled from: give its ONNX file");
    return exportOnnx(theModule->model, theModule->model_bytes, tensors, path,
                      "the module's model");
  }
  std::string what = quoted(source);
  Expected<MappedFile> file = MappedFile::open(source, what);
  if (!file)
    return file.status();
  return exportOnnx(file->data.get(), file->bytes, tensors, path, what);
}

} // namespace onnx_aot::runtime
