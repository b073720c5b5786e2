//===- ChainEmitter.h - code for kernels that run block by block ----------===//
//
// A chained kernel is several kernels, its stages, each of which reads what the
// one before it made, row by row: products, their softmax, products. They run
// one after the other on a block of rows, and what lies between them is held in
// a buffer of the block's size.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CODEGEN_CPU_CHAINEMITTER_H
#define ONNX_AOT_CODEGEN_CPU_CHAINEMITTER_H

#include "KernelEmitter.h"

#include <memory>

namespace onnx_aot::cpu {

/// The interface of KernelEmitter, for kernels with stages (KernelChain.h).
class ChainEmitter {
public:
  ChainEmitter(mlir::func::FuncOp kernel, mlir::ValueRange arguments,
               const Target &target);

  llvm::LogicalResult prepare();
  mlir::Value emitTaskCount(mlir::OpBuilder &builder, mlir::Location loc);
  void emitTasks(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::Value begin, mlir::Value end);

private:
  /// One stage and the tensor by whose rows it runs.
  struct Stage {
    std::unique_ptr<KernelEmitter> emitter;
    mlir::Value rows;
  };
  /// Sizes of the axes of the rows but the last.
  llvm::SmallVector<mlir::OpFoldResult> emitSizes(mlir::OpBuilder &builder,
                                                  mlir::Location loc);
  mlir::Value emitBlockCount(mlir::OpBuilder &builder, mlir::Location loc,
                             llvm::ArrayRef<mlir::OpFoldResult> sizes);

  mlir::func::FuncOp kernel;
  mlir::Value scratch; ///< [slots][rows of a block][columns]
  llvm::SmallVector<Stage> stages;
};

} // namespace onnx_aot::cpu

#endif // ONNX_AOT_CODEGEN_CPU_CHAINEMITTER_H
