//===- NodeImporter.cpp - any node through its op's record ----------------===//
//
// No operator is known here by name: operands, results and attributes come from
// the op's ODS record, the types that are allowed from the ONNX schema.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "TypeImporter.h"
#include "Upgrades/Upgrades.h"

#include "onnx-aot/Dialect/Onnx/IR/Draw.h"
#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#include "onnx/defs/schema.h"

using namespace mlir;

namespace onnx_aot::importer {

/// Name of a domain's ops in the dialect; empty for a domain that has none.
static std::string getOpName(StringRef domain, StringRef opType) {
  if (domain.empty())
    return ("onnx." + opType).str();
  StringRef group = llvm::StringSwitch<StringRef>(domain)
                        .Case("ai.onnx.ml", "onnx.ml.")
                        .Case("ai.onnx.preview", "onnx.preview.")
                        .Case("ai.onnx.preview.training", "onnx.training.")
                        .Case("com.microsoft", "onnx.microsoft.")
                        .Default("");
  return group.empty() ? "" : (group + opType).str();
}

//===--- Refusals ---------------------------------------------------------===//

LogicalResult GraphImporter::refuse(const NodeSite &site, const Twine &reason) {
  StringRef domain = site.getDomain();
  return context.refuse(
      site.loc, "node '" + cast<NameLoc>(site.loc).getName().getValue() +
                    "' (" + site.node.op_type() + ", domain " +
                    (domain.empty() ? "ai.onnx" : domain) + ", opset " +
                    Twine(site.declaredOpset) + "): " + reason);
}

void GraphImporter::giveUp(const NodeSite &site) { defineOutputs(site, {}); }

LogicalResult collectErrors(MLIRContext *context, std::string &text,
                            llvm::function_ref<LogicalResult()> check) {
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    llvm::raw_string_ostream stream(text);
    // Notes show the op's form, which says nothing to who wrote the model.
    stream << (text.empty() ? "" : "; ") << diagnostic;
    return success();
  });
  return check();
}

//===--- From the file to the newest opset --------------------------------===//

const ::onnx::NodeProto &
GraphImporter::resolveReferences(const ::onnx::NodeProto &node,
                                 const Scope &scope) {
  if (llvm::none_of(node.attribute(),
                    [](const ::onnx::AttributeProto &attribute) {
                      return !attribute.ref_attr_name().empty();
                    }))
    return node;
  ::onnx::NodeProto &copy = context.storage->nodes.emplace_back(node);
  copy.clear_attribute();
  for (const ::onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      *copy.add_attribute() = attribute;
      continue;
    }
    // An attribute that the call leaves out is left out here too.
    const auto *value =
        scope.frame.attributes.lookup(attribute.ref_attr_name());
    if (!value)
      continue;
    ::onnx::AttributeProto &resolved = *copy.add_attribute();
    resolved = *value;
    resolved.set_name(attribute.name());
  }
  return copy;
}

void GraphImporter::importNode(const ::onnx::NodeProto &original,
                               unsigned index, Scope &scope) {
  Frame &frame = scope.frame;
  if (!frame.caller && !scope.parent)
    frame.rootIndex = index;
  std::string name = original.name();
  if (name.empty())
    name = original.op_type() + "_" + std::to_string(index);
  Location loc = context.getLocation(frame.prefix + name, frame.rootIndex);
  const ::onnx::NodeProto &node = resolveReferences(original, scope);
  StringRef domain = normalizeDomain(node.domain());
  int64_t opset = frame.opsets.lookup(domain);
  NodeSite site{node, scope, loc, opset, opset};

  for (const std::string &output : node.output())
    if (StringRef(output).starts_with(StringRef("\0", 1)) ||
        output.size() > context.options.limits.nameBytes) {
      (void)refuse(
          site, "an output's name begins with a zero byte or is longer than " +
                    Twine(context.options.limits.nameBytes) + " bytes");
      return;
    }
  if (++context.nodesImported > context.options.limits.nodes) {
    if (context.nodesImported == context.options.limits.nodes + 1)
      (void)refuse(site, "the model has more than " +
                             Twine(context.options.limits.nodes) +
                             " nodes, functions counted at every call");
    return giveUp(site);
  }
  if (opset == 0) {
    (void)refuse(site, "the model imports no opset of this domain");
    checkRegions(site);
    return giveUp(site);
  }
  // The user's word counts more than what is known of an operator.
  if (importCustomOp(site))
    return;
  // The dialect's own ops have such names.
  if (StringRef(node.op_type()).contains('.')) {
    (void)refuse(site, "an operator's name cannot contain a dot");
    checkRegions(site);
    return giveUp(site);
  }
  bool isStandard = domain.empty();
  if (!isStandard && importLocalFunction(site))
    return;
  if (isStandard)
    return importStandardNode(site);
  importOp(site);
}

