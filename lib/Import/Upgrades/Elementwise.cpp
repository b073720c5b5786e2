//===- Elementwise.cpp - older pointwise operators ------------------------===//

#include "Upgrades.h"

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;

namespace onnx_aot::importer {

/// Puts the second input's dimensions at `axis` of the first one's, as
/// broadcasting did before it was numpy's.
static LogicalResult alignSecondInput(Upgrader &upgrader, int64_t axis) {
  std::optional<int64_t> rank = upgrader.getInputRank(0),
                         otherRank = upgrader.getInputRank(1);
  if (!rank || !otherRank)
    return upgrader.refuse(
        "broadcasting along an axis needs inputs of known rank");
  int64_t trailing = *rank - axis - *otherRank;
  if (axis < 0 || trailing < 0)
    return upgrader.refuse("axis " + Twine(axis) +
                           " does not fit inputs of rank " + Twine(*rank) +
                           " and " + Twine(*otherRank));
  if (trailing == 0)
    return success();
  SmallVector<int64_t> axes;
  for (int64_t i = 0; i < trailing; ++i)
    axes.push_back(*otherRank + i);
  upgrader.setInput(
      1, upgrader.addBefore("Unsqueeze", {upgrader.node().input(1),
                                          upgrader.addIntegers(axes)}));
  return success();
}

/// Arithmetic and comparisons had `broadcast` and `axis`.
static LogicalResult upgradeBinary(Upgrader &upgrader) {
  const ::onnx::AttributeProto *axis = upgrader.find("axis");
  bool broadcasts = upgrader.getInt("broadcast", 0) != 0;
  int64_t position = axis ? axis->i() : 0;
  bool hasAxis = axis != nullptr;
  upgrader.erase("broadcast");
  upgrader.erase("axis");
  return broadcasts && hasAxis && upgrader.hasInput(1)
             ? alignSecondInput(upgrader, position)
             : success();
}

/// A slope per channel stood for dimension 1.
static LogicalResult upgradePRelu(Upgrader &upgrader) {
  auto slope = dyn_cast_or_null<RankedTensorType>(upgrader.getInputType(1));
  if (!slope)
    return upgrader.refuse("it needs a slope of known rank");
  if (slope.getRank() != 1 || slope.getDimSize(0) == 1)
    return success();
  return alignSecondInput(upgrader, 1);
}

static LogicalResult upgradeClip(Upgrader &upgrader) {
  for (auto [index, name] : {std::pair(1u, "min"), std::pair(2u, "max")})
    if (upgrader.find(name)) {
      float bound = upgrader.getFloat(name, 0);
      upgrader.erase(name);
      upgrader.setInput(index, upgrader.addScalarLike(0, bound));
    }
  return success();
}

/// Element types were words.
static LogicalResult upgradeCast(Upgrader &upgrader) {
  const ::onnx::AttributeProto *to = upgrader.find("to");
  if (!to || !to->has_s())
    return success();
  std::string name = StringRef(to->s()).upper();
  ::onnx::TensorProto::DataType type;
  if (!::onnx::TensorProto::DataType_Parse(name, &type))
    return upgrader.refuse("there is no element type '" + Twine(name) + "'");
  upgrader.set("to", static_cast<int64_t>(type));
  return success();
}

/// The default values were rounded.
static LogicalResult upgradeSelu(Upgrader &upgrader) {
  if (!upgrader.find("alpha"))
    upgrader.setFloat("alpha", 1.6732f);
  if (!upgrader.find("gamma"))
    upgrader.setFloat("gamma", 1.0507f);
  return success();
}

void addElementwiseUpgrades(UpgradeList &list) {
  list.insert(list.end(), {{"Add", 7, upgradeBinary},
                           {"And", 7, upgradeBinary},
                           {"Cast", 6, upgradeCast},
                           {"Clip", 11, upgradeClip},
                           {"Div", 7, upgradeBinary},
                           {"Equal", 7, upgradeBinary},
                           {"Greater", 7, upgradeBinary},
                           {"Less", 7, upgradeBinary},
                           {"Mul", 7, upgradeBinary},
                           {"Or", 7, upgradeBinary},
                           {"Pow", 7, upgradeBinary},
                           {"PRelu", 7, upgradePRelu},
                           {"Selu", 6, upgradeSelu},
                           {"Sub", 7, upgradeBinary},
                           {"Xor", 7, upgradeBinary}});
}

} // namespace onnx_aot::importer
