//===- ShapeValue.cpp - integer tensors known at compile time -------------===//
//
// Exported models compute shapes with tensor ops: Shape -> Gather -> Concat ->
// Reshape. This evaluates such chains over symbolic dimensions.
//
//===----------------------------------------------------------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace onnx_aot::onnx {

/// Shape tensors are short; longer ones are data.
static constexpr int64_t kMaxElements = 64;
/// Chains in real models are about ten ops long.
static constexpr unsigned kMaxDepth = 256;

std::optional<SmallVector<int64_t>> getConstantIntegers(Value value) {
  auto constant = value ? value.getDefiningOp<ConstantOp>() : ConstantOp();
  if (!constant)
    return std::nullopt;
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || !isa<IntegerType>(elements.getElementType()))
    return std::nullopt;
  bool isUnsigned = elements.getElementType().isUnsignedInteger() ||
                    elements.getElementType().isInteger(1);
  SmallVector<int64_t> result;
  for (const APInt &element : elements.getValues<APInt>()) {
    // No size, axis or index is that large, and the number has no other form.
    if (isUnsigned && element.getActiveBits() > 63)
      return std::nullopt;
    result.push_back(isUnsigned ? element.getZExtValue()
                                : element.getSExtValue());
  }
  return result;
}

namespace {

/// Elements of a tensor in row-major order.
using Elements = std::optional<SmallVector<Dim>>;

/// Evaluates a chain of shape arithmetic, each value once.
class ShapeEvaluator {
public:
  explicit ShapeEvaluator(MLIRContext *context) : context(context) {}

  Elements evaluate(Value value, unsigned depth = 0);

private:
  Elements evaluateOp(Operation *op, OpResult result, unsigned depth);
  Elements evaluateByName(Operation *op, unsigned depth);
  Elements evaluateConstant(ConstantOp op);
  Elements evaluateGather(GatherOp op, unsigned depth);
  Elements evaluateSlice(SliceOp op, unsigned depth);
  Elements evaluateConcat(ConcatOp op, unsigned depth);
  Elements evaluateSplit(SplitOp op, OpResult result, unsigned depth);
  Elements evaluateTranspose(TransposeOp op, unsigned depth);
  Elements evaluateRange(RangeOp op, unsigned depth);
  Elements evaluatePointwise(Operation *op,
                             llvm::function_ref<Dim(ArrayRef<Dim>)> function,
                             unsigned depth);

  /// Builds a result element by element from its coordinates.
  static SmallVector<Dim>
  generate(ArrayRef<int64_t> shape,
           llvm::function_ref<Dim(ArrayRef<int64_t>)> element);

  Dim constant(int64_t value) const { return Dim::constant(context, value); }

  MLIRContext *context;
  DenseMap<Value, Elements> known;
};

/// The static shape of a value that is small enough to be evaluated.
std::optional<ArrayRef<int64_t>> getSmallShape(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  int64_t count = 1;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(count, size, count) || count > kMaxElements)
      return std::nullopt;
  return type.getShape();
}

int64_t getOffset(ArrayRef<int64_t> shape, ArrayRef<int64_t> index) {
  int64_t offset = 0;
  for (auto [size, position] : llvm::zip_equal(shape, index))
    offset = offset * size + position;
  return offset;
}

SmallVector<Dim>
ShapeEvaluator::generate(ArrayRef<int64_t> shape,
                         llvm::function_ref<Dim(ArrayRef<int64_t>)> element) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  SmallVector<Dim> result;
  for (int64_t offset = 0; offset < count; ++offset) {
    SmallVector<int64_t> index(shape.size());
    int64_t rest = offset;
    for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
      index[axis] = rest % shape[axis];
    result.push_back(element(index));
  }
  return result;
}

Elements ShapeEvaluator::evaluate(Value value, unsigned depth) {
  if (!value || depth > kMaxDepth)
    return std::nullopt;
  Type elementType = getElementTypeOrSelf(value.getType());
  std::optional<ArrayRef<int64_t>> shape = getSmallShape(value);
  if (!shape || !elementType.isIntOrFloat())
    return std::nullopt;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  size_t count = 1;
  for (int64_t size : *shape)
    count *= size;
  Elements result;
  if (auto opResult = dyn_cast<OpResult>(value))
    result = evaluateOp(opResult.getOwner(), opResult, depth);
  // Contradictory types are reported by the ops; here they are just unknown.
  if (!result || result->size() != count)
    result = SmallVector<Dim>(count, Dim::unknown());
  known[value] = result;
  return result;
}

