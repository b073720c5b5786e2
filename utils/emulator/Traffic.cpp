//===- Traffic.cpp - how well a kernel's accesses fit the memory ----------===//
#include "Traffic.h"
#include "Stream.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace onnx_aot::emulator {

namespace {

constexpr uint32_t kWarp = 32, kSector = 32, kWord = 4, kBanks = 32;

} // namespace

Traffic &Traffic::get() {
  static Traffic traffic;
  return traffic;
}

Traffic::Traffic() {
  if (const char *name = std::getenv("ONNX_AOT_EMULATOR_REPORT"))
    path = name;
}

void Traffic::note(const void *site, bool isShared, uintptr_t address,
                   uint32_t bytes, uint32_t thread) {
  uint64_t where = reinterpret_cast<uintptr_t>(site);
  // Code lies in the lower 47 bits, a block has at most 1024 threads.
  uint32_t number = executions[where << 10 | thread]++;
  Access &access = accesses[{where << 10 | thread / kWarp, number}];
  access.isShared = isShared;
  access.lanes.push_back({address, bytes});
}

void Traffic::add(const Access &access, Sums &sums) {
  uint64_t unit = access.isShared ? kWord : kSector;
  std::set<uint64_t> units;
  uint64_t bytes = 0;
  for (const Lane &lane : access.lanes) {
    bytes += lane.bytes;
    for (uint64_t at = lane.address / unit;
         at <= (lane.address + lane.bytes - 1) / unit; ++at)
      units.insert(at);
  }
  uint64_t taken = units.size(), least = (bytes + unit - 1) / unit;
  if (access.isShared) {
    // A word that several lanes want is handed to all of them at once.
    uint64_t ofBank[kBanks] = {};
    for (uint64_t word : units)
      ++ofBank[word % kBanks];
    taken = *std::max_element(ofBank, ofBank + kBanks);
    least = (units.size() + kBanks - 1) / kBanks;
  }
  ++sums.accesses[access.isShared];
  sums.taken[access.isShared] += taken;
  // Lanes that read the same take less than that.
  sums.least[access.isShared] += std::min(least, taken);
}

void Traffic::endBlock(const std::string &kernel) {
  Sums &sums = kernels[kernel];
  ++sums.blocks;
  for (const auto &[place, access] : accesses)
    add(access, sums);
  accesses.clear();
  executions.clear();
}

Traffic::~Traffic() {
  if (!isWanted())
    return;
  FILE *file = std::fopen(path.c_str(), "a");
  if (!file)
    return;
  for (const auto &entry : kernels) {
    const Sums &sums = entry.second;
    auto ratio = [&](int kind) {
      return sums.least[kind] ? double(sums.taken[kind]) / sums.least[kind] : 1;
    };
    std::fprintf(file,
                 "%s: %llu blocks; device memory: %llu accesses, %llu sectors, "
                 "%.2f times the least; shared memory: %llu accesses, %llu "
                 "rounds, %.2f times the least\n",
                 entry.first.c_str(), (unsigned long long)sums.blocks,
                 (unsigned long long)sums.accesses[0],
                 (unsigned long long)sums.taken[0], ratio(0),
                 (unsigned long long)sums.accesses[1],
                 (unsigned long long)sums.taken[1], ratio(1));
  }
  if (graphCounts.instantiated)
    std::fprintf(file, "graphs: %llu made, %llu launched\n",
                 graphCounts.instantiated, graphCounts.launched);
  std::fclose(file);
}

} // namespace onnx_aot::emulator
