//===- UpgradeCoverageTest.cpp - no version step is forgotten -------------===//
//
// Every change of an operator's form in the ONNX schema library has an adapter
// or was found to mean the same.
//
//===----------------------------------------------------------------------===//

#include "Upgrades/Upgrades.h"

#include "google/protobuf/util/message_differencer.h"
#include "onnx/defs/schema.h"
#include "gtest/gtest.h"
#include <map>
#include <set>

using ::onnx::OpSchema;

/// Steps that change the form, but not what older nodes mean: new attributes
/// whose default is the old behaviour, attributes without effect, new optional
/// inputs.
static const std::set<std::pair<std::string, int>> kSameMeaning = {
    {"Attention", 24},          // an optional input
    {"BatchNormalization", 14}, // outputs: an adapter refuses training
    {"Clip", 6},                // the bounds' defaults are no bounds
    {"Constant", 11},           // `value` became one of several forms
    {"Constant", 12},
    {"GRU", 3},     // direction has a default
    {"LpPool", 2},  // p and kernel_shape: also an adapter
    {"MaxPool", 8}, // an optional output
    {"Pad", 18},    // axes, all by default
    {"Resize", 18}, // antialias, axes and policy are off by default
    {"Split", 2},   // split moved to an attribute; the input is where it is now
};

static bool isSameAttribute(const OpSchema::Attribute &a,
                            const OpSchema::Attribute &b) {
  return a.type == b.type && a.required == b.required &&
         google::protobuf::util::MessageDifferencer::Equals(a.default_value,
                                                            b.default_value);
}

/// New attributes alone keep what older nodes mean, unless listed here: the
/// ones whose default is new behaviour.
static const std::set<std::pair<std::string, int>> kNewBehaviour = {
    {"RoiAlign", 16}, {"GroupNormalization", 21}};

static bool changesForm(const OpSchema &from, const OpSchema &to) {
  for (const auto &[name, attribute] : from.attributes()) {
    auto found = to.attributes().find(name);
    if (name != "consumed_inputs" &&
        (found == to.attributes().end() ||
         !isSameAttribute(attribute, found->second)))
      return true;
  }
  return from.inputs().size() != to.inputs().size() ||
         from.outputs().size() != to.outputs().size() || to.deprecated() ||
         kNewBehaviour.count({to.Name(), to.SinceVersion()});
}

static std::map<std::string, std::map<int, OpSchema>> getHistory() {
  std::map<std::string, std::map<int, OpSchema>> history;
  for (OpSchema &schema :
       ::onnx::OpSchemaRegistry::get_all_schemas_with_history())
    if (schema.domain().empty())
      history[schema.Name()].emplace(schema.SinceVersion(), std::move(schema));
  return history;
}

TEST(UpgradeCoverage, EveryChangeOfFormIsUpgraded) {
  std::set<std::pair<std::string, int>> covered = kSameMeaning;
  for (const auto &upgrade : onnx_aot::importer::getUpgrades())
    covered.emplace(upgrade.op.str(), upgrade.toOpset);
  unsigned numSteps = 0;
  for (const auto &[name, versions] : getHistory()) {
    const OpSchema *previous = nullptr;
    for (const auto &[version, schema] : versions) {
      if (previous && changesForm(*previous, schema)) {
        ++numSteps;
        EXPECT_TRUE(covered.count({name, version}))
            << name << " changed in opset " << version;
      }
      previous = &schema;
    }
  }
  EXPECT_GT(numSteps, 60u);
}

TEST(UpgradeCoverage, UpgradesAreSortedAndBelongToVersions) {
  auto history = getHistory();
  int64_t last = 0;
  for (const auto &upgrade : onnx_aot::importer::getUpgrades()) {
    EXPECT_LE(last, upgrade.toOpset);
    last = upgrade.toOpset;
    ASSERT_TRUE(history.count(upgrade.op.str())) << upgrade.op.str();
    if (upgrade.toOpset <= onnx_aot::importer::kNewestOpset) {
      EXPECT_TRUE(history[upgrade.op.str()].count(upgrade.toOpset))
          << upgrade.op.str() << " has no version " << upgrade.toOpset;
    }
  }
}
