//===- Train.h - the train dialect ------------------------------*- C++ -*-===//

#ifndef ONNX_AOT_DIALECT_TRAIN_IR_TRAIN_H
#define ONNX_AOT_DIALECT_TRAIN_IR_TRAIN_H

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#include "onnx-aot/Dialect/Train/IR/TrainDialect.h.inc"

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Train/IR/ConvolutionOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Train/IR/GradientOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Train/IR/OptimizerOps.h.inc"

#endif // ONNX_AOT_DIALECT_TRAIN_IR_TRAIN_H
