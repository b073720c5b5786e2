//===- ControlFlow.h - what is known of loops -------------------*- C++ -*-===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_CONTROLFLOW_H
#define ONNX_AOT_DIALECT_ONNX_IR_CONTROLFLOW_H

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

namespace onnx_aot::onnx {

/// Whether a loop runs exactly `m` times: its condition stays true.
bool runsAllIterations(LoopOp op);

} // namespace onnx_aot::onnx

#endif // ONNX_AOT_DIALECT_ONNX_IR_CONTROLFLOW_H
