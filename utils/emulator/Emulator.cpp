//===- Emulator.cpp - blocks, threads, barriers and shuffles --------------===//
#include "Emulator.h"
#include "Fiber.h"
#include "Fragments.h"
#include "SharedMemory.h"
#include "Traffic.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace onnx_aot::emulator {

uint32_t launchNumber = 0;

namespace {

constexpr uint32_t kWarp = 32;

/// A copy to shared memory that has begun.
struct Copy {
  char *target;
  const char *source;
  uint32_t bytes, given; ///< of which the first are the source's, then zeros
  uint32_t group;        ///< how many groups were closed before
};

struct Thread {
  Fiber fiber;
  uint32_t index = 0;
  bool isDone = false;
  uint32_t value = 0, partner = 0; ///< of a shuffle
  Fragments fragments;             ///< of a product
  const char *row = nullptr;       ///< of a load of matrices
  uint32_t words[4] = {};
  std::vector<Copy> copies;
  uint32_t groups = 0; ///< of copies, closed so far
};

/// What the lanes of a warp do together.
enum class Collective { None, Shuffle, Multiply, LoadMatrices };

/// Lanes that wait for each other.
struct Warp {
  uint32_t arrived = 0, mask = 0;
  Collective kind = Collective::None;
};

/// The block that runs, and its threads.
struct Block {
  const Launch *launch = nullptr;
  uint32_t number = 0, alive = 0;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<Warp> warps;
  std::vector<uint32_t> ready;   ///< the next to run is the last
  std::vector<uint32_t> waiting; ///< at the barrier
  SharedMemory shared;
  Fiber scheduler;
  Thread *current = nullptr;
  std::string problem;
};

Block block;

/// Puts threads in line so that they run in the launch's order.
void makeReady(std::vector<uint32_t> &indices) {
  if (block.launch->order == Order::Reverse)
    block.ready.insert(block.ready.end(), indices.begin(), indices.end());
  else
    block.ready.insert(block.ready.end(), indices.rbegin(), indices.rend());
  indices.clear();
}

void leave() { Fiber::switchTo(block.current->fiber, block.scheduler); }

void releaseBarrier() {
  if (block.waiting.empty() || block.waiting.size() != block.alive)
    return;
  block.shared.passBarrier();
  makeReady(block.waiting);
}

void runThread() {
  block.launch->thunk(block.launch->arguments);
  block.current->isDone = true;
  --block.alive;
  releaseBarrier();
  leave();
  std::abort(); // a thread that has ended is not entered again
}

/// Every lane takes its partner's value.
void exchange(uint32_t warp) {
  Warp &state = block.warps[warp];
  std::vector<uint32_t> lanes;
  std::vector<uint32_t> values(kWarp);
  for (uint32_t lane = 0; lane < kWarp; ++lane)
    if (state.mask >> lane & 1)
      values[lane] = block.threads[warp * kWarp + lane]->value;
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    if (!(state.mask >> lane & 1))
      continue;
    Thread &thread = *block.threads[warp * kWarp + lane];
    thread.value = values[thread.partner];
    lanes.push_back(thread.index);
  }
  state = Warp();
  makeReady(lanes);
}

/// All lanes' fragments are there.
void multiplyWarp(uint32_t warp) {
  Fragments *fragments[kWarp];
  std::vector<uint32_t> lanes;
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    Thread &thread = *block.threads[warp * kWarp + lane];
    fragments[lane] = &thread.fragments;
    lanes.push_back(thread.index);
  }
  multiply(fragments);
  block.warps[warp] = Warp();
  makeReady(lanes);
}

/// Every lane gets its two elements of each matrix, whose rows are 8 elements
/// of 16 bits from where the lanes say.
void loadMatrices(uint32_t warp) {
  std::vector<uint32_t> lanes;
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    Thread &thread = *block.threads[warp * kWarp + lane];
    for (uint32_t matrix = 0; matrix < 4; ++matrix) {
      const char *row =
          block.threads[warp * kWarp + matrix * 8 + lane / 4]->row;
      std::memcpy(&thread.words[matrix], row + lane % 4 * 4, 4);
    }
    lanes.push_back(thread.index);
  }
  block.warps[warp] = Warp();
  makeReady(lanes);
}

