//===- ModelTemplate.cpp - a model file without its parameters' data ------===//

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

static bool isStandard(const ::onnx::NodeProto &node, StringRef op) {
  return node.op_type() == op && normalizeDomain(node.domain()).empty();
}

namespace {
/// Turns nodes that are in training mode into those of inference.
class TrainingEnd {
public:
  explicit TrainingEnd(::onnx::GraphProto &graph) : graph(graph) {
    collectUses(graph);
  }

  void run() { visit(graph); }

private:
  void collectUses(const ::onnx::GraphProto &part) {
    for (const ::onnx::ValueInfoProto &output : part.output())
      used.insert(output.name());
    for (const ::onnx::NodeProto &node : part.node()) {
      for (const std::string &input : node.input())
        used.insert(input);
      for (const ::onnx::AttributeProto &attribute : node.attribute())
        if (attribute.has_g())
          collectUses(attribute.g());
    }
  }

  void visit(::onnx::GraphProto &part) {
    ::google::protobuf::RepeatedPtrField<::onnx::NodeProto> nodes;
    for (::onnx::NodeProto &node : *part.mutable_node()) {
      for (::onnx::AttributeProto &attribute : *node.mutable_attribute())
        if (attribute.has_g())
          visit(*attribute.mutable_g());
      if (isStandard(node, "Dropout"))
        while (node.input_size() > 2) // ratio and input are left
          node.mutable_input()->RemoveLast();
      nodes.Add()->Swap(&node);
      if (isStandard(nodes[nodes.size() - 1], "BatchNormalization"))
        endNormalization(nodes);
    }
    part.mutable_node()->Swap(&nodes);
  }

  /// The running statistics that the last node gives are then those it takes.
  void endNormalization(
      ::google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes) {
    ::onnx::NodeProto &node = nodes[nodes.size() - 1];
    auto *attributes = node.mutable_attribute();
    int place = 0;
    while (place < attributes->size() &&
           (*attributes)[place].name() != "training_mode")
      ++place;
    if (place == attributes->size() || (*attributes)[place].i() == 0 ||
        node.input_size() < 5)
      return;
    attributes->DeleteSubrange(place, 1);
    std::vector<std::pair<std::string, std::string>> copies;
    for (int i = node.output_size() - 1; i > 0; --i) {
      if (i < 3 && used.contains(node.output(i)) && !node.output(i).empty())
        copies.emplace_back(node.input(i + 2), node.output(i));
      node.mutable_output()->RemoveLast();
    }
    for (auto &[from, to] : copies) {
      ::onnx::NodeProto &copy = *nodes.Add();
      copy.set_op_type("Identity");
      copy.set_name(to + "_copy");
      copy.add_input(from);
      copy.add_output(to);
    }
  }

  ::onnx::GraphProto &graph;
  llvm::StringSet<> used;
};
} // namespace

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
    TrainingEnd(*model.mutable_graph()).run();
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
