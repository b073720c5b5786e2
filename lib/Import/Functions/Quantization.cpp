//===- Quantization.cpp - quantized operators of com.microsoft ------------===//
//
// What onnxruntime's quantizers write. Pointwise operators on quantized tensors
// are the float operator between DequantizeLinear and QuantizeLinear, which is
// what their text says; products are integer products.
//
//===----------------------------------------------------------------------===//

#include "Functions.h"

using namespace mlir;

namespace onnx_aot::importer {

/// The real value of inputs #index (numbers), #index + 1 (scale), #index + 2
/// (zero point, may be left out).
static Name addReal(FunctionWriter &writer, unsigned index) {
  return writer.add(
      "DequantizeLinear",
      {writer.input(index), writer.input(index + 1), writer.input(index + 2)});
}

/// Quantized with scale #index and zero point #index + 1, which may be left
/// out: then the numbers have the type of input #like.
static Name addQuantized(FunctionWriter &writer, const Name &real,
                         unsigned index, unsigned like) {
  Name point = writer.input(index + 1);
  if (point.empty())
    point = writer.convert(writer.integer(0), writer.getElementType(like));
  return writer.add("QuantizeLinear", {real, writer.input(index), point});
}

//===--- Pointwise --------------------------------------------------------===//

template <char... Op>
static LogicalResult writeBinary(FunctionWriter &writer) {
  const char name[] = {Op..., '\0'};
  Name result = writer.add(name, {addReal(writer, 0), addReal(writer, 3)});
  writer.result(0, addQuantized(writer, result, 6, 0));
  return success();
}

static LogicalResult writeSigmoid(FunctionWriter &writer) {
  Name result = writer.add("Sigmoid", {addReal(writer, 0)});
  writer.result(0, addQuantized(writer, result, 3, 0));
  return success();
}

static LogicalResult writeLeakyRelu(FunctionWriter &writer) {
  Name result =
      writer.add("LeakyRelu", {addReal(writer, 0)}, writer.pick({"alpha"}));
  writer.result(0, addQuantized(writer, result, 3, 0));
  return success();
}

static LogicalResult writeSoftmax(FunctionWriter &writer) {
  int64_t rank = writer.getRank(0), axis = writer.getInt("axis", -1);
  if (axis < -rank || axis >= rank)
    return writer.refuse("axis " + Twine(axis) + " is out of range for rank " +
                         Twine(rank));
  if (axis < 0)
    axis += rank;
  // Before opset 13 the dimensions from axis on counted as one.
  if (writer.getInt("opset", 13) < 13 && axis != rank - 1)
    return writer.refuse(
        "opset " + Twine(writer.getInt("opset", 13)) +
        " with an axis that is not the last one is not supported");
  Name result = writer.add("Softmax", {addReal(writer, 0)}, {{"axis", axis}});
  writer.result(0, addQuantized(writer, result, 3, 0));
  return success();
}

/// condition, x (numbers, scale, zero point), y (same), scale, zero point
static LogicalResult writeWhere(FunctionWriter &writer) {
  Name result = writer.add(
      "Where", {writer.input(0), addReal(writer, 1), addReal(writer, 4)});
  writer.result(0, addQuantized(writer, result, 7, 1));
  return success();
}

//===--- Windows ----------------------------------------------------------===//

/// Runs `make` on the value with its channels second.
template <typename Make>
static Name addChannelsFirst(FunctionWriter &writer, const Name &value,
                             Make make) {
  if (!writer.getInt("channels_last", 0))
    return make(value);
  int64_t rank = writer.getRank(0);
  SmallVector<int64_t> toFirst{0, rank - 1}, toLast{0};
  for (int64_t dim = 1; dim < rank - 1; ++dim) {
    toFirst.push_back(dim);
    toLast.push_back(dim + 1);
  }
  toLast.push_back(1);
  return writer.transpose(make(writer.transpose(value, toFirst)), toLast);
}

static LogicalResult writePool(FunctionWriter &writer, StringRef op,
                               const std::vector<NodeAttribute> &attributes) {
  if (writer.getRank(0) < 3)
    return writer.refuse("x must have rank 3 or more");
  Name result =
      addChannelsFirst(writer, addReal(writer, 0), [&](const Name &value) {
        return writer.add(op, {value}, attributes);
      });
  writer.result(0, addQuantized(writer, result, 3, 0));
  return success();
}

static LogicalResult writeAveragePool(FunctionWriter &writer) {
  return writePool(writer, "AveragePool",
                   writer.pick({"auto_pad", "ceil_mode", "count_include_pad",
                                "kernel_shape", "pads", "strides"}));
}

static LogicalResult writeGlobalAveragePool(FunctionWriter &writer) {
  return writePool(writer, "GlobalAveragePool", {});
}

static LogicalResult writeConv(FunctionWriter &writer) {
  if (writer.getRank(0) < 3)
    return writer.refuse("x must have rank 3 or more");
  for (unsigned index : {2u, 5u, 7u})
    if (!writer.has(index))
      return writer.refuse("zero points are missing");
  Name result =
      addChannelsFirst(writer, writer.input(0), [&](const Name &value) {
        std::vector<Name> operands{value};
        for (unsigned index = 1; index < 9; ++index)
          operands.push_back(writer.input(index));
        return writer.add("QLinearConv", operands,
                          writer.pick({"auto_pad", "dilations", "group",
                                       "kernel_shape", "pads", "strides"}));
      });
  writer.result(0, result);
  return success();
}

//===--- Concat -----------------------------------------------------------===//

/// scale, zero point, then numbers, scale and zero point of each input
static LogicalResult writeConcat(FunctionWriter &writer) {
  unsigned count = writer.getNumInputs();
  if (count % 3 != 2)
    return writer.refuse("inputs must be y_scale, y_zero_point and triples");
  std::vector<Name> parts;
  for (unsigned index = 2; index < count; index += 3)
    parts.push_back(addReal(writer, index));
  Name result =
      writer.add("Concat", parts, {{"axis", writer.getInt("axis", 0)}});
  writer.result(0, addQuantized(writer, result, 0, 2));
  return success();
}

//===--- Products ---------------------------------------------------------===//

/// (a - a_zero_point) * (b - b_zero_point) * a_scale * b_scale + bias
static Name addScaledProduct(FunctionWriter &writer, const Name &a,
                             const Name &aPoint, const Name &aScale, unsigned b,
                             unsigned bScale, unsigned bPoint, unsigned bias,
                             Type type) {
  Name sum = writer.add("MatMulInteger",
                        {a, writer.input(b), aPoint, writer.input(bPoint)});
  Name scale = writer.add("Mul", {aScale, writer.input(bScale)});
  Name real = writer.add("Mul", {writer.convert(sum, type), scale});
  return writer.plus(real, writer.input(bias));
}

/// a, b, a_scale, b_scale, a_zero_point, b_zero_point, bias
static LogicalResult writeMatMulIntegerToFloat(FunctionWriter &writer) {
  if (writer.getRank(2) > 1 || writer.getSize(2, 0) > 1)
    return writer.refuse(
        "a scale by row of a is not supported (supported: one scale)");
  writer.result(0, addScaledProduct(writer, writer.input(0), writer.input(4),
                                    writer.input(2), 1, 3, 5, 6,
                                    writer.getElementType(2)));
  return success();
}

/// a, b, b_scale, b_zero_point, bias
static LogicalResult writeDynamicQuantizeMatMul(FunctionWriter &writer) {
  SmallVector<Name> a =
      writer.addMany("DynamicQuantizeLinear", {writer.input(0)}, 3);
  writer.result(0, addScaledProduct(writer, a[0], a[2], a[1], 1, 2, 3, 4,
                                    writer.getElementType(0)));
  return success();
}

/// Weights of an LSTM from bytes of (direction, input, 4 * hidden), with a
/// scale and a zero point for each direction, or for each of its columns.
static FailureOr<Name> addLstmWeights(FunctionWriter &writer, unsigned weights,
                                      unsigned scale, unsigned point) {
  Type f32 = writer.getElementType(scale);
  int64_t rank = writer.getRank(scale);
  if (writer.getRank(weights) != 3 || rank < 1 || rank > 2 || !f32.isF32())
    return FailureOr<Name>(writer.refuse(
        "its weights must have rank 3, with float32 scales of rank 1 or 2"));
  auto spread = [&](unsigned index) {
    Name value = writer.convert(writer.input(index), f32);
    return writer.add("Unsqueeze", {value, rank == 1 ? writer.integers({1, 2})
                                                     : writer.integers({1})});
  };
  Name value = writer.convert(writer.input(weights), f32);
  if (writer.has(point))
    value = writer.add("Sub", {value, spread(point)});
  value = writer.add("Mul", {value, spread(scale)});
  return writer.transpose(value, {0, 2, 1});
}

/// x, w, r, b, sequence_lens, initial_h, initial_c, p, w_scale, w_zero_point,
/// r_scale, r_zero_point. Inputs are not rounded to bytes, as onnxruntime does:
/// the result is the one that it approximates.
static LogicalResult writeDynamicQuantizeLSTM(FunctionWriter &writer) {
  if (!writer.has(8) || !writer.has(10))
    return writer.refuse("it needs the scales of its weights");
  FailureOr<Name> w = addLstmWeights(writer, 1, 8, 9);
  if (failed(w))
    return failure();
  FailureOr<Name> r = addLstmWeights(writer, 2, 10, 11);
  if (failed(r))
    return failure();
  std::vector<Name> inputs{writer.input(0), *w, *r};
  for (unsigned index = 3; index < 8; ++index)
    inputs.push_back(writer.has(index) ? writer.input(index) : Name());
  SmallVector<Name> results = writer.addMany(
      "LSTM", inputs, 3,
      writer.pick({"activations", "activation_alpha", "activation_beta", "clip",
                   "direction", "hidden_size", "input_forget"}));
  for (auto [index, result] : llvm::enumerate(results))
    writer.result(index, result);
  return success();
}

/// a, a_scale, a_zero_point, b, b_scale, b_zero_point, c, y_scale, y_zero_point
static LogicalResult writeQGemm(FunctionWriter &writer) {
  if (writer.getRank(0) != 2 || writer.getRank(3) != 2)
    return writer.refuse("a and b must be matrices");
  float alpha = writer.getFloat("alpha", 1);
  Type f32 = writer.getElementType(1);
  Type i32 = IntegerType::get(f32.getContext(), 32);
  Name a = writer.input(0), b = writer.input(3);
  if (writer.getInt("transA", 0))
    a = writer.transpose(a, {1, 0});
  if (writer.getInt("transB", 0))
    b = writer.transpose(b, {1, 0});
  Name sum =
      writer.add("MatMulInteger", {a, b, writer.input(2), writer.input(5)});
  if (writer.has(6))
    sum = writer.add("Add", {sum, writer.convert(writer.input(6), i32)});
  Name scale = writer.add("Mul", {writer.input(1), writer.input(4)});
  if (alpha != 1)
    scale = writer.add("Mul", {scale, writer.number(alpha, f32)});
  Name real = writer.add("Mul", {writer.convert(sum, f32), scale});
  writer.result(0, writer.has(7) ? addQuantized(writer, real, 7, 0) : real);
  return success();
}

/// input, weight, bias, input_scale, weight_scale, mask_index,
/// input_zero_point, weight_zero_point -> output
static LogicalResult writeQAttention(FunctionWriter &writer) {
  int64_t heads = writer.getInt("num_heads", 0), width = writer.getSize(1, 1);
  if (writer.has(8) || writer.wants(1))
    return writer.refuse("past and present are not supported");
  if (heads < 1 || width < 3 || width % (3 * heads) != 0)
    return writer.refuse("the weights do not fit the heads");
  if (writer.has(5) && writer.getRank(5) != 2)
    return writer.refuse("a mask of rank " + Twine(writer.getRank(5)) +
                         " is not supported (supported: 2)");
  if (writer.getInt("do_rotary", 0) ||
      writer.getInt("past_present_share_buffer", 0))
    return writer.refuse(
        "do_rotary and past_present_share_buffer are not supported");
  Type f32 = writer.getElementType(3);
  Name projected = addScaledProduct(writer, writer.input(0), writer.input(6),
                                    writer.input(3), 1, 4, 7, 2, f32);
  SmallVector<Name> qkv =
      writer.split(projected, 2, {width / 3, width / 3, width / 3});
  Name mask;
  if (writer.has(5)) {
    Name flags =
        writer.add("Unsqueeze", {writer.input(5), writer.integers({1, 2})});
    Name isSeen = writer.convert(flags, IntegerType::get(f32.getContext(), 1));
    float filter = writer.getFloat("mask_filter_value", -10000.0f);
    mask = writer.add(
        "Where", {isSeen, writer.number(0, f32), writer.number(filter, f32)});
  }
  std::vector<NodeAttribute> attributes{{"q_num_heads", heads},
                                        {"kv_num_heads", heads}};
  if (float scale = writer.getFloat("scale", 0); scale != 0)
    attributes.emplace_back("scale", scale);
  if (writer.getInt("unidirectional", 0))
    attributes.emplace_back("is_causal", 1);
  writer.result(
      0, writer.add("Attention", {qkv[0], qkv[1], qkv[2], mask}, attributes));
  return success();
}

//===--- The standard operators under another name ------------------------===//

static LogicalResult writeQuantizeLinear(FunctionWriter &writer) {
  writer.result(0,
                writer.add("QuantizeLinear",
                           {writer.input(0), writer.input(1), writer.input(2)},
                           writer.pick({"axis", "block_size"})));
  return success();
}

static LogicalResult writeDequantizeLinear(FunctionWriter &writer) {
  writer.result(0,
                writer.add("DequantizeLinear",
                           {writer.input(0), writer.input(1), writer.input(2)},
                           writer.pick({"axis", "block_size"})));
  return success();
}

void addQuantizationFunctions(OperatorFunctions &list) {
  std::vector<llvm::StringLiteral> attention = {
      "num_heads",         "unidirectional", "scale",
      "mask_filter_value", "do_rotary",      "past_present_share_buffer"};
  list.insert(
      list.end(),
      {{"com.microsoft", "QLinearAdd", 7, 8, writeBinary<'A', 'd', 'd'>, {}},
       {"com.microsoft", "QLinearMul", 7, 8, writeBinary<'M', 'u', 'l'>, {}},
       {"com.microsoft", "QLinearSigmoid", 4, 5, writeSigmoid, {}},
       {"com.microsoft", "QLinearLeakyRelu", 4, 5, writeLeakyRelu, {"alpha"}},
       {"com.microsoft",
        "QLinearSoftmax",
        4,
        5,
        writeSoftmax,
        {"axis", "opset"}},
       {"com.microsoft", "QLinearWhere", 9, 9, writeWhere, {}},
       {"com.microsoft",
        "QLinearAveragePool",
        4,
        5,
        writeAveragePool,
        {"auto_pad", "ceil_mode", "channels_last", "count_include_pad",
         "kernel_shape", "pads", "strides"}},
       {"com.microsoft",
        "QLinearGlobalAveragePool",
        4,
        5,
        writeGlobalAveragePool,
        {"channels_last"}},
       {"com.microsoft",
        "QLinearConv",
        8,
        9,
        writeConv,
        {"auto_pad", "channels_last", "dilations", "group", "kernel_shape",
         "pads", "strides"}},
       {"com.microsoft", "QLinearConcat", 5, 10000, writeConcat, {"axis"}},
       {"com.microsoft",
        "MatMulIntegerToFloat",
        4,
        7,
        writeMatMulIntegerToFloat,
        {}},
       {"com.microsoft",
        "DynamicQuantizeMatMul",
        3,
        5,
        writeDynamicQuantizeMatMul,
        {}},
       {"com.microsoft",
        "DynamicQuantizeLSTM",
        3,
        12,
        writeDynamicQuantizeLSTM,
        {"activations", "activation_alpha", "activation_beta", "clip",
         "direction", "hidden_size", "input_forget"}},
       {"com.microsoft",
        "QGemm",
        6,
        9,
        writeQGemm,
        {"alpha", "transA", "transB"}},
       {"com.microsoft", "QAttention", 5, 9, writeQAttention, attention},
       {"com.microsoft",
        "QuantizeLinear",
        2,
        3,
        writeQuantizeLinear,
        {"axis", "block_size"}},
       {"com.microsoft",
        "DequantizeLinear",
        2,
        3,
        writeDequantizeLinear,
        {"axis", "block_size"}}});
}

} // namespace onnx_aot::importer
