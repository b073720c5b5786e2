//===- ModelStorage.h - the memory an imported model lives in ---*- C++ -*-===//

#ifndef ONNX_AOT_LIB_IMPORT_MODELSTORAGE_H
#define ONNX_AOT_LIB_IMPORT_MODELSTORAGE_H

#include "onnx/onnx_pb.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <deque>
#include <memory>

namespace onnx_aot::importer {

/// A read-only mapping of a file.
class MappedFile {
public:
  /// Opens `location`, a relative path, below the folder `root`. Neither `..`
  /// nor links of any kind can lead out of the folder, and only regular files
  /// open.
  static llvm::Expected<std::unique_ptr<MappedFile>>
  openContained(llvm::StringRef root, llvm::StringRef location);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  llvm::ArrayRef<char> getData() const { return data; }

private:
  explicit MappedFile(llvm::ArrayRef<char> data) : data(data) {}
  llvm::ArrayRef<char> data;
};

/// Everything that imported tensors may refer to. Resource blobs hold it.
struct ModelStorage {
  ::onnx::ModelProto model;
  /// The folder external data must lie in.
  std::string folder;
  /// External data files by location.
  llvm::StringMap<std::unique_ptr<MappedFile>> files;
  /// Nodes and functions that were made during import.
  std::deque<::onnx::NodeProto> nodes;
  std::deque<::onnx::FunctionProto> functions;
};

} // namespace onnx_aot::importer

#endif // ONNX_AOT_LIB_IMPORT_MODELSTORAGE_H
