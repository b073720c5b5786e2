//===- Safetensors.cpp - headers of safetensors files ---------------------===//
#include "Safetensors.h"

#include "Text.h"
#include "Types.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace onnx_aot::runtime {

namespace {

using Json = nlohmann::json;

struct TypeName {
  const char *name;
  int32_t type;
};
constexpr TypeName typeNames[] = {
    {"BOOL", ONNX_AOT_BOOL},     {"U8", ONNX_AOT_UINT8},
    {"I8", ONNX_AOT_INT8},       {"U16", ONNX_AOT_UINT16},
    {"I16", ONNX_AOT_INT16},     {"F16", ONNX_AOT_FLOAT16},
    {"BF16", ONNX_AOT_BFLOAT16}, {"U32", ONNX_AOT_UINT32},
    {"I32", ONNX_AOT_INT32},     {"F32", ONNX_AOT_FLOAT32},
    {"U64", ONNX_AOT_UINT64},    {"I64", ONNX_AOT_INT64},
    {"F64", ONNX_AOT_FLOAT64},   {"C64", ONNX_AOT_COMPLEX64}};

/// Takes the parser's events. Only the three levels of the format are legal,
/// and every key once.
class HeaderReader {
public:
  explicit HeaderReader(SafetensorsHeader &header) : header(header) {}

  /// What was wrong, or empty.
  std::string problem;

  bool start_object(size_t) {
    if (where == Outside)
      return enter(Top);
    if (where == Top && current == "__metadata__")
      return enter(Metadata);
    if (where == Top) {
      entry = SafetensorsEntry();
      entry.name = current;
      hasType = hasDims = hasOffsets = false;
      return enter(Tensor);
    }
    return unexpected("an object");
  }
  bool key(std::string &text) {
    current = text;
    if (where == Tensor)
      return true; // their repetition is found where they are taken
    std::set<std::string> &keys = where == Top ? names : metadataNames;
    if (!keys.insert(text).second)
      return fail("has " + runtime::quoted(text) + " twice");
    return true;
  }
  bool end_object() {
    if (where == Tensor) {
      if (!hasType || !hasDims || !hasOffsets)
        return fail("lacks dtype, shape or data_offsets of tensor " +
                    runtime::quoted(entry.name));
      header.tensors.push_back(std::move(entry));
    }
    return enter(where == Top ? Outside : Top);
  }
  bool start_array(size_t) {
    if (where != Tensor || (current != "shape" && current != "data_offsets"))
      return unexpected("a list");
    bool &has = current == "shape" ? hasDims : hasOffsets;
    if (has)
      return fail("has " + current + " of tensor " +
                  runtime::quoted(entry.name) + " twice");
    has = true;
    numOffsets = 0;
    return enter(current == "shape" ? Dims : Offsets);
  }
  bool end_array() {
    if (where == Offsets && numOffsets != 2)
      return fail("has data_offsets of tensor " + runtime::quoted(entry.name) +
                  " that are not two numbers");
    return enter(Tensor);
  }
  bool string(std::string &text) {
    if (where == Metadata) {
      header.metadata[current] = text;
      return true;
    }
    if (where != Tensor || current != "dtype")
      return unexpected("a text");
    if (hasType)
      return fail("has dtype of tensor " + runtime::quoted(entry.name) +
                  " twice");
    hasType = true;
    for (const TypeName &known : typeNames)
      if (text == known.name)
        entry.type = known.type;
    if (!entry.type)
      return fail("has tensor " + runtime::quoted(entry.name) + " of type " +
                  runtime::quoted(text) + ", which is not supported");
    return true;
  }
  bool number_unsigned(uint64_t number) {
    if (where == Dims) {
      if (entry.dims.size() == ONNX_AOT_MAX_RANK || number > INT64_MAX)
        return fail("has tensor " + runtime::quoted(entry.name) +
                    " of a rank or size that is not supported");
      entry.dims.push_back(static_cast<int64_t>(number));
      return true;
    }
    if (where != Offsets || numOffsets == 2)
      return unexpected("a number");
    (numOffsets++ ? entry.end : entry.begin) = number;
    return true;
  }
  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("true or false"); }
  bool number_integer(int64_t) { return unexpected("a negative number"); }
  bool number_float(double, const std::string &) {
    return unexpected("a fraction");
  }
  template <typename Binary>
  bool binary(Binary &) {
    return unexpected("binary data");
  }
  bool parse_error(size_t place, const std::string &,
                   const nlohmann::detail::exception &) {
    return fail(concat("is no JSON (at byte ", place, ")"));
  }

private:
  enum Where { Outside, Top, Metadata, Tensor, Dims, Offsets };

  bool enter(Where next) {
    where = next;
    return true;
  }
  bool fail(const std::string &text) {
    if (problem.empty())
      problem = text;
    return false;
  }
  bool unexpected(const char *what) {
    return fail(concat("has ", what, " at a wrong place (at ",
                       runtime::quoted(current), ")"));
  }

  SafetensorsHeader &header;
  Where where = Outside;
  std::string current; ///< the last key
  SafetensorsEntry entry;
  bool hasType = false, hasDims = false, hasOffsets = false;
  int numOffsets = 0;
  std::set<std::string> names, metadataNames;
};

