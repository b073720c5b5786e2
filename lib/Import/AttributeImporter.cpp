//===- AttributeImporter.cpp - attributes by the names of the op's record -===//

#include "GraphImporter.h"
#include "TensorImporter.h"
#include "TypeImporter.h"

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#include "google/protobuf/util/message_differencer.h"
#include "onnx/defs/schema.h"

using namespace mlir;

namespace onnx_aot::importer {

/// Attribute names as ODS spells them differ in case and underscores only:
/// `transA` and `trans_a`.
static std::string fold(StringRef name) {
  std::string folded = name.lower();
  llvm::erase(folded, '_');
  return folded;
}

/// The type of an attribute; files before IR version 2 do not say it.
static ::onnx::AttributeProto::AttributeType
getKind(const ::onnx::AttributeProto &attribute) {
  using Proto = ::onnx::AttributeProto;
  if (attribute.type() != Proto::UNDEFINED)
    return attribute.type();
  if (attribute.has_f())
    return Proto::FLOAT;
  if (attribute.has_i())
    return Proto::INT;
  if (attribute.has_s())
    return Proto::STRING;
  if (attribute.has_t())
    return Proto::TENSOR;
  if (attribute.has_g())
    return Proto::GRAPH;
  if (attribute.floats_size())
    return Proto::FLOATS;
  if (attribute.ints_size())
    return Proto::INTS;
  if (attribute.strings_size())
    return Proto::STRINGS;
  return Proto::UNDEFINED;
}

FailureOr<Attribute> importAttribute(ImportContext &context,
                                     const ::onnx::AttributeProto &attribute,
                                     Location loc) {
  using Proto = ::onnx::AttributeProto;
  Builder builder(context.mlirContext);
  switch (getKind(attribute)) {
  case Proto::FLOAT:
    return Attribute(builder.getF32FloatAttr(attribute.f()));
  case Proto::INT:
    return Attribute(builder.getI64IntegerAttr(attribute.i()));
  case Proto::STRING:
    return Attribute(builder.getStringAttr(attribute.s()));
  case Proto::FLOATS:
    return Attribute(builder.getDenseF32ArrayAttr(SmallVector<float>(
        attribute.floats().begin(), attribute.floats().end())));
  case Proto::INTS:
    return Attribute(builder.getDenseI64ArrayAttr(SmallVector<int64_t>(
        attribute.ints().begin(), attribute.ints().end())));
  case Proto::STRINGS:
    return Attribute(builder.getStrArrayAttr(SmallVector<StringRef>(
        attribute.strings().begin(), attribute.strings().end())));
  case Proto::TENSOR: {
    FailureOr<ElementsAttr> elements =
        importTensor(context, attribute.t(), loc, attribute.name());
    if (failed(elements))
      return failure();
    return Attribute(*elements);
  }
  case Proto::TYPE_PROTO:
    if (Type type = importDeclaredType(context.mlirContext, attribute.tp()))
      return Attribute(TypeAttr::get(type));
    return Attribute();
  default:
    return Attribute();
  }
}

/// An attribute without a place in the op's record changes nothing when it has
/// the value that is implied anyway.
static bool isImplied(const NodeSite &site,
                      const ::onnx::AttributeProto &attribute) {
  const ::onnx::OpSchema *schema = ::onnx::OpSchemaRegistry::Schema(
      site.node.op_type(), site.getDomain().str());
  if (!schema)
    return false;
  auto found = schema->attributes().find(attribute.name());
  if (found == schema->attributes().end())
    return false;
  ::onnx::AttributeProto value = attribute;
  value.clear_doc_string();
  return google::protobuf::util::MessageDifferencer::Equals(
      value, found->second.default_value);
}

FailureOr<NamedAttrList> importAttributes(GraphImporter &importer,
                                          ImportContext &context,
                                          const NodeSite &site,
                                          OperationName name) {
  llvm::StringMap<StringAttr> known;
  for (StringAttr attribute : name.getAttributeNames())
    if (!attribute.getValue().ends_with("SegmentSizes"))
      known[fold(attribute)] = attribute;
  SmallVector<StringRef> regions;
  name.getInterface<onnx::OnnxOpInterface>()->getRegionNames().split(regions,
                                                                     ',');

  NamedAttrList attributes;
  bool isRefused = false;
  for (const ::onnx::AttributeProto &attribute : site.node.attribute()) {
    if (llvm::is_contained(regions, StringRef(attribute.name())))
      continue;
    StringAttr target = known.lookup(fold(attribute.name()));
    if (!target) {
      if (!isImplied(site, attribute))
        isRefused = failed(importer.refuse(
            site, "attribute '" + attribute.name() + "' is not supported"));
      continue;
    }
    if (attributes.get(target)) {
      isRefused = failed(importer.refuse(
          site, "attribute '" + attribute.name() + "' is given twice"));
      continue;
    }
    FailureOr<Attribute> value = importAttribute(context, attribute, site.loc);
    if (failed(value)) {
      isRefused = true;
    } else if (!*value) {
      isRefused = failed(importer.refuse(
          site, "attribute '" + attribute.name() + "' is of a kind (number " +
                    Twine(static_cast<int>(attribute.type())) +
                    ") that is not supported"));
    } else {
      attributes.set(target, *value);
    }
  }
  if (isRefused)
    return failure();
  std::string text;
  if (failed(collectErrors(context.mlirContext, text, [&] {
        return name.verifyInherentAttrs(
            attributes, [&] { return mlir::emitError(site.loc); });
      })))
    return importer.refuse(site, text);
  return attributes;
}

} // namespace onnx_aot::importer
