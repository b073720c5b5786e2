//===- Functions.h - operators of other domains as functions ----*- C++ -*-===//
//
// What exporters and quantizers add to the standard operators (com.microsoft,
// and names that onnxruntime puts in the standard domain) has no op in the
// dialect: each is written as the body of a function of standard operators, for
// the types and attributes of one node, and inlined like a model's own
// functions.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_LIB_IMPORT_FUNCTIONS_FUNCTIONS_H
#define ONNX_AOT_LIB_IMPORT_FUNCTIONS_FUNCTIONS_H

#include "../GraphImporter.h"

namespace onnx_aot::importer {

/// One attribute of a node of the body.
struct NodeAttribute {
  NodeAttribute(llvm::StringRef name, int64_t value);
  NodeAttribute(llvm::StringRef name, int value)
      : NodeAttribute(name, static_cast<int64_t>(value)) {}
  NodeAttribute(llvm::StringRef name, float value);
  NodeAttribute(llvm::StringRef name, llvm::StringRef value);
  NodeAttribute(llvm::StringRef name, const char *value)
      : NodeAttribute(name, llvm::StringRef(value)) {}
  NodeAttribute(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  /// An attribute of the node itself under another name.
  NodeAttribute(llvm::StringRef name, const ::onnx::AttributeProto &other);
  ::onnx::AttributeProto proto;
};

/// The name of a value of the body; empty for an input that is left out.
using Name = std::string;

/// Writes the body of one node.
class FunctionWriter {
public:
  using Refuse = llvm::function_ref<mlir::LogicalResult(const llvm::Twine &)>;
  FunctionWriter(const NodeSite &site, llvm::ArrayRef<Binding> inputs,
                 Refuse refuse, ::onnx::FunctionProto &function);

  mlir::LogicalResult refuse(const llvm::Twine &reason) {
    return refuseNode(reason);
  }

  /// Says what the node does otherwise here.
  void warn(const llvm::Twine &text);

  //===--- The node -------------------------------------------------------===//

  unsigned getNumInputs() const { return inputs.size(); }
  bool has(unsigned index) const;
  Name input(unsigned index) const;
  /// Null where the input is left out.
  mlir::Value getValue(unsigned index) const;
  /// Element type and rank of an input that is there; -1 where unknown.
  mlir::Type getElementType(unsigned index) const;
  int64_t getRank(unsigned index) const;
  /// A dimension of an input where rank and size are known, else -1.
  int64_t getSize(unsigned index, int64_t dim) const;
  bool wants(unsigned output) const;
  /// The elements of a constant input of uint8; nothing for any other input.
  std::optional<std::string> getBytes(unsigned index) const;

  const ::onnx::AttributeProto *find(llvm::StringRef name) const;
  int64_t getInt(llvm::StringRef name, int64_t otherwise) const;
  float getFloat(llvm::StringRef name, float otherwise) const;
  std::string getString(llvm::StringRef name, llvm::StringRef otherwise) const;
  llvm::SmallVector<int64_t> getInts(llvm::StringRef name) const;
  std::vector<std::string> getStrings(llvm::StringRef name) const;
  /// The floats of an attribute, or the numbers of its form `<name>_as_tensor`.
  /// Fails, with the reason told, on a tensor that has another form.
  mlir::FailureOr<llvm::SmallVector<double>> getNumbers(llvm::StringRef name);
  /// The node's attributes of these names, as far as it has them.
  std::vector<NodeAttribute> pick(llvm::ArrayRef<llvm::StringRef> names) const;

  //===--- The body -------------------------------------------------------===//

