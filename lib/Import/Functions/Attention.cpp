//===- Attention.cpp - the attentions of com.microsoft --------------------===//
//
// All become the standard Attention over (batch, sequence, heads * size) or
// (batch, heads, sequence, size), with their masks as one tensor that is added.
//
//===----------------------------------------------------------------------===//

#include "Functions.h"

using namespace mlir;

namespace onnx_aot::importer {

/// No model has so many; products of them with sizes must not overflow.
constexpr int64_t kMaxHeads = 1 << 20;

//===--- Masks ------------------------------------------------------------===//

/// 0, 1, 2, ... up to a length given as a 1-D tensor of one element.
static Name addRange(FunctionWriter &writer, const Name &length) {
  Name end = writer.reshape(length, {});
  return writer.add("Range", {writer.integer(0), end, writer.integer(1)});
}

/// 0 where a key is seen, `filter` where it is not.
static Name addFilter(FunctionWriter &writer, const Name &isSeen, float filter,
                      Type type) {
  return writer.add(
      "Where", {isSeen, writer.number(0, type), writer.number(filter, type)});
}

/// The mask of keys that are padding, broadcastable to (batch, heads, queries,
/// keys). `mask` is (batch) lengths, (batch, keys) or (batch, queries, keys)
/// flags. `keys` is the number of keys as a 1-D tensor.
static FailureOr<Name> addPaddingMask(FunctionWriter &writer, unsigned index,
                                      const Name &keys, float filter,
                                      Type type) {
  Name mask = writer.input(index);
  switch (writer.getRank(index)) {
  case 1: {
    // 2 * batch or 3 * batch + 2 elements are other forms.
    int64_t count = writer.getSize(index, 0), batch = writer.getSize(0, 0);
    Type i64 = IntegerType::get(type.getContext(), 64);
    if (count != batch && count != -1 && batch != -1 && count != 2 * batch)
      return FailureOr<Name>(
          writer.refuse("a mask of " + Twine(count) +
                        " elements for a batch of " + Twine(batch) +
                        " is not supported (supported: one length, or end and "
                        "start, for each)"));
    Name positions = addRange(writer, keys);
    Name all = writer.convert(mask, i64);
    bool hasStart =
        count != -1 && batch != -1 && count == 2 * batch && count != batch;
    Name ends = hasStart ? writer.slice(all, 0, 0, batch) : all;
    Name isSeen =
        writer.add("Less", {positions, writer.reshape(ends, {-1, 1, 1, 1})});
    if (hasStart) {
      Name starts =
          writer.reshape(writer.slice(all, 0, batch, 2 * batch), {-1, 1, 1, 1});
      isSeen = writer.add(
          "And", {isSeen, writer.add("GreaterOrEqual", {positions, starts})});
    }
    return addFilter(writer, isSeen, filter, type);
  }
  case 2:
  case 3: {
    SmallVector<int64_t> axes{1};
    if (writer.getRank(index) == 2)
      axes.push_back(2);
    Name flags = writer.add("Unsqueeze", {mask, writer.integers(axes)});
    Name isSeen = writer.convert(flags, IntegerType::get(type.getContext(), 1));
    return addFilter(writer, isSeen, filter, type);
  }
  default:
    return FailureOr<Name>(
        writer.refuse("a mask of rank " + Twine(writer.getRank(index)) +
                      " is not supported (supported: 1 to 3)"));
  }
}

/// Heads and scale of the node for the standard operator.
static std::vector<NodeAttribute> getHeads(FunctionWriter &writer,
                                           int64_t heads, int64_t kvHeads) {
  std::vector<NodeAttribute> attributes{{"q_num_heads", heads},
                                        {"kv_num_heads", kvHeads}};
  // 0 stands for the usual one.
  if (float scale = writer.getFloat("scale", 0); scale != 0)
    attributes.emplace_back("scale", scale);
  if (writer.getInt("unidirectional", 0))
    attributes.emplace_back("is_causal", 1);
  return attributes;
}

//===--- Attention --------------------------------------------------------===//

/// input, weights, bias, mask_index, past, attention_bias -> output, present
static LogicalResult writeAttention(FunctionWriter &writer) {
  int64_t heads = writer.getInt("num_heads", 0);
  if (heads < 1 || heads > kMaxHeads)
    return writer.refuse("num_heads " + Twine(heads) + " is not positive");
  for (StringRef flag : {"do_rotary", "past_present_share_buffer"})
    if (writer.getInt(flag, 0))
      return writer.refuse(flag + "=1 is not supported (supported: 0)");
  if (writer.getRank(0) != 3 || writer.getRank(1) != 2 ||
      writer.getSize(1, 1) < 1)
    return writer.refuse(
        "it needs an input of rank 3 and weights of known size");
  SmallVector<int64_t> widths = writer.getInts("qkv_hidden_sizes");
  if (widths.empty())
    widths.assign(3, writer.getSize(1, 1) / 3);
  if (widths.size() != 3 ||
      widths[0] + widths[1] + widths[2] != writer.getSize(1, 1) ||
      llvm::any_of(widths, [&](int64_t w) { return w < 1 || w % heads != 0; }))
    return writer.refuse("the hidden sizes do not fit the weights and heads");
  Type type = writer.getElementType(0);
  Name projected = writer.add("MatMul", {writer.input(0), writer.input(1)});
  projected = writer.plus(projected, writer.input(2));
  SmallVector<Name> qkv = writer.split(projected, 2, widths);
  Name pastKey, pastValue, keys = writer.sizes(writer.input(0), 1, 2);
  if (writer.has(4)) {
    if (writer.getRank(4) != 5 || widths[0] != widths[2])
      return writer.refuse("past must have rank 5, and q and v one size");
    SmallVector<Name> parts = writer.split(writer.input(4), 0, {1, 1});
    pastKey = writer.add("Squeeze", {parts[0], writer.integers({0})});
    pastValue = writer.add("Squeeze", {parts[1], writer.integers({0})});
    keys = writer.add("Add", {keys, writer.sizes(writer.input(4), 3, 4)});
  }
  Name mask = writer.input(5);
  if (writer.has(3)) {
    FailureOr<Name> padding = addPaddingMask(
        writer, 3, keys, writer.getFloat("mask_filter_value", -10000.0f), type);
    if (failed(padding))
      return failure();
    mask = writer.plus(*padding, mask);
  }
  SmallVector<Name> outputs = writer.addMany(
      "Attention", {qkv[0], qkv[1], qkv[2], mask, pastKey, pastValue}, 3,
      getHeads(writer, heads, heads));
  writer.result(0, outputs[0]);
  if (writer.wants(1)) {
    Name first = writer.integers({0});
    writer.result(1, writer.add("Concat",
                                {writer.add("Unsqueeze", {outputs[1], first}),
                                 writer.add("Unsqueeze", {outputs[2], first})},
                                {{"axis", 0}}));
  }
  return success();
}

//===--- MultiHeadAttention -----------------------------------------------===//

/// The parts of a tensor that packs them along axis 3 of (batch, sequence,
/// heads, parts, size), as (batch, sequence, heads * size) each.
static SmallVector<Name> addUnpackedHeads(FunctionWriter &writer,
                                          unsigned index, unsigned numParts) {
  SmallVector<Name> parts =
      writer.split(writer.input(index), 3, SmallVector<int64_t>(numParts, 1));
  for (Name &part : parts)
    part = writer.reshape(writer.add("Squeeze", {part, writer.integers({3})}),
                          {0, 0, -1});
  return parts;
}

/// Key or value as (batch, sequence, heads * size).
static Name addFlatHeads(FunctionWriter &writer, unsigned index) {
  if (writer.getRank(index) != 4)
    return writer.input(index);
  return writer.reshape(writer.transpose(writer.input(index), {0, 2, 1, 3}),
                        {0, 0, -1});
}

/// query, key, value, bias, key_padding_mask, attention_bias, past_key,
/// past_value
/// -> output, present_key, present_value
static LogicalResult writeMultiHeadAttention(FunctionWriter &writer) {
  int64_t heads = writer.getInt("num_heads", 0), rank = writer.getRank(0);
  if (heads < 1 || heads > kMaxHeads)
    return writer.refuse("num_heads " + Twine(heads) + " is not positive");
  Type type = writer.getElementType(0);
  Name q = writer.input(0), k, v;
  int64_t width = writer.getSize(0, 2), valueWidth = width;
  bool hasKeys = writer.has(1);
  if (rank == 5 && writer.getSize(0, 3) == 3 && !hasKeys && !writer.has(2)) {
    SmallVector<Name> parts = addUnpackedHeads(writer, 0, 3);
    q = parts[0], k = parts[1], v = parts[2];
    width = valueWidth = heads * writer.getSize(0, 4);
  } else if (rank == 3 && hasKeys && writer.getRank(1) == 5 &&
             writer.getSize(1, 3) == 2 && !writer.has(2)) {
    SmallVector<Name> parts = addUnpackedHeads(writer, 1, 2);
    k = parts[0], v = parts[1];
  } else if (rank == 3 && hasKeys && writer.has(2) &&
             (writer.getRank(1) == 3 || writer.getRank(1) == 4) &&
             writer.getRank(2) == writer.getRank(1)) {
    k = addFlatHeads(writer, 1), v = addFlatHeads(writer, 2);
    valueWidth = writer.getRank(2) == 4 ? heads * writer.getSize(2, 3)
                                        : writer.getSize(2, 2);
  } else {
    return writer.refuse(
        "query, key and value are in no form that is supported "
        "(supported: three of rank 3, packed query, packed key, key "
        "and value by head)");
  }
  if (writer.has(3)) {
    if (width < 1 || valueWidth < 1)
      return writer.refuse("it needs known hidden sizes to split the bias");
    SmallVector<Name> bias =
        writer.split(writer.input(3), 0, {width, width, valueWidth});
    q = writer.plus(q, bias[0]);
    // Keys by head come from another layer, which has added it.
    if (!hasKeys || writer.getRank(1) != 4) {
      k = writer.plus(k, bias[1]);
      v = writer.plus(v, bias[2]);
    }
  }
  Name mask = writer.input(5);
  if (writer.has(4)) {
    Name keys = writer.sizes(k, 1, 2);
    if (writer.has(6))
      keys = writer.add("Add", {keys, writer.sizes(writer.input(6), 2, 3)});
    FailureOr<Name> padding = addPaddingMask(
        writer, 4, keys, writer.getFloat("mask_filter_value", -10000.0f), type);
    if (failed(padding))
      return failure();
    mask = writer.plus(*padding, mask);
  }
  SmallVector<Name> outputs = writer.addMany(
      "Attention", {q, k, v, mask, writer.input(6), writer.input(7)}, 3,
      getHeads(writer, heads, heads));
  for (unsigned index = 0; index < 3; ++index)
    writer.result(index, outputs[index]);
  return success();
}

//===--- RotaryEmbedding --------------------------------------------------===//

/// x, position_ids, cos_cache, sin_cache
static LogicalResult writeRotaryEmbedding(FunctionWriter &writer) {
  if (writer.getInt("is_packed_batching", 0))
    return writer.refuse(
        "is_packed_batching=1 is not supported (supported: 0)");
  if (writer.getFloat("scale", 1.0f) != 1.0f)
    return writer.refuse("a scale is not supported (supported: 1)");
  int64_t rank = writer.getRank(0), heads = writer.getInt("num_heads", 0),
          rotated = writer.getInt("rotary_embedding_dim", 0);
  if (rank != 3 && rank != 4)
    return writer.refuse("input must have rank 3 or 4");
  if (rank == 3 && heads == 0) {
    // The caches have half of the elements that are rotated.
    int64_t width = writer.getSize(0, 2), half = writer.getSize(2, 1);
    if (rotated != 0 || width < 1 || half < 1 || width % (2 * half) != 0)
      return writer.refuse("the number of heads is not known");
    heads = width / (2 * half);
  }
  Name positions = writer.input(1);
  if (writer.getRank(1) <= 1) {
    // One offset for all sequences.
    int64_t sequenceAxis = rank == 4 ? 2 : 1;
    Name steps = addRange(
        writer, writer.sizes(writer.input(0), sequenceAxis, sequenceAxis + 1));
    Name row = writer.add("Add", {steps, writer.reshape(positions, {1})});
    Name shape = writer.add(
        "Concat", {writer.sizes(writer.input(0), 0, 1), writer.integers({1})},
        {{"axis", 0}});
    positions = writer.add("Expand", {row, shape});
  }
  std::vector<NodeAttribute> attributes{
      {"interleaved", writer.getInt("interleaved", 0)},
      {"rotary_embedding_dim", rotated}};
  if (rank == 3)
    attributes.emplace_back("num_heads", heads);
  writer.result(0, writer.add("RotaryEmbedding",
                              {writer.input(0), writer.input(2),
                               writer.input(3), positions},
                              attributes));
  return success();
}

//===--- GroupQueryAttention ----------------------------------------------===//

namespace {
/// query, key, value, past_key, past_value, seqlens_k, total_sequence_length,
/// cos_cache, sin_cache, position_ids, attention_bias
struct GroupQuery {
  enum Input {
    Q,
    K,
    V,
    PastKey,
    PastValue,
    Lengths,
    Total,
    Cos,
    Sin,
    Positions,
    Bias
  };
  FunctionWriter &writer;
  int64_t heads, kvHeads;
  Type i64;
  /// Number of queries and, per batch, of the keys before them (batch, 1).
  Name numQueries = {}, past = {};
  /// Position of each query (batch, queries).
  Name positions = {};

