//===- OnnxDialect.cpp - the onnx dialect ---------------------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#include "onnx-aot/Dialect/Onnx/IR/OnnxDialect.cpp.inc"
#include "onnx-aot/Dialect/Onnx/IR/OnnxInterfaces.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/OnnxTypes.cpp.inc"

void OnnxDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "onnx-aot/Dialect/Onnx/IR/OnnxTypes.cpp.inc"
      >();
  registerElementwiseOps();
  registerLogicalOps();
  registerReductionOps();
  registerMatMulOps();
  registerConvolutionOps();
  registerPoolingOps();
  registerNormalizationOps();
  registerShapeOps();
  registerIndexingOps();
  registerQuantizationOps();
  registerRecurrentOps();
  registerSequenceOps();
  registerRandomOps();
  registerControlFlowOps();
  registerLossOps();
  registerContribOps();
  registerConstantOps();
}

Operation *OnnxDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}
