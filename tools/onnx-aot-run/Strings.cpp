//===- Strings.cpp - numpy's arrays of strings ----------------------------===//
#include "Strings.h"

#include <cstring>

namespace onnx_aot::run {

namespace {

bool isPoint(uint32_t point) {
  return point < 0x110000 && (point < 0xd800 || point >= 0xe000);
}

} // namespace

std::optional<std::string> toUtf8(std::u32string_view points) {
  while (!points.empty() && !points.back())
    points.remove_suffix(1);
  std::string text;
  for (uint32_t point : points) {
    if (!isPoint(point))
      return std::nullopt;
    int more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    text += static_cast<char>(lead[more] | point >> (6 * more));
    while (more-- > 0)
      text += static_cast<char>(0x80 | (point >> (6 * more) & 0x3f));
  }
  return text;
}

std::optional<std::u32string> fromUtf8(std::string_view text) {
  std::u32string points;
  for (size_t i = 0; i < text.size();) {
    auto lead = static_cast<unsigned char>(text[i++]);
    int more = lead < 0x80             ? 0
               : (lead & 0xe0) == 0xc0 ? 1
               : (lead & 0xf0) == 0xe0 ? 2
               : (lead & 0xf8) == 0xf0 ? 3
                                       : -1;
    if (more < 0 || text.size() - i < static_cast<size_t>(more))
      return std::nullopt;
    uint32_t point = more ? lead & (0x3f >> more) : lead;
    for (int k = 0; k < more; ++k) {
      auto next = static_cast<unsigned char>(text[i++]);
      if ((next & 0xc0) != 0x80)
        return std::nullopt;
      point = point << 6 | (next & 0x3f);
    }
    // The shortest form is the only one.
    const uint32_t lowest[] = {0, 0x80, 0x800, 0x10000};
    if (point < lowest[more] || !isPoint(point))
      return std::nullopt;
    points += static_cast<char32_t>(point);
  }
  return points;
}

std::string_view stringAt(const OnnxAotTensor &tensor, int64_t index) {
  const auto &string = static_cast<const OnnxAotString *>(tensor.data)[index];
  return {string.data ? string.data : "", string.size};
}

Expected<std::string> encodeStrings(const OnnxAotTensor &tensor,
                                    const std::string &what, uint64_t &width) {
  std::vector<std::u32string> elements;
  width = 1;
  for (uint64_t i = 0; i < tensor.bytes / sizeof(OnnxAotString); ++i) {
    std::optional<std::u32string> points = fromUtf8(stringAt(tensor, i));
    if (!points)
      return userError(what + " has a string that is not UTF-8, which numpy's "
                              "files cannot hold");
    width = std::max<uint64_t>(width, points->size());
    elements.push_back(std::move(*points));
  }
  std::string bytes(elements.size() * width * sizeof(char32_t), '\0');
  for (size_t i = 0; i < elements.size(); ++i)
    std::memcpy(bytes.data() + i * width * sizeof(char32_t), elements[i].data(),
                elements[i].size() * sizeof(char32_t));
  return bytes;
}

} // namespace onnx_aot::run
