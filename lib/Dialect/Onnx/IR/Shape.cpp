//===- Shape.cpp - symbolic dimensions of onnx tensors --------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Shape.h"
#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#include "mlir/IR/AffineMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace onnx_aot::onnx {

Dim Dim::constant(MLIRContext *context, int64_t size) {
  return Dim(getAffineConstantExpr(size, context));
}

bool Dim::isStatic() const { return isa_and_nonnull<AffineConstantExpr>(expr); }

bool Dim::isStatic(int64_t size) const {
  return isStatic() && getStatic() == size;
}

int64_t Dim::getStatic() const {
  return cast<AffineConstantExpr>(expr).getValue();
}

Dim Dim::operator+(Dim other) const {
  if (!expr || !other.expr)
    return unknown();
  int64_t result;
  if (isStatic() && other.isStatic() &&
      llvm::AddOverflow(getStatic(), other.getStatic(), result))
    return unknown();
  return Dim(expr + other.expr);
}

Dim Dim::operator*(Dim other) const {
  if (!expr || !other.expr)
    return unknown();
  int64_t result;
  if (isStatic() && other.isStatic() &&
      llvm::MulOverflow(getStatic(), other.getStatic(), result))
    return unknown();
  return Dim(expr * other.expr);
}

Dim Dim::operator-(Dim other) const { return *this + other * -1; }

Dim Dim::operator+(int64_t other) const {
  return expr ? *this + constant(expr.getContext(), other) : unknown();
}

Dim Dim::operator*(int64_t other) const {
  return expr ? *this * constant(expr.getContext(), other) : unknown();
}

Dim Dim::floorDiv(int64_t divisor) const {
  return expr && divisor > 0 ? Dim(expr.floorDiv(divisor)) : unknown();
}

Dim Dim::ceilDiv(int64_t divisor) const {
  return expr && divisor > 0 ? Dim(expr.ceilDiv(divisor)) : unknown();
}

std::optional<Shape> getShape(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return std::nullopt;
  AffineMap symbolic;
  if (auto encoding = dyn_cast_or_null<AffineMapAttr>(tensor.getEncoding()))
    if (encoding.getValue().getNumResults() == tensor.getRank() &&
        encoding.getValue().getNumDims() == 0)
      symbolic = encoding.getValue();
  Shape shape;
  for (auto [index, size] : llvm::enumerate(tensor.getShape())) {
    if (!ShapedType::isDynamic(size))
      shape.push_back(Dim::constant(type.getContext(), size));
    else if (symbolic && !isa<AffineConstantExpr>(symbolic.getResult(index)))
      shape.push_back(Dim(symbolic.getResult(index)));
    else
      shape.push_back(Dim::unknown());
  }
  return shape;
}

std::optional<int64_t> getRank(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor ? std::optional<int64_t>(tensor.getRank()) : std::nullopt;
}

Type getElementType(Value value) { return getElementTypeOrSelf(value); }

RankedTensorType getTensorType(ArrayRef<Dim> shape, Type elementType) {
  SmallVector<int64_t> sizes;
  SmallVector<AffineExpr> exprs;
  int64_t numSymbols = 0;
  bool symbolic = false;
  MLIRContext *context = elementType.getContext();
  for (Dim dim : shape) {
    // A negative constant size comes from contradictory attributes; the op's
    // own checks report it, here it must only not become a bad type.
    bool isStatic = dim.isStatic() && dim.getStatic() >= 0;
    sizes.push_back(isStatic ? dim.getStatic() : ShapedType::kDynamic);
    bool isSymbolic = dim.isKnown() && !dim.isStatic();
    symbolic |= isSymbolic;
    // -1 marks an unknown size beside symbolic ones.
    exprs.push_back(isSymbolic || isStatic
                        ? dim.getExpr()
                        : getAffineConstantExpr(-1, context));
    exprs.back().walk([&](AffineExpr expr) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
        numSymbols = std::max<int64_t>(numSymbols, symbol.getPosition() + 1);
    });
  }
  Attribute encoding;
  if (symbolic)
    encoding =
        AffineMapAttr::get(AffineMap::get(0, numSymbols, exprs, context));
  return RankedTensorType::get(sizes, elementType, encoding);
}

