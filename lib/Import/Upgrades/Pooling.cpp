//===- Pooling.cpp - older pooling and resampling -------------------------===//

#include "Upgrades.h"

using namespace mlir;

namespace onnx_aot::importer {

/// The exponent was a float.
static LogicalResult upgradeExponent(Upgrader &upgrader) {
  const ::onnx::AttributeProto *p = upgrader.find("p");
  if (!p || !p->has_f())
    return success();
  float exponent = p->f();
  if (exponent != static_cast<int>(exponent))
    return upgrader.refuse("p is not a whole number");
  upgrader.set("p", static_cast<int64_t>(exponent));
  return success();
}

//===--- Resize and Upsample ----------------------------------------------===//

static LogicalResult upgradeUpsampleFactors(Upgrader &upgrader) {
  float height = upgrader.getFloat("height_scale", 0);
  float width = upgrader.getFloat("width_scale", 0);
  upgrader.erase("height_scale");
  upgrader.erase("width_scale");
  std::string mode = upgrader.getString("mode", "nearest");
  upgrader.set("mode", mode == "bilinear" ? "linear" : mode);
  upgrader.setInput(1, upgrader.addFloats({1, 1, height, width}));
  return success();
}

static LogicalResult upgradeUpsampleScales(Upgrader &upgrader) {
  const ::onnx::AttributeProto *scales = upgrader.find("scales");
  if (!scales)
    return success();
  SmallVector<float> values(scales->floats().begin(), scales->floats().end());
  upgrader.erase("scales");
  upgrader.setInput(1, upgrader.addFloats(values));
  return success();
}

/// Makes the second input, the scales, what it is for Resize since opset 11.
static void moveScales(Upgrader &upgrader) {
  std::string scales =
      upgrader.node().input_size() > 1 ? upgrader.node().input(1) : "";
  upgrader.setInput(1, "");
  upgrader.setInput(2, scales);
}

/// Upsample has the coordinates of the oldest Resize, and only grows.
static LogicalResult upgradeUpsample(Upgrader &upgrader) {
  upgrader.node().set_op_type("Resize");
  upgrader.set("coordinate_transformation_mode", "asymmetric");
  upgrader.set("nearest_mode", "floor");
  moveScales(upgrader);
  return success();
}

/// Positions were output / scale: rounded down going up, rounded up going down.
static LogicalResult upgradeFirstResize(Upgrader &upgrader) {
  // An Upsample a moment ago.
  if (upgrader.find("coordinate_transformation_mode"))
    return success();
  upgrader.set("coordinate_transformation_mode", "asymmetric");
  if (upgrader.getString("mode", "nearest") == "nearest") {
    bool grows = false, shrinks = false;
    std::optional<SmallVector<float>> scales = upgrader.getFloats(1);
    for (float scale : scales.value_or(SmallVector<float>())) {
      grows |= scale > 1;
      shrinks |= scale < 1;
    }
    if (!scales || (grows && shrinks))
      return upgrader.refuse(
          "nearest resizing of opset 10 with scales that are not "
          "constant, or both above and below 1, is not supported");
    upgrader.set("nearest_mode", shrinks ? "ceil" : "floor");
  }
  moveScales(upgrader);
  return success();
}

/// Exporters give empty tensors for inputs that are not there.
static LogicalResult dropEmptyInputs(Upgrader &upgrader) {
  for (int index = 1; index < upgrader.node().input_size(); ++index) {
    auto type =
        dyn_cast_or_null<RankedTensorType>(upgrader.getInputType(index));
    if (type && type.getRank() == 1 && type.getDimSize(0) == 0)
      upgrader.setInput(index, "");
  }
  return success();
}

/// Modes have other words.
static LogicalResult upgradeGridSample(Upgrader &upgrader) {
  std::string mode = upgrader.getString("mode", "bilinear");
  upgrader.set("mode", mode == "bilinear"  ? "linear"
                       : mode == "bicubic" ? "cubic"
                                           : mode);
  return success();
}

/// Boxes were not shifted by half a pixel.
static LogicalResult upgradeRoiAlign(Upgrader &upgrader) {
  upgrader.set("coordinate_transformation_mode", "output_half_pixel");
  return success();
}

void addPoolingUpgrades(UpgradeList &list) {
  list.insert(list.end(), {{"GlobalLpPool", 2, upgradeExponent},
                           {"GridSample", 20, upgradeGridSample},
                           {"LpPool", 2, upgradeExponent},
                           {"Resize", 11, upgradeFirstResize},
                           {"Resize", kNewestOpset + 1, dropEmptyInputs},
                           {"RoiAlign", 16, upgradeRoiAlign},
                           {"Upsample", 7, upgradeUpsampleFactors},
                           {"Upsample", 9, upgradeUpsampleScales},
                           {"Upsample", 10, upgradeUpsample}});
}

} // namespace onnx_aot::importer
