//===- CpuFeatures.cpp - what this processor has --------------------------===//
#include "CpuFeatures.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) || defined(__riscv)
#include <sys/auxv.h>
#endif

namespace onnx_aot::runtime {

namespace {

#if defined(__x86_64__)
/// The register states that the operating system saves.
unsigned long long savedStates() {
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 27)))
    return 0;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<unsigned long long>(high) << 32 | low;
}

bool hasBit(unsigned leaf, unsigned subleaf, int reg, int bit,
            unsigned long long states) {
  unsigned registers[4];
  if (!__get_cpuid_count(leaf, subleaf, &registers[0], &registers[1],
                         &registers[2], &registers[3]))
    return false;
  return (registers[reg] >> bit & 1) && (savedStates() & states) == states;
}
#endif

bool hasFeature(const std::string &name) {
#if defined(__x86_64__)
#define ONNX_AOT_X86_64_FEATURE(feature, leaf, subleaf, reg, bit, states)      \
  if (name == feature)                                                         \
    return hasBit(leaf, subleaf, reg, bit, states);
#elif defined(__aarch64__)
#define ONNX_AOT_AARCH64_FEATURE(feature, word, bit)                           \
  if (name == feature)                                                         \
    return getauxval(word ? AT_HWCAP2 : AT_HWCAP) >> bit & 1;
#elif defined(__riscv)
#define ONNX_AOT_RISCV64_FEATURE(feature, bit)                                 \
  if (name == feature)                                                         \
    return getauxval(AT_HWCAP) >> bit & 1;
#endif
#include "onnx-aot/abi/CpuFeatures.def"
  return false;
}

} // namespace

std::string missingFeatures(const std::string &features) {
  std::string missing;
  for (size_t begin = 0; begin < features.size();) {
    size_t end = std::min(features.find(',', begin), features.size());
    std::string name = features.substr(begin, end - begin);
    if (!name.empty() && !hasFeature(name))
      missing += (missing.empty() ? "" : ", ") + name;
    begin = end + 1;
  }
  return missing;
}

std::string targetFeatures(const char *target) {
  const char *cpu = target ? std::strchr(target, ' ') : nullptr;
  const char *features = cpu ? std::strchr(cpu + 1, ' ') : nullptr;
  return features ? features + 1 : "";
}

} // namespace onnx_aot::runtime
