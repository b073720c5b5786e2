//===- CustomOpImporter.cpp - operators that the user's functions compute -===//

#include "GraphImporter.h"
#include "TypeImporter.h"

#include "onnx-aot/Dialect/Onnx/IR/Custom.h"

using namespace mlir;

namespace onnx_aot::importer {

bool GraphImporter::importCustomOp(const NodeSite &site) {
  StringRef domain = site.getDomain();
  std::string key = (domain.empty() ? StringRef("ai.onnx") : domain).str() +
                    "::" + site.node.op_type();
  auto found = context.options.customOps.find(key);
  if (found == context.options.customOps.end())
    return false;
  if (failed(createCustomCall(site, found->second)))
    giveUp(site);
  return true;
}

/// A size as the model declares it: a number, the size of an input's dimension
/// of that name, or unknown.
static onnx::Dim
importDeclaredDim(ImportContext &context,
                  const ::onnx::TensorShapeProto::Dimension &dim) {
  if (dim.has_dim_value())
    return dim.dim_value() < 0
               ? onnx::Dim::unknown()
               : onnx::Dim::constant(context.mlirContext, dim.dim_value());
  for (const auto &[name, size] : context.options.dims)
    if (name == dim.dim_param() && context.overriddenDims.contains(name))
      return onnx::Dim::constant(context.mlirContext, size);
  auto symbols = context.module->getAttrOfType<ArrayAttr>(onnx::kSymbolsAttr);
  auto name = StringAttr::get(context.mlirContext, dim.dim_param());
  bool isInput = !dim.dim_param().empty() && symbols &&
                 context.inputSymbols.contains(dim.dim_param()) &&
                 llvm::is_contained(symbols, name);
  if (!isInput)
    return onnx::Dim::unknown();
  return onnx::Dim(
      getAffineSymbolExpr(onnx::getOrAddSymbol(context.module, dim.dim_param()),
                          context.mlirContext));
}

FailureOr<SmallVector<Attribute>>
GraphImporter::getCustomOutputTypes(const NodeSite &site, const CustomOp &op) {
  SmallVector<Attribute> types;
  for (const std::string &name : site.node.output()) {
    const ::onnx::TypeProto *declared = site.scope.declared.lookup(name);
    if (!declared || !declared->has_tensor_type() ||
        !declared->tensor_type().has_shape())
      return FailureOr<SmallVector<Attribute>>(refuse(
          site, "the model does not declare the element type and the rank "
                "of its output '" +
                    name + "' (add it to the graph's value_info)"));
    const ::onnx::TypeProto::Tensor &tensor = declared->tensor_type();
    Type element =
        onnx::getElementTypeOf(context.mlirContext, tensor.elem_type());
    if (!element || isa<onnx::StringType, ComplexType>(element))
      return FailureOr<SmallVector<Attribute>>(
          refuse(site, "its output '" + name +
                           "' is declared with the element type number " +
                           Twine(tensor.elem_type()) +
                           " (supported: numbers and bool)"));
    onnx::Shape shape;
    int64_t elements = 1;
    for (const auto &dim : tensor.shape().dim()) {
      shape.push_back(importDeclaredDim(context, dim));
      if (!shape.back().isKnown() && op.shapeCallee.empty())
        return FailureOr<SmallVector<Attribute>>(refuse(
            site, "dimension " + Twine(shape.size() - 1) + " of its output '" +
                      name +
                      "' is neither declared as a number nor named like an "
                      "input's: a shape function must tell it "
                      "(--custom-op=DOMAIN::NAME=FUNCTION,SHAPE_FUNCTION)"));
      if (shape.back().isStatic() &&
          llvm::MulOverflow(elements,
                            std::max<int64_t>(shape.back().getStatic(), 1),
                            elements))
        return FailureOr<SmallVector<Attribute>>(refuse(
            site,
            "its output '" + name +
                "' is declared with more elements than 64 bits can count"));
    }
    if (shape.size() > context.options.limits.rank)
      return FailureOr<SmallVector<Attribute>>(
          refuse(site, "its output '" + name + "' is declared with rank " +
                           Twine(shape.size())));
    types.push_back(TypeAttr::get(onnx::getTensorType(shape, element)));
  }
  return types;
}

LogicalResult GraphImporter::createCustomCall(const NodeSite &site,
                                              const CustomOp &op) {
  SmallVector<Binding> inputs = getInputs(site);
  SmallVector<Value> operands;
  SmallVector<bool> present;
  for (const Binding &input : inputs) {
    if (input.kind == Binding::Refused)
      return failure();
    present.push_back(input.kind == Binding::Present);
    if (!present.back())
      continue;
    operands.push_back(input.value);
    if (auto type = dyn_cast<TensorType>(input.value.getType()))
      if (!isa<onnx::StringType>(type.getElementType()))
        continue;
    return refuse(site, "an input is a sequence, an optional or of strings "
                        "(supported: tensors of numbers and bool)");
  }
  NamedAttrList attributes;
  for (const ::onnx::AttributeProto &attribute : site.node.attribute()) {
    FailureOr<Attribute> value = importAttribute(context, attribute, site.loc);
    if (failed(value))
      return failure();
    if (!*value || isa<ElementsAttr, TypeAttr>(*value))
      if (!isa_and_nonnull<DenseI64ArrayAttr, DenseF32ArrayAttr>(*value))
        return refuse(site,
                      "attribute '" + attribute.name() +
                          "' is of a kind that cannot be passed (supported: "
                          "numbers, strings, lists of them)");
    if (attributes.get(attribute.name()))
      return refuse(site,
                    "attribute '" + attribute.name() + "' is given twice");
    attributes.set(attribute.name(), *value);
  }
  FailureOr<SmallVector<Attribute>> types = getCustomOutputTypes(site, op);
  if (failed(types))
    return failure();
  SmallVector<Type> results;
  for (Attribute type : *types)
    results.push_back(cast<TypeAttr>(type).getValue());
  auto call = onnx::CustomCallOp::create(
      builder, site.loc, results, operands,
      (site.getDomain() + "::" + site.node.op_type()).str(), op.callee,
      op.shapeCallee, present, builder.getArrayAttr(*types),
      attributes.getDictionary(context.mlirContext));
  // Gives unknown sizes their symbols.
  if (failed(onnx::inferAndSetResultTypes(call))) {
    call->erase();
    return failure();
  }
  defineOutputs(site, SmallVector<Value>(call->getResults()));
  return success();
}

} // namespace onnx_aot::importer
