//===- Normalization.cpp - older normalizations, dropout and softmax ------===//

#include "Upgrades.h"

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;

namespace onnx_aot::importer {

/// Refuses what was meant for training only.
static LogicalResult eraseIsTest(Upgrader &upgrader) {
  bool isTest = upgrader.getInt("is_test", 0) != 0;
  upgrader.erase("is_test");
  if (!isTest)
    return upgrader.refuse(
        "training mode is not supported for its opset (supported: "
        "is_test=1, or opset 14 and newer)");
  return success();
}

//===--- BatchNormalization -----------------------------------------------===//

/// Statistics could be per activation instead of per channel.
static LogicalResult eraseSpatial(Upgrader &upgrader) {
  bool isSpatial = upgrader.getInt("spatial", 1) != 0;
  upgrader.erase("spatial");
  if (!isSpatial)
    return upgrader.refuse("spatial=0 is not supported (supported: spatial=1)");
  return success();
}

/// More outputs than one meant training; two of them are gone since.
static LogicalResult upgradeTraining(Upgrader &upgrader) {
  ::onnx::NodeProto &node = upgrader.node();
  for (int i = 1; i < node.output_size(); ++i)
    if (!node.output(i).empty())
      return upgrader.refuse("training mode is not supported for its opset "
                             "(supported: opset 14 and newer)");
  return success();
}

/// Scale and bias were per group.
static LogicalResult upgradeGroupNormalization(Upgrader &upgrader) {
  auto type = dyn_cast_or_null<RankedTensorType>(upgrader.getInputType(0));
  int64_t groups = upgrader.getInt("num_groups", 0);
  if (!type || type.getRank() < 2 || type.isDynamicDim(1))
    return upgrader.refuse("it needs a known number of channels");
  int64_t channels = type.getDimSize(1);
  if (groups < 1 || channels % groups != 0)
    return upgrader.refuse("num_groups=" + Twine(groups) + " does not divide " +
                           Twine(channels) + " channels");
  std::string axes = upgrader.addIntegers({1});
  std::string spread = upgrader.addIntegers({1, channels / groups});
  std::string flat = upgrader.addIntegers({-1});
  for (unsigned index : {1u, 2u}) {
    if (!upgrader.hasInput(index))
      continue;
    std::string column =
        upgrader.addBefore("Unsqueeze", {upgrader.node().input(index), axes});
    std::string expanded = upgrader.addBefore("Expand", {column, spread});
    upgrader.setInput(index, upgrader.addBefore("Reshape", {expanded, flat}));
  }
  return success();
}

//===--- Dropout ----------------------------------------------------------===//

/// The mask had the data's element type.
static LogicalResult upgradeMask(Upgrader &upgrader) {
  ::onnx::NodeProto &node = upgrader.node();
  if (node.output_size() < 2 || node.output(1).empty())
    return success();
  Value input = upgrader.getInput(0);
  std::optional<int64_t> type =
      input ? onnx::getDataTypeOf(onnx::getElementType(input)) : std::nullopt;
  if (!type)
    return upgrader.refuse("it needs an input of known type");
  upgrader.addAfter("Cast", 1, {}, [&](::onnx::NodeProto &cast) {
    ::onnx::AttributeProto &to = *cast.add_attribute();
    to.set_name("to");
    to.set_type(::onnx::AttributeProto::INT);
    to.set_i(*type);
  });
  return success();
}

static LogicalResult upgradeRatio(Upgrader &upgrader) {
  float ratio = upgrader.getFloat("ratio", 0.5f);
  upgrader.erase("ratio");
  upgrader.setInput(1, upgrader.addScalarLike(0, ratio));
  return success();
}

//===--- Softmax ----------------------------------------------------------===//

/// The input counted as a matrix: the dimensions before `axis` were its rows.
static LogicalResult upgradeCoerced(Upgrader &upgrader) {
  int64_t axis = upgrader.getInt("axis", 1);
  std::optional<int64_t> rank = upgrader.getInputRank(0);
  if (!rank)
    return upgrader.refuse("it needs an input of known rank");
  if (axis < -*rank || axis > *rank)
    return upgrader.refuse("axis " + Twine(axis) +
                           " is out of range for rank " + Twine(*rank));
  if (axis < 0)
    axis += *rank;
  upgrader.set("axis", int64_t(-1));
  if (*rank > 0 && axis == *rank - 1)
    return success();
  std::string input = upgrader.node().input(0);
  std::string shape = upgrader.addBefore("Shape", {input});
  upgrader.setInput(
      0,
      upgrader.addBefore("Flatten", {input}, [&](::onnx::NodeProto &flatten) {
        ::onnx::AttributeProto &attribute = *flatten.add_attribute();
        attribute.set_name("axis");
        attribute.set_type(::onnx::AttributeProto::INT);
        attribute.set_i(axis);
      }));
  upgrader.addAfter("Reshape", 0, {shape});
  return success();
}

void addNormalizationUpgrades(UpgradeList &list) {
  list.insert(list.end(),
              {{"BatchNormalization", 7, eraseIsTest},
               {"BatchNormalization", 9, eraseSpatial},
               {"BatchNormalization", 14, upgradeTraining},
               {"Dropout", 7, eraseIsTest},
               {"Dropout", 10, upgradeMask},
               {"Dropout", 12, upgradeRatio},
               {"GroupNormalization", 21, upgradeGroupNormalization},
               {"Hardmax", 13, upgradeCoerced},
               {"LogSoftmax", 13, upgradeCoerced},
               {"Softmax", 13, upgradeCoerced}});
}

} // namespace onnx_aot::importer
