//===- EvaluateArithmetic.cpp - pointwise ops on constants ----------------===//
//
// Must agree with the lowerings: integers wrap, integer division by zero is 0,
// NaN propagates through Max and Min, float to integer saturates. Floats are
// computed in double and rounded once, which for + - * / and sqrt of 32 bits
// and less is the correctly rounded result.
//
//===----------------------------------------------------------------------===//

#include "ConstantEvaluators.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

namespace {
/// An element on its way through an evaluation: the member its type calls for.
struct Number {
  double real = 0;
  int64_t integer = 0;
};
} // namespace

static bool isPlainFloat(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64();
}

static Number read(const ConstantData &data, int64_t index) {
  Number number;
  if (isPlainFloat(data.getElementType()))
    number.real = data.getFloat(index);
  else
    number.integer = data.getInteger(index);
  return number;
}

//===--- One operand ------------------------------------------------------===//

using UnaryFunction = double (*)(double);

/// Null for an op that is not a function of one float.
static UnaryFunction getFloatFunction(Operation *op) {
  return TypeSwitch<Operation *, UnaryFunction>(op)
      .Case([](NegOp) -> UnaryFunction { return [](double x) { return -x; }; })
      .Case([](AbsOp) -> UnaryFunction {
        return [](double x) { return std::fabs(x); };
      })
      .Case([](SqrtOp) -> UnaryFunction {
        return [](double x) { return std::sqrt(x); };
      })
      .Case([](ReciprocalOp) -> UnaryFunction {
        return [](double x) { return 1 / x; };
      })
      .Case([](FloorOp) -> UnaryFunction {
        return [](double x) { return std::floor(x); };
      })
      .Case([](CeilOp) -> UnaryFunction {
        return [](double x) { return std::ceil(x); };
      })
      .Case([](ExpOp) -> UnaryFunction {
        return [](double x) { return std::exp(x); };
      })
      .Case([](LogOp) -> UnaryFunction {
        return [](double x) { return std::log(x); };
      })
      .Case([](ReluOp) -> UnaryFunction {
        return [](double x) { return x > 0 || std::isnan(x) ? x : 0; };
      })
      .Default([](Operation *) -> UnaryFunction { return nullptr; });
}

/// A function of one integer; nothing for other ops.
static std::optional<int64_t> applyInteger(Operation *op, int64_t x) {
  if (isa<NegOp>(op))
    return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
  if (isa<AbsOp>(op))
    return x < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x;
  if (isa<NotOp>(op))
    return x == 0;
  if (isa<ReluOp>(op))
    return std::max<int64_t>(x, 0);
  return std::nullopt;
}

//===--- Two operands -----------------------------------------------------===//

static bool isUnsigned(Type type) {
  return type.isUnsignedInteger() || type.isInteger(1);
}

/// Division as the dialect has it: towards zero, x / 0 is 0, wrapping.
static int64_t divide(int64_t a, int64_t b, bool isUnsigned) {
  if (b == 0)
    return 0;
  if (isUnsigned)
    return static_cast<uint64_t>(a) / static_cast<uint64_t>(b);
  return b == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a / b;
}

/// A comparison of ordered numbers; nothing for other ops.
template <typename T>
static std::optional<bool> compare(Operation *op, T a, T b) {
  return TypeSwitch<Operation *, std::optional<bool>>(op)
      .Case([&](EqualOp) { return a == b; })
      .Case([&](LessOp) { return a < b; })
      .Case([&](LessOrEqualOp) { return a <= b; })
      .Case([&](GreaterOp) { return a > b; })
      .Case([&](GreaterOrEqualOp) { return a >= b; })
      .Default([](Operation *) { return std::nullopt; });
}

/// IEEE maximum: NaN wins, +0 is larger than -0.
static double larger(double a, double b) {
  if (std::isnan(a) || a > b || (a == b && std::signbit(b)))
    return a;
  return b;
}

