//===- Shape.cpp - older operators that move data -------------------------===//

#include "Upgrades.h"

using namespace mlir;

namespace onnx_aot::importer {

static LogicalResult upgradeConcat(Upgrader &upgrader) {
  if (!upgrader.find("axis"))
    upgrader.set("axis", int64_t(1));
  return success();
}

static LogicalResult upgradeReshape(Upgrader &upgrader) {
  upgrader.moveToInput("shape", 1);
  return success();
}

static LogicalResult upgradeAxes(Upgrader &upgrader) {
  upgrader.moveToInput("axes", 1);
  return success();
}

static LogicalResult upgradeSplit(Upgrader &upgrader) {
  upgrader.moveToInput("split", 1);
  return success();
}

/// Equal parts were told by the number of outputs.
static LogicalResult upgradeEqualSplit(Upgrader &upgrader) {
  if (!upgrader.hasInput(1))
    upgrader.set("num_outputs",
                 static_cast<int64_t>(upgrader.node().output_size()));
  return success();
}

/// Pads had another name.
static LogicalResult upgradePaddings(Upgrader &upgrader) {
  const ::onnx::AttributeProto *paddings = upgrader.find("paddings");
  if (!paddings)
    return success();
  SmallVector<int64_t> pads(paddings->ints().begin(), paddings->ints().end());
  upgrader.erase("paddings");
  upgrader.set("pads", ArrayRef(pads));
  return success();
}

static LogicalResult upgradePad(Upgrader &upgrader) {
  if (!upgrader.find("pads"))
    return upgrader.refuse("attribute 'pads' is missing");
  upgrader.moveToInput("pads", 1);
  if (upgrader.find("value")) {
    float value = upgrader.getFloat("value", 0);
    upgrader.erase("value");
    upgrader.setInput(2, upgrader.addScalarLike(0, value));
  }
  return success();
}

static LogicalResult upgradeTile(Upgrader &upgrader) {
  return upgrader.refuse(
      "tiling along one axis is not supported (supported: Tile of "
      "opset 6 and newer)");
}

void addShapeUpgrades(UpgradeList &list) {
  list.insert(list.end(), {{"Concat", 4, upgradeConcat},
                           {"Pad", 2, upgradePaddings},
                           {"Pad", 11, upgradePad},
                           {"Reshape", 5, upgradeReshape},
                           {"Split", 13, upgradeSplit},
                           {"Split", 18, upgradeEqualSplit},
                           {"Squeeze", 13, upgradeAxes},
                           {"Tile", 6, upgradeTile},
                           {"Unsqueeze", 13, upgradeAxes}});
}

} // namespace onnx_aot::importer
