//===- Softmax.cpp - lower softmax and its relatives ----------------------===//
//
// Softmax, LogSoftmax, Hardmax and LpNormalization: all work on the rows along
// one axis, which may be any: the maps of the reductions say where it is.
//
//===----------------------------------------------------------------------===//

#include "Softmax.h"
#include "ArgReduction.h"
#include "GenericBuilder.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace onnx_aot;

using Scalars = ScalarBuilder;
using Compare = ScalarBuilder::Compare;

Value onnx_aot::createRowMaximum(ScalarBuilder &s, Value a, Value b) {
  Value maximum = s.max(a, b);
  if (auto op = maximum.getDefiningOp<arith::MaximumFOp>())
    op.setFastmath(arith::FastMathFlags::nsz);
  return maximum;
}

namespace {

/// The rows of a float tensor along one axis.
class Rows {
public:
  Rows(OpBuilder &builder, Location loc, Value x, int64_t axis)
      : builder(builder), loc(loc), x(x),
        elementType(cast<RankedTensorType>(x.getType()).getElementType()),
        computeType(getComputeType(elementType)),
        sizes(getRuntimeSizes(builder, loc, x)), reduced(sizes.size(), false) {
    if (!reduced.empty())
      reduced[axis] = true;
    keptMap = getKeptMap(builder.getContext(), reduced);
  }

  using Scalar = function_ref<Value(Scalars &, ValueRange)>;

  /// Combines each row of `tensor` into one number. `combine` gets the element,
  /// those of the row tensors and what was accumulated.
  Value reduce(Value tensor, ValueRange rowTensors, double init,
               Scalar combine) {
    return createReduction(
        builder, loc, sizes, reduced,
        createScalarConstant(builder, loc, init, computeType),
        inputs(tensor, rowTensors),
        [&](OpBuilder &b, Location l, ValueRange args) {
          return call(b, l, args, combine);
        });
  }

  /// Maps each element with the numbers of its row.
  Value map(Value tensor, ValueRange rowTensors, Type resultType,
            Scalar function) {
    return createMap(
        builder, loc, sizes, resultType, inputs(tensor, rowTensors),
        [&](OpBuilder &b, Location l, ValueRange args) {
          Value result = call(b, l, args, function);
          return Scalars(b, l, false).convert(result, resultType, false);
        });
  }

  Value max() {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    return reduce(x, {}, -kInf, [](Scalars &s, ValueRange args) {
      return createRowMaximum(s, args[1], args[0]);
    });
  }

  OpBuilder &builder;
  Location loc;
  Value x;
  Type elementType, computeType;
  SmallVector<OpFoldResult> sizes;
  SmallVector<bool> reduced;

private:
  SmallVector<GenericInput> inputs(Value tensor, ValueRange rowTensors) {
    SmallVector<GenericInput> result{tensor};
    for (Value rowTensor : rowTensors)
      result.emplace_back(rowTensor, keptMap);
    return result;
  }

  static Value call(OpBuilder &b, Location l, ValueRange args,
                    Scalar function) {
    Scalars s(b, l, false);
    SmallVector<Value> wide;
    for (Value arg : args)
      wide.push_back(s.widen(arg));
    return function(s, wide);
  }

  AffineMap keptMap;
};

} // namespace

Value onnx_aot::createSoftmax(OpBuilder &builder, Location loc, Value x,
                              int64_t axis) {
  Rows rows(builder, loc, x, axis);
  Value powers = rows.map(x, rows.max(), rows.computeType,
                          [](Scalars &s, ValueRange args) {
                            return s.exp(s.sub(args[0], args[1]));
                          });
  Value sums = rows.reduce(powers, {}, 0, [](Scalars &s, ValueRange args) {
    return s.add(args[1], args[0]);
  });
  return rows.map(
      powers, sums, rows.elementType,
      [](Scalars &s, ValueRange args) { return s.div(args[0], args[1]); });
}

