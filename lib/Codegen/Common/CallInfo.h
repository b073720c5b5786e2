//===- CallInfo.h - what is known of a call of a C function -----*- C++ -*-===//

#ifndef ONNX_AOT_LIB_CODEGEN_COMMON_CALLINFO_H
#define ONNX_AOT_LIB_CODEGEN_COMMON_CALLINFO_H

#include "llvm/ADT/StringRef.h"

namespace onnx_aot::codegen {

/// Prefix of the functions that call a C function, each for one place:
/// (context, address of each operand, all operands' sizes) -> status.
constexpr llvm::StringLiteral kCall = "onnx_aot.call";
/// Callees of our own: the first elements of a constant tensor of strings,
/// whether two strings are equal, and with a number after it a function that
/// the run's caller lends.
constexpr llvm::StringLiteral kStringsCallee = "onnx_aot.strings";
constexpr llvm::StringLiteral kEqualCallee = "onnx_aot.equal";
constexpr llvm::StringLiteral kTextCallee = "onnx_aot.text.";
/// On those functions, a dictionary: `callee`; `inputs` and `outputs`, the
/// ABI's element types; `ranks` of the operands; `asked`, the outputs' ranks
/// where their sizes are asked for; `attributes`.
constexpr llvm::StringLiteral kCallAttr = "codegen.call";

} // namespace onnx_aot::codegen

#endif // ONNX_AOT_LIB_CODEGEN_COMMON_CALLINFO_H
