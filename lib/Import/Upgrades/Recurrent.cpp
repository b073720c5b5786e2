//===- Recurrent.cpp - older recurrent operators and loops ----------------===//

#include "Upgrades.h"

using namespace mlir;

namespace onnx_aot::importer {

/// Whether the first output was wanted follows from its name.
static LogicalResult upgradeRecurrent(Upgrader &upgrader) {
  upgrader.erase("output_sequence");
  return success();
}

static LogicalResult upgradeScan(Upgrader &upgrader) {
  return upgrader.refuse("scanning a batch of sequences is not supported "
                         "(supported: Scan of opset 9 and newer)");
}

void addRecurrentUpgrades(UpgradeList &list) {
  list.insert(list.end(), {{"GRU", 7, upgradeRecurrent},
                           {"LSTM", 7, upgradeRecurrent},
                           {"RNN", 7, upgradeRecurrent},
                           {"Scan", 9, upgradeScan}});
}

} // namespace onnx_aot::importer
