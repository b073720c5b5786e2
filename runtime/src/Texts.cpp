//===- Texts.cpp - functions on strings -----------------------------------===//
//
// What ONNX's reference evaluator does, which is what Python and numpy do.
//
//===----------------------------------------------------------------------===//
#include "Texts.h"

#include "Text.h"

#include <algorithm>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>
#include <wctype.h>

namespace onnx_aot::runtime {

namespace {

using Strings = std::vector<std::string_view>;

int64_t count(const OnnxAotOpTensor &tensor) {
  int64_t elements = 1;
  for (int32_t i = 0; i < tensor.rank; ++i)
    elements *= tensor.dims[i];
  return elements;
}

std::string_view view(const OnnxAotString &string) {
  return {string.data ? string.data : "", string.size};
}

std::string_view element(const OnnxAotOpTensor &tensor, int64_t index) {
  return view(static_cast<const OnnxAotString *>(tensor.data)[index]);
}

const OnnxAotOpTensor *find(const OnnxAotOpCall &call, std::string_view name) {
  for (int32_t i = 0; i < call.num_attributes; ++i)
    if (call.attributes[i].name == name)
      return &call.attributes[i].value;
  return nullptr;
}

//===--- Code points ------------------------------------------------------===//

/// The code point at `at`, which moves behind it. A byte that begins none
/// stands for itself, beyond Unicode.
uint32_t nextPoint(std::string_view text, size_t &at) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned lead = byte(at++);
  int more = lead < 0xc2 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
  if (lead < 0x80)
    return lead;
  if (!more || lead > 0xf4 || text.size() - at < static_cast<size_t>(more))
    return 0x110000 | lead;
  uint32_t point = lead & (0x3f >> more);
  for (int i = 0; i < more; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80)
      return 0x110000 | lead;
    point = point << 6 | (byte(at + i) & 0x3f);
  }
  at += more;
  return point;
}

void addPoint(std::string &text, uint32_t point) {
  if (point >= 0x110000) {
    text += static_cast<char>(point & 0xff);
    return;
  }
  int more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(lead[more] | point >> (6 * more));
  while (more-- > 0)
    text += static_cast<char>(0x80 | (point >> (6 * more) & 0x3f));
}

bool isSpace(uint32_t point) {
  return (point >= 0x09 && point <= 0x0d) || (point >= 0x1c && point <= 0x20) ||
         point == 0x85 || point == 0xa0 || point == 0x1680 ||
         (point >= 0x2000 && point <= 0x200a) || point == 0x2028 ||
         point == 0x2029 || point == 0x202f || point == 0x205f ||
         point == 0x3000;
}

/// A string in one case, letter by letter.
std::string changeCase(std::string_view text, bool upper) {
  // The C library's tables; without them letters beyond ASCII stay.
  static const locale_t unicode =
      newlocale(LC_CTYPE_MASK, "C.UTF-8", static_cast<locale_t>(nullptr));
  std::string result;
  for (size_t at = 0; at < text.size();) {
    uint32_t point = nextPoint(text, at);
    if (point < 0x80) {
      char low = upper ? 'a' : 'A';
      if (point >= static_cast<uint32_t>(low) &&
          point < static_cast<uint32_t>(low) + 26)
        point ^= 0x20;
    } else if (point < 0x110000 && unicode) {
      point = upper ? towupper_l(point, unicode) : towlower_l(point, unicode);
    }
    addPoint(result, point);
  }
  return result;
}

//===--- StringSplit ------------------------------------------------------===//

/// Parts between runs of white space.
Strings splitAtSpace(std::string_view text, int64_t most) {
  Strings parts;
  size_t at = 0;
  while (true) {
    size_t begin = at;
    while (at < text.size()) {
      begin = at;
      if (!isSpace(nextPoint(text, at)))
        break;
      begin = at;
    }
    if (begin >= text.size())
      return parts;
    if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
      parts.push_back(text.substr(begin));
      return parts;
    }
    size_t end = begin;
    for (at = begin; at < text.size(); end = at) {
      if (isSpace(nextPoint(text, at))) {
        at = end;
        break;
      }
    }
    parts.push_back(text.substr(begin, end - begin));
  }
}

Strings split(std::string_view text, std::string_view delimiter, int64_t most) {
  if (delimiter.empty())
    return splitAtSpace(text, most);
  Strings parts;
  while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
    size_t end = text.find(delimiter);
    if (end == text.npos)
      break;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  parts.push_back(text);
  return parts;
}

