//===- Npy.cpp - numpy's array files --------------------------------------===//
#include "Npy.h"

#include "Strings.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

namespace onnx_aot::run {

namespace {

constexpr char magic[] = "\x93NUMPY";
constexpr size_t magicBytes = 6;
/// numpy's own headers have some hundred bytes.
constexpr uint64_t longestHeader = 1 << 16;

/// What the header says of an array.
struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Reads the header: a Python dictionary with the keys descr, fortran_order and
/// shape. Each function leaves `text` after what it took; false: not there.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  bool parse(Header &header) {
    bool descr = false, order = false, shape = false;
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::string key;
      if (!string(key) || !take(':'))
        return false;
      bool *seen = nullptr, good = false;
      if (key == "descr") {
        seen = &descr;
        good = string(header.descr);
      } else if (key == "fortran_order") {
        seen = &order;
        good = boolean(header.fortranOrder);
      } else if (key == "shape") {
        seen = &shape;
        good = tuple(header.shape);
      }
      if (!good || *seen)
        return false;
      *seen = true;
      if (!take(',') && peek() != '}')
        return false;
    }
    skipSpace();
    return descr && order && shape && text.empty();
  }

private:
  void skipSpace() {
    while (!text.empty() && std::strchr(" \t\r\n", text.front()) &&
           text.front())
      text.remove_prefix(1);
  }
  char peek() {
    skipSpace();
    return text.empty() ? '\0' : text.front();
  }
  bool take(char wanted) {
    if (peek() != wanted || text.empty())
      return false;
    text.remove_prefix(1);
    return true;
  }
  bool string(std::string &out) {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      return false;
    size_t end = text.find(quote, 1);
    if (end == text.npos)
      return false;
    out = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    return true;
  }
  bool boolean(bool &out) {
    skipSpace();
    for (std::string_view word : {"True", "False"})
      if (text.substr(0, word.size()) == word) {
        out = word == "True";
        text.remove_prefix(word.size());
        return true;
      }
    return false;
  }
  bool number(int64_t &out) {
    skipSpace();
    size_t digits = 0;
    out = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9';
         ++digits)
      if (__builtin_mul_overflow(out, 10, &out) ||
          __builtin_add_overflow(out, text[digits] - '0', &out))
        return false;
    text.remove_prefix(digits);
    if (digits && !text.empty() && text.front() == 'L') // Python 2
      text.remove_prefix(1);
    return digits;
  }
  bool tuple(std::vector<int64_t> &out) {
    if (!take('('))
      return false;
    while (!take(')')) {
      int64_t size;
      if (out.size() > ONNX_AOT_MAX_RANK || !number(size))
        return false;
      out.push_back(size);
      if (!take(',') && peek() != ')')
        return false;
    }
    return true;
  }

  std::string_view text;
};

/// Element type and whether its bytes are swapped, of "<f4" and the like.
struct ElementType {
  OnnxAotType type;
  bool swapped;
  /// Code points of a string; 0 for anything else.
  uint64_t points = 0;
};

constexpr struct {
  const char *code;
  OnnxAotType type;
} typeCodes[] = {
    {"f4", ONNX_AOT_FLOAT32},   {"f8", ONNX_AOT_FLOAT64},
    {"f2", ONNX_AOT_FLOAT16},   {"b1", ONNX_AOT_BOOL},
    {"i1", ONNX_AOT_INT8},      {"i2", ONNX_AOT_INT16},
    {"i4", ONNX_AOT_INT32},     {"i8", ONNX_AOT_INT64},
    {"u1", ONNX_AOT_UINT8},     {"u2", ONNX_AOT_UINT16},
    {"u4", ONNX_AOT_UINT32},    {"u8", ONNX_AOT_UINT64},
    {"c8", ONNX_AOT_COMPLEX64}, {"c16", ONNX_AOT_COMPLEX128},
    {"V2", ONNX_AOT_BFLOAT16},  {"V1", ONNX_AOT_UINT8},
};