Elements ShapeEvaluator::evaluateOp(Operation *op, OpResult result,
                                    unsigned depth) {
  return TypeSwitch<Operation *, Elements>(op)
      .Case([&](ConstantOp op) { return evaluateConstant(op); })
      .Case([&](ShapeOp op) -> Elements {
        std::optional<Shape> shape = getShape(op.getData());
        if (!shape)
          return std::nullopt;
        auto [start, end] = op.getRange(shape->size());
        return SmallVector<Dim>(
            ArrayRef<Dim>(*shape).slice(start, end - start));
      })
      .Case([&](SizeOp op) -> Elements {
        std::optional<Shape> shape = getShape(op.getData());
        if (!shape)
          return std::nullopt;
        return SmallVector<Dim>{getProduct(context, *shape)};
      })
      .Case<IdentityOp, ReshapeOp, FlattenOp, SqueezeOp, UnsqueezeOp>(
          [&](Operation *op) { return evaluate(op->getOperand(0), depth + 1); })
      .Case([&](GatherOp op) { return evaluateGather(op, depth); })
      .Case([&](SliceOp op) { return evaluateSlice(op, depth); })
      .Case([&](ConcatOp op) { return evaluateConcat(op, depth); })
      .Case([&](SplitOp op) { return evaluateSplit(op, result, depth); })
      .Case([&](TransposeOp op) { return evaluateTranspose(op, depth); })
      .Case([&](RangeOp op) { return evaluateRange(op, depth); })
      .Case([&](ExpandOp op) -> Elements {
        return evaluatePointwise(
            op, [](ArrayRef<Dim> args) { return args[0]; }, depth);
      })
      .Case([&](ConstantOfShapeOp op) -> Elements {
        Dim fill = constant(0);
        if (std::optional<ElementsAttr> value = op.getValue()) {
          auto dense = dyn_cast<DenseIntElementsAttr>(*value);
          if (!dense || dense.getNumElements() != 1)
            return std::nullopt;
          fill = constant((*dense.value_begin<APInt>()).getSExtValue());
        }
        return generate(*getSmallShape(result),
                        [&](ArrayRef<int64_t>) { return fill; });
      })
      .Default([&](Operation *op) { return evaluateByName(op, depth); });
}

Elements ShapeEvaluator::evaluateConstant(ConstantOp op) {
  if (auto integers = getConstantIntegers(op.getResult())) {
    SmallVector<Dim> result;
    for (int64_t element : *integers)
      result.push_back(constant(element));
    return result;
  }
  auto floats = dyn_cast<DenseFPElementsAttr>(op.getValue());
  if (!floats)
    return std::nullopt;
  SmallVector<Dim> result;
  for (const APFloat &element : floats.getValues<APFloat>()) {
    APSInt integer(64, /*isUnsigned=*/false);
    bool exact = false;
    APFloat copy = element;
    APFloat::opStatus status =
        copy.convertToInteger(integer, APFloat::rmTowardZero, &exact);
    result.push_back(status == APFloat::opOK && exact
                         ? constant(integer.getExtValue())
                         : Dim::unknown());
  }
  return result;
}

Elements ShapeEvaluator::evaluateGather(GatherOp op, unsigned depth) {
  Elements data = evaluate(op.getData(), depth + 1);
  Elements indices = evaluate(op.getIndices(), depth + 1);
  std::optional<ArrayRef<int64_t>> shape = getSmallShape(op.getResult());
  if (!data || !indices || !shape)
    return std::nullopt;
  ArrayRef<int64_t> dataShape = *getSmallShape(op.getData());
  ArrayRef<int64_t> indexShape = *getSmallShape(op.getIndices());
  FailureOr<int64_t> axis = normalizeAxis(op.getAxis(), dataShape.size());
  if (failed(axis) || shape->size() + 1 != dataShape.size() + indexShape.size())
    return std::nullopt;
  return generate(*shape, [&](ArrayRef<int64_t> index) {
    Dim chosen = (*indices)[getOffset(indexShape,
                                      index.slice(*axis, indexShape.size()))];
    if (!chosen.isStatic())
      return Dim::unknown();
    FailureOr<int64_t> position =
        normalizeAxis(chosen.getStatic(), dataShape[*axis]);
    if (failed(position))
      return Dim::unknown();
    SmallVector<int64_t> source(index.take_front(*axis));
    source.push_back(*position);
    llvm::append_range(source, index.drop_front(*axis + indexShape.size()));
    return (*data)[getOffset(dataShape, source)];
  });
}