static std::optional<double> combineFloats(Operation *op, double a, double b) {
  return TypeSwitch<Operation *, std::optional<double>>(op)
      .Case([&](AddOp) { return a + b; })
      .Case([&](SubOp) { return a - b; })
      .Case([&](MulOp) { return a * b; })
      .Case([&](DivOp) { return a / b; })
      .Case([&](PowOp) { return std::pow(a, b); })
      .Case([&](MaxOp) { return larger(a, b); })
      .Case([&](MinOp) { return -larger(-a, -b); })
      .Default([](Operation *) { return std::nullopt; });
}

static std::optional<int64_t> combineIntegers(Operation *op, int64_t a,
                                              int64_t b, bool isUnsigned) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  bool less = isUnsigned ? ua < ub : a < b;
  return TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([&](AddOp) { return static_cast<int64_t>(ua + ub); })
      .Case([&](SubOp) { return static_cast<int64_t>(ua - ub); })
      .Case([&](MulOp) { return static_cast<int64_t>(ua * ub); })
      .Case([&](DivOp) { return divide(a, b, isUnsigned); })
      .Case([&](MaxOp) { return less ? b : a; })
      .Case([&](MinOp) { return less ? a : b; })
      .Case([&](AndOp) { return a & b; })
      .Case([&](OrOp) { return a | b; })
      .Case([&](XorOp) { return a ^ b; })
      .Default([](Operation *) { return std::nullopt; });
}

/// One element of a result of one or two operands, both of `type`.
static std::optional<Number> apply(Operation *op, ArrayRef<Number> operands,
                                   Type type) {
  Number result;
  bool isFloat = isPlainFloat(type);
  if (operands.size() == 1) {
    if (isFloat) {
      UnaryFunction function = getFloatFunction(op);
      if (!function)
        return std::nullopt;
      result.real = function(operands[0].real);
      return result;
    }
    std::optional<int64_t> integer = applyInteger(op, operands[0].integer);
    if (!integer)
      return std::nullopt;
    result.integer = *integer;
    return result;
  }
  auto [a, b] = std::pair(operands[0], operands[1]);
  std::optional<bool> truth =
      isFloat            ? compare(op, a.real, b.real)
      : isUnsigned(type) ? compare(op, static_cast<uint64_t>(a.integer),
                                   static_cast<uint64_t>(b.integer))
                         : compare(op, a.integer, b.integer);
  if (truth) {
    result.integer = *truth;
    return result;
  }
  if (isFloat) {
    std::optional<double> real = combineFloats(op, a.real, b.real);
    result.real = real.value_or(0);
    return real ? std::optional(result) : std::nullopt;
  }
  std::optional<int64_t> integer =
      combineIntegers(op, a.integer, b.integer, isUnsigned(type));
  result.integer = integer.value_or(0);
  return integer ? std::optional(result) : std::nullopt;
}

//===--- Conversion -------------------------------------------------------===//

/// Truncates towards zero; saturates, and NaN is 0.
static int64_t toInteger(double number, IntegerType type) {
  bool isUnsigned = type.isUnsigned();
  APSInt result(type.getWidth(), isUnsigned);
  if (std::isnan(number))
    return 0;
  bool isExact;
  APFloat(number).convertToInteger(result, APFloat::rmTowardZero, &isExact);
  return isUnsigned ? static_cast<int64_t>(result.getZExtValue())
                    : result.getSExtValue();
}

