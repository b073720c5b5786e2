//===- Kernel.h - the kernel dialect ----------------------------*- C++ -*-===//

#ifndef ONNX_AOT_DIALECT_KERNEL_IR_KERNEL_H
#define ONNX_AOT_DIALECT_KERNEL_IR_KERNEL_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "onnx-aot/Dialect/Kernel/IR/KernelDialect.h.inc"

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Kernel/IR/KernelOps.h.inc"

#endif // ONNX_AOT_DIALECT_KERNEL_IR_KERNEL_H
