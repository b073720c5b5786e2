//===- Driver.cpp - stands in for the CUDA driver -------------------------===//
//
// The functions that the runtime looks up, on the host. A device of
// architecture 0, whose images are shared objects.
// ONNX_AOT_EMULATOR_ORDER=reverse runs the threads of each block, and the
// blocks, in the other order; ONNX_AOT_EMULATOR_BLOCKS=N launches no more than
// N blocks.
//
//===----------------------------------------------------------------------===//
#include "Emulator.h"
#include "Stream.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace onnx_aot::emulator {
GraphCounts graphCounts;
} // namespace onnx_aot::emulator

using namespace onnx_aot::emulator;

namespace {

enum Result {
  kOk = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kStreamCaptureUnsupported = 900,
  kNotFound = 500,
  kLaunchFailed = 719
};

struct Module {
  void *library;
  int file; ///< open as long: a library with its path would be taken for it
};

struct Function {
  std::string name;
  void (*thunk)(void **);
  uint64_t sharedBytes;
  const uint64_t *parameters; ///< their number, then the bytes of each
};

/// The last thing that went wrong; like on a device, it stays.
std::string problem;

/// There is one device: one call at a time.
std::mutex device;

Order getOrder() {
  const char *order = std::getenv("ONNX_AOT_EMULATOR_ORDER");
  return order && !std::strcmp(order, "reverse") ? Order::Reverse
                                                 : Order::Forward;
}

/// Kernels must do with any number of blocks: ONNX_AOT_EMULATOR_BLOCKS limits
/// it.
unsigned getMaxBlocks() {
  const char *text = std::getenv("ONNX_AOT_EMULATOR_BLOCKS");
  int count = text ? std::atoi(text) : 0;
  return count > 0 ? unsigned(count) : ~0u;
}

/// Kernels call the emulator by name: its symbols must be seen by all.
void showSymbols() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&showSymbols), &info) && info.dli_fname)
    dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

size_t getImageBytes(const void *image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  return header.e_shoff + size_t(header.e_shentsize) * header.e_shnum;
}

int failMemory(const char *what) {
  problem = std::string("emulator: ") + what;
  return kInvalidValue;
}

/// Does the work, or records it where the stream is captured.
int enqueue(Stream *stream, const Work &work) {
  std::lock_guard<std::mutex> lock(device);
  if (stream && stream->recorded) {
    stream->recorded->push_back(work);
    return kOk;
  }
  return work();
}

} // namespace

extern "C" {

int cuInit(unsigned) {
  showSymbols();
  return kOk;
}

int cuDeviceGetCount(int *count) {
  *count = 1;
  return kOk;
}

int cuDeviceGet(int *device, int number) {
  *device = number;
  return number == 0 ? kOk : kInvalidValue;
}

int cuDeviceGetAttribute(int *value, int, int) {
  *value = 0;
  return kOk;
}

int cuDevicePrimaryCtxRetain(void **context, int) {
  *context = &problem;
  return kOk;
}

int cuCtxSetCurrent(void *context) {
  return context == &problem ? kOk : kInvalidContext;
}

int cuModuleLoadData(Module **module, const void *image) {
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0)
    return kInvalidImage;
  int file = memfd_create("kernels", 0);
  if (file < 0)
    return kOutOfMemory;
  size_t bytes = getImageBytes(image);
  bool isWritten = write(file, image, bytes) == ssize_t(bytes);
  std::string path = "/proc/self/fd/" + std::to_string(file);
  void *library =
      isWritten ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!library) {
    close(file);
    const char *reason = dlerror();
    problem = reason ? reason : "the image cannot be written";
    return kInvalidImage;
  }
  *module = new Module{library, file};
  return kOk;
}

int cuModuleUnload(Module *module) {
  dlclose(module->library);
  close(module->file);
  delete module;
  return kOk;
}

int cuModuleGetFunction(Function **function, Module *module, const char *name) {
  auto *thunk = reinterpret_cast<void (*)(void **)>(
      dlsym(module->library, (std::string(name) + "__thunk").c_str()));
  auto *shared = static_cast<uint64_t *>(
      dlsym(module->library, (std::string(name) + "__shared").c_str()));
  auto *parameters = static_cast<const uint64_t *>(
      dlsym(module->library, (std::string(name) + "__parameters").c_str()));
  if (!thunk || !shared || !parameters)
    return kNotFound;
  // Lives as long as the process, like the handles of a driver's module do as
  // long as it: there are few.
  *function = new Function{name, thunk, *shared, parameters};
  return kOk;
}

int cuMemAlloc_v2(unsigned long long *pointer, size_t bytes) {
  std::lock_guard<std::mutex> lock(device);
  if (!bytes)
    return kInvalidValue;
  void *memory = allocate(bytes);
  *pointer = reinterpret_cast<uintptr_t>(memory);
  return memory ? kOk : kOutOfMemory;
}

