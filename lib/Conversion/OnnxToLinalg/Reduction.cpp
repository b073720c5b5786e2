//===- Reduction.cpp - lower Reduce* --------------------------------------===//
//
// An op is a rule of four functions of scalars. With constant axes it becomes a
// linalg.generic, with axes known at run time only a loop nest over the input.
//
//===----------------------------------------------------------------------===//

#include "GenericBuilder.h"
#include "ScalarBuilder.h"

using namespace mlir;
using namespace onnx_aot;

using Scalars = ScalarBuilder;
using Compare = ScalarBuilder::Compare;

namespace {

/// result = finish(combine over all x of (element(x)), number of x).
struct ReduceRule {
  /// What combining starts with.
  Value (*init)(Scalars &s, Type type);
  Value (*element)(Scalars &s, Value x);
  Value (*combine)(Scalars &s, Value accumulated, Value x);
  /// Null where there is nothing left to do.
  Value (*finish)(Scalars &s, Value accumulated, Value count) = nullptr;
  /// The result of integers is computed in f64.
  bool inFloat = false;
  /// Integers are accumulated in 64 bits: the result is not taken modulo 2 ^ n.
  bool inWideInteger = false;
  /// log(sum e ^ x): elements are taken relative to their maximum.
  bool relativeToMax = false;
};

/// What is reduced, and along which dimensions.
class Reducer {
public:
  Reducer(OpBuilder &builder, Location loc, Value data, bool isUnsigned,
          bool isBool)
      : builder(builder), loc(loc), data(data), isUnsigned(isUnsigned),
        isBool(isBool), sizes(getRuntimeSizes(builder, loc, data)) {}
  virtual ~Reducer() = default;

  /// Reduces element(x) with the rule's functions. `offset`, if any, is a
  /// result of an earlier reduction that is subtracted first.
  virtual Value reduce(const ReduceRule &rule, Type computeType,
                       Value offset) = 0;
  virtual Value count(Type type) = 0;
  /// What floats are accumulated in, of what they are computed in.
  virtual Type getSumType(Type computeType) { return computeType; }
  /// Dimensions as the op asks for.
  virtual Value shapeResult(Value result, bool keepDims, Type onnxType) = 0;

  /// All the way from the data to the result.
  Value run(const ReduceRule &rule, bool keepDims, Type onnxType);

protected:
  Value createInit(const ReduceRule &rule, Type computeType) {
    Scalars s(builder, loc, isUnsigned);
    Value init = rule.init(s, computeType);
    // The greatest bool is 1, not 255.
    return isBool ? s.create<arith::AndIOp>(init, s.like(init, 1)) : init;
  }

  /// The scalar that takes part: converted, relative to the offset if any.
  Value createElement(Scalars &s, const ReduceRule &rule, Value x,
                      Type computeType, Value offset) {
    x = s.convert(x, computeType, isUnsigned);
    return rule.element(s, offset ? s.sub(x, offset) : x);
  }

  OpBuilder &builder;
  Location loc;
  Value data;
  bool isUnsigned, isBool;
  SmallVector<OpFoldResult> sizes;
};

Value Reducer::run(const ReduceRule &rule, bool keepDims, Type onnxType) {
  Type elementType = cast<RankedTensorType>(data.getType()).getElementType();
  Type computeType = getComputeType(elementType);
  if (!isa<FloatType>(elementType) && rule.inFloat)
    computeType = builder.getF64Type();
  else if (!isa<FloatType>(elementType) && rule.inWideInteger)
    computeType = builder.getI64Type();

  if (isa<FloatType>(computeType))
    computeType = getSumType(computeType);

  Value offset;
  if (rule.relativeToMax) {
    ReduceRule max{[](Scalars &s, Type type) { return s.lowest(type); },
                   [](Scalars &, Value x) { return x; },
                   [](Scalars &s, Value a, Value x) { return s.max(a, x); }};
    Value largest = reduce(max, computeType, Value());
    // Infinities must not be subtracted from each other.
    offset = createMap(
        builder, loc, getRuntimeSizes(builder, loc, largest), computeType,
        {largest}, [&](OpBuilder &b, Location l, ValueRange args) {
          Scalars s(b, l, isUnsigned);
          constexpr double kInf = std::numeric_limits<double>::infinity();
          Value isFinite = s.compare(Compare::Less, s.absolute(args[0]),
                                     s.like(args[0], kInf));
          return s.select(isFinite, args[0], s.like(args[0], 0));
        });
  }
  Value result = reduce(rule, computeType, offset);
  if (rule.finish || computeType != elementType) {
    SmallVector<GenericInput> inputs{result};
    if (offset)
      inputs.push_back(offset);
    Value number = rule.finish ? count(computeType) : Value();
    result = createMap(
        builder, loc, getRuntimeSizes(builder, loc, result), elementType,
        inputs, [&](OpBuilder &b, Location l, ValueRange args) {
          Scalars s(b, l, isUnsigned);
          Value x = rule.finish ? rule.finish(s, args[0], number) : args[0];
          if (offset)
            x = s.add(x, args[1]);
          return s.convert(x, elementType, isUnsigned);
        });
  }
  return castToOnnxType(builder, loc, shapeResult(result, keepDims, onnxType),
                        onnxType);
}

/// The axes are constants; results have no reduced dimensions until the end.
class ConstantReducer : public Reducer {
public:
  ConstantReducer(OpBuilder &builder, Location loc, Value data, bool isUnsigned,
                  bool isBool, ArrayRef<bool> reduced)
      : Reducer(builder, loc, data, isUnsigned, isBool), reduced(reduced) {}

