//===- CpuCount.cpp - cores this process may use --------------------------===//
//
// The smaller of the scheduling affinity and the CPU quota of every control
// group above the process (version 2, or version 1's cpu controller).
//
//===----------------------------------------------------------------------===//
#include "CpuCount.h"
#include "onnx-aot/runtime/Session.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sched.h>
#include <unistd.h>

namespace onnx_aot::runtime {

namespace {

int affinityCores() {
  // The kernel refuses a mask smaller than its own: grow until it fits.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    cpu_set_t *set = CPU_ALLOC(cpus);
    if (!set)
      break;
    size_t bytes = CPU_ALLOC_SIZE(cpus);
    int failed = sched_getaffinity(0, bytes, set);
    int count = failed ? 0 : CPU_COUNT_S(bytes, set);
    CPU_FREE(set);
    if (!failed)
      return count;
    if (errno != EINVAL)
      break;
  }
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

/// Cores for `quota` microseconds of CPU in each `period`; 0: no limit.
int quotaCores(long long quota, long long period) {
  if (quota <= 0 || period <= 0)
    return 0;
  return static_cast<int>(
      std::clamp<long long>((quota + period - 1) / period, 1, 1 << 20));
}

int readV2(const std::string &folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  long long period = 0;
  if (!(file >> quota >> period) || quota == "max")
    return 0;
  return quotaCores(std::strtoll(quota.c_str(), nullptr, 10), period);
}

int readV1(const std::string &folder) {
  long long quota = 0, period = 0;
  if (!(std::ifstream(folder + "/cpu.cfs_quota_us") >> quota) ||
      !(std::ifstream(folder + "/cpu.cfs_period_us") >> period))
    return 0;
  return quotaCores(quota, period);
}

/// The tightest limit of the group `path` and of those above it.
int tightest(const std::string &mount, std::string path,
             int (*read)(const std::string &)) {
  int limit = 0;
  for (;;) {
    if (int cores = read(mount + path))
      limit = limit ? std::min(limit, cores) : cores;
    size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos)
      return limit;
    path.resize(slash);
  }
}

} // namespace

int cgroupCores(const std::string &membership, const std::string &root) {
  std::ifstream file(membership);
  std::string line;
  int limit = 0;
  while (std::getline(file, line)) { // hierarchy:controllers:path
    size_t first = line.find(':');
    size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos)
      continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    int cores = 0;
    if (controllers.empty())
      cores = tightest(root, path, readV2);
    else if (("," + controllers + ",").find(",cpu,") != std::string::npos)
      cores = tightest(root + "/" + controllers, path, readV1);
    if (cores)
      limit = limit ? std::min(limit, cores) : cores;
  }
  return limit;
}

int usableCores() {
  static const int cores = [] {
    int count = affinityCores();
    if (int quota = cgroupCores("/proc/self/cgroup", "/sys/fs/cgroup"))
      count = std::min(count, quota);
    return std::clamp(count, 1, ONNX_AOT_MAX_THREADS);
  }();
  return cores;
}

} // namespace onnx_aot::runtime
