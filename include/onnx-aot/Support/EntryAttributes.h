//===- EntryAttributes.h - what the entry function says of itself ---------===//
//
// Conversion writes these, Codegen reads them: the onnx types are gone by then.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_SUPPORT_ENTRYATTRIBUTES_H
#define ONNX_AOT_SUPPORT_ENTRYATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace onnx_aot {

/// On each tensor argument and result of the entry: a dictionary with `name`
/// (StringAttr), `type` (OnnxAotType, I32Attr) and `dims` (DenseI64Array; a
/// negative size -(1 + s) is the symbol s of `abi.symbols`, in a result -1).
constexpr llvm::StringLiteral kAbiValueAttr = "abi.value";
/// On a result of the entry, from the onnx dialect on: the number of the
/// argument whose memory takes the result (I64Attr). Both have the same static
/// type. At the module's border there is the argument only, updated in place.
constexpr llvm::StringLiteral kUpdatesAttr = "abi.updates";
/// On arguments and results of the onnx entry, and in the dictionary: which
/// part of a sequence or an optional the value is (OnnxAotValueFlag, I64Attr).
constexpr llvm::StringLiteral kPartAttr = "onnx.part";
constexpr llvm::StringLiteral kPartKey = "part";
/// On results of the onnx entry: the declared rank, where none follows
/// (I64Attr).
constexpr llvm::StringLiteral kRankAttr = "onnx.rank";
/// On the module: names of the symbols that inputs have (ArrayAttr of strings).
constexpr llvm::StringLiteral kAbiSymbolsAttr = "abi.symbols";
/// On LLVM dialect functions that hold scalar loops: they go through LLVM's
/// whole optimizer, others through a short clean-up.
constexpr llvm::StringLiteral kScalarLoopsAttr = "onnx_aot.scalar_loops";

/// On the module of all kernels for a device: an array of dictionaries with
/// `name`, `threads` and `shared_bytes`, in the order of their numbers.
constexpr llvm::StringLiteral kDeviceKernelsAttr = "device.kernels";
/// Of launches: those with the same number do not depend on each other.
constexpr llvm::StringLiteral kJointAttr = "device.joint";

} // namespace onnx_aot

#endif // ONNX_AOT_SUPPORT_ENTRYATTRIBUTES_H
