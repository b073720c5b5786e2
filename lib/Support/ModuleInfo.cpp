//===- ModuleInfo.cpp - what a compiled module says of itself -------------===//

#include "onnx-aot/Support/ModuleInfo.h"

#include "mlir/IR/BuiltinAttributes.h"
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
  if (isa<Float8E4M3FNType>(type))
    return ONNX_AOT_FLOAT8E4M3FN;
  if (isa<Float8E4M3FNUZType>(type))
    return ONNX_AOT_FLOAT8E4M3FNUZ;
  if (isa<Float8E5M2Type>(type))
    return ONNX_AOT_FLOAT8E5M2;
  if (isa<Float8E5M2FNUZType>(type))
    return ONNX_AOT_FLOAT8E5M2FNUZ;
  if (isa<Float4E2M1FNType>(type))
    return ONNX_AOT_FLOAT4E2M1;
  if (isa<Float8E8M0FNUType>(type))
    return ONNX_AOT_FLOAT8E8M0;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return ONNX_AOT_BOOL;
  case 2:
    return isUnsigned ? ONNX_AOT_UINT2 : ONNX_AOT_INT2;
  case 4:
    return isUnsigned ? ONNX_AOT_UINT4 : ONNX_AOT_INT4;
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
    {"undefined", 0},      {"float32", 4},    {"uint8", 1},
    {"int8", 1},           {"uint16", 2},     {"int16", 2},
    {"int32", 4},          {"int64", 8},      {"string", 16},
    {"bool", 1},           {"float16", 2},    {"float64", 8},
    {"uint32", 4},         {"uint64", 8},     {"complex64", 8},
    {"complex128", 16},    {"bfloat16", 2},   {"float8e4m3fn", 1},
    {"float8e4m3fnuz", 1}, {"float8e5m2", 1}, {"float8e5m2fnuz", 1},
    {"uint4", 1},          {"int4", 1},       {"float4e2m1", 1},
    {"float8e8m0", 1},     {"uint2", 1},      {"int2", 1},
};
static_assert(std::size(types) == ONNX_AOT_INT2 + 1);

FailureOr<ValueInfo> onnx_aot::readValueInfo(Attribute attribute) {
  auto info = dyn_cast_or_null<DictionaryAttr>(attribute);
  if (!info)
    return failure();
  auto name = info.getAs<StringAttr>("name");
  auto type = info.getAs<IntegerAttr>("type");
  auto dims = info.getAs<DenseI64ArrayAttr>("dims");
  if (!name || !type || !dims || !type.getType().isInteger(32) ||
      type.getInt() <= 0 || type.getInt() >= (int64_t)std::size(types) ||
      dims.size() > ONNX_AOT_MAX_RANK)
    return failure();
  ValueInfo value;
  value.name = name.getValue().str();
  value.type = static_cast<OnnxAotType>(type.getInt());
  value.dims = SmallVector<int64_t>(dims.asArrayRef());
  return value;
}

StringRef onnx_aot::getTypeName(OnnxAotType type) { return types[type].first; }

unsigned onnx_aot::getTypeBytes(OnnxAotType type) { return types[type].second; }
