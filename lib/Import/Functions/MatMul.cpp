//===- MatMul.cpp - fused products and products of packed weights ---------===//

#include "Functions.h"

using namespace mlir;

namespace onnx_aot::importer {

static LogicalResult writeFusedMatMul(FunctionWriter &writer) {
  writer.result(0, writer.add("FusedMatMul", {writer.input(0), writer.input(1)},
                              writer.pick({"alpha", "transA", "transB",
                                           "transBatchA", "transBatchB"})));
  return success();
}

//===--- Activations behind products --------------------------------------===//

/// The value with the activation that the node names; the parameters are those
/// of the activation in the order of its attributes' names.
static FailureOr<Name> addActivation(FunctionWriter &writer, const Name &value,
                                     ArrayRef<float> parameters) {
  std::string activation = writer.getString("activation", "");
  auto parameter = [&](unsigned index, float otherwise) {
    return index < parameters.size() ? parameters[index] : otherwise;
  };
  if (activation.empty())
    return value;
  if (llvm::is_contained(
          {"Relu", "Tanh", "Sigmoid", "Softplus", "Softsign", "HardSwish"},
          activation))
    return writer.add(activation, {value});
  if (activation == "LeakyRelu" || activation == "Elu" ||
      activation == "ThresholdedRelu")
    return writer.add(
        activation, {value},
        {{"alpha", parameter(0, activation == "LeakyRelu" ? 0.01f : 1.0f)}});
  if (activation == "HardSigmoid")
    return writer.add(
        activation, {value},
        {{"alpha", parameter(0, 0.2f)}, {"beta", parameter(1, 0.5f)}});
  if (activation == "Clip" && parameters.size() >= 2) {
    Type type = writer.getElementType(0);
    return writer.add("Clip", {value, writer.number(parameters[0], type),
                               writer.number(parameters[1], type)});
  }
  return FailureOr<Name>(
      writer.refuse("activation '" + activation + "' is not supported"));
}

static LogicalResult writeFusedConv(FunctionWriter &writer) {
  Name conv =
      writer.add("Conv", {writer.input(0), writer.input(1), writer.input(2)},
                 writer.pick({"auto_pad", "dilations", "group", "kernel_shape",
                              "pads", "strides"}));
  conv = writer.plus(conv, writer.input(3));
  SmallVector<float> parameters;
  if (const auto *given = writer.find("activation_params"))
    parameters.assign(given->floats().begin(), given->floats().end());
  FailureOr<Name> activated = addActivation(writer, conv, parameters);
  if (failed(activated))
    return failure();
  writer.result(0, *activated);
  return success();
}

static LogicalResult writeFusedGemm(FunctionWriter &writer) {
  Name product =
      writer.add("Gemm", {writer.input(0), writer.input(1), writer.input(2)},
                 writer.pick({"alpha", "beta", "transA", "transB"}));
  SmallVector<float> parameters;
  for (StringRef name :
       {"activation_alpha", "activation_beta", "activation_gamma"})
    if (writer.find(name))
      parameters.push_back(writer.getFloat(name, 0));
  FailureOr<Name> activated = addActivation(writer, product, parameters);
  if (failed(activated))
    return failure();
  writer.result(0, *activated);
  return success();
}

//===--- Packed weights ---------------------------------------------------===//

/// Numbers of `bits` bits that are packed along the last dimension of constant
/// bytes, the lowest bits first, one byte each; nothing where they are not
/// constant or no whole rows.
static std::optional<std::string> unpack(FunctionWriter &writer, unsigned index,
                                         int64_t bits, int64_t rows) {
  std::optional<std::string> packed = writer.getBytes(index);
  if (!packed || packed->size() % rows != 0)
    return std::nullopt;
  std::string numbers;
  for (unsigned char bytes : *packed)
    for (int64_t shift = 0; shift < 8; shift += bits)
      numbers.push_back(bytes >> shift & ((1 << bits) - 1));
  return numbers;
}

/// The same as a tensor of uint8 of so many rows, also of a run-time input.
static Name addUnpacked(FunctionWriter &writer, unsigned index, int64_t bits,
                        int64_t rows, Type byte) {
  Name packed = writer.input(index);
  if (bits == 8)
    return writer.reshape(packed, {rows, -1});
  if (std::optional<std::string> numbers = unpack(writer, index, bits, rows)) {
    int64_t width = numbers->size() / rows;
    return writer.bytes(std::move(*numbers), {rows, width}, byte);
  }
  Name flat = writer.reshape(packed, {rows, -1, 1});
  Name mask = writer.convert(writer.integer((1 << bits) - 1), byte);
  std::vector<Name> parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    Name part = flat;
    if (shift > 0)
      part = writer.add("BitShift",
                        {part, writer.convert(writer.integer(shift), byte)},
                        {{"direction", "RIGHT"}});
    if (shift + bits < 8)
      part = writer.add("BitwiseAnd", {part, mask});
    parts.push_back(part);
  }
  return writer.reshape(writer.add("Concat", parts, {{"axis", 2}}), {rows, -1});
}

