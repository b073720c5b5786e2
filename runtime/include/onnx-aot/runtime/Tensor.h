//===- Tensor.h - a tensor that owns its memory ----------------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_TENSOR_H
#define ONNX_AOT_RUNTIME_TENSOR_H

#include "onnx-aot/runtime/Status.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace onnx_aot::runtime {

/// A dense row-major tensor in memory of its own, aligned to
/// ONNX_AOT_ALIGNMENT. Moves, does not copy.
class Tensor {
public:
  /// An empty tensor without a type.
  Tensor() = default;

  /// Zero-filled memory for `dims` elements of `type`: numbers 0, empty
  /// strings. Fails for a type that is not known, a rank above
  /// ONNX_AOT_MAX_RANK, a negative or too large size.
  ONNX_AOT_API static Expected<Tensor> create(OnnxAotType type,
                                              const std::vector<int64_t> &dims);

  /// Like `create`, with `values` copied in; their number must fit `dims`.
  template <typename T>
  static Expected<Tensor> of(OnnxAotType type, const std::vector<int64_t> &dims,
                             const std::vector<T> &values) {
    return copyOf(type, dims, values.data(), values.size() * sizeof(T));
  }

  /// Like `create`, with `bytes` bytes copied from `data`, and what strings
  /// refer to.
  ONNX_AOT_API static Expected<Tensor> copyOf(OnnxAotType type,
                                              const std::vector<int64_t> &dims,
                                              const void *data, uint64_t bytes);

  /// A tensor of strings, any bytes; their number must fit `dims`.
  ONNX_AOT_API static Expected<Tensor>
  ofStrings(const std::vector<int64_t> &dims,
            const std::vector<std::string> &values);

  OnnxAotType type() const { return theType; }
  const std::vector<int64_t> &dims() const { return theDims; }
  /// Number of elements.
  int64_t size() const { return theSize; }
  uint64_t bytes() const { return theBytes; }

  void *data() { return memory.get(); }
  const void *data() const { return memory.get(); }
  template <typename T>
  T *dataAs() {
    return static_cast<T *>(data());
  }
  template <typename T>
  const T *dataAs() const {
    return static_cast<const T *>(data());
  }

  /// The same tensor as the C interface sees it; valid while this one is.
  ONNX_AOT_API OnnxAotTensor view() const;

private:
  Status copyTexts();

  struct Free {
    void operator()(void *pointer) const { std::free(pointer); }
  };
  OnnxAotType theType = static_cast<OnnxAotType>(0);
  std::vector<int64_t> theDims;
  int64_t theSize = 0;
  uint64_t theBytes = 0;
  std::unique_ptr<void, Free> memory;
  /// What the elements of a tensor of strings refer to.
  std::unique_ptr<char[]> texts;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_TENSOR_H
