//===- Upgrades.cpp - running the adapters ----------------------------------===//

#include "Upgrades.h"

using namespace mlir;

namespace onnx_aot::importer {

FailureOr<ArrayRef<const ::onnx::NodeProto *>> Upgrader::run() {
  opset = site.opset;
  all = {&site.node};
  return ArrayRef(all);
}

} // namespace onnx_aot::importer
