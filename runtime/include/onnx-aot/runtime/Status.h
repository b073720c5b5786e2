//===- Status.h - success or a reason --------------------------*- C++ -*-===//
//
// How the runtime's C++ functions report failure. No exceptions.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_RUNTIME_STATUS_H
#define ONNX_AOT_RUNTIME_STATUS_H

#include "onnx-aot/runtime/c_api.h"

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace onnx_aot::runtime {

/// Success, or a code with one sentence for the user.
class [[nodiscard]] Status {
public:
  /// Success.
  Status() = default;
  /// Failure; `code` is not ONNX_AOT_OK.
  Status(OnnxAotCode code, std::string message)
      : theCode(code), theMessage(std::move(message)) {}

  bool ok() const { return theCode == ONNX_AOT_OK; }
  OnnxAotCode code() const { return theCode; }
  /// Empty on success.
  const std::string &message() const { return theMessage; }

private:
  OnnxAotCode theCode = ONNX_AOT_OK;
  std::string theMessage;
};

/// A value, or the reason why there is none.
template <typename T>
class [[nodiscard]] Expected {
public:
  Expected(T value) : theValue(std::move(value)) {}
  Expected(Status failure) : theStatus(std::move(failure)) {
    assert(!theStatus.ok() && "a failure needs a reason");
  }

  bool ok() const { return theValue.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status &status() const { return theStatus; }

  T &operator*() { return *theValue; }
  const T &operator*() const { return *theValue; }
  T *operator->() { return &*theValue; }
  const T *operator->() const { return &*theValue; }

private:
  std::optional<T> theValue;
  Status theStatus;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_STATUS_H
