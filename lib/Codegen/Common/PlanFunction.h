//===- PlanFunction.h - the function that plans a run -----------*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_COMMON_PLANFUNCTION_H
#define ONNX_AOT_CODEGEN_COMMON_PLANFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace onnx_aot::codegen {

/// Adds `main.plan` to the module: from the symbols to the entry's results (-1
/// for those that depend on tensor values), the arena's bytes and a reason. The
/// reason is 0 when the model can run with these symbols; else it is the
/// number, from 1, of a text in the module's `codegen.plan_checks`.
///
/// Checks at the top of the entry that depend on symbols only move here. All
/// arithmetic is checked: a size that does not fit 63 bits is a reason too.
void buildPlanFunction(mlir::func::FuncOp entry, mlir::Value arenaBytes);

} // namespace onnx_aot::codegen

#endif // ONNX_AOT_CODEGEN_COMMON_PLANFUNCTION_H