void computeSplit(const OnnxAotOpCall &call, bool shapeOnly) {
  const OnnxAotOpTensor &x = call.inputs[0];
  const OnnxAotOpTensor *delimiter = find(call, "delimiter");
  const OnnxAotOpTensor *limit = find(call, "maxsplit");
  std::string_view mark = delimiter ? element(*delimiter, 0) : "";
  int64_t most = limit ? *static_cast<const int64_t *>(limit->data) : -1;
  int64_t columns = 0;
  const OnnxAotOpTensor &y = call.outputs[0], &counts = call.outputs[1];
  auto *strings = static_cast<OnnxAotString *>(y.data);
  if (!shapeOnly)
    columns = y.dims[x.rank];
  for (int64_t i = 0, n = count(x); i < n; ++i) {
    Strings parts = split(element(x, i), mark, most);
    if (shapeOnly) {
      columns = std::max<int64_t>(columns, parts.size());
      continue;
    }
    static_cast<int64_t *>(counts.data)[i] = parts.size();
    for (int64_t k = 0; k < columns; ++k)
      strings[i * columns + k] =
          k < static_cast<int64_t>(parts.size())
              ? OnnxAotString{parts[k].data(), parts[k].size()}
              : OnnxAotString{"", 0};
  }
  if (!shapeOnly)
    return;
  for (int32_t d = 0; d < x.rank; ++d)
    y.dims[d] = counts.dims[d] = x.dims[d];
  y.dims[x.rank] = columns;
}

//===--- StringNormalizer -------------------------------------------------===//

Status computeNormalize(const OnnxAotOpCall &call, TextMemory &memory,
                        bool shapeOnly) {
  const OnnxAotOpTensor &x = call.inputs[0], &y = call.outputs[0];
  const OnnxAotOpTensor *action = find(call, "case_change_action");
  const OnnxAotOpTensor *exact = find(call, "is_case_sensitive");
  const OnnxAotOpTensor *stops = find(call, "stopwords");
  if (!action || !exact)
    return invalidArgument("StringNormalizer lacks its attributes");
  bool isExact = *static_cast<const int64_t *>(exact->data);
  auto comparable = [&](std::string_view word) {
    return isExact ? std::string(word) : changeCase(word, /*upper=*/false);
  };
  std::vector<std::string> words;
  for (int64_t i = 0, n = stops ? count(*stops) : 0; i < n; ++i)
    words.push_back(comparable(element(*stops, i)));
  Strings kept;
  for (int64_t i = 0, n = count(x); i < n; ++i)
    if (words.empty() || std::find(words.begin(), words.end(),
                                   comparable(element(x, i))) == words.end())
      kept.push_back(element(x, i));
  // Of nothing there is one empty string left.
  if (kept.empty() && !words.empty())
    kept.push_back("");
  if (shapeOnly) {
    for (int32_t d = 0; d + 1 < x.rank; ++d)
      y.dims[d] = x.dims[d];
    y.dims[x.rank - 1] = kept.size();
    return Status();
  }
  std::string_view change = element(*action, 0);
  auto *strings = static_cast<OnnxAotString *>(y.data);
  for (std::string_view word : kept)
    *strings++ = change == "NONE"
                     ? OnnxAotString{word.data(), word.size()}
                     : memory.keep(changeCase(word, change == "UPPER"));
  return Status();
}

//===--- Cast -------------------------------------------------------------===//

/// Reads all of a text as a number.
template <typename T>
bool readNumber(std::string_view text, T &value) {
  while (!text.empty() && isSpace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && isSpace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+')
    text.remove_prefix(1);
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range && std::is_floating_point_v<T>)
    value = std::strtod(std::string(text).c_str(), nullptr);
  else if (error != std::errc())
    return false;
  return end == text.data() + text.size();
}

template <typename T>
bool parse(std::string_view text, T &value) {
  if (readNumber(text, value))
    return true;
  if constexpr (!std::is_floating_point_v<T>) {
    double real;
    if (!readNumber(text, real))
      return false;
    real = std::trunc(real);
    using Limits = std::numeric_limits<T>;
    value = std::isnan(real)                               ? T(0)
            : real < static_cast<double>(Limits::lowest()) ? Limits::lowest()
            : real >= std::ldexp(1.0, Limits::digits) ? Limits::max()
                                                      : static_cast<T>(real);
    return true;
  }
  return false;
}

/// The shortest digits that tell the number, laid out as numpy does.
template <typename T>
std::string formatReal(T value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char digits[512];
  double size = std::fabs(static_cast<double>(value));
  bool isPlain = size == 0 || (size >= 1e-4 && size < 1e16);
  auto end = std::to_chars(digits, digits + sizeof(digits), value,
                           isPlain ? std::chars_format::fixed
                                   : std::chars_format::scientific)
                 .ptr;
  std::string text(digits, end);
  if (isPlain && text.find('.') == text.npos)
    text += ".0";
  return text;
}