RankedTensorType getTensorType(MLIRContext *context, ArrayRef<int64_t> shape,
                               Type elementType) {
  return RankedTensorType::get(shape, elementType);
}

std::optional<Dim> broadcastDims(Dim a, Dim b) {
  if (a.isStatic(1))
    return b;
  if (b.isStatic(1) || a == b)
    return a;
  if (a.isStatic() && b.isStatic())
    return std::nullopt;
  // A size other than 1 decides: the other one is equal or 1.
  if (a.isStatic())
    return a;
  if (b.isStatic())
    return b;
  return Dim::unknown();
}

FailureOr<Shape> broadcastShapes(ArrayRef<Shape> shapes) {
  Shape result;
  for (const Shape &shape : shapes) {
    while (result.size() < shape.size())
      result.insert(result.begin(), shape[shape.size() - result.size() - 1]);
    size_t offset = result.size() - shape.size();
    for (auto [index, dim] : llvm::enumerate(shape)) {
      std::optional<Dim> merged = broadcastDims(result[offset + index], dim);
      if (!merged)
        return failure();
      result[offset + index] = *merged;
    }
  }
  return result;
}

FailureOr<int64_t> normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return failure();
  return axis < 0 ? axis + rank : axis;
}

LogicalResult inferBroadcast(Operation *op, SmallVectorImpl<Type> &types,
                             Type elementType) {
  if (op->getNumOperands() == 0)
    return op->emitOpError("needs at least one input");
  if (!elementType)
    elementType = getElementType(op->getOperand(0));
  SmallVector<Shape> shapes;
  for (Value operand : op->getOperands()) {
    std::optional<Shape> shape = getShape(operand);
    if (!shape) {
      types.push_back(UnrankedTensorType::get(elementType));
      return success();
    }
    shapes.push_back(*shape);
  }
  FailureOr<Shape> result = broadcastShapes(shapes);
  if (failed(result)) {
    InFlightDiagnostic diagnostic = op->emitOpError("operand shapes ");
    llvm::interleaveComma(op->getOperandTypes(), diagnostic);
    return diagnostic << " cannot be broadcast together";
  }
  types.push_back(getTensorType(*result, elementType));
  return success();
}

/// The shape an unknown dimension gets: the symbol it had before, or a new one.
static Type nameUnknownDims(Operation *op, Type inferred, Type previous) {
  auto tensor = dyn_cast<RankedTensorType>(inferred);
  if (!tensor || tensor.hasStaticShape())
    return inferred;
  Shape shape = *getShape(inferred);
  std::optional<Shape> before = getShape(previous);
  if (before && before->size() != shape.size())
    before.reset();
  Operation *module = op;
  while (module->getParentOp())
    module = module->getParentOp();
  for (auto [index, dim] : llvm::enumerate(shape)) {
    if (dim.isKnown())
      continue;
    if (before && (*before)[index].isKnown())
      dim = (*before)[index];
    else
      dim = Dim(
          getAffineSymbolExpr(getOrAddSymbol(module, ""), op->getContext()));
  }
  return getTensorType(shape, tensor.getElementType());
}

LogicalResult inferAndSetResultTypes(Operation *op) {
  auto onnxOp = dyn_cast<OnnxOpInterface>(op);
  if (!onnxOp)
    return success();
  SmallVector<Type> types;
  if (failed(onnxOp.inferResultTypes(types)))
    return failure();
  if (types.size() != op->getNumResults())
    return op->emitOpError("has ")
           << op->getNumResults() << " outputs, but " << types.size()
           << " follow from its inputs and attributes";
  for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
    result.setType(nameUnknownDims(op, type, result.getType()));
  return success();
}

unsigned getOrAddSymbol(Operation *module, StringRef name) {
  auto symbols = module->getAttrOfType<ArrayAttr>(kSymbolsAttr);
  SmallVector<Attribute> names;
  if (symbols)
    names.assign(symbols.begin(), symbols.end());
  auto attr = StringAttr::get(module->getContext(), name);
  if (!name.empty())
    for (auto [index, known] : llvm::enumerate(names))
      if (known == attr)
        return index;
  names.push_back(attr);
  module->setAttr(kSymbolsAttr, ArrayAttr::get(module->getContext(), names));
  return names.size() - 1;
}

} // namespace onnx_aot::onnx