  Name rotate(const Name &value, int64_t numHeads) {
    if (!writer.getInt("do_rotary", 0))
      return value;
    Name where = writer.has(Positions) ? writer.input(Positions) : positions;
    return writer.add(
        "RotaryEmbedding", {value, writer.input(Cos), writer.input(Sin), where},
        {{"num_heads", numHeads},
         {"interleaved", writer.getInt("rotary_interleaved", 0)}});
  }

  Name byHead(const Name &value, int64_t numHeads) {
    return writer.transpose(writer.reshape(value, {0, 0, numHeads, -1}),
                            {0, 2, 1, 3});
  }

  /// The keys or values so far: the new ones behind the past ones of each
  /// batch.
  Name append(unsigned pastIndex, const Name &fresh) {
    if (!writer.has(pastIndex))
      return fresh;
    Name buffer = writer.input(pastIndex);
    // Room for the new ones even where the buffer is full; what is behind the
    // past keys of a batch counts as 0.
    Name zero = writer.number(0, writer.getElementType(Q));
    Name room = writer.add("Expand", {zero, writer.add("Shape", {fresh})});
    Name both = writer.add("Concat", {buffer, room}, {{"axis", 2}});
    Name place =
        writer.reshape(addRange(writer, writer.sizes(both, 2, 3)), {-1, 1});
    Name isPast = writer.add(
        "Less",
        {place, writer.add("Unsqueeze", {past, writer.integers({2, 3})})});
    both = writer.add("Where", {isPast, both, zero});
    Name filled =
        writer.add("TensorScatter", {both, fresh, writer.reshape(past, {-1})},
                   {{"axis", 2}});
    Name total = writer.convert(writer.reshape(writer.input(Total), {1}), i64);
    Name length = writer.add("Max", {writer.sizes(buffer, 2, 3), total});
    return writer.add(
        "Slice", {filled, writer.integers({0}), length, writer.integers({2})});
  }

