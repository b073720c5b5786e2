//===- Draw.h - what tells random draws apart -------------------*- C++ -*-===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_DRAW_H
#define ONNX_AOT_DIALECT_ONNX_IR_DRAW_H

#include "llvm/ADT/StringRef.h"

namespace onnx_aot::onnx {

/// On ops that draw random numbers without a seed: a number that no other op
/// has (I64Attr), so that equal ops are not merged and do not draw the same.
constexpr llvm::StringLiteral kDrawAttr = "onnx.draw";

} // namespace onnx_aot::onnx

#endif // ONNX_AOT_DIALECT_ONNX_IR_DRAW_H
