//===- Passes.h - code generation for every target --------------*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_COMMON_PASSES_H
#define ONNX_AOT_CODEGEN_COMMON_PASSES_H

#include "onnx-aot/Codegen/Common/KernelChain.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace onnx_aot {

#define GEN_PASS_DECL
#include "onnx-aot/Codegen/Common/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "onnx-aot/Codegen/Common/Passes.h.inc"

/// `codegen-form-kernels` for a target that needs no memory for the blocks of
/// chained kernels; `canChain` says which stages it can run so.
std::unique_ptr<mlir::Pass> createFormKernels(codegen::StageFilter canChain);

} // namespace onnx_aot

#endif // ONNX_AOT_CODEGEN_COMMON_PASSES_H
