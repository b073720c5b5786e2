//===- Kernel.cpp - the kernel dialect ------------------------------------===//

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

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// The outputs' sizes are those of what they are written into.
template <typename OpTy>
static LogicalResult reifyOutputs(OpTy op, OpBuilder &builder,
                                  ReifiedRankedShapedTypeDims &shapes) {
  for (Value output : op.getOutputs())
    shapes.push_back(tensor::getMixedSizes(builder, op.getLoc(), output));
  return success();
}

/// On buffers inputs are read and outputs written.
template <typename OpTy>
static void addEffects(OpTy op, Effects &effects) {
  if (!op.hasPureBufferSemantics())
    return;
  for (OpOperand &operand : op.getInputsMutable())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
  for (OpOperand &operand : op.getOutputsMutable())
    effects.emplace_back(MemoryEffects::Write::get(), &operand,
                         SideEffects::DefaultResource::get());
}

LogicalResult LaunchOp::reifyResultShapes(OpBuilder &builder,
                                          ReifiedRankedShapedTypeDims &shapes) {
  return reifyOutputs(*this, builder, shapes);
}

void LaunchOp::getEffects(Effects &effects) { addEffects(*this, effects); }

LogicalResult CallOp::reifyResultShapes(OpBuilder &builder,
                                        ReifiedRankedShapedTypeDims &shapes) {
  return reifyOutputs(*this, builder, shapes);
}

void CallOp::getEffects(Effects &effects) { addEffects(*this, effects); }

LogicalResult CallOp::verify() {
  auto isThere = [](int32_t type) { return type != 0; };
  if (llvm::count_if(getInputTypes(), isThere) !=
      static_cast<int64_t>(getInputs().size()))
    return emitOpError("has ")
           << getInputs().size() << " inputs that input_types does not list";
  std::optional<ArrayRef<int32_t>> ranks = getOutputRanks();
  size_t numOutputs = ranks ? 1 : getOutputTypes().size();
  if (getOutputs().size() != numOutputs ||
      (ranks && ranks->size() != getOutputTypes().size()))
    return emitOpError("has ")
           << getOutputs().size() << " outputs that output_types does not list";
  return success();
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
