//===- ConstantBytes.h - a constant's elements as they lie in memory ------===//

#ifndef ONNX_AOT_CODEGEN_CPU_CONSTANTBYTES_H
#define ONNX_AOT_CODEGEN_CPU_CONSTANTBYTES_H

#include "mlir/IR/Attributes.h"

#include <optional>

namespace onnx_aot::codegen {

/// Bytes of a constant tensor, or nothing when it is not stored element by
/// element (a splat).
std::optional<llvm::ArrayRef<char>> getConstantBytes(mlir::Attribute value);

} // namespace onnx_aot::codegen

#endif // ONNX_AOT_CODEGEN_CPU_CONSTANTBYTES_H
