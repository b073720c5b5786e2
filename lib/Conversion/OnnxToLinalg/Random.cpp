//===- Random.cpp - lower dropout and random numbers ----------------------===//
//
// A random number is a hash of the seed and the element's position, so that it
// depends neither on the order of evaluation nor on the number of threads.
// Without a seed attribute the seed comes from the node's name and number: the
// same in every run.
//
//===----------------------------------------------------------------------===//

#include "Generate.h"
#include "ReshapeUtils.h"
#include "ScalarBuilder.h"
#include "ShapeScalars.h"

#include "onnx-aot/Dialect/Onnx/IR/Draw.h"

#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// Hashes positions of one op's result.
class RandomSource {
public:
  RandomSource(Operation *op, std::optional<APFloat> seed) {
    if (seed) {
      key = seed->bitcastToAPInt().getZExtValue() * 0x9E3779B97F4A7C15ull;
      return;
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << op->getLoc();
    if (Attribute draw = op->getDiscardableAttr(onnx::kDrawAttr))
      stream << draw;
    key = llvm::xxh3_64bits(llvm::StringRef(text));
  }

  /// 64 random bits for an element; `stream` tells independent ones apart.
  Value getBits(OpBuilder &builder, Location loc, Value position,
                uint64_t stream) const {
    Type i64 = builder.getI64Type();
    auto constant = [&](uint64_t value) -> Value {
      return arith::ConstantOp::create(
          builder, loc, builder.getIntegerAttr(i64, APInt(64, value)));
    };
    auto mix = [&](Value x, uint64_t shift) -> Value {
      return arith::XOrIOp::create(
          builder, loc, x,
          arith::ShRUIOp::create(builder, loc, x, constant(shift)));
    };
    auto multiply = [&](Value x, uint64_t factor) -> Value {
      return arith::MulIOp::create(builder, loc, x, constant(factor));
    };
    // The finalizer of splitmix64 over a sequence of its increments.
    Value x = arith::AddIOp::create(
        builder, loc, multiply(position, 0x9E3779B97F4A7C15ull),
        constant(key + stream * 0xD1B54A32D192ED03ull));
    x = multiply(mix(x, 30), 0xBF58476D1CE4E5B9ull);
    x = multiply(mix(x, 27), 0x94D049BB133111EBull);
    return mix(x, 31);
  }

  /// Uniform in [0, 1) as f64, or as f32 where that is exact enough.
  Value getUniform(OpBuilder &builder, Location loc, Value position, Type type,
                   uint64_t stream) const {
    bool isWide = type.isF64();
    Value bits = getBits(builder, loc, position, stream);
    Value kept = arith::ShRUIOp::create(
        builder, loc, bits,
        createScalarConstant(builder, loc, isWide ? 11 : 40, bits.getType()));
    Type wide = isWide ? type : builder.getF32Type();
    Value number = arith::UIToFPOp::create(builder, loc, wide, kept);
    double unit = isWide ? 0x1p-53 : 0x1p-24;
    return arith::MulFOp::create(
        builder, loc, number, createScalarConstant(builder, loc, unit, wide));
  }

private:
  uint64_t key;
};

/// An element's number in row-major order, as i64.
Value getPosition(OpBuilder &builder, Location loc, ArrayRef<Value> indices,
                  ArrayRef<Value> sizes) {
  IndexBuilder b(builder, loc);
  Value position = b.constant(0);
  for (auto [index, size] : llvm::zip_equal(indices, sizes))
    position = b.add(b.mul(position, size), index);
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                    position);
}

/// A tensor of random numbers; `draw` makes one from an element's position.
Value createRandom(OpBuilder &builder, Location loc,
                   ArrayRef<OpFoldResult> sizes, Type elementType,
                   ArrayRef<GeneratedInput> inputs,
                   llvm::function_ref<Value(OpBuilder &, Location,
                                            Value position, ValueRange inputs)>
                       draw) {
  IndexBuilder outside(builder, loc);
  SmallVector<Value> sizeValues;
  for (OpFoldResult size : sizes)
    sizeValues.push_back(outside.get(size));
  return createGenerated(
      builder, loc, sizes, elementType, inputs,
      [&](OpBuilder &b, Location l, ArrayRef<Value> indices, ValueRange args) {
        return draw(b, l, getPosition(b, l, indices, sizeValues), args);
      });
}

/// Sizes of an op's result: of its input, or of its `shape`.
template <typename OpTy>
SmallVector<OpFoldResult> getResultSizes(OpBuilder &builder, OpTy op,
                                         ValueRange operands) {
  if (!operands.empty())
    return getRuntimeSizes(builder, op.getLoc(), operands[0]);
  SmallVector<OpFoldResult> sizes;
  for (int64_t size :
       cast<RankedTensorType>(op.getOutput().getType()).getShape())
    sizes.push_back(builder.getIndexAttr(size));
  return sizes;
}