int cuMemFree_v2(unsigned long long pointer) {
  std::lock_guard<std::mutex> lock(device);
  return release(reinterpret_cast<void *>(pointer))
             ? kOk
             : failMemory("memory is freed that was not allocated");
}

int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes,
                         Stream *stream) {
  return enqueue(stream, [=] {
    auto *target = reinterpret_cast<void *>(to);
    if (!isAllocated(target, bytes))
      return failMemory("a copy to the device passes its memory");
    std::memcpy(target, from, bytes);
    markWritten(target, bytes);
    return int(kOk);
  });
}

int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes,
                         Stream *stream) {
  return enqueue(stream, [=] {
    auto *source = reinterpret_cast<void *>(from);
    if (!isAllocated(source, bytes))
      return failMemory("a copy from the device passes its memory");
    std::memcpy(to, source, bytes);
    return int(kOk);
  });
}

int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from,
                         size_t bytes, Stream *stream) {
  return enqueue(stream, [=] {
    auto *target = reinterpret_cast<void *>(to);
    auto *source = reinterpret_cast<void *>(from);
    if (!isAllocated(target, bytes) || !isAllocated(source, bytes))
      return failMemory("a copy on the device passes its memory");
    std::memmove(target, source, bytes);
    markWritten(target, bytes);
    return int(kOk);
  });
}

int cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  *memory = bytes ? std::aligned_alloc(64, (bytes + 63) / 64 * 64) : nullptr;
  return *memory ? kOk : kOutOfMemory;
}

int cuMemFreeHost(void *memory) {
  std::free(memory);
  return kOk;
}

int cuPointerGetAttribute(void *value, int attribute,
                          unsigned long long pointer) {
  std::lock_guard<std::mutex> lock(device);
  constexpr int memoryType = 2;
  if (attribute != memoryType ||
      !isAllocated(reinterpret_cast<void *>(pointer), 1))
    return kInvalidValue;
  constexpr unsigned onDevice = 2;
  std::memcpy(value, &onDevice, sizeof(onDevice));
  return kOk;
}

int cuStreamCreate(Stream **stream, unsigned) {
  *stream = new Stream;
  return kOk;
}

int cuStreamDestroy_v2(Stream *stream) {
  delete stream;
  return kOk;
}

int cuStreamSynchronize(Stream *stream) {
  return stream && stream->recorded ? kStreamCaptureUnsupported : kOk;
}

int cuStreamBeginCapture_v2(Stream *stream, int) {
  if (!stream || stream->recorded)
    return kStreamCaptureUnsupported;
  stream->recorded = std::make_unique<Graph>();
  return kOk;
}

int cuStreamEndCapture(Stream *stream, Graph **graph) {
  if (!stream || !stream->recorded)
    return kStreamCaptureUnsupported;
  *graph = stream->recorded.release();
  return kOk;
}

int cuGraphInstantiateWithFlags(Graph **exec, Graph *graph,
                                unsigned long long) {
  *exec = new Graph(*graph);
  ++graphCounts.instantiated;
  return kOk;
}

int cuGraphLaunch(Graph *exec, Stream *stream) {
  ++graphCounts.launched;
  for (const Work &work : *exec)
    if (int result = enqueue(stream, work))
      return result;
  return kOk;
}

int cuGraphDestroy(Graph *graph) {
  delete graph;
  return kOk;
}

int cuGraphExecDestroy(Graph *exec) {
  delete exec;
  return kOk;
}

int cuLaunchKernel(Function *function, unsigned gridX, unsigned gridY,
                   unsigned gridZ, unsigned blockX, unsigned blockY,
                   unsigned blockZ, unsigned dynamicShared, Stream *stream,
                   void **arguments, void **) {
  if (!gridX || gridY != 1 || gridZ != 1 || !blockX || blockX > 1024 ||
      blockY != 1 || blockZ != 1 || dynamicShared)
    return failMemory("a launch of a form that it lacks");
  // Arguments are the caller's again when the call returns.
  std::vector<uint64_t> values(function->parameters[0]);
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(&values[i], arguments[i], function->parameters[1 + i]);
  return enqueue(stream, [=] {
    std::vector<uint64_t> words = values;
    std::vector<void *> places;
    for (uint64_t &word : words)
      places.push_back(&word);
    Launch launch;
    launch.name = function->name;
    launch.thunk = function->thunk;
    launch.arguments = places.data();
    launch.blocks = std::min(gridX, getMaxBlocks());
    launch.threads = blockX;
    launch.sharedBytes = function->sharedBytes;
    launch.order = getOrder();
    std::string found = run(launch);
    if (found.empty())
      return int(kOk);
    problem = found;
    return int(kLaunchFailed);
  });
}

int cuGetErrorString(int result, const char **text) {
  *text = !problem.empty()         ? problem.c_str()
          : result == kOutOfMemory ? "out of memory"
                                   : "emulator error";
  return kOk;
}

} // extern "C"
