//===- OutputFiles.cpp - several files that appear together ---------------===//

#include "onnx-aot/Emit/OutputFiles.h"

#include "llvm/ADT/STLExtras.h"

using namespace onnx_aot;
using llvm::StringRef;

/// The file that a name means in the end.
static std::string getTarget(StringRef path) {
  llvm::SmallString<128> real;
  return llvm::sys::fs::real_path(path, real) ? path.str() : real.str().str();
}

/// Whether a name is not that of a file that can be replaced.
static bool isStream(StringRef path) {
  llvm::sys::fs::file_status status;
  if (path == "-")
    return true;
  return !llvm::sys::fs::status(path, status) &&
         status.type() != llvm::sys::fs::file_type::regular_file &&
         status.type() != llvm::sys::fs::file_type::directory_file;
}

OutputFiles::OutputFiles(StringRef resultPath) : base(getTarget(resultPath)) {}

OutputFiles::~OutputFiles() {
  for (File &file : files)
    if (!isCommitted || file.path.empty())
      llvm::consumeError(file.temporary.discard());
}

llvm::Expected<OutputFiles::File *> OutputFiles::create(StringRef path) {
  std::string target = path.empty() ? base : getTarget(path);
  StringRef shown = path.empty() ? StringRef(base) : path;
  if (llvm::sys::fs::is_directory(target))
    return llvm::createFileError(
        shown, std::make_error_code(std::errc::is_a_directory));
  auto temporary = llvm::sys::fs::TempFile::create(target + ".tmp-%%%%%%%%");
  if (!temporary)
    return llvm::createFileError(shown, temporary.takeError());
  files.push_back({path.str(), std::move(target), std::move(*temporary)});
  return &files.back();
}

/// Runs a writer on an open file and turns a full disk into an error.
static llvm::Error writeStream(llvm::raw_fd_ostream &os, StringRef path,
                               OutputFiles::WriteFn write) {
  llvm::Error error = write(os);
  os.flush();
  if (error) {
    os.clear_error();
    return error;
  }
  if (!os.has_error())
    return llvm::Error::success();
  std::error_code code = os.error();
  os.clear_error();
  return llvm::createFileError(path, code);
}

llvm::Error OutputFiles::write(StringRef path, WriteFn write) {
  if (path == "-")
    return writeStream(llvm::outs(), "standard output", write);
  if (isStream(path)) {
    std::error_code code;
    llvm::raw_fd_ostream os(path, code, llvm::sys::fs::CD_OpenExisting);
    return code ? llvm::createFileError(path, code)
                : writeStream(os, path, write);
  }
  auto file = create(path);
  if (!file)
    return file.takeError();
  llvm::raw_fd_ostream os((*file)->temporary.FD, /*shouldClose=*/false);
  return writeStream(os, path, write);
}

llvm::Error OutputFiles::writeByPath(StringRef path, WritePathFn write) {
  if (isStream(path))
    return llvm::createFileError(
        path, llvm::createStringError("is not a regular file"));
  auto file = create(path);
  if (!file)
    return file.takeError();
  return write((*file)->temporary.TmpName);
}

llvm::Expected<std::string> OutputFiles::writeScratch(WriteFn write) {
  auto file = create("");
  if (!file)
    return file.takeError();
  llvm::raw_fd_ostream os((*file)->temporary.FD, /*shouldClose=*/false);
  if (llvm::Error error = writeStream(os, base, write))
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
    if (llvm::Error error = file.temporary.keep(file.target))
      result = llvm::createFileError(file.path, std::move(error));
    else
      kept.push_back(file.target);
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
