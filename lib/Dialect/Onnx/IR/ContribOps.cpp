//===- ContribOps.cpp - verifiers and shape functions ---------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Custom.h"
#include "onnx-aot/Dialect/Onnx/IR/ML.h"
#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"
#include "onnx-aot/Dialect/Onnx/IR/Strings.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/ContribOps.cpp.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/MLOps.cpp.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/CustomOps.cpp.inc"
#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/StringOps.cpp.inc"

void OnnxDialect::registerContribOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/ContribOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/MLOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/CustomOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/StringOps.cpp.inc"
      >();
}

LogicalResult TreeLeavesOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type i32 = IntegerType::get(getContext(), 32);
  std::optional<Shape> x = getShape(getX()), nodes = getShape(getNodes()),
                       roots = getShape(getRoots());
  if (!x || !nodes || !roots) {
    types.push_back(getUnrankedType(i32));
    return success();
  }
  if (x->size() != 2 || roots->size() != 1)
    return emitOpError("x must be a matrix and roots a list");
  if (nodes->size() != 2 || !(*nodes)[1].isStatic(4))
    return emitOpError("nodes must be a matrix of 4 columns");
  if (static_cast<bool>(getThresholds()) != getElementType(getX()).isF64())
    return emitOpError("needs thresholds where x is f64, and only there");
  types.push_back(getTensorType({(*x)[0], (*roots)[0]}, i32));
  return success();
}