  Name add(llvm::StringRef op, const std::vector<Name> &inputs,
           const std::vector<NodeAttribute> &attributes = {},
           llvm::StringRef domain = "");
  llvm::SmallVector<Name>
  addMany(llvm::StringRef op, const std::vector<Name> &inputs,
          unsigned numOutputs,
          const std::vector<NodeAttribute> &attributes = {},
          llvm::StringRef domain = "");
  /// 1-D and rank-0 constants of int64.
  Name integers(llvm::ArrayRef<int64_t> values);
  Name integer(int64_t value);
  /// A constant of f32, f64, i32 or i64 elements.
  Name tensor(llvm::ArrayRef<double> values, llvm::ArrayRef<int64_t> shape,
              mlir::Type type);
  /// A 1-D constant of strings.
  Name strings(llvm::ArrayRef<std::string> values);
  /// A constant of uint8 or int8.
  Name bytes(std::string values, llvm::ArrayRef<int64_t> shape,
             mlir::Type type);
  /// A rank-0 constant of an element type.
  Name number(double value, mlir::Type type);
  Name convert(const Name &value, mlir::Type type);
  Name reshape(const Name &value, llvm::ArrayRef<int64_t> shape);
  Name transpose(const Name &value, llvm::ArrayRef<int64_t> permutation);
  /// value[..., first:last, ...] along one axis.
  Name slice(const Name &value, int64_t axis, int64_t first, int64_t last);
  /// The sizes of some axes as a 1-D tensor.
  Name sizes(const Name &value, int64_t first, int64_t last);
  /// Parts of these sizes along an axis.
  llvm::SmallVector<Name> split(const Name &value, int64_t axis,
                                llvm::ArrayRef<int64_t> sizes);
  /// a, or a + b where b is not left out.
  Name plus(const Name &a, const Name &b);
  /// Element type as ONNX numbers them.
  int64_t getDataType(mlir::Type type) const;

  /// A graph attribute whose body `write` adds, and which gives what `write`
  /// returns. It sees the values outside; its inputs are f32, int64 or bool.
  NodeAttribute graph(llvm::StringRef name,
                      llvm::ArrayRef<std::pair<Name, mlir::Type>> inputs,
                      llvm::function_ref<std::vector<Name>()> write);
  /// A name that no other value of the body has.
  Name makeName() { return "value" + std::to_string(numValues++); }

  void result(unsigned output, const Name &value);
  /// Declares the outputs. Fails where one is wanted but not made.
  mlir::LogicalResult finish();

  /// The numbers of a list of f32, f64 or bytes.
  mlir::FailureOr<llvm::SmallVector<double>>
  readTensor(llvm::StringRef name, const ::onnx::TensorProto &tensor);

private:
  const NodeSite &site;
  llvm::ArrayRef<Binding> inputs;
  Refuse refuseNode;
  ::onnx::FunctionProto &function;
  /// The graph under construction; null for the body itself.
  ::onnx::GraphProto *inner = nullptr;
  llvm::SmallVector<Name> results;
  unsigned numValues = 0;
};

/// How to write one operator.
struct OperatorFunction {
  llvm::StringLiteral domain, op;
  /// Inputs that must be there from the first one on, and how many there may
  /// be.
  unsigned minInputs, maxInputs;
  mlir::LogicalResult (*write)(FunctionWriter &);
  /// Attributes that the operator has; others are refused.
  std::vector<llvm::StringLiteral> attributes;
};

using OperatorFunctions = std::vector<OperatorFunction>;

/// Null for an operator that is not written here.
const OperatorFunction *getOperatorFunction(llvm::StringRef domain,
                                            llvm::StringRef op);

/// The operators of one category each.
void addElementwiseFunctions(OperatorFunctions &list);
void addMatMulFunctions(OperatorFunctions &list);
void addNormalizationFunctions(OperatorFunctions &list);
void addAttentionFunctions(OperatorFunctions &list);
void addQuantizationFunctions(OperatorFunctions &list);
void addShapeFunctions(OperatorFunctions &list);
void addTfIdfFunctions(OperatorFunctions &list);
/// The optimizer steps of ai.onnx.preview.training.
void addOptimizerFunctions(OperatorFunctions &list);
/// Those of ai.onnx.ml.
void addMLFunctions(OperatorFunctions &list);
void addSVMFunctions(OperatorFunctions &list);
void addTreeFunctions(OperatorFunctions &list);

} // namespace onnx_aot::importer

#endif // ONNX_AOT_LIB_IMPORT_FUNCTIONS_FUNCTIONS_H