template <typename OpTy>
struct LowerUniform : OnnxLowering<OpTy> {
  using OnnxLowering<OpTy>::OnnxLowering;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RandomSource source(op, op.getSeed());
    Type type = onnx::getElementType(op.getOutput());
    double low = op.getLow().convertToDouble(),
           high = op.getHigh().convertToDouble();
    Value result = createRandom(
        rewriter, op.getLoc(),
        getResultSizes(rewriter, op, adaptor.getOperands()), type, {},
        [&](OpBuilder &b, Location l, Value position, ValueRange) {
          ScalarBuilder s(b, l, false);
          Value unit = source.getUniform(b, l, position, type, 0);
          Value scaled =
              s.add(s.mul(unit, s.like(unit, high - low)), s.like(unit, low));
          return s.convert(scaled, type, false);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }
};

template <typename OpTy>
struct LowerNormal : OnnxLowering<OpTy> {
  using OnnxLowering<OpTy>::OnnxLowering;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RandomSource source(op, op.getSeed());
    Type type = onnx::getElementType(op.getOutput());
    double mean = op.getMean().convertToDouble();
    double scale = op.getScale().convertToDouble();
    Value result = createRandom(
        rewriter, op.getLoc(),
        getResultSizes(rewriter, op, adaptor.getOperands()), type, {},
        [&](OpBuilder &b, Location l, Value position, ValueRange) {
          // Box and Muller: a radius and an angle.
          ScalarBuilder s(b, l, false);
          Value u = source.getUniform(b, l, position, type, 0);
          Value v = source.getUniform(b, l, position, type, 1);
          Value logarithm = s.log(s.sub(s.like(u, 1), u));
          Value radius = s.sqrt(s.mul(logarithm, s.like(u, -2)));
          Value angle = s.mul(v, s.like(v, 6.283185307179586));
          Value normal = s.mul(radius, s.create<math::CosOp>(angle));
          Value scaled =
              s.add(s.mul(normal, s.like(normal, scale)), s.like(normal, mean));
          return s.convert(scaled, type, false);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }
};

struct LowerBernoulli : OnnxLowering<onnx::BernoulliOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::BernoulliOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RandomSource source(op, op.getSeed());
    Value input = adaptor.getInput();
    Type memoryType =
        getElementTypeOrSelf(convertOnnxType(op.getOutput().getType()));
    GeneratedInput probabilities{
        input, llvm::to_vector(llvm::seq<int64_t>(
                   0, cast<RankedTensorType>(input.getType()).getRank()))};
    Value result = createRandom(
        rewriter, op.getLoc(), getRuntimeSizes(rewriter, op.getLoc(), input),
        memoryType, probabilities,
        [&](OpBuilder &b, Location l, Value position,
            ValueRange args) -> Value {
          ScalarBuilder s(b, l, false);
          Value probability = s.widen(args[0]);
          Value unit =
              source.getUniform(b, l, position, probability.getType(), 0);
          Value hit =
              s.compare(ScalarBuilder::Compare::Less, unit, probability);
          return s.select(hit, createScalarConstant(b, l, 1, memoryType),
                          createScalarConstant(b, l, 0, memoryType));
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }
};

struct LowerMultinomial : OnnxLowering<onnx::MultinomialOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::MultinomialOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RandomSource source(op, op.getSeed());
    Value input = adaptor.getInput();
    SmallVector<OpFoldResult> inputSizes =
        getRuntimeSizes(rewriter, loc, input);
    IndexBuilder outside(rewriter, loc);
    Value classes = outside.get(inputSizes[1]);
    Value samples = outside.constant(op.getSampleSize());
    Type type = onnx::getElementType(op.getOutput());
    Value result = createGenerated(
        rewriter, loc, {inputSizes[0], getAsOpFoldResult(samples)}, type, {},
        [&](OpBuilder &b, Location l, ArrayRef<Value> at, ValueRange) -> Value {
          // The class of the greatest log probability plus Gumbel noise.
          IndexBuilder inside(b, l);
          Value sample = inside.add(inside.mul(at[0], samples), at[1]);
          Type f64 = b.getF64Type();
          Value lowest = createScalarConstant(
              b, l, -std::numeric_limits<double>::infinity(), f64);
          SmallVector<Value> best = createLoop(
              b, l, classes, {inside.constant(0), lowest},
              [&](OpBuilder &inner, Location innerLoc, Value i,
                  ValueRange carried) -> SmallVector<Value> {
                ScalarBuilder s(inner, innerLoc, false);
                IndexBuilder index(inner, innerLoc);
                Value position = arith::IndexCastOp::create(
                    inner, innerLoc, inner.getI64Type(),
                    index.add(index.mul(sample, classes), i));
                Value u = source.getUniform(inner, innerLoc, position, f64, 0);
                // In (0, 1), so that both logarithms are finite.
                u = s.add(u, s.like(u, 0x1p-54));
                Value noise = s.negate(s.log(s.negate(s.log(u))));
                Value logit =
                    s.convert(tensor::ExtractOp::create(inner, innerLoc, input,
                                                        ValueRange{at[0], i}),
                              f64, false);
                Value score = s.add(logit, noise);
                Value wins = s.compare(ScalarBuilder::Compare::Greater, score,
                                       carried[1]);
                return {s.select(wins, i, carried[0]),
                        s.select(wins, score, carried[1])};
              });
          return arith::IndexCastOp::create(b, l, type, best[0]);
        });
    replaceWithCast(rewriter, op, result);
    return success();
  }
};

