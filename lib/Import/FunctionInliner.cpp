//===- FunctionInliner.cpp - functions become their bodies ----------------===//

#include "GraphImporter.h"
#include "TypeImporter.h"

#include "onnx/defs/schema.h"

using namespace mlir;

namespace onnx_aot::importer {

bool GraphImporter::importLocalFunction(const NodeSite &site) {
  const ::onnx::FunctionProto *function = functions.lookup(getFunctionKey(
      site.node.domain(), site.node.op_type(), site.node.overload()));
  if (!function)
    return false;
  AttributeMap attributes;
  for (const ::onnx::AttributeProto &attribute : function->attribute_proto())
    attributes[attribute.name()] = &attribute;
  bool isRefused = false;
  for (const ::onnx::AttributeProto &attribute : site.node.attribute()) {
    if (!attributes.count(attribute.name()) &&
        !llvm::is_contained(function->attribute(), attribute.name()))
      isRefused = failed(refuse(site, "attribute '" + attribute.name() +
                                          "' is not one of the function's"));
    attributes[attribute.name()] = &attribute;
  }
  if (isRefused)
    giveUp(site);
  else
    inlineFunction(site, *function, std::move(attributes));
  return true;
}

bool GraphImporter::importSchemaFunction(const NodeSite &site) {
  const ::onnx::OpSchema *schema = ::onnx::OpSchemaRegistry::Schema(
      site.node.op_type(), site.opset, site.getDomain().str());
  if (!schema || schema->Deprecated() ||
      !(schema->HasFunction() || schema->HasContextDependentFunction()))
    return false;
  AttributeMap attributes;
  for (const auto &[name, attribute] : schema->attributes())
    if (attribute.default_value.has_name())
      attributes[name] = &attribute.default_value;
  bool isRefused = false;
  for (const ::onnx::AttributeProto &attribute : site.node.attribute()) {
    if (!schema->attributes().count(attribute.name()))
      isRefused = failed(refuse(site, "attribute '" + attribute.name() +
                                          "' is not supported"));
    attributes[attribute.name()] = &attribute;
  }
  if (isRefused) {
    giveUp(site);
    return true;
  }
  if (schema->HasFunction()) {
    if (const ::onnx::FunctionProto *function =
            schema->GetFunction(site.opset)) {
      inlineFunction(site, *function, std::move(attributes));
      return true;
    }
  }
  if (!schema->HasContextDependentFunction())
    return false;
  std::vector<::onnx::TypeProto> types;
  for (const Binding &input : getInputs(site)) {
    if (input.kind == Binding::Refused) {
      giveUp(site);
      return true;
    }
    types.push_back(input.value ? exportType(input.value.getType())
                                : ::onnx::TypeProto());
  }
  ::onnx::FunctionBodyBuildContextImpl callContext(site.node, types);
  ::onnx::FunctionProto function;
  if (!schema->BuildContextDependentFunction(callContext, function, site.opset))
    return false;
  context.storage->functions.push_back(std::move(function));
  inlineFunction(site, context.storage->functions.back(),
                 std::move(attributes));
  return true;
}

void GraphImporter::inlineFunction(const NodeSite &site,
                                   const ::onnx::FunctionProto &function,
                                   AttributeMap attributes) {
  Frame frame;
  frame.caller = &site.scope.frame;
  frame.function = &function;
  frame.attributes = std::move(attributes);
  frame.prefix = (cast<NameLoc>(site.loc).getName().getValue() + "/").str();
  frame.callDepth = site.scope.frame.callDepth + 1;
  frame.rootIndex = site.scope.frame.rootIndex;
  for (const ::onnx::OperatorSetIdProto &opset : function.opset_import())
    frame.opsets[normalizeDomain(opset.domain())] = opset.version();
  // The library's own functions need not say which standard operators they
  // mean.
  if (::onnx::OpSchemaRegistry::Schema(site.node.op_type(),
                                       site.getDomain().str())) {
    frame.opsets.try_emplace("", kNewestSchemaOpset);
    frame.opsets.try_emplace(site.getDomain(), site.opset);
  }

  for (const Frame *outer = frame.caller; outer; outer = outer->caller)
    if (outer->function == &function) {
      (void)refuse(site, "function '" + function.name() + "' calls itself");
      return giveUp(site);
    }
  if (frame.callDepth > context.options.limits.callDepth) {
    (void)refuse(site, "functions call each other deeper than " +
                           Twine(context.options.limits.callDepth));
    return giveUp(site);
  }
  SmallVector<Binding> inputs = getInputs(site);
  if (inputs.size() > static_cast<size_t>(function.input_size())) {
    (void)refuse(site, "it has " + Twine(inputs.size()) +
                           " inputs, its function has " +
                           Twine(function.input_size()));
    return giveUp(site);
  }
  Scope body(frame, site.scope);
  declareTypes(function.value_info(), body);
  for (auto [index, name] : llvm::enumerate(function.input()))
    define(body, name,
           index < inputs.size() ? inputs[index] : Binding::absent(), site.loc);
  for (auto [index, node] : llvm::enumerate(function.node()))
    importNode(node, index, body);

  SmallVector<Value> outputs;
  for (const std::string &name : function.output()) {
    std::optional<Binding> binding = body.lookup(name);
    if (!binding || binding->kind == Binding::Absent)
      (void)refuse(site, "output '" + name + "' of function '" +
                             function.name() + "' is not defined");
    outputs.push_back(binding ? binding->value : Value());
  }
  for (auto [index, name] : llvm::enumerate(site.node.output())) {
    if (name.empty())
      continue;
    Value value = index < outputs.size() ? outputs[index] : Value();
    if (index >= outputs.size())
      (void)refuse(site,
                   "output '" + name + "' is more than its function gives");
    define(site.scope, name,
           value ? Binding::present(value) : Binding::refused(), site.loc);
  }
}

} // namespace onnx_aot::importer