Elements ShapeEvaluator::evaluateSlice(SliceOp op, unsigned depth) {
  Elements data = evaluate(op.getData(), depth + 1);
  Elements starts = evaluate(op.getStarts(), depth + 1);
  Elements ends = evaluate(op.getEnds(), depth + 1);
  Elements steps = evaluate(op.getSteps(), depth + 1);
  std::optional<SmallVector<int64_t>> axes = op.getSlicedAxes();
  if (!data || !starts || !ends || !axes || starts->size() != axes->size() ||
      ends->size() != axes->size() || (op.getSteps() && !steps) ||
      (steps && steps->size() != axes->size()))
    return std::nullopt;
  ArrayRef<int64_t> dataShape = *getSmallShape(op.getData());
  SmallVector<int64_t> first(dataShape.size(), 0), stride(dataShape.size(), 1);
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    Dim step = steps ? (*steps)[i] : constant(1);
    if (!(*starts)[i].isStatic() || !(*ends)[i].isStatic() ||
        !step.isStatic() || step.isStatic(0))
      return std::nullopt;
    stride[axis] = step.getStatic();
    first[axis] = clampSlice((*starts)[i].getStatic(), (*ends)[i].getStatic(),
                             stride[axis], dataShape[axis])
                      .first;
  }
  bool inside = true;
  SmallVector<Dim> result =
      generate(*getSmallShape(op.getResult()), [&](ArrayRef<int64_t> index) {
        SmallVector<int64_t> source;
        for (auto [i, begin, step] : llvm::zip_equal(index, first, stride)) {
          source.push_back(begin + i * step);
          int64_t size = dataShape[source.size() - 1];
          inside &= source.back() >= 0 && source.back() < size;
        }
        return inside ? (*data)[getOffset(dataShape, source)] : Dim::unknown();
      });
  return result;
}

Elements ShapeEvaluator::evaluateConcat(ConcatOp op, unsigned depth) {
  std::optional<ArrayRef<int64_t>> shape = getSmallShape(op.getResult());
  FailureOr<int64_t> axis = normalizeAxis(op.getAxis(), shape->size());
  if (failed(axis))
    return std::nullopt;
  SmallVector<Elements> inputs;
  SmallVector<ArrayRef<int64_t>> shapes;
  for (Value input : op.getInputs()) {
    Elements elements = evaluate(input, depth + 1);
    if (!elements || getSmallShape(input)->size() != shape->size())
      return std::nullopt;
    inputs.push_back(elements);
    shapes.push_back(*getSmallShape(input));
  }
  return generate(*shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index);
    for (auto [input, size] : llvm::zip_equal(inputs, shapes)) {
      if (source[*axis] < size[*axis])
        return (*input)[getOffset(size, source)];
      source[*axis] -= size[*axis];
    }
    return Dim::unknown();
  });
}

Elements ShapeEvaluator::evaluateSplit(SplitOp op, OpResult result,
                                       unsigned depth) {
  Elements data = evaluate(op.getInput(), depth + 1);
  if (!data)
    return std::nullopt;
  ArrayRef<int64_t> dataShape = *getSmallShape(op.getInput());
  FailureOr<int64_t> axis = normalizeAxis(op.getAxis(), dataShape.size());
  if (failed(axis))
    return std::nullopt;
  int64_t begin = 0;
  for (OpResult before :
       op->getResults().take_front(result.getResultNumber())) {
    std::optional<ArrayRef<int64_t>> part = getSmallShape(before);
    if (!part || part->size() != dataShape.size())
      return std::nullopt;
    begin += (*part)[*axis];
  }
  ArrayRef<int64_t> shape = *getSmallShape(result);
  if (shape.size() != dataShape.size() ||
      begin + shape[*axis] > dataShape[*axis])
    return std::nullopt;
  return generate(shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index);
    source[*axis] += begin;
    return (*data)[getOffset(dataShape, source)];
  });
}

Elements ShapeEvaluator::evaluateTranspose(TransposeOp op, unsigned depth) {
  Elements data = evaluate(op.getData(), depth + 1);
  if (!data)
    return std::nullopt;
  ArrayRef<int64_t> dataShape = *getSmallShape(op.getData());
  SmallVector<int64_t> perm = op.getPermutation(dataShape.size());
  ArrayRef<int64_t> shape = *getSmallShape(op.getResult());
  if (perm.size() != shape.size())
    return std::nullopt;
  return generate(shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index.size());
    for (auto [axis, position] : llvm::zip_equal(perm, index))
      source[axis] = position;
    return (*data)[getOffset(dataShape, source)];
  });
}

