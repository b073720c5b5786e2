//===- Npy.h - numpy's array files -----------------------------*- C++ -*-===//
//
// Reads and writes .npy (versions 1 to 3). Files are not trusted: whatever they
// hold, the answer is a tensor or a message.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_TOOLS_RUN_NPY_H
#define ONNX_AOT_TOOLS_RUN_NPY_H

#include "onnx-aot/runtime/Tensor.h"

#include <functional>
#include <string>
#include <vector>

namespace onnx_aot::run {

using runtime::Expected;
using runtime::Status;
using runtime::Tensor;

/// A refusal with a message for the user.
Status userError(std::string message);

/// Bytes in order of which a reader takes what it needs.
struct ByteSource {
  /// All bytes there are.
  uint64_t bytes;
  /// Reads exactly `count` bytes, or says why it cannot.
  std::function<Status(void *to, uint64_t count)> read;
};

/// Reads one array; `what` is how messages call it. A two-byte void element
/// ('V2', numpy's way to store bfloat16) becomes BFLOAT16, a one-byte one
/// ('V1') UINT8: which code it is only the model knows. Strings become UTF-8.
Expected<Tensor> readNpy(const ByteSource &source, const std::string &what);

/// Reads a .npy file.
Expected<Tensor> readNpyFile(const std::string &path);

/// What precedes the elements of a .npy file. BFLOAT16, which numpy lacks,
/// becomes uint16, the types of at most a byte that it lacks 'V1', strings so
/// many code points each.
std::string npyHeader(const OnnxAotTensor &tensor, uint64_t stringWidth = 0);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_NPY_H