static ElementsAttr evaluateCast(CastOp op) {
  std::optional<ConstantData> data = ConstantData::get(op.getInput());
  auto type = cast<RankedTensorType>(op.getType());
  if (!data)
    return {};
  Type from = data->getElementType(), to = type.getElementType();
  auto fromInteger = dyn_cast<IntegerType>(from);
  auto toIntegerType = dyn_cast<IntegerType>(to);
  if ((!fromInteger && !isPlainFloat(from)) ||
      (!toIntegerType && !isPlainFloat(to)))
    return {};
  auto convert = [&](int64_t index, ConstantBuilder &result) {
    if (fromInteger && toIntegerType)
      return result.setInteger(index, data->getInteger(index));
    if (fromInteger) {
      // Through APFloat: a 64-bit integer must not round twice.
      APFloat number(cast<FloatType>(to).getFloatSemantics());
      number.convertFromAPInt(
          APInt(64, static_cast<uint64_t>(data->getInteger(index))),
          !isUnsigned(from), APFloat::rmNearestTiesToEven);
      uint64_t bits = number.bitcastToAPInt().getZExtValue();
      return result.set(index, reinterpret_cast<const char *>(&bits));
    }
    if (!toIntegerType)
      return result.setFloat(index, data->getFloat(index));
    double number = data->getFloat(index);
    result.setInteger(index, to.isInteger(1)
                                 ? number != 0
                                 : toInteger(number, toIntegerType));
  };
  if (data->isSplat() && type.getNumElements() > 0) {
    ConstantBuilder one(RankedTensorType::get({}, to));
    convert(0, one);
    return makeSplat(type, one[0]);
  }
  ConstantBuilder result(type);
  for (int64_t index = 0, size = result.size(); index < size; ++index)
    convert(index, result);
  return result.finish();
}

//===--- Dispatch ---------------------------------------------------------===//

static void write(ConstantBuilder &result, int64_t index, Number number,
                  bool isFloat) {
  if (isFloat)
    result.setFloat(index, number.real);
  else
    result.setInteger(index, number.integer);
}

bool onnx_aot::isArithmetic(Operation *op) {
  return isa<CastOp, NegOp, AbsOp, SqrtOp, ReciprocalOp, FloorOp, CeilOp, ExpOp,
             LogOp, ReluOp, NotOp, EqualOp, LessOp, LessOrEqualOp, GreaterOp,
             GreaterOrEqualOp, AddOp, SubOp, MulOp, DivOp, PowOp, MaxOp, MinOp,
             AndOp, OrOp, XorOp>(op);
}

LogicalResult
onnx_aot::evaluateArithmetic(Operation *op,
                             SmallVectorImpl<ElementsAttr> &results) {
  if (auto castOp = dyn_cast<CastOp>(op)) {
    ElementsAttr result = evaluateCast(castOp);
    if (!result)
      return failure();
    results.push_back(result);
    return success();
  }
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<ConstantData> operands;
  SmallVector<SmallVector<int64_t>> strides;
  for (Value operand : op->getOperands()) {
    std::optional<ConstantData> data = ConstantData::get(operand);
    // Only Pow takes operands of two types; it is left alone then.
    if (!data ||
        data->getElementType() != onnx::getElementType(op->getOperand(0)))
      return failure();
    strides.push_back(getBroadcastStrides(data->getShape(), type.getShape()));
    operands.push_back(std::move(*data));
  }
  if (operands.empty() || operands.size() > 2)
    return failure();
  Type operandType = operands[0].getElementType();
  if (!isPlainFloat(operandType) && !isa<IntegerType>(operandType))
    return failure();

  bool isFloat = isPlainFloat(type.getElementType());
  bool isSplat = type.getNumElements() > 0 &&
                 llvm::all_of(operands, [](const ConstantData &data) {
                   return data.isSplat();
                 });
  // One element tells whether there is a rule for this op and type.
  SmallVector<Number> numbers(operands.size());
  std::optional<Number> first = apply(op, numbers, operandType);
  if (!first)
    return failure();
  if (isSplat) {
    for (auto [number, data] : llvm::zip_equal(numbers, operands))
      number = read(data, 0);
    ConstantBuilder one(RankedTensorType::get({}, type.getElementType()));
    write(one, 0, *apply(op, numbers, operandType), isFloat);
    results.push_back(makeSplat(type, one[0]));
    return success();
  }
  ConstantBuilder result(type);
  SmallVector<int64_t> starts(operands.size(), 0);
  forEachElement(type.getShape(), strides, starts,
                 [&](int64_t index, ArrayRef<int64_t> offsets) {
                   for (size_t i = 0; i < operands.size(); ++i)
                     numbers[i] = read(operands[i], offsets[i]);
                   write(result, index, *apply(op, numbers, operandType),
                         isFloat);
                 });
  results.push_back(result.finish());
  return success();
}
