//===- GraphImporter.h - graphs and nodes -----------------------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_IMPORT_GRAPHIMPORTER_H
#define ONNX_AOT_LIB_IMPORT_GRAPHIMPORTER_H

#include "Scope.h"

#include "mlir/IR/Builders.h"

namespace onnx_aot::importer {

/// A node on its way in, and what is known of where it stands.
struct NodeSite {
  const ::onnx::NodeProto &node;
  Scope &scope;
  mlir::Location loc;
  /// Opset of the node's domain as the model imports it, for messages.
  int64_t declaredOpset;
  /// Opset whose rules the node follows by now.
  int64_t opset;

  /// The same place for a node that replaces this one.
  NodeSite with(const ::onnx::NodeProto &other, int64_t version) const {
    return {other, scope, loc, declaredOpset, version};
  }
  llvm::StringRef getDomain() const { return normalizeDomain(node.domain()); }
};

/// Imports graphs node by node at the builder's place. Every reason to refuse
/// is reported where it is found, and import goes on behind it.
class GraphImporter {
public:
  explicit GraphImporter(ImportContext &context);

  /// Imports a graph whose inputs are in scope; gives a binding per output.
  llvm::SmallVector<Binding> importGraph(const ::onnx::GraphProto &graph,
                                         Scope &scope);
  /// Adds a name to a scope; one that is there already is refused.
  void define(Scope &scope, llvm::StringRef name, Binding binding,
              mlir::Location loc);
  /// Refuses a node; the message names node, operator, domain and opset.
  mlir::LogicalResult refuse(const NodeSite &site, const llvm::Twine &reason);

  mlir::OpBuilder builder;

private:
  /// A constant, also of strings.
  mlir::Value createConstant(mlir::Location loc, mlir::ElementsAttr value,
                             llvm::StringRef name = "");

  void bind(Scope &scope, llvm::StringRef name, Binding binding,
            mlir::Location loc);
  /// Notes what a graph declares of its values, which only custom ops ask for.
  void declareTypes(
      const google::protobuf::RepeatedPtrField<::onnx::ValueInfoProto> &values,
      Scope &scope);
  void importInitializers(const ::onnx::GraphProto &graph, Scope &scope);

  // NodeImporter.cpp: from a node as it is in the file to its dialect op.
  void importNode(const ::onnx::NodeProto &node, unsigned index, Scope &scope);
  void importStandardNode(const NodeSite &site);
  void importOp(const NodeSite &site);
  mlir::LogicalResult createOp(const NodeSite &site, mlir::OperationName name);
  mlir::LogicalResult finishOp(const NodeSite &site, mlir::Operation *op,
                               const mlir::NamedAttrList &attributes);
  /// The node with its references to the function's attributes filled in.
  const ::onnx::NodeProto &resolveReferences(const ::onnx::NodeProto &node,
                                             const Scope &scope);
  /// The node's input bindings; undefined names are reported and refused.
  llvm::SmallVector<Binding> getInputs(const NodeSite &site);
  /// Binds the node's outputs; those beyond `values` are refused.
  void defineOutputs(const NodeSite &site, llvm::ArrayRef<mlir::Value> values);
  /// The end of a refusal: the outputs are known to be refused.
  void giveUp(const NodeSite &site);

  // CustomOpImporter.cpp: tells whether the user has declared the operator.
  bool importCustomOp(const NodeSite &site);
  mlir::LogicalResult createCustomCall(const NodeSite &site,
                                       const CustomOp &op);
  mlir::FailureOr<llvm::SmallVector<mlir::Attribute>>
  getCustomOutputTypes(const NodeSite &site, const CustomOp &op);

  // ConstantImporter.cpp
  mlir::LogicalResult importConstant(const NodeSite &site);

  // GradientImporter.cpp
  mlir::LogicalResult importGradient(const NodeSite &site);

  // Subgraphs.cpp
  mlir::LogicalResult importRegions(const NodeSite &site, mlir::Operation *op,
                                    llvm::StringRef names,
                                    llvm::ArrayRef<mlir::Type> inputs);
  mlir::LogicalResult importRegion(const NodeSite &site,
                                   const ::onnx::GraphProto &graph,
                                   mlir::Region &region,
                                   llvm::ArrayRef<mlir::Type> inputTypes);
  mlir::LogicalResult
  importLoopBody(const NodeSite &site, const ::onnx::GraphProto &graph,
                 mlir::Region &region, llvm::SmallVector<mlir::Type> inputTypes,
                 unsigned firstCarried, unsigned firstYielded,
                 unsigned numCarried);
  /// Reports what else is wrong within a refused node's graphs.
  void checkRegions(const NodeSite &site);

  // Functions/Functions.cpp: an operator of another domain that is written as a
  // function of standard ones; tells whether it is.
  bool importOperatorFunction(const NodeSite &site);

  // FunctionInliner.cpp: both tell whether there is such a function.
  bool importLocalFunction(const NodeSite &site);
  bool importSchemaFunction(const NodeSite &site);
  void inlineFunction(const NodeSite &site,
                      const ::onnx::FunctionProto &function,
                      AttributeMap attributes);

  ImportContext &context;
  /// Model-local functions by domain, name and overload.
  llvm::StringMap<const ::onnx::FunctionProto *> functions;
};

/// Key of a model-local function.
std::string getFunctionKey(llvm::StringRef domain, llvm::StringRef name,
                           llvm::StringRef overload);

/// The attributes of a node for the op `name`, all but graphs.
mlir::FailureOr<mlir::NamedAttrList> importAttributes(GraphImporter &importer,
                                                      ImportContext &context,
                                                      const NodeSite &site,
                                                      mlir::OperationName name);

/// The value of an attribute; null for a kind that no op has.
mlir::FailureOr<mlir::Attribute>
importAttribute(ImportContext &context, const ::onnx::AttributeProto &attribute,
                mlir::Location loc);

/// Checks the inputs' types (null where absent) against the newest ONNX schema
/// of the operator and gives a first guess of every result's type. A domain
/// without schemas is not checked.
mlir::FailureOr<llvm::SmallVector<mlir::Type>>
checkTypes(GraphImporter &importer, const NodeSite &site,
           llvm::ArrayRef<mlir::Type> inputs, unsigned numResults);

/// Runs `check` with its errors collected in `text` instead of reported.
mlir::LogicalResult
collectErrors(mlir::MLIRContext *context, std::string &text,
              llvm::function_ref<mlir::LogicalResult()> check);

} // namespace onnx_aot::importer

#endif // ONNX_AOT_LIB_IMPORT_GRAPHIMPORTER_H
