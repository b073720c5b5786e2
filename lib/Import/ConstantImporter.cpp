//===- ConstantImporter.cpp - all forms of the Constant node --------------===//

#include "GraphImporter.h"
#include "TensorImporter.h"

#include "onnx-aot/Dialect/Onnx/IR/Strings.h"

using namespace mlir;

namespace onnx_aot::importer {

/// The value of a Constant's one attribute; null for an attribute it does not
/// have.
static FailureOr<ElementsAttr>
readValue(ImportContext &context, Builder &builder,
          const ::onnx::AttributeProto &attribute, Location loc,
          StringRef output) {
  StringRef name = attribute.name();
  auto getType = [](Type element, std::optional<int64_t> size) {
    return size ? RankedTensorType::get({*size}, element)
                : RankedTensorType::get({}, element);
  };
  Type f32 = builder.getF32Type(), i64 = builder.getI64Type();
  Type string = onnx::StringType::get(context.mlirContext);
  if (name == "value" && attribute.has_t())
    return importTensor(context, attribute.t(), loc, output);
  if (name == "sparse_value" && attribute.has_sparse_tensor())
    return importSparseTensor(context, attribute.sparse_tensor(), loc, output);
  if (name == "value_float" && attribute.has_f())
    return ElementsAttr(DenseElementsAttr::get(getType(f32, {}),
                                               ArrayRef<float>(attribute.f())));
  if (name == "value_int" && attribute.has_i())
    return ElementsAttr(DenseElementsAttr::get(
        getType(i64, {}), ArrayRef<int64_t>(attribute.i())));
  if (name == "value_string" && attribute.has_s())
    return ElementsAttr(DenseElementsAttr::get(
        getType(string, {}), ArrayRef<StringRef>(StringRef(attribute.s()))));
  if (name == "value_floats")
    return ElementsAttr(DenseElementsAttr::get(
        getType(f32, attribute.floats_size()),
        ArrayRef<float>(attribute.floats().data(), attribute.floats_size())));
  if (name == "value_ints")
    return ElementsAttr(DenseElementsAttr::get(
        getType(i64, attribute.ints_size()),
        ArrayRef<int64_t>(attribute.ints().data(), attribute.ints_size())));
  if (name == "value_strings")
    return ElementsAttr(DenseElementsAttr::get(
        getType(string, attribute.strings_size()),
        ArrayRef<StringRef>(SmallVector<StringRef>(
            attribute.strings().begin(), attribute.strings().end()))));
  return ElementsAttr();
}

Value GraphImporter::createConstant(Location loc, ElementsAttr value,
                                    StringRef name) {
  if (auto strings = dyn_cast<DenseStringElementsAttr>(value)) {
    ArrayRef<StringRef> raw = strings.getRawStringData();
    SmallVector<StringRef> values(raw);
    if (strings.isSplat() && strings.getNumElements() > 0)
      values.assign(strings.getNumElements(), raw.front());
    return onnx::createStrings(builder, loc, values,
                               strings.getType().getShape());
  }
  auto constant = onnx::ConstantOp::create(builder, loc, value);
  if (!name.empty())
    constant->setAttr(onnx::kNameAttr, builder.getStringAttr(name));
  return constant;
}

LogicalResult GraphImporter::importConstant(const NodeSite &site) {
  if (site.node.attribute_size() != 1 || site.node.output_size() != 1 ||
      site.node.input_size() != 0)
    return refuse(site,
                  "a constant has one attribute, one output and no input, "
                  "this one has " +
                      Twine(site.node.attribute_size()) + ", " +
                      Twine(site.node.output_size()) + " and " +
                      Twine(site.node.input_size()));
  const ::onnx::AttributeProto &attribute = site.node.attribute(0);
  FailureOr<ElementsAttr> value =
      readValue(context, builder, attribute, site.loc, site.node.output(0));
  if (failed(value))
    return failure();
  if (!*value)
    return refuse(site, "attribute '" + attribute.name() +
                            "' is not one that a constant has, or it is empty");
  defineOutputs(site, {createConstant(site.loc, *value)});
  return success();
}

} // namespace onnx_aot::importer