Value onnx_aot::createLogSoftmax(OpBuilder &builder, Location loc, Value x,
                                 int64_t axis, Type elementType) {
  Rows rows(builder, loc, x, axis);
  Value max = rows.max();
  Value sums = rows.reduce(x, max, 0, [](Scalars &s, ValueRange args) {
    return s.add(args[2], s.exp(s.sub(args[0], args[1])));
  });
  Value logs = createMap(builder, loc, getKeptSizes(rows.sizes, rows.reduced),
                         rows.computeType, {sums},
                         [](OpBuilder &b, Location l, ValueRange args) {
                           return Scalars(b, l, false).log(args[0]);
                         });
  return rows.map(x, {max, logs}, elementType, [](Scalars &s, ValueRange args) {
    return s.sub(s.sub(args[0], args[1]), args[2]);
  });
}

/// 1 at the first maximum of each row, else 0.
static Value createHardmax(OpBuilder &builder, Location loc, Value x,
                           int64_t axis) {
  Rows rows(builder, loc, x, axis);
  if (rows.sizes.empty())
    return rows.map(x, {}, rows.elementType, [](Scalars &s, ValueRange args) {
      return s.like(args[0], 1);
    });
  Value positions = createArgReduction(builder, loc, x, axis, {});
  return rows.map(x, positions, rows.elementType,
                  [&](Scalars &s, ValueRange args) {
                    Value at = s.create<arith::IndexCastOp>(
                        args[1].getType(), s.create<linalg::IndexOp>(axis));
                    return s.select(s.compare(Compare::Equal, at, args[1]),
                                    s.like(args[0], 1), s.like(args[0], 0));
                  });
}

/// x by the norm of its row, 0 where that is 0.
static Value createLpNormalization(OpBuilder &builder, Location loc, Value x,
                                   int64_t axis, int64_t p) {
  Rows rows(builder, loc, x, axis);
  Value sums = rows.reduce(x, {}, 0, [&](Scalars &s, ValueRange args) {
    Value element = p == 1 ? s.absolute(args[0]) : s.mul(args[0], args[0]);
    return s.add(args[1], element);
  });
  return rows.map(x, sums, rows.elementType, [&](Scalars &s, ValueRange args) {
    Value zero = s.like(args[0], 0);
    Value norm = p == 1 ? args[1] : s.sqrt(args[1]);
    return s.select(s.compare(Compare::Equal, norm, zero), zero,
                    s.div(args[0], norm));
  });
}

namespace {

/// An op along an axis by the function that creates it.
template <typename OpTy>
class LowerAlongAxis : public OnnxLowering<OpTy> {
public:
  using Create = Value (*)(OpTy op, OpBuilder &builder, Value x, int64_t axis);
  LowerAlongAxis(const LoweringContext &lowering, MLIRContext *context,
                 Create create)
      : OnnxLowering<OpTy>(lowering, context), create(create) {}

  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value x = adaptor.getX();
    int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
    FailureOr<int64_t> axis =
        onnx::normalizeAxis(op.getAxis(), std::max<int64_t>(rank, 1));
    if (failed(axis))
      return this->unsupported(op, "axis out of range");
    Value result = create(op, rewriter, x, *axis);
    rewriter.replaceOp(
        op, castToOnnxType(rewriter, op.getLoc(), result, op.getY().getType()));
    return success();
  }

private:
  Create create;
};

} // namespace

void onnx_aot::populateOnnxToLinalgSoftmaxPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<LowerAlongAxis<onnx::SoftmaxOp>>(
      lowering, context, [](auto op, OpBuilder &b, Value x, int64_t axis) {
        return createSoftmax(b, op.getLoc(), x, axis);
      });
  patterns.add<LowerAlongAxis<onnx::LogSoftmaxOp>>(
      lowering, context, [](auto op, OpBuilder &b, Value x, int64_t axis) {
        return createLogSoftmax(b, op.getLoc(), x, axis,
                                getElementTypeOrSelf(x));
      });
  patterns.add<LowerAlongAxis<onnx::HardmaxOp>>(
      lowering, context, [](auto op, OpBuilder &b, Value x, int64_t axis) {
        return createHardmax(b, op.getLoc(), x, axis);
      });
  patterns.add<LowerAlongAxis<onnx::LpNormalizationOp>>(
      lowering, context, [](auto op, OpBuilder &b, Value x, int64_t axis) {
        return createLpNormalization(b, op.getLoc(), x, axis, op.getP());
      });
}
