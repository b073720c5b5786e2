//===- Passes.h - code generation for GPUs ----------------------*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_GPU_PASSES_H
#define ONNX_AOT_CODEGEN_GPU_PASSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace onnx_aot {

#define GEN_PASS_DECL
#include "onnx-aot/Codegen/GPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "onnx-aot/Codegen/GPU/Passes.h.inc"

} // namespace onnx_aot

#endif // ONNX_AOT_CODEGEN_GPU_PASSES_H
