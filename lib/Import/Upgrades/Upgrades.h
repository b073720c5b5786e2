//===- Upgrades.h - nodes of older opsets -----------------------*- C++ -*-===//
//
// An adapter brings a node of one operator from the versions before `toOpset`
// to those rules. It edits the node and may put helper nodes before and after
// it; helper nodes follow the newest opset. A node runs through all adapters of
// its operator that its opset is too old for, oldest first.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_LIB_IMPORT_UPGRADES_UPGRADES_H
#define ONNX_AOT_LIB_IMPORT_UPGRADES_UPGRADES_H

#include "../GraphImporter.h"

namespace onnx_aot::importer {

/// Upgrades one node.
class Upgrader {
public:
  using Refuse = llvm::function_ref<mlir::LogicalResult(const llvm::Twine &)>;
  Upgrader(ImportContext &context, const NodeSite &site, Refuse refuse)
      : context(context), site(site), refuseNode(refuse) {}

  /// The nodes to import instead: the node itself when nothing was to be done.
  mlir::FailureOr<llvm::ArrayRef<const ::onnx::NodeProto *>> run();
  /// The opset that these nodes follow.
  int64_t getOpset() const { return opset; }

  //===--- For adapters ---------------------------------------------------===//

  /// The node, to be edited.
  ::onnx::NodeProto &node() { return *edited; }
  mlir::LogicalResult refuse(const llvm::Twine &reason) {
    return refuseNode(reason);
  }

  /// The node's index-th input as it is in the model; null when absent,
  /// refused, or made by a helper node.
  mlir::Value getInput(unsigned index);
  mlir::Type getInputType(unsigned index);
  std::optional<int64_t> getInputRank(unsigned index);
  bool hasInput(unsigned index) const;

  /// The integers or floats of a constant input.
  std::optional<llvm::SmallVector<int64_t>> getIntegers(unsigned index);
  std::optional<llvm::SmallVector<float>> getFloats(unsigned index);

  const ::onnx::AttributeProto *find(llvm::StringRef name) const;
  float getFloat(llvm::StringRef name, float otherwise) const;
  int64_t getInt(llvm::StringRef name, int64_t otherwise) const;
  std::string getString(llvm::StringRef name, llvm::StringRef otherwise) const;
  void erase(llvm::StringRef name);
  void set(llvm::StringRef name, int64_t value);
  void set(llvm::StringRef name, llvm::StringRef value);
  void set(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  void setFloat(llvm::StringRef name, float value);

  /// A name that no model has.
  std::string makeName();
  /// Makes `name` the index-th input; inputs in between are left out.
  void setInput(unsigned index, const std::string &name);
  /// Adds a Constant before the node; gives its name.
  std::string addIntegers(llvm::ArrayRef<int64_t> values);
  std::string addInteger(int64_t value);
  std::string addFloats(llvm::ArrayRef<float> values);
  /// A rank-0 constant of the element type of the node's index-th input.
  std::string addScalarLike(unsigned index, float value);
  /// Adds a node before the node; gives its output's name.
  std::string
  addBefore(llvm::StringRef opType, llvm::ArrayRef<std::string> inputs,
            llvm::function_ref<void(::onnx::NodeProto &)> edit = {});
  /// Adds a node whose input #0 is the node's output #index and whose output
  /// takes that output's name. Further inputs follow.
  void addAfter(llvm::StringRef opType, unsigned index,
                llvm::ArrayRef<std::string> moreInputs,
                llvm::function_ref<void(::onnx::NodeProto &)> edit = {});
  /// Moves an ints attribute to a 1-D input; left out when the attribute is.
  void moveToInput(llvm::StringRef attribute, unsigned index);

private:
  ImportContext &context;
  const NodeSite &site;
  Refuse refuseNode;
  int64_t opset = 0;
  unsigned numNames = 0;
  ::onnx::NodeProto *edited = nullptr;
  llvm::SmallVector<const ::onnx::NodeProto *> before, after, all;
};

/// One adapter.
struct Upgrade {
  /// Operator of the standard domain.
  llvm::StringLiteral op;
  /// The opset whose rules the node follows afterwards.
  int64_t toOpset;
  mlir::LogicalResult (*apply)(Upgrader &);
};

/// All adapters in ascending order of opset.
llvm::ArrayRef<Upgrade> getUpgrades();

/// The adapters of one category each.
using UpgradeList = std::vector<Upgrade>;
void addElementwiseUpgrades(UpgradeList &list);
void addIndexingUpgrades(UpgradeList &list);
void addMatMulUpgrades(UpgradeList &list);
void addNormalizationUpgrades(UpgradeList &list);
void addPoolingUpgrades(UpgradeList &list);
void addRecurrentUpgrades(UpgradeList &list);
void addReductionUpgrades(UpgradeList &list);
void addShapeUpgrades(UpgradeList &list);

} // namespace onnx_aot::importer

#endif // ONNX_AOT_LIB_IMPORT_UPGRADES_UPGRADES_H
