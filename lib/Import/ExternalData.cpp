//===- ExternalData.cpp - tensors stored beside the model file ------------===//

#include "TensorImporter.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace onnx_aot::importer {

/// More files than this are not a model but an attempt to use up descriptors'
/// mappings.
static constexpr unsigned kMaxFiles = 10000;

namespace {
/// What a TensorProto says of where its data is.
struct Place {
  StringRef location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};
} // namespace

static FailureOr<Place> readPlace(ImportContext &context,
                                  const ::onnx::TensorProto &tensor,
                                  Location loc) {
  Place place;
  for (const ::onnx::StringStringEntryProto &entry : tensor.external_data()) {
    StringRef key = entry.key(), value = entry.value();
    uint64_t number = 0;
    if (key == "location") {
      place.location = value;
    } else if (key == "offset" || key == "length") {
      if (value.getAsInteger(10, number))
        return context.refuse(loc, "external data of tensor '" + tensor.name() +
                                       "' has the " + key + " '" + value +
                                       "', which is not a number of bytes");
      if (key == "offset")
        place.offset = number;
      else
        place.length = number;
    } else if (key != "checksum" && key != "basepath" &&
               !key.starts_with("prepacked_")) {
      return context.refuse(loc, "external data of tensor '" + tensor.name() +
                                     "' has the unknown entry '" + key + "'");
    }
  }
  return place;
}

/// The file to write that is the one at `location` in the model's folder, or
/// null.
static const std::string *findOutput(const ImportContext &context,
                                     StringRef location) {
  llvm::SmallString<128> path(context.storage->folder);
  llvm::sys::path::append(path, location);
  for (const std::string &output : context.options.outputs) {
    bool isSame = false;
    if (!llvm::sys::fs::equivalent(path, output, isSame) && isSame)
      return &output;
  }
  return nullptr;
}

FailureOr<ArrayRef<char>> readExternalData(ImportContext &context,
                                           const ::onnx::TensorProto &tensor,
                                           uint64_t size, Location loc) {
  FailureOr<Place> place = readPlace(context, tensor, loc);
  if (failed(place))
    return failure();
  auto &files = context.storage->files;
  auto found = files.find(place->location);
  if (found == files.end()) {
    if (files.size() >= kMaxFiles)
      return context.refuse(loc, "the model's tensors lie in more than " +
                                     Twine(kMaxFiles) + " files");
    auto file =
        MappedFile::openContained(context.storage->folder, place->location);
    if (!file)
      return context.refuse(loc, "tensor '" + tensor.name() +
                                     "': " + llvm::toString(file.takeError()));
    if (const std::string *output = findOutput(context, place->location))
      return context.refuse(loc, "tensor '" + tensor.name() + "' lies in '" +
                                     place->location + "', which the output '" +
                                     *output + "' would overwrite");
    found = files.try_emplace(place->location, std::move(*file)).first;
  }
  ArrayRef<char> data = found->second->getData();
  // Compared without a sum that could wrap.
  if (place->offset > data.size() || size > data.size() - place->offset)
    return context.refuse(loc, "tensor '" + tensor.name() + "' needs " +
                                   Twine(size) + " bytes at offset " +
                                   Twine(place->offset) + " of '" +
                                   place->location + "', which has " +
                                   Twine(static_cast<uint64_t>(data.size())));
  if (place->length && *place->length != size)
    return context.refuse(
        loc, "tensor '" + tensor.name() + "' needs " + Twine(size) +
                 " bytes, but its external data has the length " +
                 Twine(*place->length));
  return data.slice(place->offset, size);
}

} // namespace onnx_aot::importer
