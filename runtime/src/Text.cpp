//===- Text.cpp - pieces of error messages --------------------------------===//
#include "Text.h"

#include <system_error>

namespace onnx_aot::runtime {

std::string quoted(const char *name) {
  constexpr size_t longest = 120;
  std::string out = "'";
  for (; *name && out.size() <= longest; ++name)
    out += static_cast<unsigned char>(*name) < 0x20 ? '?' : *name;
  return out += *name ? "...'" : "'";
}

std::string shapeText(const OnnxAotModule &module,
                      const OnnxAotValueInfo &info) {
  std::string out = "[";
  for (int32_t i = 0; i < info.rank; ++i) {
    int64_t dim = info.dims[i];
    out += i ? ", " : "";
    if (dim >= 0)
      out += std::to_string(dim);
    else if (&info >= module.inputs &&
             &info < module.inputs + module.num_inputs)
      out += module.symbols[-(dim + 1)];
    else
      out += "?";
  }
  return out + "]";
}

std::string shapeText(const int64_t *dims, int32_t rank) {
  std::string out = "[";
  for (int32_t i = 0; i < rank; ++i)
    out += (i ? ", " : "") + std::to_string(dims[i]);
  return out + "]";
}

Status systemError(const std::string &what, int error) {
  return Status(error == ENOMEM ? ONNX_AOT_OUT_OF_MEMORY
                                : ONNX_AOT_SYSTEM_ERROR,
                concat(what, ": ", std::generic_category().message(error)));
}

} // namespace onnx_aot::runtime
