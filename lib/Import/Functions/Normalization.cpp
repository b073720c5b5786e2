//===- Normalization.cpp - skip connections with their normalization ------===//

#include "Functions.h"

using namespace mlir;

namespace onnx_aot::importer {

/// 1 / sqrt(mean(x * x) + epsilon) over the last dimension, which is kept.
static Name addInverseRoot(FunctionWriter &writer, const Name &x, int64_t axis,
                           float epsilon, Type type) {
  SmallVector<int64_t> axes;
  for (int64_t dim = axis; dim < 0; ++dim)
    axes.push_back(dim);
  Name square = writer.add("Mul", {x, x});
  Name mean = writer.add("ReduceMean", {square, writer.integers(axes)});
  Name sum = writer.add("Add", {mean, writer.number(epsilon, type)});
  return writer.add("Reciprocal", {writer.add("Sqrt", {sum})});
}

/// y, inv_std_var
static LogicalResult writeSimplified(FunctionWriter &writer) {
  int64_t rank = writer.getRank(0), axis = writer.getInt("axis", -1);
  float epsilon = writer.getFloat("epsilon", 1e-5f);
  if (axis < -rank || axis >= rank)
    return writer.refuse("axis " + Twine(axis) + " is out of range for rank " +
                         Twine(rank));
  if (axis >= 0)
    axis -= rank;
  writer.result(0, writer.add("RMSNormalization",
                              {writer.input(0), writer.input(1)},
                              {{"axis", axis}, {"epsilon", epsilon}}));
  if (writer.wants(1))
    writer.result(1, addInverseRoot(writer, writer.input(0), axis, epsilon,
                                    writer.getElementType(0)));
  return success();
}

/// input, skip, gamma, beta, bias -> output, mean, inv_std_var, sum
static LogicalResult writeSkip(FunctionWriter &writer) {
  Name sum = writer.add("Add", {writer.input(0), writer.input(1)});
  sum = writer.plus(sum, writer.input(4));
  float epsilon = writer.getFloat("epsilon", 1e-12f);
  SmallVector<Name> outputs = writer.addMany(
      "LayerNormalization", {sum, writer.input(2), writer.input(3)}, 3,
      {{"axis", -1}, {"epsilon", epsilon}});
  for (unsigned index = 0; index < 3; ++index)
    writer.result(index, outputs[index]);
  writer.result(3, sum);
  return success();
}

/// input, skip, gamma, bias -> output, mean, inv_std_var, sum
static LogicalResult writeSkipSimplified(FunctionWriter &writer) {
  Name sum = writer.add("Add", {writer.input(0), writer.input(1)});
  sum = writer.plus(sum, writer.input(3));
  float epsilon = writer.getFloat("epsilon", 1e-12f);
  writer.result(0, writer.add("RMSNormalization", {sum, writer.input(2)},
                              {{"axis", -1}, {"epsilon", epsilon}}));
  if (writer.wants(2))
    writer.result(
        2, addInverseRoot(writer, sum, -1, epsilon, writer.getElementType(0)));
  writer.result(3, sum);
  return success();
}

/// input_ids, segment_ids, word, position, segment embeddings, gamma, beta,
/// mask, position_ids -> output, mask_index, embedding_sum
static LogicalResult writeEmbed(FunctionWriter &writer) {
  if (writer.has(1) != writer.has(4))
    return writer.refuse(
        "segment_ids and segment_embedding must come together");
  for (unsigned index : {5u, 6u})
    if (!writer.has(index))
      return writer.refuse("gamma and beta are missing");
  Name ids = writer.input(0);
  Name sum = writer.add("Gather", {writer.input(2), ids});
  Name positions;
  if (writer.has(8)) {
    positions = writer.add("Gather", {writer.input(3), writer.input(8)});
  } else {
    // The first rows of the table, one for each element of the sequence.
    Name length = writer.sizes(ids, 1, 2);
    positions = writer.add("Slice", {writer.input(3), writer.integers({0}),
                                     length, writer.integers({0})});
  }
  sum = writer.add("Add", {sum, positions});
  if (writer.has(1))
    sum = writer.add(
        "Add", {sum, writer.add("Gather", {writer.input(4), writer.input(1)})});
  writer.result(
      0, writer.add(
             "LayerNormalization", {sum, writer.input(5), writer.input(6)},
             {{"axis", -1}, {"epsilon", writer.getFloat("epsilon", 1e-12f)}}));
  if (writer.wants(1)) {
    Type i32 = IntegerType::get(writer.getElementType(0).getContext(), 32);
    Name mask =
        writer.has(7)
            ? writer.convert(writer.input(7), i32)
            : writer.add("Mul", {writer.convert(ids, i32),
                                 writer.convert(writer.integer(0), i32)});
    // The number of elements until the padding.
    writer.result(1, writer.add("ReduceSum", {mask, writer.integers({1})},
                                {{"keepdims", 0}}));
  }
  writer.result(2, sum);
  return success();
}

void addNormalizationFunctions(OperatorFunctions &list) {
  std::vector<llvm::StringLiteral> axisAttributes = {"axis", "epsilon",
                                                     "stash_type"};
  list.insert(list.end(), {{"", "SimplifiedLayerNormalization", 2, 2,
                            writeSimplified, axisAttributes},
                           {"com.microsoft", "SimplifiedLayerNormalization", 2,
                            2, writeSimplified, axisAttributes},
                           {"com.microsoft",
                            "SkipLayerNormalization",
                            3,
                            5,
                            writeSkip,
                            {"epsilon"}},
                           {"com.microsoft",
                            "SkipSimplifiedLayerNormalization",
                            3,
                            4,
                            writeSkipSimplified,
                            {"epsilon"}},
                           {"com.microsoft",
                            "EmbedLayerNormalization",
                            1,
                            9,
                            writeEmbed,
                            {"epsilon", "mask_index_type"}}});
}

} // namespace onnx_aot::importer
