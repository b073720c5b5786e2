//===- Checkpoint.cpp - the state of a training on disk -------------------===//
#include "onnx-aot/runtime/Checkpoint.h"

#include "AtomicFile.h"
#include "CheckpointText.h"
#include "Safetensors.h"
#include "Text.h"
#include "Types.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace onnx_aot::runtime {

namespace {

// Parameters have their own names; all else has a name that begins with `own`,
// and so has a parameter whose own name would be mistaken for such a one.
const std::string own = "onnx_aot/";
const std::string hashName = own + "hash";
const std::string slotPrefix = own + "slot/";
const std::string gradientPrefix = own + "gradient/";
const std::string parameterPrefix = own + "parameter/";

bool startsWith(const std::string &text, const std::string &start) {
  return !text.compare(0, start.size(), start);
}

std::string parameterKey(const std::string &name) {
  return startsWith(name, own) || name == "__metadata__"
             ? parameterPrefix + name
             : name;
}

/// The tensor an entry stands for, in the list where it belongs.
Status takeTensor(const SafetensorsEntry &entry, const char *data,
                  Checkpoint &checkpoint, const std::string &what) {
  CheckpointTensor tensor;
  tensor.type = entry.type;
  tensor.dims = entry.dims;
  tensor.data = data + entry.begin;
  tensor.bytes = entry.end - entry.begin;
  const std::string &name = entry.name;
  if (startsWith(name, parameterPrefix)) {
    tensor.name = name.substr(parameterPrefix.size());
    checkpoint.parameters.push_back(std::move(tensor));
  } else if (startsWith(name, gradientPrefix)) {
    tensor.name = name.substr(gradientPrefix.size());
    checkpoint.gradients.push_back(std::move(tensor));
  } else if (startsWith(name, slotPrefix)) {
    size_t slash = name.find('/', slotPrefix.size());
    if (slash == name.npos)
      return invalidArgument(what, " has a tensor ", quoted(name),
                             ", which names no parameter");
    tensor.slot = name.substr(slotPrefix.size(), slash - slotPrefix.size());
    tensor.name = name.substr(slash + 1);
    checkpoint.slots.push_back(std::move(tensor));
  } else if (startsWith(name, own)) {
    return invalidArgument(what, " has a tensor ", quoted(name),
                           ", which this runtime does not know");
  } else {
    tensor.name = name;
    checkpoint.parameters.push_back(std::move(tensor));
  }
  return Status();
}

/// True for a file that was written here, if nothing is wrong with it.
bool isOwn(const SafetensorsHeader &header) {
  for (const auto &[key, value] : header.metadata)
    if (isOwnKey(key))
      return true;
  for (const SafetensorsEntry &entry : header.tensors)
    if (startsWith(entry.name, own))
      return true;
  return false;
}

/// The last tensor is the hash of every byte before it.
Status checkHash(const SafetensorsHeader &header, const void *data,
                 uint64_t bytes, const std::string &what) {
  XXH128_canonical_t found, expected;
  const SafetensorsEntry *last =
      header.tensors.empty() ? nullptr : &header.tensors.back();
  if (!last || last->name != hashName || last->type != ONNX_AOT_UINT8 ||
      last->end - last->begin != sizeof(found))
    return invalidArgument(what, " is damaged: it does not end with its hash");
  uint64_t covered = bytes - sizeof(found);
  std::memcpy(&expected, static_cast<const char *>(data) + covered,
              sizeof(expected));
  XXH128_canonicalFromHash(&found, XXH3_128bits(data, covered));
  if (std::memcmp(&found, &expected, sizeof(found)))
    return invalidArgument(what,
                           " is damaged: its hash is not that of its bytes");
  return Status();
}

Expected<Checkpoint> read(const void *data, uint64_t bytes,
                          const std::string &what) {
  if (isOrtCheckpoint(data, bytes))
    return readOrtCheckpoint(data, bytes, what);
  Expected<SafetensorsHeader> header = readSafetensors(data, bytes, what);
  if (!header)
    return header.status();
  Checkpoint checkpoint;
  if (isOwn(*header)) {
    if (Status status = checkHash(*header, data, bytes, what); !status.ok())
      return status;
    header->tensors.pop_back();
    if (Status status = readMetadata(header->metadata, checkpoint, what);
        !status.ok())
      return status;
  }
  if (checkpoint.contents == Checkpoint::Nominal && !header->tensors.empty())
    return invalidArgument(what, " is nominal and has tensors");
  const char *tensors = static_cast<const char *>(data) + header->dataBegin;
  for (const SafetensorsEntry &entry : header->tensors)
    if (Status status = takeTensor(entry, tensors, checkpoint, what);
        !status.ok())
      return status;
  return checkpoint;
}

/// A checkpoint as the bytes of its file, in pieces.
struct Image {
  std::string header;
  std::vector<Bytes> parts;
  XXH128_canonical_t hash;
};

Status describe(const CheckpointTensor &tensor, const std::string &key,
                SafetensorsHeader &header,
                std::map<std::string, const void *> &data) {
  SafetensorsEntry entry;
  entry.name = key;
  entry.type = tensor.type;
  entry.dims = tensor.dims;
  const TypeInfo *type = typeInfo(tensor.type);
  std::optional<uint64_t> bytes =
      type && type->bytes
          ? tensorBytes(type->bytes, tensor.dims.data(),
                        static_cast<int32_t>(tensor.dims.size()))
          : std::nullopt;
  if (!bytes || *bytes != tensor.bytes || (*bytes && !tensor.data))
    return invalidArgument("tensor ", quoted(tensor.name), " of type ",
                           type ? type->name : "unknown", " has ", tensor.bytes,
                           " bytes, which is not its size");
  data[key] = tensor.data;
  header.tensors.push_back(std::move(entry));
  return Status();
}

Status makeImage(const Checkpoint &checkpoint, Image &image) {
  SafetensorsHeader header;
  header.metadata = writeMetadata(checkpoint);
  std::map<std::string, const void *> data;
  Status status;
  auto add = [&](const std::vector<CheckpointTensor> &tensors, auto key) {
    for (const CheckpointTensor &tensor : tensors)
      if (status.ok())
        status = describe(tensor, key(tensor), header, data);
  };
  if (checkpoint.contents != Checkpoint::Nominal) {
    add(checkpoint.parameters,
        [](const CheckpointTensor &t) { return parameterKey(t.name); });
    add(checkpoint.slots, [](const CheckpointTensor &t) {
      return slotPrefix + t.slot + "/" + t.name;
    });
    add(checkpoint.gradients,
        [](const CheckpointTensor &t) { return gradientPrefix + t.name; });
  }
  if (!status.ok())
    return status;
  SafetensorsEntry hash;
  hash.name = hashName;
  hash.type = ONNX_AOT_UINT8;
  hash.dims = {sizeof(image.hash)};
  header.tensors.push_back(hash);
  Expected<std::string> text = writeSafetensorsHeader(header);
  if (!text)
    return text.status();
  image.header = std::move(*text);
  image.parts.push_back({image.header.data(), image.header.size()});
  for (const SafetensorsEntry &entry : header.tensors)
    if (entry.end != entry.begin && entry.name != hashName)
      image.parts.push_back({data[entry.name], entry.end - entry.begin});

  std::unique_ptr<XXH3_state_t, void (*)(XXH3_state_t *)> state(
      XXH3_createState(), [](XXH3_state_t *s) { XXH3_freeState(s); });
  if (!state)
    return Status(ONNX_AOT_OUT_OF_MEMORY, "out of memory");
  XXH3_128bits_reset(state.get());
  for (const Bytes &part : image.parts)
    XXH3_128bits_update(state.get(), part.data, part.count);
  XXH128_canonicalFromHash(&image.hash, XXH3_128bits_digest(state.get()));
  image.parts.push_back({&image.hash, sizeof(image.hash)});
  return Status();
}

} // namespace