  Value reduce(const ReduceRule &rule, Type computeType,
               Value offset) override {
    SmallVector<GenericInput> inputs{data};
    if (offset)
      inputs.emplace_back(offset, getKeptMap(builder.getContext(), reduced));
    return createReduction(
        builder, loc, sizes, reduced, createInit(rule, computeType), inputs,
        [&](OpBuilder &b, Location l, ValueRange args) {
          Scalars s(b, l, isUnsigned);
          Value x = createElement(s, rule, args[0], computeType,
                                  offset ? args[1] : Value());
          return rule.combine(s, args.back(), x);
        });
  }

  Value count(Type type) override {
    return createReducedCount(builder, loc, sizes, reduced, type);
  }

  Value shapeResult(Value result, bool keepDims, Type) override {
    return keepDims ? expandReduced(builder, loc, result, sizes, reduced)
                    : result;
  }

private:
  ArrayRef<bool> reduced;
};

/// The axes are a tensor; results keep the reduced dimensions until the end.
class RuntimeReducer : public Reducer {
public:
  RuntimeReducer(OpBuilder &builder, Operation *op, Value data, bool isUnsigned,
                 bool isBool, Value axes, bool emptyMeansNone)
      : Reducer(builder, op->getLoc(), data, isUnsigned, isBool) {
    createCheck(builder, op, markAxes(axes, emptyMeansNone),
                "an axis is out of range");
  }

  Value reduce(const ReduceRule &rule, Type computeType,
               Value offset) override {
    Value init = createInit(rule, computeType);
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    SmallVector<OpFoldResult> keptSizes;
    SmallVector<Value> ends;
    for (auto [size, gone] : llvm::zip_equal(sizes, reduced)) {
      ends.push_back(getValueOrCreateConstantIndexOp(builder, loc, size));
      keptSizes.push_back(
          arith::SelectOp::create(builder, loc, gone, one, ends.back())
              .getResult());
    }
    SmallVector<Value> begins(ends.size(), zero), steps(ends.size(), one);
    auto body = [&](OpBuilder &b, Location l, ValueRange at,
                    ValueRange carried) -> scf::ValueVector {
      Scalars s(b, l, isUnsigned);
      SmallVector<Value> into;
      for (auto [index, gone] : llvm::zip_equal(at, reduced))
        into.push_back(s.select(gone, zero, index));
      auto read = [&](Value tensor, ValueRange indices) -> Value {
        return s.create<tensor::ExtractOp>(tensor, indices);
      };
      Value x = createElement(s, rule, read(data, at), computeType,
                              offset ? read(offset, into) : Value());
      Value combined = rule.combine(s, read(carried[0], into), x);
      return {s.create<tensor::InsertOp>(combined, carried[0], into)};
    };
    Value filled = createFilled(builder, loc, keptSizes, init);
    return scf::buildLoopNest(builder, loc, begins, ends, steps, filled, body)
        .results[0];
  }

  /// The loop adds one element after the other: see cpu-widen-sums.
  Type getSumType(Type) override { return builder.getF64Type(); }