std::optional<ElementType> elementType(const std::string &descr) {
  if (descr.empty() || !std::strchr("<>|=", descr[0]))
    return std::nullopt;
  // "<U8": strings of up to 8 code points.
  if (descr.size() > 2 && descr.size() < 12 && descr[1] == 'U' &&
      descr.find_first_not_of("0123456789", 2) == descr.npos)
    return ElementType{ONNX_AOT_STRING, descr[0] == '>',
                       std::stoull(descr.substr(2))};
  for (const auto &entry : typeCodes)
    if (descr.compare(1, descr.npos, entry.code) == 0)
      return ElementType{entry.type, descr[0] == '>'};
  return std::nullopt;
}

/// Swaps the bytes of numbers; those of a complex element are two.
void swapBytes(Tensor &tensor) {
  uint64_t bytes = onnxAotTypeBytes(tensor.type());
  if (tensor.type() == ONNX_AOT_COMPLEX64 ||
      tensor.type() == ONNX_AOT_COMPLEX128)
    bytes /= 2;
  char *data = tensor.dataAs<char>();
  for (uint64_t i = 0; i < tensor.bytes(); i += bytes)
    std::reverse(data + i, data + i + bytes);
}

/// The same array in row-major order; `columns` holds it in column-major order.
Expected<Tensor> toRowMajor(const Tensor &columns) {
  Expected<Tensor> rows = Tensor::create(columns.type(), columns.dims());
  if (!rows)
    return rows;
  const std::vector<int64_t> &dims = columns.dims();
  uint64_t bytes = onnxAotTypeBytes(columns.type());
  std::vector<int64_t> index(dims.size());
  char *to = rows->dataAs<char>();
  for (int64_t i = 0; i < columns.size(); ++i) {
    int64_t from = 0;
    for (size_t d = dims.size(); d-- > 0;)
      from = from * dims[d] + index[d];
    std::memcpy(to + i * bytes, columns.dataAs<char>() + from * bytes, bytes);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d])
        break;
      index[d] = 0;
    }
  }
  return rows;
}

/// The strings of an array, of `points` code points each.
Expected<Tensor> readStrings(const ByteSource &source, const std::string &what,
                             const std::vector<int64_t> &shape,
                             const ElementType &element, uint64_t bytes) {
  std::u32string all(bytes / sizeof(char32_t), U'\0');
  if (Status status = source.read(all.data(), bytes); !status.ok())
    return status;
  if (element.swapped)
    for (char32_t &point : all)
      point = static_cast<char32_t>(
          __builtin_bswap32(static_cast<uint32_t>(point)));
  std::vector<std::string> values;
  // Strings of no code points have no bytes to count them by.
  uint64_t count = 1;
  for (int64_t size : shape)
    count *= static_cast<uint64_t>(size);
  for (uint64_t i = 0; i < count; ++i) {
    std::optional<std::string> text = toUtf8(
        std::u32string_view(all).substr(i * element.points, element.points));
    if (!text)
      return userError(what + " has a string that is not Unicode");
    values.push_back(std::move(*text));
  }
  return Tensor::ofStrings(shape, values);
}

/// Reads magic, version and header; `taken` is how many bytes that were.
Expected<Header> readHeader(const ByteSource &source, const std::string &what,
                            uint64_t &taken) {
  unsigned char start[magicBytes + 2];
  if (source.bytes < sizeof(start) + 2)
    return userError(what + " is too short for a .npy file");
  if (Status status = source.read(start, sizeof(start)); !status.ok())
    return status;
  if (std::memcmp(start, magic, magicBytes))
    return userError(what + " is not a .npy file");
  if (start[6] < 1 || start[6] > 3)
    return userError(what + " has .npy version " + std::to_string(start[6]) +
                     " (supported: 1, 2, 3)");
  unsigned char raw[4] = {};
  size_t lengthBytes = start[6] == 1 ? 2 : 4;
  taken = sizeof(start) + lengthBytes;
  if (source.bytes < taken)
    return userError(what + " is too short for a .npy file");
  if (Status status = source.read(raw, lengthBytes); !status.ok())
    return status;
  uint64_t length =
      raw[0] | raw[1] << 8 | uint64_t(raw[2]) << 16 | uint64_t(raw[3]) << 24;
  if (length > longestHeader || length > source.bytes - taken)
    return userError(what + " has a .npy header of " + std::to_string(length) +
                     " bytes, which is too long");
  std::string text(length, '\0');
  if (Status status = source.read(text.data(), length); !status.ok())
    return status;
  taken += length;
  Header header;
  if (!HeaderParser(text).parse(header))
    return userError(what + " has a .npy header that cannot be read");
  return header;
}

} // namespace

