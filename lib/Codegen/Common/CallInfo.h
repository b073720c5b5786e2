//===- CallInfo.h - what is known of a call of a C function -----*- C++ -*-===//

#ifndef ONNX_AOT_LIB_CODEGEN_COMMON_CALLINFO_H
#define ONNX_AOT_LIB_CODEGEN_COMMON_CALLINFO_H

#include "llvm/ADT/StringRef.h"

namespace onnx_aot::codegen {

/// Prefix of the functions that call a C function, each for one place:
/// (context, address of each operand, all operands' sizes) -> status.
constexpr llvm::StringLiteral kCall = "onnx_aot.call";
/// On those functions, a dictionary: `callee`; `inputs` and `outputs`, the
/// ABI's element types; `ranks` of the operands; `asked`, the outputs' ranks
/// where their sizes are asked for; `attributes`.
constexpr llvm::StringLiteral kCallAttr = "codegen.call";

} // namespace onnx_aot::codegen

#endif // ONNX_AOT_LIB_CODEGEN_COMMON_CALLINFO_H
