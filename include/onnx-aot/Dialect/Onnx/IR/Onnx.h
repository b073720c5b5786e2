//===- Onnx.h - the onnx dialect --------------------------------*- C++ -*-===//
//
// The dialect, its types and all its ops. Ops live in one header per category.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_ONNX_H
#define ONNX_AOT_DIALECT_ONNX_IR_ONNX_H

#include "onnx-aot/Dialect/Onnx/IR/Shape.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "onnx-aot/Dialect/Onnx/IR/OnnxDialect.h.inc"
#include "onnx-aot/Dialect/Onnx/IR/OnnxInterfaces.h.inc"

#define GET_TYPEDEF_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/OnnxTypes.h.inc"

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/ElementwiseOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/LogicalOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/ReductionOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/MatMulOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/ConvolutionOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/PoolingOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/NormalizationOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/ShapeOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/IndexingOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/QuantizationOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/RecurrentOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/SequenceOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/RandomOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/ControlFlowOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/LossOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/ContribOps.h.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/ConstantOps.h.inc"

namespace onnx_aot::onnx {

/// Attributes of the entry function's arguments and results and of the module.
/// Name of a graph input or output exactly as in the ONNX file (StringAttr).
constexpr llvm::StringLiteral kNameAttr = "onnx.name";
/// Names of the module's symbolic dimensions (ArrayAttr of StringAttr).
constexpr llvm::StringLiteral kSymbolsAttr = "onnx.symbols";

/// The element type of a number of ONNX's TensorProto.DataType, and back. Null
/// and nothing where there is none: numbers and types may come from a file.
mlir::Type getElementTypeOf(mlir::MLIRContext *context, int64_t dataType);
std::optional<int64_t> getDataTypeOf(mlir::Type elementType);

/// Creates a single-result op and infers its result type.
template <typename OpTy, typename... Args>
OpTy createInferred(mlir::OpBuilder &builder, mlir::Location loc,
                    Args &&...args) {
  auto placeholder = mlir::UnrankedTensorType::get(
      mlir::Float32Type::get(builder.getContext()));
  auto op =
      OpTy::create(builder, loc, placeholder, std::forward<Args>(args)...);
  (void)inferAndSetResultTypes(op);
  return op;
}

/// Creates a Constant of small values. Shape () is a scalar.
mlir::Value createConstant(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::ElementsAttr value);
/// Creates a 1-D int64 Constant.
mlir::Value createIntegers(mlir::OpBuilder &builder, mlir::Location loc,
                           llvm::ArrayRef<int64_t> values);
/// Creates a rank-0 Constant of any integer or float element type.
mlir::Value createScalar(mlir::OpBuilder &builder, mlir::Location loc,
                         double value, mlir::Type elementType);

} // namespace onnx_aot::onnx

#endif // ONNX_AOT_DIALECT_ONNX_IR_ONNX_H