/// The warp of the running thread, all of whose lanes take part in what it
/// begins or joins.
Warp &joinWhole(Collective kind) {
  uint32_t lane = block.current->index % kWarp;
  uint32_t warp = block.current->index / kWarp;
  if (block.launch->threads < (warp + 1) * kWarp)
    fail("it multiplies in a warp that is not whole");
  Warp &state = block.warps[warp];
  if (state.arrived && state.kind != kind)
    fail("the lanes of a warp do different things at once");
  state.kind = kind;
  state.arrived |= 1u << lane;
  return state;
}

bool prepareBlock(uint32_t number) {
  const Launch &launch = *block.launch;
  block.number = number;
  block.alive = launch.threads;
  block.waiting.clear();
  block.ready.clear();
  block.warps.assign((launch.threads + kWarp - 1) / kWarp, Warp());
  block.shared.reset(launch.sharedBytes);
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < launch.threads; ++i) {
    if (block.threads.size() <= i)
      block.threads.push_back(std::make_unique<Thread>());
    Thread &thread = *block.threads[i];
    thread.index = i;
    thread.isDone = false;
    thread.copies.clear();
    thread.groups = 0;
    if (!thread.fiber.prepare(runThread))
      return false;
    all.push_back(i);
  }
  makeReady(all);
  return true;
}

/// Nobody can run: who waits for what.
std::string describeDeadlock() {
  std::string text = "kernel " + block.launch->name + ", block " +
                     std::to_string(block.number) +
                     ": deadlock: " + std::to_string(block.waiting.size()) +
                     " of " + std::to_string(block.alive) +
                     " threads are at the barrier";
  for (size_t warp = 0; warp < block.warps.size(); ++warp)
    if (block.warps[warp].arrived)
      text += ", warp " + std::to_string(warp) + " waits for its lanes";
  return text;
}

} // namespace

void fail(const std::string &what) {
  uint32_t thread = block.current->index;
  block.problem = "kernel " + block.launch->name + ", block " +
                  std::to_string(block.number) + ", thread " +
                  std::to_string(thread) + ": " + what;
  leave(); // for good: the block is given up
}

uint32_t currentThread() {
  return block.number * block.launch->threads + block.current->index;
}

void noteTraffic(const void *site, bool isShared, const void *address,
                 uint32_t bytes) {
  static Traffic &traffic = Traffic::get();
  if (traffic.isWanted())
    traffic.note(site, isShared, reinterpret_cast<uintptr_t>(address), bytes,
                 block.current->index);
}

std::string run(const Launch &launch) {
  block.launch = &launch;
  block.problem.clear();
  ++launchNumber;
  for (uint32_t i = 0; i < launch.blocks; ++i) {
    uint32_t number =
        launch.order == Order::Forward ? i : launch.blocks - 1 - i;
    if (!prepareBlock(number))
      return "no memory for the threads of kernel " + launch.name;
    while (!block.ready.empty() && block.problem.empty()) {
      Thread &next = *block.threads[block.ready.back()];
      block.ready.pop_back();
      block.current = &next;
      Fiber::switchTo(block.scheduler, next.fiber);
    }
    if (!block.problem.empty())
      return block.problem;
    if (block.alive)
      return describeDeadlock();
    if (Traffic::get().isWanted())
      Traffic::get().endBlock(launch.name);
  }
  return "";
}

} // namespace onnx_aot::emulator

using namespace onnx_aot::emulator;

//===--- What kernels call
//----------------------------------------------------===//

