//===- CheckpointWriter.cpp - the parameters before training --------------===//
//
// The format is docs/CheckpointFormat.md's, with contents `parameters`. The
// bytes are hashed while they are written: large models are not held in memory
// twice.
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace onnx_aot;
using llvm::StringRef;

namespace {
/// Hashes what it writes.
class HashingStream {
public:
  explicit HashingStream(llvm::raw_ostream &os) : os(os) {
    XXH3_128bits_reset(&state);
  }
  void write(llvm::ArrayRef<char> bytes) {
    os.write(bytes.data(), bytes.size());
    XXH3_128bits_update(&state, bytes.data(), bytes.size());
  }
  XXH128_canonical_t digest() const {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
    return canonical;
  }

private:
  llvm::raw_ostream &os;
  XXH3_state_t state;
};
} // namespace

/// The format's name of a type; empty for what it cannot hold.
static StringRef getTypeCode(OnnxAotType type) {
  switch (type) {
  case ONNX_AOT_FLOAT64:
    return "F64";
  case ONNX_AOT_FLOAT32:
    return "F32";
  case ONNX_AOT_FLOAT16:
    return "F16";
  case ONNX_AOT_BFLOAT16:
    return "BF16";
  case ONNX_AOT_INT64:
    return "I64";
  case ONNX_AOT_INT32:
    return "I32";
  case ONNX_AOT_INT16:
    return "I16";
  case ONNX_AOT_INT8:
    return "I8";
  case ONNX_AOT_UINT64:
    return "U64";
  case ONNX_AOT_UINT32:
    return "U32";
  case ONNX_AOT_UINT16:
    return "U16";
  case ONNX_AOT_UINT8:
    return "U8";
  case ONNX_AOT_BOOL:
    return "BOOL";
  default:
    return "";
  }
}

/// Names of ours are kept apart from the model's.
static std::string getKey(StringRef name) {
  bool isOurs = name.starts_with("onnx_aot/") || name == "__metadata__";
  return (isOurs ? "onnx_aot/parameter/" : "") + name.str();
}

llvm::Error onnx_aot::checkCheckpoint(const TrainingInfo &info) {
  for (const ParameterInfo &parameter : info.parameters)
    if (getTypeCode(parameter.value.type).empty())
      return llvm::createStringError(
          "parameter '" + parameter.value.name +
          "' has a type that a checkpoint cannot hold");
  return llvm::Error::success();
}

void onnx_aot::writeCheckpoint(const TrainingInfo &info,
                               llvm::ArrayRef<InitialValue> values,
                               llvm::raw_ostream &os) {
  std::vector<unsigned> order(values.size());
  for (unsigned i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return getTypeBytes(info.parameters[a].value.type) >
           getTypeBytes(info.parameters[b].value.type);
  });
  std::string fingerprint;
  for (uint64_t half : info.fingerprint)
    fingerprint += llvm::formatv("{0:x-16}", half).str();
  llvm::json::Object header{
      {"__metadata__",
       llvm::json::Object{{"onnx_aot.format", "1"},
                          {"onnx_aot.contents", "parameters"},
                          {"onnx_aot.fingerprint", fingerprint},
                          {"onnx_aot.optimizer", info.optimizer}}}};
  int64_t offset = 0;
  auto add = [&](std::string name, StringRef type, llvm::ArrayRef<int64_t> dims,
                 int64_t bytes) {
    header[llvm::json::fixUTF8(name)] = llvm::json::Object{
        {"dtype", type},
        {"shape", llvm::json::Array(dims)},
        {"data_offsets", llvm::json::Array{offset, offset + bytes}}};
    offset += bytes;
  };
  for (unsigned i : order) {
    const ValueInfo &value = info.parameters[i].value;
    add(getKey(value.name), getTypeCode(value.type), value.dims,
        values[i].bytes.size());
  }
  add("onnx_aot/hash", "U8", {16}, 16);
  std::string text =
      llvm::formatv("{0}", llvm::json::Value(std::move(header))).str();
  text.resize(llvm::alignTo(text.size() + 8, ONNX_AOT_ALIGNMENT) - 8, ' ');

  HashingStream stream(os);
  char length[8];
  llvm::support::endian::write64le(length, text.size());
  stream.write(length);
  stream.write({text.data(), text.size()});
  for (unsigned i : order)
    stream.write(values[i].bytes);
  XXH128_canonical_t digest = stream.digest();
  os.write(reinterpret_cast<const char *>(digest.digest),
           sizeof(digest.digest));
}
