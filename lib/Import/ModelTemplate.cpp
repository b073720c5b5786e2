//===- ModelTemplate.cpp - a model file without its parameters' data
//--------===//

#include "TensorImporter.h"

using namespace mlir;
using namespace onnx_aot::importer;

/// Takes the data of a tensor out of its message.
static void clearData(::onnx::TensorProto &tensor) {
  tensor.clear_float_data();
  tensor.clear_int32_data();
  tensor.clear_string_data();
  tensor.clear_int64_data();
  tensor.clear_double_data();
  tensor.clear_uint64_data();
  tensor.clear_raw_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
}

/// Moves data from another file into the message. The import has checked it.
static LogicalResult embedData(ImportContext &context,
                               ::onnx::TensorProto &tensor) {
  Location loc = context.getFileLocation();
  FailureOr<TensorData> data = readTensor(context, tensor, loc);
  if (failed(data))
    return failure();
  // Elements of less than a byte are not stored as they lie in memory.
  if (data->bytes.data() == data->owned.data())
    return context.refuse(loc, "tensor '" + tensor.name() +
                                   "' cannot be moved into the model file");
  std::string raw(data->bytes.data(), data->bytes.size());
  clearData(tensor);
  tensor.set_raw_data(std::move(raw));
  return success();
}

FailureOr<std::string>
onnx_aot::readModelWithout(StringRef path, MLIRContext *context,
                           ArrayRef<std::string> initializers) {
  try {
    ImportOptions options;
    ImportContext importContext(context, path, options);
    if (failed(readModel(importContext)))
      return failure();
    llvm::StringSet<> names;
    for (const std::string &name : initializers)
      names.insert(name);
    ::onnx::ModelProto &model = importContext.storage->model;
    for (::onnx::TensorProto &tensor :
         *model.mutable_graph()->mutable_initializer()) {
      if (names.contains(tensor.name()))
        clearData(tensor);
      else if (tensor.data_location() == ::onnx::TensorProto::EXTERNAL &&
               failed(embedData(importContext, tensor)))
        return failure();
    }
    // Beyond this no file can be written (a protocol buffer's own limit).
    if (model.ByteSizeLong() > options.limits.modelBytes)
      return std::string();
    return model.SerializeAsString();
  } catch (const std::exception &error) {
    emitError(FileLineColLoc::get(context, path, 0, 0))
        << "the model cannot be read: " << error.what();
  } catch (...) {
    emitError(FileLineColLoc::get(context, path, 0, 0))
        << "the model cannot be read";
  }
  return failure();
}
