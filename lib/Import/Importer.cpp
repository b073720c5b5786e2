//===- Importer.cpp - the entry function ----------------------------------===//

#include "onnx-aot/Import/Importer.h"
#include "GraphImporter.h"
#include "TypeImporter.h"

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Train/IR/Train.h"
#include "onnx-aot/Support/EntryAttributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace onnx_aot::importer {

/// Opsets the model imports; what they are used for is checked node by node.
static Opsets readOpsets(ImportContext &context) {
  Opsets opsets;
  const ::onnx::ModelProto &model = context.storage->model;
  for (const ::onnx::OperatorSetIdProto &opset : model.opset_import()) {
    StringRef domain = normalizeDomain(opset.domain());
    if (domain.empty() &&
        (opset.version() < 1 || opset.version() > kNewestOpset))
      (void)context.refuse(
          context.getFileLocation(),
          "opset " + Twine(opset.version()) +
              " of domain ai.onnx is not supported (supported: 1 to " +
              Twine(kNewestOpset) + ")");
    auto [known, isNew] = opsets.try_emplace(domain, opset.version());
    // Some exporters say the same twice.
    if (!isNew && known->second != opset.version())
      (void)context.refuse(context.getFileLocation(),
                           "opset of domain '" + domain +
                               "' is imported twice");
  }
  // Before IR version 3 there was one opset and nobody said so.
  if (opsets.empty() && model.ir_version() < 3)
    opsets[""] = 1;
  return opsets;
}

static void refuseUnknownDims(ImportContext &context) {
  for (const auto &[name, size] : context.options.dims) {
    if (size < 0)
      (void)context.refuse(context.getFileLocation(),
                           "dimension '" + name + "' cannot have the size " +
                               Twine(size));
    if (context.overriddenDims.contains(name))
      continue;
    SmallVector<StringRef> known(context.inputSymbols.keys());
    llvm::sort(known);
    (void)context.refuse(context.getFileLocation(),
                         "no input has a dimension '" + name +
                             "' (there are: " + llvm::join(known, ", ") + ")");
  }
}

/// Adds the graph's inputs as arguments of the function and to the scope. One
/// that is an initializer too is a constant: files before IR version 4 had to
/// list all initializers as inputs.
static void importInputs(ImportContext &context, GraphImporter &importer,
                         const ::onnx::GraphProto &graph, func::FuncOp function,
                         Scope &scope) {
  llvm::StringSet<> initializers;
  for (const ::onnx::TensorProto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  for (const ::onnx::SparseTensorProto &tensor : graph.sparse_initializer())
    initializers.insert(tensor.values().name());
  declareInputSymbols(context, graph);
  Block &block = function.getBody().front();
  SmallVector<Attribute> names;
  for (auto [index, input] : llvm::enumerate(graph.input())) {
    if (initializers.contains(input.name()))
      continue;
    Location loc = context.getLocation(input.name(), index);
    FailureOr<Type> type = importInputType(context, input, loc);
    if (failed(type)) {
      importer.define(scope, input.name(), Binding::refused(), loc);
      continue;
    }
    Value argument = block.addArgument(*type, loc);
    names.push_back(StringAttr::get(context.mlirContext, input.name()));
    importer.define(scope, input.name(), Binding::present(argument), loc);
  }
  function.setFunctionType(
      FunctionType::get(context.mlirContext, block.getArgumentTypes(), {}));
  for (auto [index, name] : llvm::enumerate(names))
    function.setArgAttr(index, onnx::kNameAttr, name);
}

/// The declared element type of an output is part of the model's interface.
static void checkOutput(ImportContext &context,
                        const ::onnx::ValueInfoProto &output, Value value) {
  Type declared = importDeclaredType(context.mlirContext, output.type());
  if (declared && getTypeString(declared) != getTypeString(value.getType()))
    (void)context.refuse(value.getLoc(),
                         "output '" + output.name() + "' is declared as " +
                             getTypeString(declared) + ", but is " +
                             getTypeString(value.getType()));
}

static OwningOpRef<ModuleOp> importModel(ImportContext &context) {
  context.mlirContext->loadDialect<func::FuncDialect, onnx::OnnxDialect,
                                   train::TrainDialect>();
  Location loc = context.getFileLocation();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  context.module = *module;
  if (failed(readModel(context)))
    return {};
  const ::onnx::GraphProto &graph = context.storage->model.graph();
  // Names are asked for where the model is trained. Inference has no use for
  // the algorithm, by ONNX's definition.
  if (context.options.nameInitializers &&
      context.storage->model.training_info_size() > 0)
    emitWarning(loc) << "the training algorithm in this file (training_info) "
                        "is not used: training follows the loss and the "
                        "optimizer that are chosen here";
  if (!graph.name().empty() &&
      StringRef(graph.name()).find('\0') == StringRef::npos)
    module->setSymName(graph.name());
  auto function = func::FuncOp::create(
      loc, "main", FunctionType::get(context.mlirContext, {}, {}));
  module->push_back(function);
  Block *block = function.addEntryBlock();

  Frame frame;
  frame.opsets = readOpsets(context);
  Scope scope(frame, /*parent=*/nullptr);
  GraphImporter importer(context);
  importer.builder.setInsertionPointToEnd(block);
  importInputs(context, importer, graph, function, scope);
  refuseUnknownDims(context);
  SmallVector<Value> results;
  for (auto [output, binding] :
       llvm::zip_equal(graph.output(), importer.importGraph(graph, scope)))
    if (binding.kind == Binding::Present) {
      checkOutput(context, output, binding.value);
      results.push_back(binding.value);
    }
  if (graph.output_size() == 0)
    (void)context.refuse(loc, "the graph has no output");
  if (context.hasRefused())
    return {};

  func::ReturnOp::create(importer.builder, loc, results);
  function.setFunctionType(FunctionType::get(context.mlirContext,
                                             block->getArgumentTypes(),
                                             ValueRange(results).getTypes()));
  for (auto [index, output] : llvm::enumerate(graph.output())) {
    function.setResultAttr(index, onnx::kNameAttr,
                           StringAttr::get(context.mlirContext, output.name()));
    const ::onnx::TypeProto::Tensor &declared = output.type().tensor_type();
    if (isa<UnrankedTensorType>(results[index].getType()) &&
        declared.has_shape())
      function.setResultAttr(
          index, kRankAttr,
          importer.builder.getI64IntegerAttr(declared.shape().dim_size()));
  }
  if (failed(verify(*module)))
    return {};
  return module;
}

} // namespace onnx_aot::importer

OwningOpRef<ModuleOp> onnx_aot::importOnnxModel(StringRef path,
                                                MLIRContext *context,
                                                const ImportOptions &options) {
  // protobuf and the onnx library throw; nothing of that leaves this function.
  try {
    importer::ImportContext importContext(context, path, options);
    return importer::importModel(importContext);
  } catch (const std::exception &error) {
    emitError(FileLineColLoc::get(context, path, 0, 0))
        << "the model cannot be imported: " << error.what();
  } catch (...) {
    emitError(FileLineColLoc::get(context, path, 0, 0))
        << "the model cannot be imported";
  }
  return {};
}
