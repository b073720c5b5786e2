//===- Module.h - a compiled model with its weights ------------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_MODULE_H
#define ONNX_AOT_RUNTIME_MODULE_H

#include "onnx-aot/runtime/Status.h"

#include <memory>
#include <string>
#include <vector>

namespace onnx_aot::runtime {

class LoadedModule;

/// What a run needs for given values of the symbolic dimensions.
struct Plan {
  /// Dimensions of each output; -1 where only a run can tell.
  std::vector<std::vector<int64_t>> outputDims;
  uint64_t arenaBytes = 0;
};

/// A compiled model with its weights. Immutable; copies share it. Any number
/// of threads and sessions may use one at once.
class Module {
public:
  /// Loads a shared object; see onnxAotModuleLoad.
  ONNX_AOT_API static Expected<Module> load(const std::string &path,
                                            const std::string &prefix = "");

  /// Uses a module linked into the program; see onnxAotModuleFromLinked.
  ONNX_AOT_API static Expected<Module>
  fromLinked(const OnnxAotModule &descriptor,
             const std::string &weightsFolder = "");

  /// Names, types, dimensions and memory; see Abi.h.
  ONNX_AOT_API const OnnxAotModule &descriptor() const;
  const OnnxAotModule *operator->() const { return &descriptor(); }

  /// The weights: embedded, or the mapped file.
  ONNX_AOT_API const void *weights() const;

  /// Index of an input, output or symbolic dimension by its name, or -1.
  ONNX_AOT_API int32_t findInput(const std::string &name) const;
  ONNX_AOT_API int32_t findOutput(const std::string &name) const;
  ONNX_AOT_API int32_t findSymbol(const std::string &name) const;

  /// Output dimensions and memory for these values of the symbols.
  ONNX_AOT_API Expected<Plan> plan(const std::vector<int64_t> &symbols) const;

private:
  friend class Session;
  friend class TrainingModule;
  explicit Module(std::shared_ptr<const LoadedModule> loaded)
      : loaded(std::move(loaded)) {}
  std::shared_ptr<const LoadedModule> loaded;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_MODULE_H
