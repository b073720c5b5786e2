//===- Recurrent.cpp - older recurrent operators and loops ----------------===//

#include "Upgrades.h"

using namespace mlir;

namespace onnx_aot::importer {

/// Whether the first output was wanted follows from its name.
static LogicalResult upgradeRecurrent(Upgrader &upgrader) {
  upgrader.erase("output_sequence");
  return success();
}

/// Scan(sequence_lens, states..., scanned...), all with a batch in front, is a
/// scan over the batch whose body scans one sequence by the rules of opset 9.
static LogicalResult upgradeScan(Upgrader &upgrader) {
  // Opset 8 has no such attribute: this is the scan of one sequence.
  if (upgrader.find("scan_input_axes"))
    return success();
  ::onnx::NodeProto &node = upgrader.node();
  const ::onnx::AttributeProto *body = upgrader.find("body");
  if (!body || !body->has_g() || node.input_size() < 2)
    return upgrader.refuse("it needs a body and something to scan");
  if (upgrader.hasInput(0))
    return upgrader.refuse(
        "scanning sequences of several lengths is not supported "
        "(supported: no sequence_lens)");
  node.mutable_input()->DeleteSubrange(0, 1);
  // Neither the body nor what it contains knows this name.
  std::string prefix = "sequence", bytes = body->g().SerializeAsString();
  while (StringRef(bytes).contains(prefix))
    prefix += '_';

  ::onnx::GraphProto outer;
  outer.set_name(body->g().name());
  ::onnx::NodeProto &inner = *outer.add_node();
  inner.set_op_type("Scan");
  inner.set_name(prefix);
  for (int i = 0; i < node.input_size(); ++i) {
    inner.add_input(prefix + std::to_string(i));
    outer.add_input()->set_name(inner.input(i));
  }
  for (int i = 0; i < body->g().output_size(); ++i) {
    inner.add_output(prefix + "o" + std::to_string(i));
    outer.add_output()->set_name(inner.output(i));
  }
  *inner.add_attribute() = *body;
  auto add = [&](StringRef name, ::onnx::AttributeProto::AttributeType type)
      -> ::onnx::AttributeProto & {
    ::onnx::AttributeProto &attribute = *inner.add_attribute();
    attribute.set_name(name.str());
    attribute.set_type(type);
    return attribute;
  };
  int64_t numScanned = upgrader.getInt("num_scan_inputs", 0);
  add("num_scan_inputs", ::onnx::AttributeProto::INT).set_i(numScanned);
  ::onnx::AttributeProto &axes =
      add("scan_input_axes", ::onnx::AttributeProto::INTS);
  for (int64_t i = 0; i < std::min<int64_t>(numScanned, node.input_size()); ++i)
    axes.add_ints(0);
  if (const ::onnx::AttributeProto *directions = upgrader.find("directions")) {
    *inner.add_attribute() = *directions;
    inner.mutable_attribute(inner.attribute_size() - 1)
        ->set_name("scan_input_directions");
  }
  for (::onnx::AttributeProto &attribute : *node.mutable_attribute())
    if (attribute.name() == "body")
      *attribute.mutable_g() = outer;
  upgrader.erase("directions");
  upgrader.set("num_scan_inputs", static_cast<int64_t>(node.input_size()));
  return success();
}

void addRecurrentUpgrades(UpgradeList &list) {
  list.insert(list.end(), {{"GRU", 7, upgradeRecurrent},
                           {"LSTM", 7, upgradeRecurrent},
                           {"RNN", 7, upgradeRecurrent},
                           {"Scan", 9, upgradeScan}});
}

} // namespace onnx_aot::importer