//===--- Dropout ----------------------------------------------------------===//

struct LowerDropout : OnnxLowering<onnx::DropoutOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::DropoutOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value data = adaptor.getData();
    Type type = getElementTypeOrSelf(data.getType()), i8 = rewriter.getI8Type();
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, data);
    Value ratio = adaptor.getRatio()
                      ? getOnlyElement(rewriter, loc, adaptor.getRatio())
                      : createScalarConstant(rewriter, loc, 0.5, type);
    std::optional<bool> trains = isTraining(op);
    if (trains && !*trains) {
      Value one = createScalarConstant(rewriter, loc, 1, i8);
      replace(rewriter, op, data, createFilled(rewriter, loc, sizes, one));
      return success();
    }
    ScalarBuilder outside(rewriter, loc, false);
    ratio = outside.widen(ratio);
    Value zero = outside.like(ratio, 0);
    if (!trains) {
      // What the run says: without training nothing is dropped.
      Value flag = getOnlyElement(rewriter, loc, adaptor.getTrainingMode());
      Value isOn = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::ne, flag,
          createScalarConstant(rewriter, loc, 0, flag.getType()));
      ratio = outside.select(isOn, ratio, zero);
    }
    RandomSource source(op, op.getSeed() ? std::optional<APFloat>(
                                               APFloat(double(*op.getSeed())))
                                         : std::nullopt);
    Value mask = createRandom(
        rewriter, loc, sizes, i8, {},
        [&](OpBuilder &b, Location l, Value position, ValueRange) -> Value {
          ScalarBuilder s(b, l, false);
          Value unit = source.getUniform(b, l, position, ratio.getType(), 0);
          Value kept =
              s.compare(ScalarBuilder::Compare::GreaterOrEqual, unit, ratio);
          return s.create<arith::ExtUIOp>(i8, kept);
        });
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(
        0, cast<RankedTensorType>(data.getType()).getRank()));
    Value scale = outside.div(outside.like(ratio, 1),
                              outside.sub(outside.like(ratio, 1), ratio));
    Value output = createGenerated(
        rewriter, loc, sizes, type, {GeneratedInput{data, dims}, {mask, dims}},
        [&](OpBuilder &b, Location l, ArrayRef<Value>,
            ValueRange args) -> Value {
          ScalarBuilder s(b, l, false);
          Value kept = s.compare(ScalarBuilder::Compare::NotEqual, args[1],
                                 createScalarConstant(b, l, 0, i8));
          Value scaled = s.mul(s.widen(args[0]), scale);
          return s.convert(s.select(kept, scaled, s.like(scaled, 0)), type,
                           false);
        });
    replace(rewriter, op, output, mask);
    return success();
  }

private:
  /// Whether the op drops anything, where that is known.
  static std::optional<bool> isTraining(onnx::DropoutOp op) {
    if (!op.getTrainingMode())
      return false;
    std::optional<SmallVector<int64_t>> mode =
        onnx::getConstantIntegers(op.getTrainingMode());
    if (!mode || mode->size() != 1)
      return std::nullopt;
    return (*mode)[0] != 0;
  }

  static void replace(ConversionPatternRewriter &rewriter, onnx::DropoutOp op,
                      Value output, Value mask) {
    Location loc = op.getLoc();
    rewriter.replaceOp(op,
                       {createCast(rewriter, loc, output,
                                   convertOnnxType(op.getOutput().getType())),
                        createCast(rewriter, loc, mask,
                                   convertOnnxType(op.getMask().getType()))});
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgRandomPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerUniform<onnx::RandomUniformOp>,
               LowerUniform<onnx::RandomUniformLikeOp>,
               LowerNormal<onnx::RandomNormalOp>,
               LowerNormal<onnx::RandomNormalLikeOp>, LowerBernoulli,
               LowerMultinomial, LowerDropout>(lowering, patterns.getContext());
}