Elements ShapeEvaluator::evaluateRange(RangeOp op, unsigned depth) {
  Elements start = evaluate(op.getStart(), depth + 1);
  Elements delta = evaluate(op.getDelta(), depth + 1);
  if (!start || !delta || start->size() != 1 || delta->size() != 1)
    return std::nullopt;
  return generate(*getSmallShape(op.getResult()), [&](ArrayRef<int64_t> index) {
    return (*start)[0] + (*delta)[0] * index[0];
  });
}

Elements ShapeEvaluator::evaluatePointwise(
    Operation *op, llvm::function_ref<Dim(ArrayRef<Dim>)> function,
    unsigned depth) {
  ArrayRef<int64_t> shape = *getSmallShape(op->getResult(0));
  SmallVector<SmallVector<Dim>> operands;
  SmallVector<ArrayRef<int64_t>> shapes;
  // Expand's second operand is no element of the result.
  bool isExpand = isa<ExpandOp>(op);
  for (Value operand :
       isExpand ? op->getOperands().take_front() : op->getOperands()) {
    Elements elements = evaluate(operand, depth + 1);
    if (!elements || getSmallShape(operand)->size() > shape.size())
      return std::nullopt;
    for (auto [own, result] : llvm::zip(llvm::reverse(*getSmallShape(operand)),
                                        llvm::reverse(shape)))
      if (own != 1 && own != result)
        return std::nullopt;
    operands.push_back(*elements);
    shapes.push_back(*getSmallShape(operand));
  }
  return generate(shape, [&](ArrayRef<int64_t> index) {
    SmallVector<Dim> arguments;
    for (auto [elements, own] : llvm::zip_equal(operands, shapes)) {
      SmallVector<int64_t> source(index.take_back(own.size()));
      for (auto [position, size] : llvm::zip_equal(source, own))
        position = size == 1 ? 0 : position;
      arguments.push_back(elements[getOffset(own, source)]);
    }
    return function(arguments);
  });
}

//===--- Ops of other categories ------------------------------------------===//

/// 1, 0 or unknown.
Dim decideEqual(Dim a, Dim b) {
  if (!a.isKnown() || !b.isKnown())
    return Dim::unknown();
  MLIRContext *context = a.getExpr().getContext();
  if (a == b)
    return Dim::constant(context, 1);
  bool differ = (a.isStatic() && b.isStatic()) || isNonNegative(a - b - 1) ||
                isNonNegative(b - a - 1);
  return differ ? Dim::constant(context, 0) : Dim::unknown();
}

/// Whether a < b: 1, 0 or unknown.
Dim decideLess(Dim a, Dim b) {
  if (!a.isKnown() || !b.isKnown())
    return Dim::unknown();
  MLIRContext *context = a.getExpr().getContext();
  if (isNonNegative(b - a - 1))
    return Dim::constant(context, 1);
  return isNonNegative(a - b) ? Dim::constant(context, 0) : Dim::unknown();
}

Dim negate(Dim truth) {
  if (!truth.isStatic())
    return Dim::unknown();
  return Dim::constant(truth.getExpr().getContext(), truth.isStatic(0));
}

/// Integer division rounds to zero; a quotient of floats must be exact.
Dim divide(Dim a, Dim b, bool isInteger) {
  if (!a.isKnown() || !b.isKnown() || b.isStatic(0))
    return Dim::unknown();
  MLIRContext *context = a.getExpr().getContext();
  if (a.isStatic() && b.isStatic()) {
    int64_t dividend = a.getStatic(), divisor = b.getStatic();
    if (divisor == -1)
      return a * -1;
    if (!isInteger && dividend % divisor != 0)
      return Dim::unknown();
    return Dim::constant(context, dividend / divisor);
  }
  // s0 * 64 / s0: exact, hence whatever the sizes are.
  if (Dim quotient = divideExactly(a, b);
      quotient.isKnown() && quotient * b == a)
    return quotient;
  if (isInteger && b.isStatic() && b.getStatic() > 0 && isNonNegative(a))
    return a.floorDiv(b.getStatic());
  return Dim::unknown();
}

Dim remainder(Dim a, Dim b) {
  if (!a.isStatic() || !b.isStatic() || a.getStatic() < 0 || b.getStatic() <= 0)
    return Dim::unknown();
  return Dim::constant(a.getExpr().getContext(), a.getStatic() % b.getStatic());
}

