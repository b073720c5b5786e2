//===- ModuleInfo.cpp - what a compiled module says of itself -------------===//

#include "onnx-aot/Support/ModuleInfo.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace onnx_aot;

std::optional<OnnxAotType> onnx_aot::getAbiType(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type)) {
    if (complex.getElementType().isF32())
      return ONNX_AOT_COMPLEX64;
    if (complex.getElementType().isF64())
      return ONNX_AOT_COMPLEX128;
    return std::nullopt;
  }
  if (type.isF32())
    return ONNX_AOT_FLOAT32;
  if (type.isF64())
    return ONNX_AOT_FLOAT64;
  if (type.isF16())
    return ONNX_AOT_FLOAT16;
  if (type.isBF16())
    return ONNX_AOT_BFLOAT16;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return ONNX_AOT_BOOL;
  case 8:
    return isUnsigned ? ONNX_AOT_UINT8 : ONNX_AOT_INT8;
  case 16:
    return isUnsigned ? ONNX_AOT_UINT16 : ONNX_AOT_INT16;
  case 32:
    return isUnsigned ? ONNX_AOT_UINT32 : ONNX_AOT_INT32;
  case 64:
    return isUnsigned ? ONNX_AOT_UINT64 : ONNX_AOT_INT64;
  default:
    return std::nullopt;
  }
}

/// Name and size of every type, indexed by its code.
static constexpr std::pair<llvm::StringLiteral, unsigned> types[] = {
    {"undefined", 0}, {"float32", 4}, {"uint8", 1},     {"int8", 1},
    {"uint16", 2},    {"int16", 2},   {"int32", 4},     {"int64", 8},
    {"string", 0},    {"bool", 1},    {"float16", 2},   {"float64", 8},
    {"uint32", 4},    {"uint64", 8},  {"complex64", 8}, {"complex128", 16},
    {"bfloat16", 2},
};
static_assert(std::size(types) == ONNX_AOT_BFLOAT16 + 1);

StringRef onnx_aot::getTypeName(OnnxAotType type) { return types[type].first; }

unsigned onnx_aot::getTypeBytes(OnnxAotType type) { return types[type].second; }
