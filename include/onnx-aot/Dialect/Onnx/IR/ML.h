//===- ML.h - the ops of ai.onnx.ml's models --------------------*- C++ -*-===//
//
// Apart from Onnx.h: few files see them.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_ML_H
#define ONNX_AOT_DIALECT_ONNX_IR_ML_H

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/MLOps.h.inc"

#endif // ONNX_AOT_DIALECT_ONNX_IR_ML_H