extern "C" {

void onnx_aot_emu_load(const void *address, uint32_t bytes);

uint32_t onnx_aot_emu_register(uint32_t number) {
  switch (number) {
  case 0:
    return block.current->index;
  case 1:
    return block.number;
  case 2:
    return block.launch->blocks;
  default:
    fail("it reads a register that the emulator lacks");
    return 0;
  }
}

void onnx_aot_emu_barrier() {
  block.waiting.push_back(block.current->index);
  releaseBarrier();
  leave();
}

uint32_t onnx_aot_emu_shuffle(uint32_t mask, uint32_t value,
                              uint32_t distance) {
  Thread &thread = *block.current;
  uint32_t lane = thread.index % kWarp, warp = thread.index / kWarp;
  Warp &state = block.warps[warp];
  if (!(mask >> lane & 1))
    fail("it shuffles under a mask without its own lane");
  if (state.arrived &&
      (state.mask != mask || state.kind != Collective::Shuffle))
    fail("the lanes of a warp shuffle under different masks");
  state.kind = Collective::Shuffle;
  thread.value = value;
  thread.partner = lane ^ distance;
  if (thread.partner >= kWarp || !(mask >> thread.partner & 1))
    fail("it shuffles with a lane that the mask does not name");
  state.mask = mask;
  state.arrived |= 1u << lane;
  if (state.arrived == mask)
    exchange(warp);
  leave();
  return thread.value;
}

void onnx_aot_emu_multiply(uint32_t kind, uint32_t a0, uint32_t a1, uint32_t a2,
                           uint32_t a3, uint32_t b0, uint32_t b1, uint32_t c0,
                           uint32_t c1, uint32_t c2, uint32_t c3,
                           uint32_t *sums) {
  Thread &thread = *block.current;
  thread.fragments = {
      ProductKind(kind), {a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3}};
  if (joinWhole(Collective::Multiply).arrived == ~0u)
    multiplyWarp(thread.index / kWarp);
  leave();
  std::copy(thread.fragments.c, thread.fragments.c + 4, sums);
}

/// To 10 bits of fraction, ties away from zero.
uint32_t onnx_aot_emu_round_tf32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return std::isnan(value) ? 0x7fffe000 : (bits + 0x1000) & ~0x1fffu;
}

void onnx_aot_emu_load_matrices(const void *row, uint32_t *words) {
  Thread &thread = *block.current;
  if (const char *what = block.shared.read(row, 16, thread.index))
    fail(what);
  noteTraffic(__builtin_return_address(0), true, row, 16);
  thread.row = static_cast<const char *>(row);
  if (joinWhole(Collective::LoadMatrices).arrived == ~0u)
    loadMatrices(thread.index / kWarp);
  leave();
  std::copy(thread.words, thread.words + 4, words);
}

void onnx_aot_emu_copy(char *target, const char *source, uint32_t bytes,
                       uint32_t given) {
  Thread &thread = *block.current;
  if (given > bytes)
    fail("it copies more than there is place for");
  if (given)
    onnx_aot_emu_load(source, given);
  if (const char *what = block.shared.beginCopy(target, bytes, thread.index))
    fail(what);
  noteTraffic(__builtin_return_address(0), true, target, bytes);
  thread.copies.push_back({target, source, bytes, given, thread.groups});
}

void onnx_aot_emu_commit_copies() { ++block.current->groups; }

/// Copies land as late as they may: when they are waited for.
void onnx_aot_emu_wait_for_copies(uint32_t most) {
  Thread &thread = *block.current;
  auto isWaitedFor = [&](const Copy &copy) {
    return copy.group + most < thread.groups;
  };
  for (const Copy &copy : thread.copies)
    if (isWaitedFor(copy)) {
      std::memcpy(copy.target, copy.source, copy.given);
      std::memset(copy.target + copy.given, 0, copy.bytes - copy.given);
      block.shared.endCopy(copy.target, copy.bytes, thread.index);
    }
  thread.copies.erase(
      std::remove_if(thread.copies.begin(), thread.copies.end(), isWaitedFor),
      thread.copies.end());
}

void *onnx_aot_emu_shared(uint64_t offset) { return block.shared.at(offset); }

void onnx_aot_emu_shared_load(const void *address, uint32_t bytes) {
  if (const char *what =
          block.shared.read(address, bytes, block.current->index))
    fail(what);
  noteTraffic(__builtin_return_address(0), true, address, bytes);
}

void onnx_aot_emu_shared_store(const void *address, uint32_t bytes) {
  if (const char *what =
          block.shared.write(address, bytes, block.current->index))
    fail(what);
  noteTraffic(__builtin_return_address(0), true, address, bytes);
}

} // extern "C"
