//===- LoadedModule.h - what keeps a module alive --------------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_LOADEDMODULE_H
#define ONNX_AOT_RUNTIME_SRC_LOADEDMODULE_H

#include "Memory.h"
#include "WeightsFile.h"
#include "cuda/DeviceModule.h"

#include "onnx-aot/abi/Training.h"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_aot::runtime {

class LoadedModule;

/// A shared object opened with dlopen; closes it at the end.
class SharedObject {
public:
  static Expected<SharedObject> open(const std::string &path);

  /// The module `<prefix>_module`, or with an empty prefix the only one.
  Expected<const OnnxAotModule *> findModule(const std::string &prefix) const;

  /// The same for the training module `<prefix>_training`.
  Expected<const OnnxAotTraining *>
  findTraining(const std::string &prefix) const;

  SharedObject(SharedObject &&other) noexcept
      : handle(other.handle), path(std::move(other.path)) {
    other.handle = nullptr;
  }
  ~SharedObject();

private:
  Expected<const void *> find(const std::string &prefix,
                              std::string_view suffix) const;

  SharedObject(void *handle, std::string path)
      : handle(handle), path(std::move(path)) {}
  void *handle;
  std::string path;
};

/// A module whose last inputs have values: to its callers it has only those
/// before.
struct BoundModule {
  OnnxAotModule descriptor; ///< of what is left
  std::vector<const void *> inputs;
  GrowingBlock memory; ///< where they point to
  /// What keeps the program and its weights.
  std::shared_ptr<const LoadedModule> program;
};

/// A checked descriptor, its weights, and what holds their memory. The library
/// is declared first: it goes last.
class LoadedModule {
public:
  LoadedModule(std::shared_ptr<const SharedObject> library,
               const OnnxAotModule &descriptor, std::optional<WeightsFile> file)
      : library(std::move(library)), descriptor(descriptor),
        file(std::move(file)) {}
  explicit LoadedModule(std::shared_ptr<const BoundModule> bound)
      : descriptor(bound->descriptor), bound(std::move(bound)) {}

  const OnnxAotModule &get() const { return descriptor; }
  const void *weights() const {
    return file ? file->data() : descriptor.weights;
  }
  /// Inputs that follow the caller's.
  const std::vector<const void *> &boundInputs() const {
    static const std::vector<const void *> none;
    return bound ? bound->inputs : none;
  }

  /// Kernels and weights on the device; loaded by the first who asks.
  Expected<std::shared_ptr<const DeviceModule>> device() const {
    std::lock_guard<std::mutex> lock(deviceMutex);
    if (!onDevice) {
      auto loaded = DeviceModule::load(descriptor, weights());
      if (!loaded)
        return loaded.status();
      onDevice = *loaded;
    }
    return onDevice;
  }

private:
  std::shared_ptr<const SharedObject> library;
  const OnnxAotModule &descriptor;
  std::optional<WeightsFile> file;
  std::shared_ptr<const BoundModule> bound;
  mutable std::mutex deviceMutex;
  mutable std::shared_ptr<const DeviceModule> onDevice;
};

/// Checks the descriptor and maps its weights file from `weightsFolder`, if it
/// has one. `library` is null for a linked module.
Expected<std::shared_ptr<const LoadedModule>>
finishModule(std::shared_ptr<const SharedObject> library,
             const OnnxAotModule &descriptor, const std::string &where,
             const std::string &weightsFolder);

/// The folder of a file name.
std::string folderOf(const std::string &path);

/// Checks that this runtime can run `module`: version, counts, types, shapes,
/// pointers. `where` is how messages call it.
Status checkDescriptor(const OnnxAotModule &module, const std::string &where);

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_LOADEDMODULE_H