  Value count(Type type) override {
    Value product = arith::ConstantIndexOp::create(builder, loc, 1);
    for (auto [size, gone] : llvm::zip_equal(sizes, reduced)) {
      Value end = getValueOrCreateConstantIndexOp(builder, loc, size);
      Value more = arith::MulIOp::create(builder, loc, product, end);
      product = arith::SelectOp::create(builder, loc, gone, more, product);
    }
    Value integer =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), product);
    return Scalars(builder, loc, false).convert(integer, type, false);
  }

  Value shapeResult(Value result, bool keepDims, Type onnxType) override {
    auto type = cast<RankedTensorType>(convertOnnxType(onnxType));
    if (keepDims)
      return result;
    if (type.getRank() == 0) {
      SmallVector<Value> zeros(reduced.size(),
                               arith::ConstantIndexOp::create(builder, loc, 0));
      Value scalar = tensor::ExtractOp::create(builder, loc, result, zeros);
      return tensor::FromElementsOp::create(builder, loc, type, scalar);
    }
    Value shape = tensor::FromElementsOp::create(builder, loc,
                                                 keptSizesOf(type.getRank()));
    auto dynamic = RankedTensorType::get(
        SmallVector<int64_t>(type.getRank(), ShapedType::kDynamic),
        type.getElementType());
    return tensor::ReshapeOp::create(builder, loc, dynamic, result, shape);
  }

private:
  /// Sets `reduced` to whether each dimension is among the axes; tells (i1)
  /// whether all axes are in range.
  Value markAxes(Value axes, bool emptyMeansNone) {
    int64_t rank = sizes.size();
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value end = builder.createOrFold<tensor::DimOp>(loc, axes, 0);
    Value isEmpty = arith::CmpIOp::create(builder, loc,
                                          arith::CmpIPredicate::eq, end, zero);
    Value defaultValue = arith::ConstantOp::create(
        builder, loc, builder.getBoolAttr(!emptyMeansNone));
    SmallVector<Value> init(
        rank, arith::AndIOp::create(builder, loc, isEmpty, defaultValue));
    init.push_back(
        arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
    auto loop = scf::ForOp::create(
        builder, loc, zero, end, one, init,
        [&](OpBuilder &b, Location l, Value index, ValueRange carried) {
          Scalars s(b, l, false);
          Value axis = s.create<tensor::ExtractOp>(axes, index);
          Value fromEnd = s.add(axis, s.like(axis, rank));
          Value isNegative = s.compare(Compare::Less, axis, s.like(axis, 0));
          axis = s.select(isNegative, fromEnd, axis);
          SmallVector<Value> next;
          for (auto [dim, mark] : llvm::enumerate(carried.drop_back())) {
            Value hit = s.compare(Compare::Equal, axis, s.like(axis, dim));
            next.push_back(s.create<arith::OrIOp>(mark, hit));
          }
          Value inRange = s.create<arith::AndIOp>(
              s.compare(Compare::GreaterOrEqual, axis, s.like(axis, 0)),
              s.compare(Compare::Less, axis, s.like(axis, rank)));
          next.push_back(s.create<arith::AndIOp>(carried.back(), inRange));
          scf::YieldOp::create(b, l, next);
        });
    llvm::append_range(reduced, loop.getResults().drop_back());
    return loop.getResults().back();
  }

  /// The sizes of the kept dimensions, of which there are `rank`: place p gets
  /// the size of the p-th kept one.
  SmallVector<Value> keptSizesOf(int64_t rank) {
    Scalars s(builder, loc, false);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value place = arith::ConstantIndexOp::create(builder, loc, 0);
    SmallVector<Value> kept(rank, one);
    for (auto [size, gone] : llvm::zip_equal(sizes, reduced)) {
      Value end = getValueOrCreateConstantIndexOp(builder, loc, size);
      for (auto [index, keptSize] : llvm::enumerate(kept)) {
        Value here = s.compare(Compare::Equal, place, s.like(place, index));
        Value hit = s.select(here, end, keptSize);
        keptSize = s.select(gone, keptSize, hit);
      }
      place = s.select(gone, place, s.add(place, one));
    }
    return kept;
  }

  SmallVector<Value> reduced;
};