/// Sorts the entries by place and checks that they fill `bytes` bytes.
Status checkPlaces(SafetensorsHeader &header, uint64_t bytes,
                   const std::string &what) {
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const SafetensorsEntry &a, const SafetensorsEntry &b) {
              return std::tie(a.begin, a.end, a.name) <
                     std::tie(b.begin, b.end, b.name);
            });
  uint64_t next = 0;
  for (const SafetensorsEntry &entry : header.tensors) {
    std::string who = concat(what, ": tensor ", runtime::quoted(entry.name));
    std::optional<uint64_t> needed =
        tensorBytes(typeInfo(entry.type)->bytes, entry.dims.data(),
                    static_cast<int32_t>(entry.dims.size()));
    if (entry.end < entry.begin || entry.end > bytes)
      return invalidArgument(who, " lies at bytes ", entry.begin, " to ",
                             entry.end, " of ", bytes);
    if (!needed || *needed != entry.end - entry.begin)
      return invalidArgument(
          who, " has ", entry.end - entry.begin, " bytes, its shape ",
          shapeText(entry.dims.data(), static_cast<int32_t>(entry.dims.size())),
          " needs ", needed ? std::to_string(*needed) : "more than memory");
    if (entry.begin != next)
      return invalidArgument(
          who, entry.begin < next ? " overlaps another" : " follows a gap",
          " (at byte ", entry.begin, " instead of ", next, ")");
    next = entry.end;
  }
  if (next != bytes)
    return invalidArgument(what, " has ", bytes, " bytes of tensors, those of ",
                           "its header have ", next);
  return Status();
}

} // namespace

Expected<SafetensorsHeader> readSafetensors(const void *data, uint64_t bytes,
                                            const std::string &what) {
  uint64_t length = 0;
  if (bytes < sizeof(length))
    return invalidArgument(what, " has ", bytes,
                           " bytes: too short for a safetensors file");
  const char *text = static_cast<const char *>(data);
  for (size_t i = 0; i < sizeof(length); ++i)
    length |= uint64_t(static_cast<unsigned char>(text[i])) << 8 * i;
  text += sizeof(length);
  bytes -= sizeof(length);
  if (length > maxSafetensorsHeader || length > bytes || !length ||
      text[0] != '{')
    return invalidArgument(what, " is no safetensors file, or cut off (it ",
                           "begins with a header length of ", length, ", ",
                           bytes, " bytes follow)");
  SafetensorsHeader header;
  HeaderReader reader(header);
  bool good = Json::sax_parse(text, text + length, &reader);
  if (!good)
    return invalidArgument(what, ": the header ",
                           reader.problem.empty() ? "is no JSON"
                                                  : reader.problem);
  header.dataBegin = sizeof(length) + length;
  if (Status status = checkPlaces(header, bytes - length, what); !status.ok())
    return status;
  return header;
}

bool isUtf8(const std::string &text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::exception &) {
    return false;
  }
}

Expected<std::string> writeSafetensorsHeader(SafetensorsHeader &header) {
  std::vector<SafetensorsEntry> placed;
  for (uint64_t alignment : {8, 4, 2, 1})
    for (SafetensorsEntry &entry : header.tensors)
      if (typeInfo(entry.type)->alignment == alignment)
        placed.push_back(std::move(entry));
  header.tensors = std::move(placed);
  Json json = Json::object();
  if (!header.metadata.empty())
    json["__metadata__"] = header.metadata;
  uint64_t next = 0;
  for (SafetensorsEntry &entry : header.tensors) {
    const char *type = nullptr;
    for (const TypeName &known : typeNames)
      if (known.type == entry.type)
        type = known.name;
    if (!type)
      return invalidArgument("tensor ", runtime::quoted(entry.name),
                             " has type ", typeInfo(entry.type)->name,
                             ", which safetensors lacks");
    entry.begin = next;
    next += *tensorBytes(typeInfo(entry.type)->bytes, entry.dims.data(),
                         static_cast<int32_t>(entry.dims.size()));
    entry.end = next;
    if (!isUtf8(entry.name))
      return invalidArgument("the name of tensor ", runtime::quoted(entry.name),
                             " is not UTF-8");
    if (json.count(entry.name))
      return invalidArgument("tensor ", runtime::quoted(entry.name),
                             " is there twice");
    json[entry.name] = {{"dtype", type},
                        {"shape", entry.dims},
                        {"data_offsets", {entry.begin, entry.end}}};
  }
  for (const auto &[key, value] : header.metadata)
    if (!isUtf8(key) || !isUtf8(value))
      return invalidArgument("metadata ", runtime::quoted(key),
                             " is not UTF-8");
  std::string text = json.dump();
  uint64_t length = text.size(), prefix = sizeof(length);
  while ((prefix + length) % ONNX_AOT_ALIGNMENT)
    ++length;
  text.resize(length, ' ');
  if (length > maxSafetensorsHeader)
    return invalidArgument("the header has ", length, " bytes, at most ",
                           maxSafetensorsHeader, " are supported");
  header.dataBegin = prefix + length;
  std::string out;
  for (size_t i = 0; i < prefix; ++i)
    out += static_cast<char>(length >> 8 * i);
  return out + text;
}

} // namespace onnx_aot::runtime