Status userError(std::string message) {
  return Status(ONNX_AOT_INVALID_ARGUMENT, std::move(message));
}

Expected<Tensor> readNpy(const ByteSource &source, const std::string &what) {
  uint64_t taken = 0;
  Expected<Header> header = readHeader(source, what, taken);
  if (!header)
    return header.status();
  std::optional<ElementType> element = elementType(header->descr);
  if (!element)
    return userError(what + " has elements of numpy type '" + header->descr +
                     "', which no model takes");
  uint64_t available = source.bytes - taken,
           elementBytes = onnxAotTypeBytes(element->type);
  if (element->type == ONNX_AOT_STRING)
    elementBytes = element->points * sizeof(char32_t);
  // Before anything is allocated: the sizes must be those of the file.
  uint64_t needed = elementBytes;
  bool overflow = false, empty = false;
  for (int64_t size : header->shape) {
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(needed, uint64_t(size), &needed);
  }
  if (empty)
    needed = 0;
  if ((overflow && !empty) || needed != available)
    return userError(what + " has " + std::to_string(available) +
                     " bytes of elements, its shape needs " +
                     (overflow && !empty ? "more than there can be"
                                         : std::to_string(needed)));
  Expected<Tensor> tensor = Tensor::create(element->type, header->shape);
  if (!tensor)
    return userError(what + ": " + tensor.status().message());
  if (element->type == ONNX_AOT_STRING) {
    tensor = readStrings(source, what, header->shape, *element, needed);
    if (!tensor || !header->fortranOrder || header->shape.size() < 2)
      return tensor;
    Expected<Tensor> rows = toRowMajor(*tensor);
    // The texts are those of the columns.
    return rows ? Tensor::copyOf(ONNX_AOT_STRING, rows->dims(), rows->data(),
                                 rows->bytes())
                : std::move(rows);
  }
  if (Status status = source.read(tensor->data(), needed); !status.ok())
    return status;
  if (element->swapped)
    swapBytes(*tensor);
  if (header->fortranOrder && header->shape.size() > 1)
    return toRowMajor(*tensor);
  return tensor;
}

Expected<Tensor> readNpyFile(const std::string &path) {
  auto close = [](FILE *file) { std::fclose(file); };
  std::unique_ptr<FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"),
                                              close);
  if (!file)
    return userError("cannot open '" + path + "': " + std::strerror(errno));
  if (std::fseek(file.get(), 0, SEEK_END))
    return userError("cannot read '" + path + "': " + std::strerror(errno));
  long bytes = std::ftell(file.get());
  std::rewind(file.get());
  if (bytes < 0)
    return userError("cannot read '" + path + "': " + std::strerror(errno));
  ByteSource source{static_cast<uint64_t>(bytes),
                    [&](void *to, uint64_t count) {
                      if (std::fread(to, 1, count, file.get()) == count)
                        return Status();
                      return userError("cannot read '" + path + "'");
                    }};
  return readNpy(source, "'" + path + "'");
}

std::string npyHeader(const OnnxAotTensor &tensor, uint64_t stringWidth) {
  int32_t type =
      tensor.type == ONNX_AOT_BFLOAT16 ? ONNX_AOT_UINT16 : tensor.type;
  // Codes that numpy has no type for, a byte each.
  std::string descr = "|V1";
  for (const auto &entry : typeCodes)
    if (entry.type == type && entry.code[0] != 'V')
      descr =
          (onnxAotTypeBytes(type) == 1 ? "|" : "<") + std::string(entry.code);
  if (type == ONNX_AOT_STRING)
    descr = "<U" + std::to_string(stringWidth);
  std::string text =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (int32_t i = 0; i < tensor.rank; ++i)
    text += std::to_string(tensor.dims[i]) +
            (i + 1 < tensor.rank || tensor.rank == 1 ? ", " : "");
  text += "), }";
  // The elements start at a multiple of 64 bytes.
  constexpr size_t before = magicBytes + 2 + 2;
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  std::string header(magic, magicBytes);
  header += '\1';
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

} // namespace onnx_aot::run