template <typename OpTy>
class LowerReduce : public OnnxLowering<OpTy> {
public:
  LowerReduce(const LoweringContext &lowering, MLIRContext *context,
              ReduceRule rule)
      : OnnxLowering<OpTy>(lowering, context), rule(rule) {}

  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value data = adaptor.getData(), axes = adaptor.getAxes();
    Type elementType = onnx::getElementType(op.getData());
    bool isBool = elementType.isInteger(1);
    bool isUnsigned = elementType.isUnsignedInteger() || isBool;
    if (!isa<RankedTensorType>(op.getReduced().getType()))
      return this->unsupported(op, "number of axes known at run time only");
    auto dataType = cast<RankedTensorType>(data.getType());
    auto axesType =
        axes ? dyn_cast<RankedTensorType>(axes.getType()) : RankedTensorType();
    std::optional<SmallVector<int64_t>> constant;
    if (!axes || (axesType.hasStaticShape() && axesType.getNumElements() == 0))
      constant.emplace();
    else
      constant = onnx::getConstantIntegers(op.getAxes());
    Type type = op.getReduced().getType();
    if (!constant) {
      if (axesType.getRank() != 1)
        return this->unsupported(op, "axes that are no vector");
      RuntimeReducer reducer(rewriter, op, data, isUnsigned, isBool, axes,
                             op.getNoopWithEmptyAxes());
      rewriter.replaceOp(op, reducer.run(rule, op.getKeepdims(), type));
      return success();
    }
    bool all = constant->empty() && !op.getNoopWithEmptyAxes();
    SmallVector<bool> reduced(dataType.getRank(), all);
    for (int64_t axis : *constant) {
      FailureOr<int64_t> index = onnx::normalizeAxis(axis, dataType.getRank());
      if (failed(index))
        return this->unsupported(op, "axis out of range");
      reduced[*index] = true;
    }
    ConstantReducer reducer(rewriter, loc, data, isUnsigned, isBool, reduced);
    rewriter.replaceOp(op, reducer.run(rule, op.getKeepdims(), type));
    return success();
  }

private:
  ReduceRule rule;
};

//===--- The rules --------------------------------------------------------===//

Value zeroOf(Scalars &s, Type type) { return s.constant(0, type); }
Value oneOf(Scalars &s, Type type) { return s.constant(1, type); }
Value itself(Scalars &, Value x) { return x; }
Value squared(Scalars &s, Value x) { return s.mul(x, x); }
Value absolute(Scalars &s, Value x) { return s.absolute(x); }
Value sum(Scalars &s, Value a, Value x) { return s.add(a, x); }
Value product(Scalars &s, Value a, Value x) { return s.mul(a, x); }
Value logarithm(Scalars &s, Value a, Value) { return s.log(a); }

} // namespace

void onnx_aot::populateOnnxToLinalgReductionPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  auto lowest = [](Scalars &s, Type type) { return s.lowest(type); };
  auto highest = [](Scalars &s, Type type) { return s.highest(type); };
  auto larger = [](Scalars &s, Value a, Value x) { return s.max(a, x); };
  auto smaller = [](Scalars &s, Value a, Value x) { return s.min(a, x); };
  auto mean = [](Scalars &s, Value a, Value count) { return s.div(a, count); };
  auto root = [](Scalars &s, Value a, Value) { return s.sqrt(a); };
  auto exponential = [](Scalars &s, Value x) { return s.exp(x); };

  ReduceRule meanRule{zeroOf, itself, sum, mean};
  meanRule.inWideInteger = true;
  ReduceRule rootRule{zeroOf, squared, sum, root};
  rootRule.inFloat = true;
  ReduceRule logRule{zeroOf, itself, sum, logarithm};
  logRule.inFloat = true;
  ReduceRule logSumExpRule{zeroOf, exponential, sum, logarithm};
  logSumExpRule.inFloat = logSumExpRule.relativeToMax = true;

  patterns.add<LowerReduce<onnx::ReduceSumOp>>(lowering, context,
                                               ReduceRule{zeroOf, itself, sum});
  patterns.add<LowerReduce<onnx::ReduceProdOp>>(
      lowering, context, ReduceRule{oneOf, itself, product});
  patterns.add<LowerReduce<onnx::ReduceMaxOp>>(
      lowering, context, ReduceRule{lowest, itself, larger});
  patterns.add<LowerReduce<onnx::ReduceMinOp>>(
      lowering, context, ReduceRule{highest, itself, smaller});
  patterns.add<LowerReduce<onnx::ReduceL1Op>>(
      lowering, context, ReduceRule{zeroOf, absolute, sum});
  patterns.add<LowerReduce<onnx::ReduceSumSquareOp>>(
      lowering, context, ReduceRule{zeroOf, squared, sum});
  patterns.add<LowerReduce<onnx::ReduceMeanOp>>(lowering, context, meanRule);
  patterns.add<LowerReduce<onnx::ReduceL2Op>>(lowering, context, rootRule);
  patterns.add<LowerReduce<onnx::ReduceLogSumOp>>(lowering, context, logRule);
  patterns.add<LowerReduce<onnx::ReduceLogSumExpOp>>(lowering, context,
                                                     logSumExpRule);
}
