//===- DeviceCode.h - kernels as images for a device ------------*- C++ -*-===//
#ifndef ONNX_AOT_EMIT_DEVICECODE_H
#define ONNX_AOT_EMIT_DEVICECODE_H

#include "onnx-aot/Emit/TargetMachine.h"

#include "onnx-aot/abi/Device.h"

#include "mlir/IR/BuiltinOps.h"

#include <algorithm>

namespace onnx_aot {

/// The device to compile for.
struct DeviceOptions {
  /// Without it there is no device code.
  bool enabled = false;
  /// Kernels become host code that the emulating driver runs.
  bool emulate = false;
  /// Architectures by number: 80 for sm_80. Empty: the lowest supported.
  std::vector<unsigned> architectures;
  /// The architecture that all kernels must do for; the emulator knows the
  /// newest that any family asks for.
  unsigned getLowestArchitecture() const {
    return emulate ? 90
           : architectures.empty()
               ? 75
               : *std::min_element(architectures.begin(), architectures.end());
  }
  /// NVIDIA's assembler; with it each architecture also gets machine code.
  std::string assembler;
  /// Products of f32 may round their operands to TF32, which tensor cores take.
  bool allowTf32 = false;
};

/// The lowest architecture that kernels are compiled for.
constexpr unsigned kLowestArchitecture = 75;

/// Reads "sm_80,sm_90" or "emu".
llvm::Expected<DeviceOptions> parseDeviceOptions(llvm::StringRef device,
                                                 llvm::StringRef architectures);

/// One form of all kernels.
struct DeviceImage {
  OnnxAotImageKind kind;
  unsigned architecture = 0;
  std::string bytes;
};

/// A kernel as the descriptor states it.
struct DeviceKernel {
  std::string name;
  unsigned threads = 0, sharedBytes = 0;
};

/// What goes into OnnxAotModule::device_code.
struct DeviceCode {
  std::vector<DeviceImage> images;
  std::vector<DeviceKernel> kernels;
};

/// Compiles the kernels of `module` and takes them out of it. A function that
/// no kernel defines is an error: nothing is left to the driver to find.
llvm::Expected<DeviceCode> compileDeviceCode(mlir::ModuleOp module,
                                             const TargetOptions &host,
                                             const DeviceOptions &options);

} // namespace onnx_aot

#endif // ONNX_AOT_EMIT_DEVICECODE_H
