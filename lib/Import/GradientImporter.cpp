//===- GradientImporter.cpp - ONNX's Gradient operator --------------------===//
//
// The only operator that names values instead of taking them as inputs. The
// names are resolved here; what the operator means is decided in the dialect.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"

#include "onnx-aot/Dialect/Train/IR/Train.h"

using namespace mlir;

namespace onnx_aot::importer {

LogicalResult GraphImporter::importGradient(const NodeSite &site) {
  SmallVector<Value> y, xs, zs, inputs;
  bool isRefused = false;
  auto resolve = [&](const std::string &name, SmallVector<Value> &values) {
    std::optional<Binding> binding = site.scope.lookup(name);
    if (!binding)
      isRefused = failed(
          refuse(site, "value '" + name + "' is not defined before this node"));
    else if (binding->kind != Binding::Present)
      isRefused = true; // refused before
    else if (!isa<TensorType>(binding->value.getType()))
      isRefused = failed(refuse(site, "value '" + name + "' is not a tensor"));
    else
      values.push_back(binding->value);
  };
  for (const ::onnx::AttributeProto &attribute : site.node.attribute()) {
    if (attribute.name() == "y")
      resolve(attribute.s(), y);
    else if (attribute.name() == "xs" || attribute.name() == "zs")
      for (const std::string &name : attribute.strings())
        resolve(name, attribute.name() == "xs" ? xs : zs);
    else
      isRefused = failed(
          refuse(site, "attribute '" + attribute.name() + "' is not known"));
  }
  for (const std::string &name : site.node.input())
    resolve(name, inputs);
  if (isRefused)
    return failure();
  if (y.size() != 1 || xs.empty())
    return refuse(site, "attributes 'y' and 'xs' are required");
  if (static_cast<size_t>(site.node.output_size()) > xs.size())
    return refuse(site, "it has more outputs than xs");
  SmallVector<Type> types(xs.size(),
                          UnrankedTensorType::get(builder.getF32Type()));
  auto op = train::GradientOp::create(builder, site.loc, types, y.front(), xs,
                                      zs, inputs);
  std::string text;
  if (failed(collectErrors(context.mlirContext, text,
                           [&] { return onnx::inferAndSetResultTypes(op); }))) {
    op.erase();
    return refuse(site, text);
  }
  defineOutputs(site, SmallVector<Value>(op.getResults()));
  return success();
}

} // namespace onnx_aot::importer