  /// True where a query sees a key: (batch, 1, queries, keys).
  Name addSeen(const Name &keys) {
    Name key = addRange(writer, writer.sizes(keys, 2, 3));
    Name query = writer.add("Unsqueeze", {positions, writer.integers({1, 3})});
    Name isSeen = writer.add("LessOrEqual", {key, query});
    int64_t window = writer.getInt("local_window_size", -1);
    if (window < 0)
      return isSeen;
    // The window ends with the query itself.
    Name before = writer.add("Sub", {query, writer.integer(window)});
    return writer.add("And", {isSeen, writer.add("Greater", {key, before})});
  }
};
} // namespace

static LogicalResult writeGroupQueryAttention(FunctionWriter &writer) {
  Type i64 = IntegerType::get(writer.getElementType(0).getContext(), 64);
  GroupQuery group{writer, writer.getInt("num_heads", 0),
                   writer.getInt("kv_num_heads", 0), i64};
  int64_t heads = group.heads, kvHeads = group.kvHeads;
  if (heads < 1 || heads > kMaxHeads || kvHeads < 1 || heads % kvHeads != 0)
    return writer.refuse("num_heads " + Twine(heads) +
                         " is no multiple of kv_num_heads " + Twine(kvHeads));
  if (writer.getInt("smooth_softmax", 0) == 1 ||
      writer.getInt("qk_output", 0) != 0)
    return writer.refuse(
        "smooth_softmax and qk_output are not supported (supported: 0)");
  for (unsigned index : {GroupQuery::Lengths, GroupQuery::Total})
    if (!writer.has(index))
      return writer.refuse("seqlens_k and total_sequence_length are missing");
  if (writer.has(GroupQuery::PastKey) != writer.has(GroupQuery::PastValue))
    return writer.refuse("past_key and past_value must come together");
  if (writer.getInt("do_rotary", 0) &&
      !(writer.has(GroupQuery::Cos) && writer.has(GroupQuery::Sin)))
    return writer.refuse("do_rotary=1 needs cos_cache and sin_cache");
  if (writer.getRank(0) != 3)
    return writer.refuse("query must have rank 3");
  Name q = writer.input(0), k = writer.input(1), v = writer.input(2);
  if (k.empty() != v.empty())
    return writer.refuse("key and value must come together");
  if (k.empty()) {
    int64_t width = writer.getSize(0, 2), size = width / (heads + 2 * kvHeads);
    if (width < 1 || size * (heads + 2 * kvHeads) != width)
      return writer.refuse("the packed query does not split into its heads");
    SmallVector<Name> parts =
        writer.split(q, 2, {heads * size, kvHeads * size, kvHeads * size});
    q = parts[0], k = parts[1], v = parts[2];
  }

  // The first call has no past, whatever lengths it gives for padding.
  group.numQueries = writer.sizes(q, 1, 2);
  Name lengths = writer.reshape(
      writer.convert(writer.input(GroupQuery::Lengths), i64), {-1, 1});
  Name total = writer.reshape(
      writer.convert(writer.input(GroupQuery::Total), i64), {1, 1});
  Name before =
      writer.add("Sub", {writer.add("Add", {lengths, writer.integer(1)}),
                         group.numQueries});
  Name isFirst = writer.add("Equal", {total, group.numQueries});
  group.past = writer.add("Where", {isFirst, writer.integer(0), before});
  group.positions =
      writer.add("Add", {group.past, addRange(writer, group.numQueries)});

  q = group.byHead(group.rotate(q, heads), heads);
  k = group.append(GroupQuery::PastKey,
                   group.byHead(group.rotate(k, kvHeads), kvHeads));
  v = group.append(GroupQuery::PastValue, group.byHead(v, kvHeads));
  Type type = writer.getElementType(0);
  Name mask = group.addSeen(k);
  if (writer.has(GroupQuery::Bias))
    mask = writer.plus(addFilter(writer, mask, -INFINITY, type),
                       writer.input(GroupQuery::Bias));
  std::vector<NodeAttribute> attributes{
      {"softcap", writer.getFloat("softcap", 0)}};
  if (float scale = writer.getFloat("scale", 0); scale != 0)
    attributes.emplace_back("scale", scale);
  Name output = writer.add("Attention", {q, k, v, mask}, attributes);
  writer.result(
      0, writer.reshape(writer.transpose(output, {0, 2, 1, 3}), {0, 0, -1}));
  writer.result(1, k);
  writer.result(2, v);
  return success();
}

void addAttentionFunctions(OperatorFunctions &list) {
  list.insert(list.end(),
              {{"com.microsoft",
                "Attention",
                2,
                6,
                writeAttention,
                {"num_heads", "unidirectional", "qkv_hidden_sizes", "scale",
                 "mask_filter_value", "do_rotary", "rotary_embedding_dim",
                 "past_present_share_buffer"}},
               {"com.microsoft",
                "MultiHeadAttention",
                1,
                8,
                writeMultiHeadAttention,
                {"num_heads", "unidirectional", "scale", "mask_filter_value"}},
               {"com.microsoft",
                "RotaryEmbedding",
                4,
                4,
                writeRotaryEmbedding,
                {"interleaved", "is_packed_batching", "num_heads",
                 "rotary_embedding_dim", "scale"}},
               {"com.microsoft",
                "GroupQueryAttention",
                1,
                11,
                writeGroupQueryAttention,
                {"num_heads", "kv_num_heads", "scale", "softcap", "do_rotary",
                 "rotary_interleaved", "local_window_size", "smooth_softmax",
                 "qk_output"}}});
}

} // namespace onnx_aot::importer
