//===- KernelExtremes.h - maxima and minima of what kernels make *- C++ -*-===//
//
// The least or greatest element of a tensor does not depend on the order in
// which elements are looked at. So the kernel that makes a tensor finds them on
// its way, in as many tasks as it has, and the tensor is not read once more.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CODEGEN_COMMON_KERNELEXTREMES_H
#define ONNX_AOT_CODEGEN_COMMON_KERNELEXTREMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace onnx_aot::codegen {

/// On the ops of a kernel that reduce a result of its last other op to one
/// number (UnitAttr). Their outputs are the kernel's last ones, in order; those
/// of the other op are left out where nothing else reads them.
constexpr llvm::StringLiteral kExtremeAttr = "kernel.extreme";

/// A reduction of all elements of one tensor by a maximum or minimum of 32 or
/// 64 bits that starts from a constant.
bool isExtreme(mlir::linalg::GenericOp op);

/// The kernel's ops with the attribute, and those without.
llvm::SmallVector<mlir::linalg::GenericOp>
getExtremes(mlir::func::FuncOp kernel);
llvm::SmallVector<mlir::linalg::GenericOp>
getOtherOps(mlir::func::FuncOp kernel);

} // namespace onnx_aot::codegen

#endif // ONNX_AOT_CODEGEN_COMMON_KERNELEXTREMES_H
