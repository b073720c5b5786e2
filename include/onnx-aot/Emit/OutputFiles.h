//===- OutputFiles.h - several files that appear together -------*- C++ -*-===//
#ifndef ONNX_AOT_EMIT_OUTPUTFILES_H
#define ONNX_AOT_EMIT_OUTPUTFILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <list>

namespace onnx_aot {

/// The files of one result. All are written under temporary names in the
/// folders where they belong; `commit` renames them. Without it, and on SIGINT,
/// the temporary files vanish and nothing has changed. A symbolic link stays,
/// what it points to is replaced. What goes to "-", standard output, or to a
/// device or pipe is written there at once.
class OutputFiles {
public:
  using WriteFn = llvm::function_ref<llvm::Error(llvm::raw_ostream &)>;
  using WritePathFn = llvm::function_ref<llvm::Error(llvm::StringRef)>;

  /// Scratch files lie beside `resultPath`.
  explicit OutputFiles(llvm::StringRef resultPath);
  ~OutputFiles();

  /// Writes a file that `commit` will put at `path`.
  llvm::Error write(llvm::StringRef path, WriteFn write);

  /// The same for a writer that wants the name of a file to replace; only for
  /// regular files.
  llvm::Error writeByPath(llvm::StringRef path, WritePathFn write);

  /// Writes a file that is only needed until the end; returns its name.
  llvm::Expected<std::string> writeScratch(WriteFn write);

  /// Makes the files appear.
  llvm::Error commit();

  /// The paths that were committed, in the order of writing.
  std::vector<std::string> getPaths() const;

private:
  struct File {
    std::string path;   ///< as it was given; empty for scratch files
    std::string target; ///< where `path` leads
    llvm::sys::fs::TempFile temporary;
  };

  /// Opens a new temporary file.
  llvm::Expected<File *> create(llvm::StringRef path);

  std::string base;
  std::list<File> files;
  bool isCommitted = false;
};

} // namespace onnx_aot

#endif // ONNX_AOT_EMIT_OUTPUTFILES_H
