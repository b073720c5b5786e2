//===- Indexing.cpp - older operators that take and put elements ----------===//

#include "Upgrades.h"

using namespace mlir;

namespace onnx_aot::importer {

static LogicalResult upgradeSlice(Upgrader &upgrader) {
  if (!upgrader.find("starts") || !upgrader.find("ends"))
    return upgrader.refuse("attribute 'starts' or 'ends' is missing");
  upgrader.moveToInput("starts", 1);
  upgrader.moveToInput("ends", 2);
  upgrader.moveToInput("axes", 3);
  return success();
}

/// The operator got another name.
static LogicalResult upgradeScatter(Upgrader &upgrader) {
  upgrader.node().set_op_type("ScatterElements");
  return success();
}

void addIndexingUpgrades(UpgradeList &list) {
  list.insert(list.end(),
              {{"Scatter", 11, upgradeScatter}, {"Slice", 10, upgradeSlice}});
}

} // namespace onnx_aot::importer
