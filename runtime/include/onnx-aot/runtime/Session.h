//===- Session.h - runs a module -------------------------------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SESSION_H
#define ONNX_AOT_RUNTIME_SESSION_H

#include "onnx-aot/runtime/Module.h"
#include "onnx-aot/runtime/Tensor.h"

namespace onnx_aot::runtime {

class SessionState;

/// Number of cores this process may use: its affinity and its cgroup's quota.
ONNX_AOT_API int usableCores();

/// How a session runs; the defaults are the good ones.
struct SessionOptions {
  /// 1 to ONNX_AOT_MAX_THREADS. The results do not depend on it.
  int threads = usableCores();
  /// Scratch memory for all runs, or null: then the session has its own.
  void *arena = nullptr;
  uint64_t arenaBytes = 0;
  /// For modules with device code: the CUstream that all work goes to, or null.
  void *stream = nullptr;
};

/// A module with the memory for one run at a time; see c_api.h for the rules.
class Session {
public:
  ONNX_AOT_API static Expected<Session>
  create(const Module &module, const SessionOptions &options = {});

  /// Runs on the caller's inputs, into the caller's or the session's buffers;
  /// see onnxAotSessionRun.
  ONNX_AOT_API Status run(const OnnxAotTensor *inputs, size_t numInputs,
                          OnnxAotTensor *outputs, size_t numOutputs);

  /// Runs and returns the outputs in new tensors.
  ONNX_AOT_API Expected<std::vector<Tensor>>
  run(const std::vector<Tensor> &inputs);

  const Module &module() const { return theModule; }
  int threads() const { return theThreads; }
  /// Bytes of scratch memory held now.
  ONNX_AOT_API uint64_t arenaBytes() const;

  ONNX_AOT_API Session(Session &&);
  ONNX_AOT_API Session &operator=(Session &&);
  ONNX_AOT_API ~Session();

private:
  Session(Module module, int threads, std::unique_ptr<SessionState> state);
  Module theModule;
  int theThreads;
  std::unique_ptr<SessionState> state;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SESSION_H
