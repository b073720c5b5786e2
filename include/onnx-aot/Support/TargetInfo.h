//===- TargetInfo.h - what code generation knows of a processor -----------===//
//
// The numbers from which tile shapes are computed. Emit fills them from LLVM's
// description of the target (Emit/TargetMachine.h); Codegen only reads them.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_SUPPORT_TARGETINFO_H
#define ONNX_AOT_SUPPORT_TARGETINFO_H

#include <cstdint>
#include <string>

namespace onnx_aot {

/// Properties of one processor. The defaults describe a plain 64-bit machine
/// with 128-bit vectors.
struct TargetInfo {
  /// Normalized triple, processor name and features, as LLVM spells them.
  std::string triple, cpu, features;
  /// LLVM's data layout string, for the module attribute `llvm.data_layout`.
  std::string dataLayout;
  /// Width of the widest vector register worth using.
  unsigned vectorBytes = 16;
  /// Number of such registers.
  unsigned vectorRegisters = 16;
  /// Cache sizes in bytes as one core sees them; 0 when unknown.
  uint64_t l1 = 32 << 10, l2 = 256 << 10, l3 = 0;
  /// Bytes of a cache line.
  unsigned cacheLine = 64;
  /// A fused multiply-add costs no more than a multiplication.
  bool hasFma = false;
  /// Conversions between f16 and f32 are instructions.
  bool hasF16Conversion = false;
  /// Arithmetic on f16 vectors is native.
  bool hasF16Arithmetic = false;
  /// 8-bit dot products accumulating in 32 bits are instructions.
  bool hasInt8Dot = false;
  /// Masked loads and stores are instructions.
  bool hasMaskedMemory = false;
  /// Vectors have a length that is unknown at compile time (SVE, RVV).
  bool hasScalableVectors = false;

  /// Lanes of a vector register for elements of `bytes` bytes.
  unsigned lanes(unsigned bytes) const { return vectorBytes / bytes; }
};

} // namespace onnx_aot

#endif // ONNX_AOT_SUPPORT_TARGETINFO_H
