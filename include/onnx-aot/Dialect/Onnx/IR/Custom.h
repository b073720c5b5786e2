//===- Custom.h - operators that a user writes ------------------*- C++ -*-===//
//
// Apart from Onnx.h: few files see them.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_CUSTOM_H
#define ONNX_AOT_DIALECT_ONNX_IR_CUSTOM_H

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/CustomOps.h.inc"

#endif // ONNX_AOT_DIALECT_ONNX_IR_CUSTOM_H
