//===- DeviceMemory.cpp - the device's memory of a session ----------------===//
#include "DeviceMemory.h"

#include "../Text.h"

#include <algorithm>

namespace onnx_aot::runtime {

static uint64_t toAddress(const void *pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

static void *toPointer(uint64_t address) {
  return reinterpret_cast<void *>(static_cast<uintptr_t>(address));
}

//===--- A session
//----------------------------------------------------------===//

Expected<std::unique_ptr<DeviceMemory>>
DeviceMemory::create(const CudaDriver &driver, CudaStream stream) {
  std::unique_ptr<DeviceMemory> made(new DeviceMemory(driver));
  if (Status status = driver.enter(); !status.ok())
    return status;
  if (Status status = made->queue.open(stream); !status.ok())
    return status;
  return made;
}

DeviceMemory::~DeviceMemory() {
  if (!driver.enter().ok())
    return;
  queue.abandon();
  for (auto &[begin, region] : regions)
    recycle(region);
  for (Block &block : unused)
    (void)driver.release(block.memory);
  if (scratch.memory)
    (void)driver.release(scratch.memory);
}

OnnxAotDevice DeviceMemory::table() {
  OnnxAotDevice device = {};
  device.user = this;
  device.launch = launch;
  device.access = access;
  device.copy = copy;
  return device;
}

uint64_t DeviceMemory::bytes() const {
  uint64_t sum = scratch.bytes;
  for (const auto &[begin, region] : regions)
    if (region.device && region.isOwned)
      sum += region.end - region.begin;
  for (const Block &block : unused)
    sum += block.bytes;
  return sum;
}

Status DeviceMemory::beginRun(std::shared_ptr<const DeviceModule> newModule,
                              const void *weights, uint64_t bytes,
                              Report newReport) {
  if (Status status = driver.enter(); !status.ok())
    return status;
  // A run that failed may have left something.
  if (!queue.isEmpty())
    queue.abandon();
  releaseIdle();
  for (auto place = regions.begin(); place != regions.end();) {
    Region &region = place->second;
    if (region.isKept) {
      if (region.isLent)
        valid.set(region.begin, region.end, {true, false});
      ++place;
      continue;
    }
    valid.clear(region.begin, region.end);
    recycle(region);
    place = regions.erase(place);
  }
  usesHost = isLanding = false;
  module = std::move(newModule);
  report = std::move(newReport);
  if (bytes) {
    uint64_t begin = toAddress(weights);
    regions[begin] = {begin, begin + bytes, module->weights, false};
    valid.set(begin, begin + bytes, {true, true});
  }
  return Status();
}

DeviceMemory::Regions::iterator DeviceMemory::findRegion(uint64_t address) {
  auto place = regions.upper_bound(address);
  if (place != regions.begin() && std::prev(place)->second.end > address)
    --place;
  return place;
}

void DeviceMemory::add(const void *memory, uint64_t bytes, bool isValid) {
  if (!bytes)
    return;
  Region added{toAddress(memory), toAddress(memory) + bytes};
  // Inputs may lie in the same memory: then they share one mirror.
  auto place = findRegion(added.begin);
  if (place != regions.end() && place->second.begin <= added.begin &&
      added.end <= place->second.end &&
      (!place->second.isOwned || place->second.isKept))
    return;
  if (driver.isOnDevice(memory)) {
    added.isOnDevice = true;
    added.isOwned = false;
  }
  valid.set(added.begin, added.end,
            {isValid && !added.isOnDevice, isValid && added.isOnDevice});
  while (place != regions.end() && place->second.begin < added.end) {
    added.begin = std::min(added.begin, place->second.begin);
    added.end = std::max(added.end, place->second.end);
    recycle(place->second);
    place = regions.erase(place);
  }
  if (added.isOnDevice)
    added.device = added.begin;
  regions[added.begin] = added;
}

void DeviceMemory::remove(const void *memory) {
  auto place = regions.find(toAddress(memory));
  if (place == regions.end() || !place->second.isOwned)
    return;
  valid.clear(place->second.begin, place->second.end);
  recycle(place->second);
  regions.erase(place);
}

Status DeviceMemory::finishOutput(const void *memory, uint64_t bytes) {
  auto place = findRegion(toAddress(memory));
  if (place != regions.end() && place->second.isKept && !place->second.isLent)
    return Status();
  if (place != regions.end() && place->second.isOnDevice)
    return Status();
  if (!bytes)
    return Status();
  Region *region = nullptr;
  if (Status status = find(toAddress(memory), bytes, region); !status.ok())
    return status;
  return copyToHost(*region, toAddress(memory), bytes);
}

Status DeviceMemory::synchronize() {
  isLanding = false;
  return queue.synchronize();
}

Status DeviceMemory::finishRun() {
  report = nullptr;
  return queue.ownsStream() || usesHost ? synchronize() : queue.flush();
}

//===--- What is kept
//-------------------------------------------------------===//

void DeviceMemory::keep(const void *memory, uint64_t bytes) {
  uint64_t begin = toAddress(memory);
  if (!bytes || regions.count(begin))
    return;
  Region &region = regions[begin] = {begin, begin + bytes};
  region.isKept = true;
  valid.set(begin, begin + bytes, {true, false});
}

Status DeviceMemory::fetch(const void *memory, uint64_t bytes) {
  if (Status status = driver.enter(); !status.ok())
    return status;
  uint64_t begin = toAddress(memory), end = begin + bytes;
  for (auto place = findRegion(begin);
       place != regions.end() && place->second.begin < end; ++place) {
    const Region &region = place->second;
    if (!region.isKept)
      continue;
    if (Status status =
            copyToHost(region, region.begin, region.end - region.begin);
        !status.ok())
      return status;
  }
  return synchronize();
}

void DeviceMemory::noteWritten(const void *memory, uint64_t bytes) {
  uint64_t begin = toAddress(memory), end = begin + bytes;
  for (auto place = findRegion(begin);
       place != regions.end() && place->second.begin < end; ++place)
    if (place->second.isKept)
      valid.set(place->second.begin, place->second.end, {true, false});
}

void DeviceMemory::lend(const void *memory) {
  auto place = regions.find(toAddress(memory));
  if (place != regions.end())
    place->second.isLent = place->second.isKept;
}

/// What a number of runs did not use, the next hardly will. Programs of a
/// trainer take turns, each with memory of its own sizes.
void DeviceMemory::releaseIdle() {
  constexpr unsigned mostRuns = 8;
  auto isIdle = [&](Block &block) {
    if (++block.runs <= mostRuns)
      return false;
    (void)driver.release(block.memory);
    return true;
  };
  unused.erase(std::remove_if(unused.begin(), unused.end(), isIdle),
               unused.end());
}

//===--- Mirrors
//------------------------------------------------------------===//

void DeviceMemory::recycle(Region &region) {
  if (region.device && region.isOwned)
    unused.push_back({region.device, region.end - region.begin});
  region.device = 0;
}

Status DeviceMemory::allocate(Region &region) {
  if (region.device)
    return Status();
  uint64_t bytes = region.end - region.begin;
  // Sizes repeat from run to run; work in flight is in order on one stream.
  // The same one each time, whatever the order in which they were freed: what
  // was recorded with its address is good again.
  auto best = unused.end();
  for (auto place = unused.begin(); place != unused.end(); ++place)
    if (place->bytes == bytes &&
        (best == unused.end() || place->memory < best->memory))
      best = place;
  if (best != unused.end()) {
    region.device = best->memory;
    unused.erase(best);
    return Status();
  }
  CudaResult result = driver.allocate(&region.device, bytes);
  if (result == CUDA_DRIVER_OUT_OF_MEMORY && !unused.empty()) {
    if (Status status = synchronize(); !status.ok())
      return status;
    for (Block &block : unused)
      (void)driver.release(block.memory);
    unused.clear();
    result = driver.allocate(&region.device, bytes);
  }
  if (!result)
    return Status();
  region.device = 0;
  return driver.failure(
      concat("no device memory for ", bytes, " bytes").c_str(), result);
}

Status DeviceMemory::reserveScratch(uint64_t bytes) {
  if (bytes <= scratch.bytes)
    return Status();
  // What was launched may still use the old.
  if (Status status = synchronize(); !status.ok())
    return status;
  if (scratch.memory)
    (void)driver.release(scratch.memory);
  scratch = {};
  CudaPointer memory = 0;
  if (CudaResult result = driver.allocate(&memory, bytes))
    return driver.failure(
        concat("no device memory for ", bytes, " bytes").c_str(), result);
  scratch = {memory, bytes};
  return Status();
}

Status DeviceMemory::find(uint64_t address, uint64_t bytes, Region *&found) {
  auto place = findRegion(address);
  if (place == regions.end() || place->second.begin > address ||
      bytes > place->second.end - address)
    return invalidModule(
        "it passes memory to the device that it was not given");
  found = &place->second;
  return Status();
}

Status DeviceMemory::accessOnDevice(uint64_t address, uint64_t bytes,
                                    uint64_t access, CudaPointer &pointer) {
  pointer = 0;
  if (!bytes)
    return Status();
  Region *region = nullptr;
  if (Status status = find(address, bytes, region); !status.ok())
    return status;
  if (Status status = allocate(*region); !status.ok())
    return status;
  pointer = region->device + (address - region->begin);
  Status status;
  bool copied = false;
  if (access & ONNX_AOT_READ)
    valid.visit(address, address + bytes,
                [&](uint64_t begin, uint64_t end, ValidRanges::State state) {
                  if (!state.host || state.device || !status.ok())
                    return;
                  copied = usesHost = true;
                  status =
                      queue.toDevice(region->device + (begin - region->begin),
                                     toPointer(begin), end - begin);
                });
  if (!status.ok())
    return status;
  if (access & ONNX_AOT_WRITE)
    valid.set(address, address + bytes, {false, true});
  else if (copied)
    markCopied(address, bytes, /*toDevice=*/true);
  return Status();
}

Status DeviceMemory::copyToHost(const Region &region, uint64_t address,
                                uint64_t bytes) {
  Status status;
  bool copied = false;
  valid.visit(address, address + bytes,
              [&](uint64_t begin, uint64_t end, ValidRanges::State state) {
                if (state.host || !state.device || !status.ok())
                  return;
                copied = usesHost = isLanding = true;
                status = queue.toHost(toPointer(begin),
                                      region.device + (begin - region.begin),
                                      end - begin);
              });
  if (copied && status.ok())
    markCopied(address, bytes, /*toDevice=*/false);
  return status;
}

Status DeviceMemory::accessOnHost(uint64_t address, uint64_t bytes,
                                  uint64_t access) {
  if (!bytes)
    return Status();
  Region *region = nullptr;
  if (Status status = find(address, bytes, region); !status.ok())
    return status;
  usesHost = true;
  if (region->isOnDevice)
    return invalidArgument(
        "a part of the model that runs on the host uses an input or output "
        "that is given in device memory: give it in host memory");
  if (access & ONNX_AOT_READ)
    if (Status status = copyToHost(*region, address, bytes); !status.ok())
      return status;
  // Copies in flight may still read what is about to be written.
  if (isLanding || ((access & ONNX_AOT_WRITE) && queue.readsHost()))
    if (Status status = synchronize(); !status.ok())
      return status;
  if (access & ONNX_AOT_WRITE)
    valid.set(address, address + bytes, {true, false});
  return Status();
}

/// What had one valid copy has two.
void DeviceMemory::markCopied(uint64_t address, uint64_t bytes, bool toDevice) {
  std::vector<std::pair<uint64_t, uint64_t>> both;
  valid.visit(address, address + bytes,
              [&](uint64_t begin, uint64_t end, ValidRanges::State state) {
                if (toDevice ? state.host : state.device)
                  both.push_back({begin, end});
              });
  for (auto [begin, end] : both)
    valid.set(begin, end, {true, true});
}

//===--- Services
//-----------------------------------------------------------===//

int32_t DeviceMemory::answer(const Status &status) {
  if (status.ok())
    return 0;
  if (report)
    report(status);
  return 1;
}

int32_t DeviceMemory::launch(void *user, int32_t kernel, int64_t blocks,
                             const OnnxAotDeviceArgument *arguments,
                             int32_t numArguments) noexcept {
  auto &self = *static_cast<DeviceMemory *>(user);
  return self.answer(
      self.launchKernel(kernel, blocks, arguments, numArguments));
}

int32_t DeviceMemory::access(void *user, const void *address, uint64_t bytes,
                             uint64_t access) noexcept {
  auto &self = *static_cast<DeviceMemory *>(user);
  return self.answer(self.accessOnHost(toAddress(address), bytes, access));
}

int32_t DeviceMemory::copy(void *user, void *to, const void *from,
                           uint64_t bytes) noexcept {
  auto &self = *static_cast<DeviceMemory *>(user);
  return self.answer(self.copyRange(toAddress(to), toAddress(from), bytes));
}

Status DeviceMemory::launchKernel(int32_t kernel, int64_t blocks,
                                  const OnnxAotDeviceArgument *arguments,
                                  int32_t numArguments) {
  if (kernel < 0 || size_t(kernel) >= module->kernels.size() ||
      blocks > INT32_MAX)
    return invalidModule("it launches a kernel that it does not have");
  if (blocks <= 0)
    return Status();
  values.resize(numArguments);
  for (int32_t i = 0; i < numArguments; ++i) {
    const OnnxAotDeviceArgument &argument = arguments[i];
    values[i] = argument.value;
    if (argument.access == ONNX_AOT_SCALAR)
      continue;
    CudaPointer pointer = 0;
    if (argument.access == ONNX_AOT_SCRATCH) {
      if (Status status = reserveScratch(argument.bytes); !status.ok())
        return status;
      values[i] = scratch.memory;
      continue;
    }
    if (Status status = accessOnDevice(argument.value, argument.bytes,
                                       argument.access, pointer);
        !status.ok())
      return status;
    values[i] = pointer;
  }
  queue.launch(module->kernels[kernel], module->names[kernel], unsigned(blocks),
               unsigned(module->threads[kernel]), values.data(), values.size());
  return Status();
}

Status DeviceMemory::copyRange(uint64_t to, uint64_t from, uint64_t bytes) {
  CudaPointer source = 0, target = 0;
  if (Status status = accessOnDevice(from, bytes, ONNX_AOT_READ, source);
      !status.ok())
    return status;
  if (Status status = accessOnDevice(to, bytes, ONNX_AOT_WRITE, target);
      !status.ok())
    return status;
  if (bytes)
    queue.onDevice(target, source, bytes);
  return Status();
}

} // namespace onnx_aot::runtime
