//===- FailService.h - tell the caller why a run ends -----------*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_COMMON_FAILSERVICE_H
#define ONNX_AOT_CODEGEN_COMMON_FAILSERVICE_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace onnx_aot::codegen {

/// The module's function (context, text) that hands a reason to the runtime's
/// `fail`; defined on the first call.
mlir::LLVM::LLVMFuncOp getOrDefineFail(mlir::ModuleOp module);

/// A constant of the module that holds texts one after the other, each ended as
/// C expects. `offsets` gets where each begins.
mlir::LLVM::GlobalOp createTexts(mlir::ModuleOp module, llvm::StringRef name,
                                 llvm::ArrayRef<llvm::StringRef> texts,
                                 llvm::SmallVectorImpl<int64_t> &offsets);

} // namespace onnx_aot::codegen

#endif // ONNX_AOT_CODEGEN_COMMON_FAILSERVICE_H
