//===- Traffic.h - how well a kernel's accesses fit the memory -*- C++ -*-===//
//
// The lanes of a warp that execute one instruction make one access: device
// memory moves sectors of 32 bytes, shared memory a word from each of 32 banks
// at a time. What threads do at different times belongs together when it is the
// same instruction, executed the same number of times before.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_EMULATOR_TRAFFIC_H
#define ONNX_AOT_EMULATOR_TRAFFIC_H

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace onnx_aot::emulator {

/// Counts accesses by kernel and writes a report when the process ends.
class Traffic {
public:
  /// Nothing is counted unless ONNX_AOT_EMULATOR_REPORT names a file.
  static Traffic &get();
  bool isWanted() const { return !path.empty(); }

  /// An access of a thread of the block by the instruction at `site`.
  void note(const void *site, bool isShared, uintptr_t address, uint32_t bytes,
            uint32_t thread);
  /// Adds what the block's warps did to the kernel's sums.
  void endBlock(const std::string &kernel);
  ~Traffic();

private:
  struct Lane {
    uintptr_t address;
    uint32_t bytes;
  };
  /// What a warp's lanes access together.
  struct Access {
    bool isShared;
    std::vector<Lane> lanes;
  };
  struct Sums {
    uint64_t blocks = 0;
    /// Of device memory and of shared memory: accesses, what they take
    /// (sectors, rounds of the banks), and what they would take side by side.
    uint64_t accesses[2] = {}, taken[2] = {}, least[2] = {};
  };

  Traffic();
  static void add(const Access &access, Sums &sums);

  std::string path;
  /// By warp, site and number of the execution.
  std::map<std::pair<uint64_t, uint64_t>, Access> accesses;
  /// How often a thread has executed a site.
  std::unordered_map<uint64_t, uint32_t> executions;
  std::map<std::string, Sums> kernels;
};

} // namespace onnx_aot::emulator

#endif // ONNX_AOT_EMULATOR_TRAFFIC_H