void GraphImporter::importStandardNode(const NodeSite &site) {
  // Like other implementations, a model's own function gives way to a standard
  // operator of the same name.
  if (!::onnx::OpSchemaRegistry::Schema(site.node.op_type()) &&
      importLocalFunction(site))
    return;
  auto refuseNode = [&](const Twine &reason) -> LogicalResult {
    return refuse(site, reason);
  };
  Upgrader upgrader(context, site, refuseNode);
  FailureOr<ArrayRef<const ::onnx::NodeProto *>> nodes = upgrader.run();
  if (failed(nodes)) {
    checkRegions(site);
    return giveUp(site);
  }
  for (const ::onnx::NodeProto *node : *nodes)
    importOp(site.with(*node, upgrader.getOpset()));
}

void GraphImporter::importOp(const NodeSite &site) {
  if (site.node.op_type() == "Constant" && site.getDomain().empty()) {
    if (failed(importConstant(site)))
      giveUp(site);
    return;
  }
  if (site.node.op_type() == "Gradient" &&
      site.getDomain() == "ai.onnx.preview.training") {
    if (failed(importGradient(site)))
      giveUp(site);
    return;
  }
  std::string name = getOpName(site.getDomain(), site.node.op_type());
  if (!name.empty()) {
    OperationName opName(name, context.mlirContext);
    if (opName.isRegistered() && opName.getInterface<onnx::OnnxOpInterface>()) {
      if (failed(createOp(site, opName)))
        giveUp(site);
      return;
    }
  }
  if (importOperatorFunction(site) || importSchemaFunction(site))
    return;
  (void)refuse(
      site, "this operator is not supported: there is neither an op for "
            "it nor a function that defines it (--custom-op=" +
                (site.getDomain().empty() ? "ai.onnx" : site.getDomain()) +
                "::" + site.node.op_type() + "=FUNCTION calls one of yours)");
  checkRegions(site);
  giveUp(site);
}

//===--- Inputs and outputs -----------------------------------------------===//

SmallVector<Binding> GraphImporter::getInputs(const NodeSite &site) {
  SmallVector<Binding> inputs;
  for (const std::string &name : site.node.input()) {
    if (name.empty()) {
      inputs.push_back(Binding::absent());
      continue;
    }
    std::optional<Binding> binding = site.scope.lookup(name);
    if (!binding)
      (void)refuse(site,
                   "input '" + name +
                       "' is not defined before this node (nodes must be in "
                       "topological order)");
    inputs.push_back(binding.value_or(Binding::refused()));
  }
  while (!inputs.empty() && inputs.back().kind == Binding::Absent)
    inputs.pop_back();
  return inputs;
}

void GraphImporter::defineOutputs(const NodeSite &site,
                                  ArrayRef<Value> values) {
  for (auto [index, name] : llvm::enumerate(site.node.output()))
    if (!name.empty())
      bind(site.scope, name,
           index < values.size() ? Binding::present(values[index])
                                 : Binding::refused(),
           site.loc);
}

//===--- The op -----------------------------------------------------------===//

/// Spreads a node's inputs over the operands that `kinds` lists; gives the
/// number of values for each. An empty answer comes with a reason.
static SmallVector<int32_t>
matchOperands(ArrayRef<Binding> inputs, StringRef kinds, std::string &reason) {
  SmallVector<int32_t> segments;
  for (auto [index, kind] : llvm::enumerate(kinds)) {
    if (kind == 'v') {
      // A variadic operand is the last one.
      int32_t rest = std::max<int64_t>(0, static_cast<int64_t>(inputs.size()) -
                                              static_cast<int64_t>(index));
      if (llvm::any_of(inputs.take_back(rest), [](const Binding &input) {
            return input.kind == Binding::Absent;
          }))
        reason = "one of its list of inputs is missing";
      segments.push_back(rest);
      return segments;
    }
    bool isThere =
        index < inputs.size() && inputs[index].kind != Binding::Absent;
    if (!isThere && kind == 'r')
      reason = ("required input #" + Twine(index) + " is missing").str();
    segments.push_back(isThere);
  }
  if (inputs.size() > kinds.size())
    reason = ("it has " + Twine(inputs.size()) + " inputs (supported: up to " +
              Twine(kinds.size()) + ")")
                 .str();
  return segments;
}

