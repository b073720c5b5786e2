//===- Kernel.cpp - the kernel dialect
//--------------------------------------===//

#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace onnx_aot::kernel;

#include "onnx-aot/Dialect/Kernel/IR/KernelDialect.cpp.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Kernel/IR/KernelOps.cpp.inc"

void KernelDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Kernel/IR/KernelOps.cpp.inc"
      >();
}

LogicalResult
LaunchOp::reifyResultShapes(OpBuilder &builder,
                            ReifiedRankedShapedTypeDims &reifiedReturnShapes) {
  for (Value output : getOutputs())
    reifiedReturnShapes.push_back(
        tensor::getMixedSizes(builder, getLoc(), output));
  return success();
}

void LaunchOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (!hasPureBufferSemantics())
    return;
  for (OpOperand &operand : getInputsMutable())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
  for (OpOperand &operand : getOutputsMutable())
    effects.emplace_back(MemoryEffects::Write::get(), &operand,
                         SideEffects::DefaultResource::get());
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto kernel = symbolTable.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getKernelAttr());
  if (!kernel)
    return emitOpError("names no function: ") << getKernelAttr();
  if (kernel.getNumArguments() != getNumOperands())
    return emitOpError("has ")
           << getNumOperands() << " operands, kernel " << getKernelAttr()
           << " takes " << kernel.getNumArguments();
  return success();
}
