//===- OutputFiles.cpp - several files that appear together ---------------===//

#include "OutputFiles.h"

#include "llvm/ADT/STLExtras.h"

using namespace onnx_aot;
using llvm::StringRef;

OutputFiles::~OutputFiles() {
  for (File &file : files)
    if (!isCommitted || file.path.empty())
      llvm::consumeError(file.temporary.discard());
}

llvm::Expected<OutputFiles::File *> OutputFiles::create(StringRef path) {
  auto temporary = llvm::sys::fs::TempFile::create(base + ".tmp-%%%%%%%%");
  if (!temporary)
    return llvm::createFileError(path.empty() ? base : path,
                                 temporary.takeError());
  files.push_back({path.str(), std::move(*temporary)});
  return &files.back();
}

/// Runs a writer on an open file and turns a full disk into an error.
static llvm::Error writeStream(llvm::sys::fs::TempFile &file, StringRef path,
                               OutputFiles::WriteFn write) {
  llvm::raw_fd_ostream os(file.FD, /*shouldClose=*/false);
  if (llvm::Error error = write(os))
    return error;
  os.flush();
  if (!os.has_error())
    return llvm::Error::success();
  std::error_code code = os.error();
  os.clear_error();
  return llvm::createFileError(path, code);
}

llvm::Error OutputFiles::write(StringRef path, WriteFn write) {
  auto file = create(path);
  if (!file)
    return file.takeError();
  return writeStream((*file)->temporary, path, write);
}

llvm::Error OutputFiles::writeByPath(StringRef path, WritePathFn write) {
  auto file = create(path);
  if (!file)
    return file.takeError();
  return write((*file)->temporary.TmpName);
}

llvm::Expected<std::string> OutputFiles::writeScratch(WriteFn write) {
  auto file = create("");
  if (!file)
    return file.takeError();
  if (llvm::Error error = writeStream((*file)->temporary, base, write))
    return error;
  return (*file)->temporary.TmpName;
}

llvm::Error OutputFiles::commit() {
  isCommitted = true;
  llvm::Error result = llvm::Error::success();
  std::vector<StringRef> kept;
  for (File &file : files) {
    if (file.path.empty())
      continue;
    if (result) {
      llvm::consumeError(file.temporary.discard());
      continue;
    }
    if (llvm::Error error = file.temporary.keep(file.path))
      result = llvm::createFileError(file.path, std::move(error));
    else
      kept.push_back(file.path);
  }
  if (result)
    for (StringRef path : kept)
      llvm::sys::fs::remove(path);
  return result;
}

std::vector<std::string> OutputFiles::getPaths() const {
  std::vector<std::string> paths;
  for (const File &file : files)
    if (!file.path.empty())
      paths.push_back(file.path);
  return paths;
}
