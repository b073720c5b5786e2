//===- TransformUtils.cpp - questions rewrites ask ------------------------===//

#include "TransformUtils.h"
#include "ConstantData.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace onnx_aot;

void onnx_aot::refreshFunctionTypes(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    Operation *terminator = function.getBody().front().getTerminator();
    function.setType(FunctionType::get(module.getContext(),
                                       function.getArgumentTypes(),
                                       terminator->getOperandTypes()));
  }
}

LogicalResult onnx_aot::inferAllTypes(ModuleOp module) {
  bool bad = false;
  // Inner ops first: an If takes its types from its branches.
  for (auto function : module.getOps<func::FuncOp>())
    function.walk<WalkOrder::PostOrder>([&](Operation *op) {
      bad |= failed(onnx::inferAndSetResultTypes(op));
    });
  refreshFunctionTypes(module);
  return failure(bad);
}

bool onnx_aot::haveSameShape(Value a, Value b) {
  std::optional<onnx::Shape> first = onnx::getShape(a),
                             second = onnx::getShape(b);
  return first && second && first->size() == second->size() &&
         llvm::all_of(llvm::zip_equal(*first, *second), [](auto dims) {
           return std::get<0>(dims) == std::get<1>(dims);
         });
}

bool onnx_aot::haveSameType(Value a, Value b) {
  return haveSameShape(a, b) &&
         onnx::getElementType(a) == onnx::getElementType(b);
}

std::optional<double> onnx_aot::getSplatNumber(Value value) {
  std::optional<ConstantData> data = ConstantData::get(value);
  if (!data || !data->isSplat() || data->size() == 0)
    return std::nullopt;
  Type type = data->getElementType();
  if (type.isF16() || type.isBF16() || type.isF32() || type.isF64())
    return data->getFloat(0);
  int64_t integer = data->getInteger(0);
  // Larger ones are not exact as doubles.
  if (!isa<IntegerType>(type) || !llvm::isInt<53>(integer))
    return std::nullopt;
  return static_cast<double>(integer);
}
