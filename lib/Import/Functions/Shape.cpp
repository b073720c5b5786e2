//===- Shape.cpp - data movement and small tools of com.microsoft ---------===//

#include "Functions.h"

using namespace mlir;

namespace onnx_aot::importer {

static LogicalResult writeTrilu(FunctionWriter &writer) {
  writer.result(0, writer.add("Trilu", {writer.input(0), writer.input(1)},
                              writer.pick({"upper"})));
  return success();
}

static LogicalResult writePad(FunctionWriter &writer) {
  writer.result(
      0, writer.add("Pad", {writer.input(0), writer.input(1), writer.input(2)},
                    writer.pick({"mode"})));
  return success();
}

static LogicalResult writeGatherND(FunctionWriter &writer) {
  writer.result(0, writer.add("GatherND", {writer.input(0), writer.input(1)}));
  return success();
}

static LogicalResult writeExpandDims(FunctionWriter &writer) {
  Name axes = writer.reshape(writer.input(1), {1});
  writer.result(0, writer.add("Unsqueeze", {writer.input(0), axes}));
  return success();
}

static LogicalResult writeRange(FunctionWriter &writer) {
  Name step = writer.has(2) ? writer.input(2)
                            : writer.number(1, writer.getElementType(0));
  writer.result(0, writer.add("Range", {writer.reshape(writer.input(0), {}),
                                        writer.reshape(writer.input(1), {}),
                                        writer.reshape(step, {})}));
  return success();
}

/// y in order of appearance, the index of each element in it, the counts
static LogicalResult writeUnique(FunctionWriter &writer) {
  SmallVector<Name> outputs =
      writer.addMany("Unique", {writer.input(0)}, 4, {{"sorted", 0}});
  writer.result(0, outputs[0]);
  writer.result(1, outputs[2]);
  writer.result(2, outputs[3]);
  return success();
}

/// Distances between the rows of a and those of b.
static LogicalResult writeCDist(FunctionWriter &writer) {
  std::string metric = writer.getString("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    return writer.refuse(
        "metric '" + metric +
        "' is not supported (supported: sqeuclidean, euclidean)");
  if (writer.getRank(0) != 2 || writer.getRank(1) != 2)
    return writer.refuse("both inputs must be matrices");
  // By differences: |a|^2 + |b|^2 - 2 a b would lose the digits of close rows.
  Name a = writer.add("Unsqueeze", {writer.input(0), writer.integers({1})});
  Name b = writer.add("Unsqueeze", {writer.input(1), writer.integers({0})});
  Name sum = writer.add("ReduceSumSquare",
                        {writer.add("Sub", {a, b}), writer.integers({2})},
                        {{"keepdims", 0}});
  writer.result(0, metric == "euclidean" ? writer.add("Sqrt", {sum}) : sum);
  return success();
}

void addShapeFunctions(OperatorFunctions &list) {
  list.insert(list.end(),
              {{"com.microsoft", "Trilu", 1, 2, writeTrilu, {"upper"}},
               {"com.microsoft", "Pad", 2, 3, writePad, {"mode"}},
               {"com.microsoft", "GatherND", 2, 2, writeGatherND, {}},
               {"com.microsoft", "ExpandDims", 2, 2, writeExpandDims, {}},
               {"com.microsoft", "Range", 2, 3, writeRange, {}},
               {"com.microsoft", "Unique", 1, 1, writeUnique, {}},
               {"com.microsoft", "CDist", 2, 2, writeCDist, {"metric"}}});
}

} // namespace onnx_aot::importer
