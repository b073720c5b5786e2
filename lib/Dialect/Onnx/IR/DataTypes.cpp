//===- DataTypes.cpp - ONNX's numbers of element types --------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;
using namespace onnx_aot;

Type onnx::getElementTypeOf(MLIRContext *context, int64_t dataType) {
  Builder b(context);
  auto unsignedType = [&](unsigned width) {
    return IntegerType::get(context, width, IntegerType::Unsigned);
  };
  switch (dataType) {
  case 1:
    return b.getF32Type();
  case 2:
    return unsignedType(8);
  case 3:
    return b.getI8Type();
  case 4:
    return unsignedType(16);
  case 5:
    return b.getI16Type();
  case 6:
    return b.getI32Type();
  case 7:
    return b.getI64Type();
  case 8:
    return StringType::get(context);
  case 9:
    return b.getI1Type();
  case 10:
    return b.getF16Type();
  case 11:
    return b.getF64Type();
  case 12:
    return unsignedType(32);
  case 13:
    return unsignedType(64);
  case 14:
    return ComplexType::get(b.getF32Type());
  case 15:
    return ComplexType::get(b.getF64Type());
  case 16:
    return b.getBF16Type();
  case 17:
    return b.getType<Float8E4M3FNType>();
  case 18:
    return b.getType<Float8E4M3FNUZType>();
  case 19:
    return b.getType<Float8E5M2Type>();
  case 20:
    return b.getType<Float8E5M2FNUZType>();
  case 21:
    return unsignedType(4);
  case 22:
    return b.getIntegerType(4);
  case 23:
    return b.getType<Float4E2M1FNType>();
  case 24:
    return b.getType<Float8E8M0FNUType>();
  case 25:
    return unsignedType(2);
  case 26:
    return b.getIntegerType(2);
  default:
    return {};
  }
}

std::optional<int64_t> onnx::getDataTypeOf(Type elementType) {
  constexpr int64_t kLastDataType = 26;
  for (int64_t dataType = 1; dataType <= kLastDataType; ++dataType)
    if (getElementTypeOf(elementType.getContext(), dataType) == elementType)
      return dataType;
  return std::nullopt;
}
