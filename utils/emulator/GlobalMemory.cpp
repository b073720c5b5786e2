//===- GlobalMemory.cpp - the device's memory, watched --------------------===//
#include "Emulator.h"
#include "SharedMemory.h"
#include "Traffic.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

namespace onnx_aot::emulator {

namespace {

/// A piece of device memory and what has happened to it.
struct Allocation {
  char *memory;
  size_t bytes;
  std::vector<bool> written;
  /// For each word: the launch and thread that wrote it last.
  struct Writer {
    uint32_t launch = 0, thread = 0;
  };
  std::vector<Writer> writers;
};

/// By their first address.
std::map<uintptr_t, Allocation> allocations;
Allocation *latest = nullptr;

uintptr_t toNumber(const void *address) {
  return reinterpret_cast<uintptr_t>(address);
}

Allocation *find(const void *address, size_t bytes) {
  uintptr_t at = toNumber(address);
  auto holds = [&](const Allocation &allocation) {
    uintptr_t begin = toNumber(allocation.memory);
    return at >= begin && at - begin <= allocation.bytes &&
           bytes <= allocation.bytes - (at - begin);
  };
  if (latest && holds(*latest))
    return latest;
  auto place = allocations.upper_bound(at);
  if (place == allocations.begin())
    return nullptr;
  --place;
  if (!holds(place->second))
    return nullptr;
  latest = &place->second;
  return latest;
}

/// Which memory an address misses, and by how much.
std::string describe(const void *address) {
  auto place = allocations.upper_bound(toNumber(address));
  if (place == allocations.begin())
    return "";
  --place;
  return ", " + std::to_string(toNumber(address) - place->first) +
         " bytes into an allocation of " + std::to_string(place->second.bytes);
}

Allocation *check(const void *address, uint32_t bytes, const char *verb) {
  Allocation *allocation = find(address, bytes);
  if (!allocation)
    fail(std::string("it ") + verb + " " + std::to_string(bytes) +
         " bytes outside of the device's memory" + describe(address));
  if (toNumber(address) % bytes)
    fail(std::string("it ") + verb + " " + std::to_string(bytes) +
         " bytes at an address that is not aligned to them");
  return allocation;
}

/// The word's last writer, where it is another thread of this launch.
bool isRace(const Allocation &allocation, size_t offset) {
  const Allocation::Writer &writer = allocation.writers[offset / 4];
  return writer.launch == launchNumber && writer.thread != currentThread();
}

} // namespace

void *allocate(size_t bytes) {
  // Filled with what is no number; ends are exact.
  auto *memory =
      static_cast<char *>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  if (!memory)
    return nullptr;
  std::memset(memory, 0xff, bytes);
  latest = nullptr;
  allocations[toNumber(memory)] = {
      memory, bytes, std::vector<bool>(bytes),
      std::vector<Allocation::Writer>(bytes / 4 + 1)};
  return memory;
}

bool release(void *memory) {
  auto place = allocations.find(toNumber(memory));
  if (place == allocations.end())
    return false;
  latest = nullptr;
  allocations.erase(place);
  std::free(memory);
  return true;
}

bool isAllocated(const void *memory, size_t bytes) {
  return find(memory, bytes) != nullptr;
}

void markWritten(const void *memory, size_t bytes) {
  Allocation *allocation = find(memory, bytes);
  if (!allocation)
    return;
  size_t offset = toNumber(memory) - toNumber(allocation->memory);
  std::fill_n(allocation->written.begin() + offset, bytes, true);
}

} // namespace onnx_aot::emulator

using namespace onnx_aot::emulator;

extern "C" {

void onnx_aot_emu_load(const void *address, uint32_t bytes) {
  Allocation *allocation = check(address, bytes, "reads");
  noteTraffic(__builtin_return_address(0), false, address, bytes);
  size_t offset = toNumber(address) - toNumber(allocation->memory);
  for (size_t i = offset; i < offset + bytes; ++i)
    if (!allocation->written[i])
      fail("it reads memory that nothing has written" + describe(address));
  // Smaller elements share words with their neighbours.
  if (bytes >= 4 && isRace(*allocation, offset))
    fail("it reads what another thread of the launch writes" +
         describe(address));
}

void onnx_aot_emu_store(const void *address, uint32_t bytes) {
  Allocation *allocation = check(address, bytes, "writes");
  noteTraffic(__builtin_return_address(0), false, address, bytes);
  size_t offset = toNumber(address) - toNumber(allocation->memory);
  for (size_t i = offset; i < offset + bytes; ++i)
    allocation->written[i] = true;
  if (bytes < 4)
    return;
  if (isRace(*allocation, offset))
    fail("it writes what another thread of the launch writes" +
         describe(address));
  allocation->writers[offset / 4] = {launchNumber, currentThread()};
}

} // extern "C"
