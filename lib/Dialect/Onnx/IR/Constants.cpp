//===- Constants.cpp - making small constants -----------------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;
using namespace onnx_aot::onnx;

Value onnx_aot::onnx::createConstant(OpBuilder &builder, Location loc,
                                     ElementsAttr value) {
  return ConstantOp::create(builder, loc, value);
}

Value onnx_aot::onnx::createIntegers(OpBuilder &builder, Location loc,
                                     ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())},
                                    builder.getI64Type());
  return ConstantOp::create(builder, loc,
                            DenseIntElementsAttr::get(type, values));
}

Value onnx_aot::onnx::createScalar(OpBuilder &builder, Location loc,
                                   double value, Type elementType) {
  auto type = RankedTensorType::get({}, elementType);
  if (auto floatType = dyn_cast<FloatType>(elementType)) {
    APFloat number(value);
    bool losesInfo;
    number.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    return ConstantOp::create(builder, loc,
                              DenseElementsAttr::get(type, number));
  }
  auto integerType = cast<IntegerType>(elementType);
  APInt number(integerType.getWidth(), static_cast<int64_t>(value),
               /*isSigned=*/true, /*implicitTrunc=*/true);
  return ConstantOp::create(builder, loc, DenseElementsAttr::get(type, number));
}
