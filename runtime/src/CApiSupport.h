//===- CApiSupport.h - what the C interface's functions share --*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_CAPISUPPORT_H
#define ONNX_AOT_RUNTIME_SRC_CAPISUPPORT_H

#include "Text.h"

#include "onnx-aot/runtime/Module.h"

#include <cstdio>
#include <exception>
#include <new>

/// The handle of a module.
struct OnnxAotLoadedModule {
  onnx_aot::runtime::Module module;
};

namespace onnx_aot::runtime {

/// Writes a failure to the caller's struct, if there is one.
inline OnnxAotCode deliver(OnnxAotCode code, const char *message,
                           OnnxAotError *error) {
  if (error && code != ONNX_AOT_OK) {
    error->code = code;
    std::snprintf(error->message, sizeof(error->message), "%s", message);
  }
  return code;
}

/// Runs `body`; no exception (the standard library's, when memory runs out)
/// leaves the C interface.
template <typename Body>
OnnxAotCode guarded(OnnxAotError *error, Body body) {
  if (error) {
    error->code = ONNX_AOT_OK;
    error->message[0] = '\0';
  }
  try {
    Status status = body();
    return deliver(status.code(), status.message().c_str(), error);
  } catch (const std::bad_alloc &) {
    return deliver(ONNX_AOT_OUT_OF_MEMORY, "out of memory", error);
  } catch (const std::exception &exception) {
    return deliver(ONNX_AOT_SYSTEM_ERROR, exception.what(), error);
  }
}

/// A refusal of a null pointer.
inline Status nullArgument(const char *name) {
  return invalidArgument("argument ", quoted(name), " is null");
}

/// Hands a module out in a handle of its own.
template <typename Value, typename Handle>
Status publish(Expected<Value> module, Handle **result) {
  if (!module)
    return module.status();
  *result = new Handle{std::move(*module)};
  return Status();
}

/// Asks the module in a handle for the index of a name; -1 for a null.
template <typename Handle, typename Find>
int32_t findByName(const Handle *handle, const char *name, Find find) {
  if (!handle || !name)
    return -1;
  try {
    return (handle->module.*find)(name);
  } catch (const std::bad_alloc &) {
    return -1;
  }
}

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_CAPISUPPORT_H
