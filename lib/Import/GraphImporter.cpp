//===- GraphImporter.cpp - initializers, nodes and outputs of a graph -----===//

#include "GraphImporter.h"
#include "TensorImporter.h"

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;

namespace onnx_aot::importer {

std::string getFunctionKey(StringRef domain, StringRef name,
                           StringRef overload) {
  return (normalizeDomain(domain) + Twine('\0') + name + Twine('\0') + overload)
      .str();
}

GraphImporter::GraphImporter(ImportContext &context)
    : builder(context.mlirContext), context(context) {
  for (const ::onnx::FunctionProto &function :
       context.storage->model.functions())
    if (!functions
             .try_emplace(getFunctionKey(function.domain(), function.name(),
                                         function.overload()),
                          &function)
             .second)
      (void)context.refuse(context.getFileLocation(),
                           "function '" + function.name() + "' of domain '" +
                               function.domain() + "' is defined twice");
}

void GraphImporter::define(Scope &scope, StringRef name, Binding binding,
                           Location loc) {
  if (name.size() > context.options.limits.nameBytes) {
    (void)context.refuse(loc, "a name is longer than " +
                                  Twine(context.options.limits.nameBytes) +
                                  " bytes");
    return;
  }
  // Such names are ours; see Upgrader::makeName.
  if (name.starts_with(StringRef("\0", 1))) {
    (void)context.refuse(loc, "a name begins with a zero byte");
    return;
  }
  bind(scope, name, binding, loc);
}

void GraphImporter::bind(Scope &scope, StringRef name, Binding binding,
                         Location loc) {
  if (!scope.define(name, binding))
    (void)context.refuse(loc, "value '" + name + "' is defined twice");
}

void GraphImporter::importInitializers(const ::onnx::GraphProto &graph,
                                       Scope &scope) {
  auto importOne = [&](const std::string &name, unsigned index, auto import) {
    Location loc = context.getLocation(name, index);
    FailureOr<ElementsAttr> elements = import(loc);
    if (failed(elements))
      return define(scope, name, Binding::refused(), loc);
    Value constant = createConstant(
        loc, *elements,
        context.options.nameInitializers ? StringRef(name) : StringRef());
    define(scope, name, Binding::present(constant), loc);
  };
  unsigned index = 0;
  for (const ::onnx::TensorProto &tensor : graph.initializer())
    importOne(tensor.name(), index++, [&](Location loc) {
      return importTensor(context, tensor, loc, tensor.name());
    });
  for (const ::onnx::SparseTensorProto &tensor : graph.sparse_initializer())
    importOne(tensor.values().name(), index++, [&](Location loc) {
      return importSparseTensor(context, tensor, loc, tensor.values().name());
    });
}

void GraphImporter::declareTypes(
    const google::protobuf::RepeatedPtrField<::onnx::ValueInfoProto> &values,
    Scope &scope) {
  if (context.options.customOps.empty())
    return;
  for (const ::onnx::ValueInfoProto &value : values)
    scope.declared[value.name()] = &value.type();
}

SmallVector<Binding> GraphImporter::importGraph(const ::onnx::GraphProto &graph,
                                                Scope &scope) {
  declareTypes(graph.value_info(), scope);
  declareTypes(graph.output(), scope);
  importInitializers(graph, scope);
  for (auto [index, node] : llvm::enumerate(graph.node()))
    importNode(node, index, scope);
  SmallVector<Binding> outputs;
  for (const ::onnx::ValueInfoProto &output : graph.output()) {
    std::optional<Binding> binding = scope.lookup(output.name());
    if (!binding)
      (void)context.refuse(context.getFileLocation(),
                           "output '" + output.name() + "' of graph '" +
                               graph.name() + "' is not defined");
    outputs.push_back(binding.value_or(Binding::refused()));
  }
  return outputs;
}

} // namespace onnx_aot::importer
