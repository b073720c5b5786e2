//===- ModelReader.cpp - the model file -----------------------------------===//

#include "ImportContext.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "google/protobuf/stubs/logging.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;
using namespace onnx_aot::importer;

/// Levels of messages within messages; a subgraph takes three of them.
static constexpr int kMaxMessageDepth = 100;

Location ImportContext::getLocation(StringRef name, unsigned index) const {
  return NameLoc::get(StringAttr::get(mlirContext, name),
                      FileLineColLoc::get(mlirContext, file, index, 0));
}

LogicalResult ImportContext::refuse(Location loc, const Twine &reason) {
  ++numRefusals;
  if (numRefusals <= options.limits.refusals)
    return mlir::emitError(loc) << reason;
  if (numRefusals == options.limits.refusals + 1)
    return mlir::emitError(loc) << "further reasons are not listed";
  return failure();
}

/// Parses the open file; it is read in pieces and never held twice.
static LogicalResult parse(ImportContext &context, int fd, uint64_t size) {
  google::protobuf::LogSilencer silencer;
  google::protobuf::io::FileInputStream file(fd, 1 << 20);
  google::protobuf::io::CodedInputStream stream(&file);
  stream.SetRecursionLimit(kMaxMessageDepth);
  stream.SetTotalBytesLimit(std::min<uint64_t>(size + 1, INT32_MAX));
  if (!context.storage->model.ParseFromCodedStream(&stream) ||
      !stream.ConsumedEntireMessage())
    return context.refuse(context.getFileLocation(),
                          "this file is not a valid ONNX model: it is damaged, "
                          "cut short, or nested too deeply");
  return success();
}

/// Checks what the model says of itself.
static LogicalResult checkModel(ImportContext &context) {
  const ::onnx::ModelProto &model = context.storage->model;
  Location loc = context.getFileLocation();
  if (!model.has_graph())
    return context.refuse(
        loc, "this file is not a valid ONNX model: it has no graph");
  if (model.ir_version() < 1 || model.ir_version() > kNewestIrVersion)
    return context.refuse(loc, "IR version " + Twine(model.ir_version()) +
                                   " is not supported (supported: 1 to " +
                                   Twine(kNewestIrVersion) + ")");
  if (static_cast<unsigned>(model.functions_size()) >
      context.options.limits.functions)
    return context.refuse(loc,
                          "the model has " + Twine(model.functions_size()) +
                              " functions (supported: up to " +
                              Twine(context.options.limits.functions) + ")");
  return success();
}

LogicalResult onnx_aot::importer::readModel(ImportContext &context) {
  Location loc = context.getFileLocation();
  context.storage->folder = llvm::sys::path::parent_path(context.file).str();
  int fd = open(context.file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0)
    return context.refuse(loc, "'" + context.file + "' cannot be opened: " +
                                   std::generic_category().message(errno));
  struct stat status;
  LogicalResult result = success();
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
    result =
        context.refuse(loc, "'" + context.file + "' is not a regular file");
  else if (static_cast<uint64_t>(status.st_size) >
           context.options.limits.modelBytes)
    result = context.refuse(
        loc, "the file has " + Twine(static_cast<uint64_t>(status.st_size)) +
                 " bytes (supported: up to " +
                 Twine(context.options.limits.modelBytes) +
                 "; larger models keep their tensors in external data)");
  else
    result = parse(context, fd, status.st_size);
  close(fd);
  if (failed(result))
    return result;
  return checkModel(context);
}
