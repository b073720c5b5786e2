//===- MatMul.cpp - older matrix products and transforms ------------------===//

#include "Upgrades.h"

using namespace mlir;

namespace onnx_aot::importer {

/// Broadcasting of the bias had to be allowed; it was numpy's already.
static LogicalResult upgradeGemm(Upgrader &upgrader) {
  upgrader.erase("broadcast");
  return success();
}

/// The axis was an attribute with another default value than the input has.
static LogicalResult upgradeDFT(Upgrader &upgrader) {
  int64_t axis = upgrader.getInt("axis", 1);
  upgrader.erase("axis");
  upgrader.setInput(2, upgrader.addInteger(axis));
  return success();
}

void addMatMulUpgrades(UpgradeList &list) {
  list.insert(list.end(), {{"DFT", 20, upgradeDFT}, {"Gemm", 7, upgradeGemm}});
}

} // namespace onnx_aot::importer
