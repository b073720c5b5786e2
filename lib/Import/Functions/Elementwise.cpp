//===- Elementwise.cpp - activations and biases of com.microsoft ----------===//

#include "Functions.h"

using namespace mlir;

namespace onnx_aot::importer {

/// Gelu of the input, plus the bias where there is one.
static LogicalResult writeGelu(FunctionWriter &writer, StringRef approximate) {
  Name sum = writer.plus(writer.input(0), writer.input(1));
  writer.result(0, writer.add("Gelu", {sum}, {{"approximate", approximate}}));
  return success();
}

static LogicalResult writeExactGelu(FunctionWriter &writer) {
  return writeGelu(writer, "none");
}

static LogicalResult writeFastGelu(FunctionWriter &writer) {
  return writeGelu(writer, "tanh");
}

/// x * sigmoid(alpha * x)
static LogicalResult writeQuickGelu(FunctionWriter &writer) {
  writer.result(0, writer.add("Swish", {writer.input(0)},
                              {{"alpha", writer.getFloat("alpha", 1.702f)}}));
  return success();
}

/// The gate a * sigmoid(alpha * a), times b; of opset 28.
static LogicalResult writeSwiGlu(FunctionWriter &writer) {
  Name gate = writer.add("Swish", {writer.input(0)},
                         {{"alpha", writer.getFloat("alpha", 1.0f)}});
  writer.result(0, writer.add("Mul", {gate, writer.input(1)}));
  return success();
}

/// x + bias + skip
static LogicalResult writeBiasAdd(FunctionWriter &writer) {
  Name sum = writer.plus(writer.input(0), writer.input(1));
  writer.result(0, writer.plus(sum, writer.input(2)));
  return success();
}

/// The first half times the Gelu of the second.
static LogicalResult writeBiasSplitGelu(FunctionWriter &writer) {
  Name sum = writer.plus(writer.input(0), writer.input(1));
  SmallVector<Name> halves =
      writer.addMany("Split", {sum}, 2, {{"axis", -1}, {"num_outputs", 2}});
  Name gate = writer.add("Gelu", {halves[1]});
  writer.result(0, writer.add("Mul", {halves[0], gate}));
  return success();
}

/// Softmax of x + bias over the dimensions from axis on.
static LogicalResult writeBiasSoftmax(FunctionWriter &writer) {
  int64_t rank = writer.getRank(0), axis = writer.getInt("axis", 1);
  if (axis < -rank || axis >= rank)
    return writer.refuse("axis " + Twine(axis) + " is out of range for rank " +
                         Twine(rank));
  if (axis != -1 && axis != rank - 1)
    return writer.refuse("axis " + Twine(axis) +
                         " is not supported (supported: the "
                         "last one)");
  if (writer.getInt("is_inner_broadcast", 0))
    return writer.refuse(
        "is_inner_broadcast=1 is not supported (supported: 0)");
  Name sum = writer.add("Add", {writer.input(0), writer.input(1)});
  writer.result(0, writer.add("Softmax", {sum}, {{"axis", -1}}));
  return success();
}

/// 1 where all elements of all inputs are finite.
static LogicalResult writeIsAllFinite(FunctionWriter &writer) {
  if (writer.getInt("isinf_only", 0) || writer.getInt("isnan_only", 0))
    return writer.refuse("isinf_only and isnan_only are not supported");
  Name worst;
  for (unsigned index = 0; index < writer.getNumInputs(); ++index) {
    Name x = writer.input(index);
    Name isBad =
        writer.add("Or", {writer.add("IsInf", {x}), writer.add("IsNaN", {x})});
    Name flag = writer.add("ReduceMax", {isBad}, {{"keepdims", 0}});
    worst = worst.empty() ? flag : writer.add("Or", {worst, flag});
  }
  writer.result(0, writer.add("Not", {worst}));
  return success();
}

void addElementwiseFunctions(OperatorFunctions &list) {
  list.insert(list.end(),
              {{"", "SwiGLU", 2, 2, writeSwiGlu, {"alpha"}},
               {"com.microsoft", "Gelu", 1, 1, writeExactGelu, {}},
               {"com.microsoft", "BiasGelu", 2, 2, writeExactGelu, {}},
               {"com.microsoft", "FastGelu", 1, 2, writeFastGelu, {}},
               {"com.microsoft", "QuickGelu", 1, 1, writeQuickGelu, {"alpha"}},
               {"com.microsoft", "BiasAdd", 3, 3, writeBiasAdd, {}},
               {"com.microsoft", "BiasSplitGelu", 2, 2, writeBiasSplitGelu, {}},
               {"com.microsoft",
                "BiasSoftmax",
                2,
                2,
                writeBiasSoftmax,
                {"axis", "is_inner_broadcast"}},
               {"com.microsoft",
                "IsAllFinite",
                1,
                1000,
                writeIsAllFinite,
                {"isinf_only", "isnan_only"}}});
}

} // namespace onnx_aot::importer
