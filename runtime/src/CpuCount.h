//===- CpuCount.h - cores this process may use -----------------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_CPUCOUNT_H
#define ONNX_AOT_RUNTIME_SRC_CPUCOUNT_H

#include <string>

namespace onnx_aot::runtime {

/// Cores that the control groups listed in the file `membership` allow, with
/// the group file systems mounted below `root`; 0 means no limit.
int cgroupCores(const std::string &membership, const std::string &root);

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_CPUCOUNT_H