/// A (..., K), B (N, blocks, block_size * bits / 8), scales, zero_points,
/// g_idx, bias
static LogicalResult writeMatMulNBits(FunctionWriter &writer) {
  int64_t bits = writer.getInt("bits", 4),
          block = writer.getInt("block_size", 0), rows = writer.getInt("N", 0),
          depth = writer.getInt("K", 0);
  if (bits != 2 && bits != 4 && bits != 8)
    return writer.refuse("bits " + Twine(bits) +
                         " is not supported (supported: 2, 4, 8)");
  if (rows < 1 || depth < 1 || block < 8 || rows > INT32_MAX ||
      depth > INT32_MAX || block > INT32_MAX)
    return writer.refuse("it needs N and K from 1 on and block_size from 8 on");
  if (writer.getInt("weight_prepacked", 0) != 0)
    return writer.refuse("weight_prepacked=1 is not supported (supported: 0)");
  if (writer.has(4))
    return writer.refuse("input g_idx is not supported");
  int64_t blocks = (depth + block - 1) / block;
  Type byte = IntegerType::get(writer.getElementType(0).getContext(), 8,
                               IntegerType::Unsigned);
  if (writer.getElementType(1) != byte)
    return writer.refuse("input B must be of uint8");
  Name scales = writer.reshape(writer.input(2), {rows, blocks});
  Name numbers, points;
  bool isReal = false;
  std::optional<std::string> constant;
  if (!writer.has(3))
    constant = unpack(writer, 1, bits, rows);
  if (constant) {
    // The middle counts as zero: with a sign there is no zero point.
    for (char &number : *constant)
      number -= 1 << (bits - 1);
    int64_t width = constant->size() / rows;
    numbers = writer.bytes(std::move(*constant), {rows, width},
                           IntegerType::get(byte.getContext(), 8));
  } else {
    numbers = addUnpacked(writer, 1, bits, rows, byte);
  }
  if (!constant && !writer.has(3)) {
    points = writer.add("Expand",
                        {writer.convert(writer.integer(1 << (bits - 1)), byte),
                         writer.integers({rows, blocks})});
  } else if (writer.has(3) && writer.getElementType(3) == byte) {
    // Packed by row like the numbers.
    points =
        writer.slice(addUnpacked(writer, 3, bits, rows, byte), 1, 0, blocks);
  } else if (writer.has(3)) {
    isReal = true;
    points = writer.reshape(writer.input(3), {rows, blocks, 1});
  }
  Name weights;
  if (isReal) {
    Name real = writer.convert(writer.reshape(numbers, {rows, blocks, block}),
                               writer.getElementType(2));
    Name scaled =
        writer.add("Mul", {writer.add("Sub", {real, points}),
                           writer.reshape(scales, {rows, blocks, 1})});
    weights = writer.reshape(scaled, {rows, blocks * block});
  } else {
    weights = writer.add("DequantizeLinear", {numbers, scales, points},
                         {{"axis", 1}, {"block_size", block}});
  }
  if (blocks * block != depth)
    weights = writer.slice(weights, 1, 0, depth);
  Name product = writer.add(
      "MatMul", {writer.input(0), writer.transpose(weights, {1, 0})});
  writer.result(0, writer.plus(product, writer.input(5)));
  return success();
}

void addMatMulFunctions(OperatorFunctions &list) {
  std::vector<llvm::StringLiteral> fused = {"alpha", "transA", "transB",
                                            "transBatchA", "transBatchB"};
  list.insert(
      list.end(),
      {{"com.microsoft", "FusedMatMul", 2, 2, writeFusedMatMul, fused},
       {"com.microsoft", "TransposeMatMul", 2, 2, writeFusedMatMul, fused},
       {"com.microsoft",
        "FusedConv",
        2,
        4,
        writeFusedConv,
        {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides",
         "activation", "activation_params"}},
       {"com.microsoft",
        "FusedGemm",
        2,
        3,
        writeFusedGemm,
        {"alpha", "beta", "transA", "transB", "activation", "activation_alpha",
         "activation_beta", "activation_gamma"}},
       {"com.microsoft",
        "MatMulNBits",
        3,
        6,
        writeMatMulNBits,
        {"K", "N", "bits", "block_size", "accuracy_level",
         "weight_prepacked"}}});
}

} // namespace onnx_aot::importer