/// The value of a conversion: bools and numbers that fit stay what they are.
Dim convert(Dim value, Type from, Type to) {
  if (!value.isKnown() || from == to)
    return value;
  if (to.isInteger(1))
    return negate(decideEqual(value, value * 0));
  auto integer = dyn_cast<IntegerType>(to);
  if (!value.isStatic() || !integer)
    return value;
  bool fits = integer.isUnsigned()
                  ? value.getStatic() >= 0 &&
                        llvm::isUIntN(integer.getWidth(), value.getStatic())
                  : llvm::isIntN(integer.getWidth(), value.getStatic());
  return fits ? value : Dim::unknown();
}

Elements ShapeEvaluator::evaluateByName(Operation *op, unsigned depth) {
  if (op->getNumResults() == 0 || op->getNumOperands() == 0)
    return std::nullopt;
  StringRef name = op->getName().getStringRef();
  if (!name.consume_front("onnx."))
    return std::nullopt;
  Type from = getElementType(op->getOperand(0));
  Type to = getElementType(op->getResult(0));
  using Function = std::function<Dim(ArrayRef<Dim>)>;
  auto minimum = [&](ArrayRef<Dim> args, bool largest) {
    Dim best = args[0];
    for (Dim arg : args.drop_front())
      best = largest ? getMaximum(op, best, arg) : getMinimum(op, best, arg);
    return best;
  };
  Function function =
      llvm::StringSwitch<Function>(name)
          .Cases({"Cast", "CastLike"},
                 [&](ArrayRef<Dim> args) { return convert(args[0], from, to); })
          // Dims are integers, on which rounding does nothing.
          .Cases({"Floor", "Ceil", "Round"},
                 [](ArrayRef<Dim> a) { return a[0]; })
          .Case("Neg", [](ArrayRef<Dim> args) { return args[0] * -1; })
          .Case("Not", [](ArrayRef<Dim> args) { return negate(args[0]); })
          .Case("Add", [](ArrayRef<Dim> args) { return args[0] + args[1]; })
          .Case("Sub", [](ArrayRef<Dim> args) { return args[0] - args[1]; })
          .Case("Mul", [](ArrayRef<Dim> args) { return args[0] * args[1]; })
          .Case("Div",
                [&](ArrayRef<Dim> args) {
                  return divide(args[0], args[1], isa<IntegerType>(to));
                })
          .Case("Mod", [](ArrayRef<Dim> a) { return remainder(a[0], a[1]); })
          .Case("Equal",
                [](ArrayRef<Dim> a) { return decideEqual(a[0], a[1]); })
          .Case("Less", [](ArrayRef<Dim> a) { return decideLess(a[0], a[1]); })
          .Case("Greater",
                [](ArrayRef<Dim> a) { return decideLess(a[1], a[0]); })
          .Case("LessOrEqual",
                [](ArrayRef<Dim> a) { return negate(decideLess(a[1], a[0])); })
          .Case("GreaterOrEqual",
                [](ArrayRef<Dim> a) { return negate(decideLess(a[0], a[1])); })
          .Case("Min", [&](ArrayRef<Dim> a) { return minimum(a, false); })
          .Case("Max", [&](ArrayRef<Dim> a) { return minimum(a, true); })
          .Case("Where",
                [](ArrayRef<Dim> args) {
                  if (args[1] == args[2])
                    return args[1];
                  if (!args[0].isStatic())
                    return Dim::unknown();
                  return args[0].isStatic(0) ? args[2] : args[1];
                })
          .Default(nullptr);
  if (function) {
    // CastLike's second operand only gives the type.
    if (name == "CastLike")
      return evaluate(op->getOperand(0), depth + 1);
    return evaluatePointwise(op, function, depth);
  }
  // A reduction of everything to one element.
  if (name != "ReduceProd" && name != "ReduceSum" && name != "ReduceMax" &&
      name != "ReduceMin")
    return std::nullopt;
  Elements data = evaluate(op->getOperand(0), depth + 1);
  if (!data || data->empty())
    return std::nullopt;
  if (cast<RankedTensorType>(op->getResult(0).getType()).getNumElements() != 1)
    return std::nullopt;
  Dim result = (*data)[0];
  for (Dim element : ArrayRef<Dim>(*data).drop_front()) {
    if (name == "ReduceProd")
      result = result * element;
    else if (name == "ReduceSum")
      result = result + element;
    else
      result = name == "ReduceMax" ? getMaximum(op, result, element)
                                   : getMinimum(op, result, element);
  }
  return SmallVector<Dim>{result};
}

} // namespace

std::optional<SmallVector<Dim>> getShapeValue(Value value) {
  return ShapeEvaluator(value.getContext()).evaluate(value);
}

} // namespace onnx_aot::onnx
