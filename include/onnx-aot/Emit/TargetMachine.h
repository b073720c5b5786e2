//===- TargetMachine.h - LLVM's view of the target --------------*- C++ -*-===//
#ifndef ONNX_AOT_EMIT_TARGETMACHINE_H
#define ONNX_AOT_EMIT_TARGETMACHINE_H

#include "onnx-aot/Support/TargetInfo.h"

#include "llvm/Support/Error.h"

#include <memory>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace onnx_aot {

/// What the user says of the target.
struct TargetOptions {
  /// Empty: the machine the compiler runs on.
  std::string triple;
  /// "native": the processor the compiler runs on, allowed for its own triple
  /// only. Empty: native for the host's triple, otherwise the generic one.
  std::string cpu;
  /// Additional features as for llc's -mattr: "+avx2,-fma".
  std::string features;
};

/// Makes the code generator of a target. An unknown triple, processor or
/// feature is an error that names what is supported.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const TargetOptions &options);

/// Describes the target that `machine` generates for. Cache sizes are measured
/// only where `options` ask for the native processor, so that output for a
/// named processor is the same on every machine.
TargetInfo getTargetInfo(llvm::TargetMachine &machine,
                         const TargetOptions &options);

} // namespace onnx_aot

#endif // ONNX_AOT_EMIT_TARGETMACHINE_H
