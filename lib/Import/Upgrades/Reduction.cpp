//===- Reduction.cpp - older reductions -----------------------------------===//

#include "Upgrades.h"

using namespace mlir;

namespace onnx_aot::importer {

static LogicalResult upgradeAxes(Upgrader &upgrader) {
  upgrader.moveToInput("axes", 1);
  return success();
}

/// The number of values was an attribute.
static LogicalResult upgradeTopK(Upgrader &upgrader) {
  if (!upgrader.find("k"))
    return upgrader.refuse("attribute 'k' is missing");
  int64_t k = upgrader.getInt("k", 0);
  upgrader.erase("k");
  upgrader.setInput(1, upgrader.addIntegers(k));
  return success();
}

void addReductionUpgrades(UpgradeList &list) {
  list.insert(list.end(), {{"ReduceL1", 18, upgradeAxes},
                           {"ReduceL2", 18, upgradeAxes},
                           {"ReduceLogSum", 18, upgradeAxes},
                           {"ReduceLogSumExp", 18, upgradeAxes},
                           {"ReduceMax", 18, upgradeAxes},
                           {"ReduceMean", 18, upgradeAxes},
                           {"ReduceMin", 18, upgradeAxes},
                           {"ReduceProd", 18, upgradeAxes},
                           {"ReduceSum", 13, upgradeAxes},
                           {"ReduceSumSquare", 18, upgradeAxes},
                           {"TopK", 10, upgradeTopK}});
}

} // namespace onnx_aot::importer
