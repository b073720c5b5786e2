//===- SchemaCheck.cpp - types that an operator allows --------------------===//

#include "GraphImporter.h"
#include "TypeImporter.h"

#include "onnx/defs/data_type_utils.h"
#include "onnx/defs/schema.h"

using namespace mlir;

namespace onnx_aot::importer {

using FormalParameter = ::onnx::OpSchema::FormalParameter;

/// The parameter of the index-th input or output; the last one may repeat.
static const FormalParameter *
getParameter(const std::vector<FormalParameter> &parameters, size_t index) {
  if (index < parameters.size())
    return &parameters[index];
  if (!parameters.empty() &&
      parameters.back().GetOption() == ::onnx::OpSchema::Variadic)
    return &parameters.back();
  return nullptr;
}

static std::string listTypes(const FormalParameter &parameter) {
  std::vector<std::string> names;
  for (::onnx::DataType type : parameter.GetTypes())
    names.push_back(*type);
  llvm::sort(names);
  return llvm::join(names, ", ");
}

static bool allows(const FormalParameter &parameter, StringRef type) {
  return llvm::any_of(parameter.GetTypes(), [&](::onnx::DataType allowed) {
    return *allowed == type;
  });
}

/// A type for a result before its shape function has run: verifiers may look at
/// it.
static Type guessResultType(MLIRContext *context,
                            const FormalParameter *parameter,
                            const llvm::StringMap<std::string> &variables) {
  Type fallback = UnrankedTensorType::get(Float32Type::get(context));
  if (!parameter)
    return fallback;
  std::string chosen = variables.lookup(parameter->GetTypeStr());
  if (chosen.empty() && !allows(*parameter, "tensor(float)"))
    for (::onnx::DataType type : parameter->GetTypes())
      if (chosen.empty() || *type < chosen)
        chosen = *type;
  Type type = getTypeOfString(context, chosen);
  return type ? type : fallback;
}

FailureOr<SmallVector<Type>> checkTypes(GraphImporter &importer,
                                        const NodeSite &site,
                                        ArrayRef<Type> inputs,
                                        unsigned numResults) {
  MLIRContext *context = site.loc.getContext();
  const ::onnx::OpSchema *schema = ::onnx::OpSchemaRegistry::Schema(
      site.node.op_type(), site.getDomain().str());
  SmallVector<Type> results;
  if (!schema) {
    results.assign(numResults, guessResultType(context, nullptr, {}));
    return results;
  }
  llvm::StringMap<std::string> variables;
  for (auto [index, input] : llvm::enumerate(inputs)) {
    const FormalParameter *parameter = getParameter(schema->inputs(), index);
    if (!input || !parameter)
      continue;
    std::string type = getTypeString(input);
    bool isNewer =
        site.getDomain().empty() && site.declaredOpset > kNewestSchemaOpset;
    if (!allows(*parameter, type) && !isNewer)
      return importer.refuse(site,
                             "input #" + Twine(index) + " '" +
                                 parameter->GetName() + "' has type " + type +
                                 " (supported: " + listTypes(*parameter) + ")");
    if (!parameter->GetIsHomogeneous())
      continue;
    std::string &bound = variables[parameter->GetTypeStr()];
    if (!bound.empty() && bound != type)
      return importer.refuse(
          site, "input #" + Twine(index) + " '" + parameter->GetName() +
                    "' has type " + type +
                    ", but another input of the same type is " + bound);
    bound = type;
  }
  for (unsigned index = 0; index < numResults; ++index)
    results.push_back(guessResultType(
        context, getParameter(schema->outputs(), index), variables));
  return results;
}

} // namespace onnx_aot::importer
