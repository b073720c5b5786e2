//===- AbiBuilder.h - LLVM dialect code for the ABI -------------*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_COMMON_ABIBUILDER_H
#define ONNX_AOT_CODEGEN_COMMON_ABIBUILDER_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace onnx_aot::codegen {

/// Builds LLVM dialect code in a few words.
struct AbiBuilder : mlir::OpBuilder {
  AbiBuilder(mlir::MLIRContext *context, mlir::Location loc)
      : mlir::OpBuilder(context), loc(loc),
        ptr(mlir::LLVM::LLVMPointerType::get(context)),
        i64(mlir::IntegerType::get(context, 64)),
        i32(mlir::IntegerType::get(context, 32)) {}

  mlir::Value constant(int64_t value) {
    return mlir::LLVM::ConstantOp::create(*this, loc, i64,
                                          getI64IntegerAttr(value));
  }
  mlir::Value constant32(int64_t value) {
    return mlir::LLVM::ConstantOp::create(*this, loc, i32,
                                          getI32IntegerAttr(value));
  }
  mlir::Value null() { return mlir::LLVM::ZeroOp::create(*this, loc, ptr); }
  mlir::Value multiply(mlir::Value a, mlir::Value b) {
    return mlir::LLVM::MulOp::create(*this, loc, a, b);
  }
  /// Unsigned product, all ones where it does not fit.
  mlir::Value multiplySaturating(mlir::Value a, mlir::Value b) {
    auto type = mlir::LLVM::LLVMStructType::getLiteral(getContext(),
                                                       {i64, getI1Type()});
    mlir::Value pair =
        mlir::LLVM::UMulWithOverflowOp::create(*this, loc, type, a, b);
    mlir::Value product =
        mlir::LLVM::ExtractValueOp::create(*this, loc, pair, 0);
    mlir::Value overflow =
        mlir::LLVM::ExtractValueOp::create(*this, loc, pair, 1);
    return mlir::LLVM::SelectOp::create(*this, loc, overflow, constant(-1),
                                        product);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return mlir::LLVM::AddOp::create(*this, loc, a, b);
  }
  /// Address of element `index` of an array of 8-byte elements.
  mlir::Value element(mlir::Value base, int64_t index) {
    return mlir::LLVM::GEPOp::create(
        *this, loc, ptr, i64, base,
        llvm::ArrayRef<mlir::LLVM::GEPArg>{mlir::LLVM::GEPArg(index)});
  }
  mlir::Value load(mlir::Type type, mlir::Value base, int64_t index) {
    return mlir::LLVM::LoadOp::create(*this, loc, type, element(base, index));
  }
  void store(mlir::Value value, mlir::Value base, int64_t index) {
    mlir::LLVM::StoreOp::create(*this, loc, value, element(base, index));
  }
  mlir::Value isNull(mlir::Value pointer) {
    return mlir::LLVM::ICmpOp::create(*this, loc, mlir::LLVM::ICmpPredicate::eq,
                                      pointer, null());
  }
  mlir::Value allocaOf(int64_t words) {
    return mlir::LLVM::AllocaOp::create(*this, loc, ptr, i64, constant(words));
  }

  mlir::Location loc;
  mlir::Type ptr, i64, i32;
};

/// Words of the context that the entry gets as its runtime.
enum ContextWord { kRuntime, kHead, kStatus, kContextWords };
/// Words of OnnxAotRuntime.
enum RuntimeWord {
  kUser,
  kParallelFor,
  kAllocateWord,
  kReleaseWord,
  kAllocateOutputWord,
  kFail,
  kDeviceTable,
  kText
};
} // namespace onnx_aot::codegen

#endif // ONNX_AOT_CODEGEN_COMMON_ABIBUILDER_H