template <typename T>
std::string format(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return formatReal(value);
  return std::to_string(value);
}

template <typename T>
Status convert(const OnnxAotOpCall &call, TextMemory &memory, bool parses) {
  const OnnxAotOpTensor &x = call.inputs[0], &y = call.outputs[0];
  for (int64_t i = 0, n = count(x); i < n; ++i) {
    if (!parses) {
      static_cast<OnnxAotString *>(y.data)[i] =
          memory.keep(format(static_cast<const T *>(x.data)[i]));
      continue;
    }
    T value;
    if (!parse(element(x, i), value))
      return Status(ONNX_AOT_EXECUTION_FAILED,
                    concat("the string ", quoted(std::string(element(x, i))),
                           " is no number"));
    static_cast<T *>(y.data)[i] = value;
  }
  return Status();
}

/// Bools are "True" and "False", and every number but 0 is true.
Status convertBool(const OnnxAotOpCall &call, TextMemory &memory, bool parses) {
  const OnnxAotOpTensor &x = call.inputs[0], &y = call.outputs[0];
  for (int64_t i = 0, n = count(x); i < n; ++i) {
    if (!parses) {
      bool flag = static_cast<const uint8_t *>(x.data)[i];
      static_cast<OnnxAotString *>(y.data)[i] =
          memory.keep(flag ? "True" : "False");
      continue;
    }
    std::string word = changeCase(element(x, i), /*upper=*/false);
    double number = 0;
    if (word != "true" && word != "false" && !readNumber(word, number))
      return Status(
          ONNX_AOT_EXECUTION_FAILED,
          concat("the string ", quoted(word), " is neither true nor false"));
    static_cast<uint8_t *>(y.data)[i] = word == "true" || number != 0;
  }
  return Status();
}

Status computeCast(const OnnxAotOpCall &call, TextMemory &memory, bool parses) {
  switch (parses ? call.outputs[0].type : call.inputs[0].type) {
  case ONNX_AOT_FLOAT32:
    return convert<float>(call, memory, parses);
  case ONNX_AOT_FLOAT64:
    return convert<double>(call, memory, parses);
  case ONNX_AOT_INT8:
    return convert<int8_t>(call, memory, parses);
  case ONNX_AOT_INT16:
    return convert<int16_t>(call, memory, parses);
  case ONNX_AOT_INT32:
    return convert<int32_t>(call, memory, parses);
  case ONNX_AOT_INT64:
    return convert<int64_t>(call, memory, parses);
  case ONNX_AOT_UINT8:
    return convert<uint8_t>(call, memory, parses);
  case ONNX_AOT_UINT16:
    return convert<uint16_t>(call, memory, parses);
  case ONNX_AOT_UINT32:
    return convert<uint32_t>(call, memory, parses);
  case ONNX_AOT_UINT64:
    return convert<uint64_t>(call, memory, parses);
  case ONNX_AOT_BOOL:
    return convertBool(call, memory, parses);
  default:
    return invalidArgument("strings are not converted to or from this type");
  }
}

} // namespace

Status computeText(int32_t function, const OnnxAotOpCall &call,
                   TextMemory &memory) {
  switch (function) {
  case ONNX_AOT_TEXT_CONCAT:
    for (int64_t i = 0, n = count(call.outputs[0]); i < n; ++i)
      static_cast<OnnxAotString *>(call.outputs[0].data)[i] =
          memory.keep(std::string(element(call.inputs[0], i)) +
                      std::string(element(call.inputs[1], i)));
    return Status();
  case ONNX_AOT_TEXT_SPLIT_SHAPE:
  case ONNX_AOT_TEXT_SPLIT:
    computeSplit(call, function == ONNX_AOT_TEXT_SPLIT_SHAPE);
    return Status();
  case ONNX_AOT_TEXT_NORMALIZE_SHAPE:
  case ONNX_AOT_TEXT_NORMALIZE:
    return computeNormalize(call, memory,
                            function == ONNX_AOT_TEXT_NORMALIZE_SHAPE);
  case ONNX_AOT_TEXT_PARSE:
  case ONNX_AOT_TEXT_FORMAT:
    return computeCast(call, memory, function == ONNX_AOT_TEXT_PARSE);
  default:
    return invalidModule("it asks for a function on strings of number ",
                         function, ", which this runtime does not have");
  }
}

} // namespace onnx_aot::runtime
