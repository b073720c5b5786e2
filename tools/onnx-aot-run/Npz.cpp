//===- Npz.cpp - numpy's archives of arrays -------------------------------===//
#include "Npz.h"

#include "Sequences.h"
#include "Strings.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <zip.h>

namespace onnx_aot::run {

namespace {

constexpr std::string_view suffix = ".npy";

std::string openError(const std::string &path, int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text =
      "cannot open '" + path + "': " + zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

/// Reads one entry as .npy, to its end: that is where the checksum is verified.
Expected<Tensor> readEntry(zip_t *archive, uint64_t index,
                           const std::string &what) {
  zip_stat_t info;
  if (zip_stat_index(archive, index, 0, &info) || !(info.valid & ZIP_STAT_SIZE))
    return userError("cannot read " + what + ": " + zip_strerror(archive));
  zip_file_t *file = zip_fopen_index(archive, index, 0);
  if (!file)
    return userError("cannot read " + what + ": " + zip_strerror(archive));
  auto failed = [&] {
    return userError("cannot read " + what + ": " + zip_file_strerror(file));
  };
  ByteSource source{info.size, [&](void *to, uint64_t count) {
                      char *next = static_cast<char *>(to);
                      while (count) {
                        zip_int64_t got = zip_fread(file, next, count);
                        if (got < 0)
                          return failed();
                        if (!got)
                          return userError(what + " ends early");
                        next += got;
                        count -= static_cast<uint64_t>(got);
                      }
                      return Status();
                    }};
  Expected<Tensor> tensor = readNpy(source, what);
  char more;
  if (tensor) {
    zip_int64_t got = zip_fread(file, &more, 1);
    if (got < 0)
      tensor = failed();
    else if (got > 0)
      tensor = userError(what + " is longer than its archive says");
  }
  zip_fclose(file);
  return tensor;
}

std::string listOf(const std::set<std::string> &names) {
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "'" : ", '") + name + "'";
  return list.empty() ? "none" : list;
}

} // namespace

Expected<std::map<std::string, Tensor>>
readNpz(const std::string &path, const std::set<std::string> &wanted,
        const std::set<std::string> *ignored) {
  int code = 0;
  zip_t *archive = zip_open(path.c_str(), ZIP_RDONLY, &code);
  if (!archive)
    return userError(openError(path, code));
  std::map<std::string, Tensor> arrays;
  std::set<std::string> strangers;
  Status failure;
  zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count && failure.ok(); ++i) {
    const char *entry = zip_get_name(archive, i, ZIP_FL_ENC_RAW);
    std::string name = entry ? entry : "";
    if (name.size() < suffix.size() ||
        name.compare(name.size() - suffix.size(), suffix.size(), suffix))
      continue;
    name.resize(name.size() - suffix.size());
    std::string base = sequenceName(name);
    if (!wanted.count(name) && !wanted.count(base)) {
      if (ignored && !ignored->count(name) && !ignored->count(base))
        strangers.insert(name);
      continue;
    }
    std::string what = "'" + name + "' in '" + path + "'";
    Expected<Tensor> tensor = readEntry(archive, i, what);
    if (!tensor)
      failure = tensor.status();
    else if (!arrays.emplace(name, std::move(*tensor)).second)
      failure = userError(what + " is there twice");
  }
  zip_discard(archive);
  if (!failure.ok())
    return failure;
  if (!strangers.empty())
    return userError("'" + path + "' holds what is no input of the model: " +
                     listOf(strangers) + " (inputs: " + listOf(wanted) + ")");
  return arrays;
}

/// An archive without entries is the record that ends every one.
static Status writeEmpty(const std::string &path) {
  constexpr char record[22] = {'P', 'K', 5, 6};
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "wb"),
                                              std::fclose);
  if (!file || std::fwrite(record, sizeof(record), 1, file.get()) != 1 ||
      std::fflush(file.get()))
    return userError("cannot write '" + path + "': " + std::strerror(errno));
  return Status();
}

Status writeNpz(const std::string &path, const std::vector<std::string> &names,
                const std::vector<OnnxAotTensor> &tensors) {
  if (names.empty()) // as of an empty sequence; libzip writes no file for it
    return writeEmpty(path);
  // A link stays, its target is replaced.
  std::error_code missing;
  std::string target = std::filesystem::canonical(path, missing);
  if (missing)
    target = path;
  int code = 0;
  zip_t *archive = zip_open(target.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (!archive)
    return userError(openError(path, code));
  // The archive refers to the headers and tensors until it is closed.
  std::vector<std::string> headers(names.size()), strings(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    uint64_t width = 0;
    void *data = tensors[i].data;
    uint64_t bytes = tensors[i].bytes;
    if (tensors[i].type == ONNX_AOT_STRING) {
      auto encoded = encodeStrings(tensors[i], "'" + names[i] + "'", width);
      if (!encoded) {
        zip_discard(archive);
        return encoded.status();
      }
      strings[i] = std::move(*encoded);
      data = strings[i].data();
      bytes = strings[i].size();
    }
    headers[i] = npyHeader(tensors[i], width);
    zip_buffer_fragment_t parts[2] = {
        {reinterpret_cast<zip_uint8_t *>(headers[i].data()), headers[i].size()},
        {static_cast<zip_uint8_t *>(data), bytes}};
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source =
        zip_source_buffer_fragment_create(parts, bytes ? 2 : 1, 0, &error);
    zip_error_fini(&error);
    zip_int64_t index = source
                            ? zip_file_add(archive, (names[i] + ".npy").c_str(),
                                           source, ZIP_FL_ENC_UTF_8)
                            : -1;
    if (index < 0) {
      if (source)
        zip_source_free(source);
      Status failure = userError("cannot write '" + names[i] + "' to '" + path +
                                 "': " + zip_strerror(archive));
      zip_discard(archive);
      return failure;
    }
    // numpy's savez stores, too. A fixed time keeps the file reproducible.
    constexpr time_t newYear1980 = 315532800 + 86400;
    zip_set_file_compression(archive, index, ZIP_CM_STORE, 0);
    zip_file_set_mtime(archive, index, newYear1980, 0);
  }
  if (zip_close(archive)) {
    Status failure =
        userError("cannot write '" + path + "': " + zip_strerror(archive));
    zip_discard(archive);
    return failure;
  }
  return Status();
}

} // namespace onnx_aot::run
