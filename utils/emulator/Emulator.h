//===- Emulator.h - runs device kernels on the host ------------*- C++ -*-===//
//
// One fiber for each thread of a block, blocks one after the other. Threads run
// until they wait for others, in an order that is as far from lock-step as it
// can be, so that missing barriers show; shared memory is watched byte by byte.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_EMULATOR_H
#define ONNX_AOT_EMULATOR_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace onnx_aot::emulator {

/// In which order the threads of a block run between barriers.
enum class Order { Forward, Reverse };

/// A kernel to run.
struct Launch {
  std::string name;
  void (*thunk)(void **) = nullptr;
  void **arguments = nullptr;
  uint32_t blocks = 0, threads = 0;
  uint64_t sharedBytes = 0;
  Order order = Order::Forward;
};

/// Runs all blocks. Returns what was wrong first, with kernel, block and
/// thread; empty when nothing was.
std::string run(const Launch &launch);

/// Device memory, known to the checks of loads and stores.
void *allocate(size_t bytes);
/// False for what is no allocation.
bool release(void *memory);
/// True when the bytes lie in one allocation.
bool isAllocated(const void *memory, size_t bytes);
/// Notes that the bytes have been written.
void markWritten(const void *memory, size_t bytes);

} // namespace onnx_aot::emulator

#endif // ONNX_AOT_EMULATOR_H