Expected<Checkpoint> Checkpoint::load(const std::string &path) {
  std::string what = concat("checkpoint ", quoted(path));
  Expected<MappedFile> file = MappedFile::open(path, what);
  if (!file)
    return file.status();
  Expected<Checkpoint> checkpoint = read(file->data.get(), file->bytes, what);
  if (checkpoint)
    checkpoint->memory = file->data;
  return checkpoint;
}

Expected<Checkpoint> Checkpoint::fromMemory(const void *data, uint64_t bytes) {
  if (!data)
    return invalidArgument("the checkpoint's memory is null");
  return read(data, bytes, "the checkpoint");
}

Status Checkpoint::save(const std::string &path) const {
  Image image;
  if (Status status = makeImage(*this, image); !status.ok())
    return status;
  return writeFileAtomically(path, image.parts);
}

Expected<std::vector<char>> Checkpoint::toMemory() const {
  Image image;
  if (Status status = makeImage(*this, image); !status.ok())
    return status;
  std::vector<char> bytes;
  for (const Bytes &part : image.parts)
    bytes.insert(bytes.end(), static_cast<const char *>(part.data),
                 static_cast<const char *>(part.data) + part.count);
  return bytes;
}

const CheckpointTensor *
Checkpoint::findParameter(const std::string &name) const {
  for (const CheckpointTensor &tensor : parameters)
    if (tensor.name == name)
      return &tensor;
  return nullptr;
}

} // namespace onnx_aot::runtime
