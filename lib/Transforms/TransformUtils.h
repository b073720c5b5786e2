//===- TransformUtils.h - questions rewrites ask ----------------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_TRANSFORMS_TRANSFORMUTILS_H
#define ONNX_AOT_LIB_TRANSFORMS_TRANSFORMUTILS_H

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#include "mlir/IR/BuiltinOps.h"

namespace onnx_aot {

/// Takes the result types of functions from what they return. Rewrites may know
/// a type better than the op they replace did.
void refreshFunctionTypes(mlir::ModuleOp module);

/// Runs the shape function of every op, inner ones first, and refreshes the
/// functions. Fails after all ops, each that contradicts itself reported.
mlir::LogicalResult inferAllTypes(mlir::ModuleOp module);

/// Provably of one shape: ranked, all sizes known and equal.
bool haveSameShape(mlir::Value a, mlir::Value b);
/// Provably of one shape and element type.
bool haveSameType(mlir::Value a, mlir::Value b);

/// The number all elements of a constant of plain integers or floats equal.
std::optional<double> getSplatNumber(mlir::Value value);

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_TRANSFORMS_TRANSFORMUTILS_H
