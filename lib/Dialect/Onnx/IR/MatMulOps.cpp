//===- MatMulOps.cpp - verifiers and shape functions ----------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Einsum.h"
#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#include <map>

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/MatMulOps.cpp.inc"

void OnnxDialect::registerMatMulOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/MatMulOps.cpp.inc"
      >();
}

/// Sizes that must agree but are different constants.
static bool contradict(Dim a, Dim b) {
  return a.isStatic() && b.isStatic() && a != b;
}

/// numpy.matmul's result for operand shapes of rank >= 1.
static FailureOr<Shape> inferMatMulShape(Operation *op, Shape a, Shape b) {
  if (a.empty() || b.empty())
    return op->emitOpError("operands must have at least one dimension");
  MLIRContext *context = op->getContext();
  bool aIsRow = a.size() == 1, bIsColumn = b.size() == 1;
  if (aIsRow)
    a.insert(a.begin(), Dim::constant(context, 1));
  if (bIsColumn)
    b.push_back(Dim::constant(context, 1));
  if (contradict(a.back(), b[b.size() - 2]))
    return op->emitOpError("inner sizes ")
           << a.back().getStatic() << " and " << b[b.size() - 2].getStatic()
           << " of the operands differ";
  FailureOr<Shape> result = broadcastShapes(
      {Shape(ArrayRef(a).drop_back(2)), Shape(ArrayRef(b).drop_back(2))});
  if (failed(result))
    return op->emitOpError("batch dimensions of ")
           << op->getOperand(0).getType() << " and "
           << op->getOperand(1).getType() << " cannot be broadcast together";
  if (!aIsRow)
    result->push_back(a[a.size() - 2]);
  if (!bIsColumn)
    result->push_back(b.back());
  return result;
}

/// The result of an op of numpy.matmul's shape, unranked where an operand is.
static LogicalResult inferMatMul(Operation *op, std::optional<Shape> a,
                                 std::optional<Shape> b, Type elementType,
                                 SmallVectorImpl<Type> &types) {
  if (!a || !b) {
    types.push_back(UnrankedTensorType::get(elementType));
    return success();
  }
  FailureOr<Shape> shape = inferMatMulShape(op, *a, *b);
  if (failed(shape))
    return failure();
  types.push_back(getTensorType(*shape, elementType));
  return success();
}

//===--- Shape functions --------------------------------------------------===//

LogicalResult MatMulOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferMatMul(*this, getShape(getA()), getShape(getB()),
                     getElementType(getA()), types);
}

LogicalResult MatMulIntegerOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  return inferMatMul(*this, getShape(getA()), getShape(getB()),
                     IntegerType::get(getContext(), 32), types);
}

LogicalResult FusedMatMulOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  auto arrange = [](std::optional<Shape> shape, bool swap, bool moveBatch) {
    if (!shape || shape->size() < 2)
      return shape;
    if (moveBatch)
      std::rotate(shape->begin(), shape->begin() + 1, shape->end() - 1);
    if (swap)
      std::swap(shape->back(), (*shape)[shape->size() - 2]);
    return shape;
  };
  return inferMatMul(*this,
                     arrange(getShape(getA()), getTransA(), getTransBatchA()),
                     arrange(getShape(getB()), getTransB(), getTransBatchB()),
                     getElementType(getA()), types);
}

LogicalResult GemmOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  std::optional<Shape> a = getShape(getA()), b = getShape(getB());
  Type elementType = getElementType(getA());
  if ((a && a->size() != 2) || (b && b->size() != 2))
    return emitOpError("operands a and b must be matrices, found ")
           << getA().getType() << " and " << getB().getType();
  Dim m = a ? (*a)[getTransA() ? 1 : 0] : Dim::unknown();
  Dim n = b ? (*b)[getTransB() ? 0 : 1] : Dim::unknown();
  if (a && b &&
      contradict((*a)[getTransA() ? 0 : 1], (*b)[getTransB() ? 1 : 0]))
    return emitOpError("inner sizes of ")
           << getA().getType() << " and " << getB().getType() << " differ";
  if (Value c = getC())
    if (std::optional<Shape> shape = getShape(c)) {
      if (shape->size() > 2)
        return emitOpError("operand c must have rank 2 or less, found ")
               << c.getType();
      for (auto [i, dim] : llvm::enumerate(llvm::reverse(*shape)))
        if (!dim.isStatic(1) && contradict(dim, i == 0 ? n : m))
          return emitOpError("operand c of type ")
                 << c.getType() << " does not broadcast to the product";
    }
  types.push_back(getTensorType({m, n}, elementType));
  return success();
}

LogicalResult EinsumOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (getInputs().empty())
    return emitOpError("needs at least one input");
  Type elementType = getElementType(getInputs().front());
  SmallVector<Shape> shapes;
  SmallVector<int64_t> ranks;
  for (Value input : getInputs()) {
    std::optional<Shape> shape = getShape(input);
    if (!shape) {
      types.push_back(UnrankedTensorType::get(elementType));
      return success();
    }
    shapes.push_back(*shape);
    ranks.push_back(shape->size());
  }
  FailureOr<EinsumEquation> equation = parseEinsum(*this, getEquation(), ranks);
  if (failed(equation))
    return failure();
  std::map<int, Dim> sizes;
  for (auto [labels, shape] : llvm::zip_equal(equation->inputs, shapes))
    for (auto [label, dim] : llvm::zip_equal(labels, shape)) {
      auto [known, isNew] = sizes.try_emplace(label, dim);
      std::optional<Dim> merged = broadcastDims(known->second, dim);
      if (!merged)
        return emitOpError("sizes ")
               << known->second.getStatic() << " and " << dim.getStatic()
               << " of one label of the equation differ";
      // Two symbols that meet under one letter must be equal: either serves.
      known->second = merged->isKnown() ? *merged : known->second;
    }
  Shape result;
  for (int label : equation->output)
    result.push_back(sizes.find(label)->second);
  types.push_back(getTensorType(result, elementType));
  return success();
}

LogicalResult DetOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  Type elementType = getElementType(getX());
  std::optional<Shape> shape = getShape(getX());
  if (!shape) {
    types.push_back(UnrankedTensorType::get(elementType));
    return success();
  }
  if (shape->size() < 2 ||
      contradict(shape->back(), (*shape)[shape->size() - 2]))
    return emitOpError("needs square matrices, found ") << getX().getType();
  types.push_back(getTensorType(ArrayRef(*shape).drop_back(2), elementType));
  return success();
}