LogicalResult GraphImporter::createOp(const NodeSite &site,
                                      OperationName name) {
  auto *record = name.getInterface<onnx::OnnxOpInterface>();
  StringRef resultKinds = record->getResultKinds();
  // What can be checked without the inputs' types is, also when those failed.
  SmallVector<Binding> inputs = getInputs(site);
  bool isRefused = llvm::any_of(inputs, [](const Binding &input) {
    return input.kind == Binding::Refused;
  });
  std::string reason;
  SmallVector<int32_t> segments =
      matchOperands(inputs, record->getOperandKinds(), reason);
  if (!reason.empty())
    isRefused = failed(refuse(site, reason));
  // An output that a list has may be unnamed, others just need not be wanted.
  bool isVariadic = resultKinds.ends_with("v");
  unsigned numOutputs = site.node.output_size();
  while (!isVariadic && numOutputs && site.node.output(numOutputs - 1).empty())
    --numOutputs;
  if (numOutputs > resultKinds.size() && !isVariadic)
    isRefused = failed(refuse(site, "it has " + Twine(numOutputs) +
                                        " outputs (supported: up to " +
                                        Twine(resultKinds.size()) + ")"));
  FailureOr<NamedAttrList> attributes =
      importAttributes(*this, context, site, name);
  isRefused |= failed(attributes);
  unsigned numResults =
      isVariadic ? std::max<size_t>(numOutputs, resultKinds.size() - 1)
                 : resultKinds.size();
  SmallVector<Type> inputTypes;
  for (const Binding &input : inputs)
    inputTypes.push_back(input.value ? input.value.getType() : Type());
  FailureOr<SmallVector<Type>> resultTypes = failure();
  if (!isRefused)
    resultTypes = checkTypes(*this, site, inputTypes, numResults);
  if (failed(resultTypes)) {
    checkRegions(site);
    return failure();
  }

  OperationState state(site.loc, name);
  for (const Binding &input : inputs)
    if (input.value)
      state.operands.push_back(input.value);
  state.addTypes(*resultTypes);
  if (name.hasTrait<OpTrait::AttrSizedOperandSegments>())
    attributes->set("operandSegmentSizes",
                    builder.getDenseI32ArrayAttr(segments));
  state.attributes = *attributes;
  SmallVector<StringRef> regionNames;
  record->getRegionNames().split(regionNames, ',', -1, /*KeepEmpty=*/false);
  for (size_t i = 0; i < regionNames.size(); ++i)
    state.addRegion();
  Operation *op = builder.create(state);
  // Two draws without a seed are two draws, however equal they look.
  bool isRandom =
      llvm::any_of(name.getAttributeNames(), [](StringAttr attribute) {
        return attribute.getValue() == "seed";
      });
  if (isRandom && !op->hasAttr("seed"))
    op->setDiscardableAttr(onnx::kDrawAttr,
                           builder.getI64IntegerAttr(context.nodesImported));
  if (failed(importRegions(site, op, record->getRegionNames(), inputTypes)) ||
      failed(finishOp(site, op, *attributes))) {
    op->erase();
    return failure();
  }
  defineOutputs(site, SmallVector<Value>(op->getResults()));
  return success();
}

LogicalResult GraphImporter::finishOp(const NodeSite &site, Operation *op,
                                      const NamedAttrList &attributes) {
  // Properties drop an attribute whose class is not the expected one.
  for (NamedAttribute attribute : attributes)
    if (op->getAttr(attribute.getName()) != attribute.getValue())
      return refuse(site, "attribute '" + attribute.getName().getValue() +
                              "' is not of the kind that the operator has");
  std::string text;
  auto check = [&] {
    // The shape function relies on what the verifier has checked.
    if (failed(op->getName().verifyInvariants(op)) ||
        failed(onnx::inferAndSetResultTypes(op)))
      return failure();
    return op->getName().verifyInvariants(op);
  };
  if (failed(collectErrors(context.mlirContext, text, check)))
    return refuse(site, text.empty() ? "it is not valid" : text);
  return success();
}

} // namespace onnx_aot::importer
