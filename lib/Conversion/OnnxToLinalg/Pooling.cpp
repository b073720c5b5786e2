//===- Pooling.cpp - lower pools ------------------------------------------===//

#include "Contraction.h"
#include "WindowLowering.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

constexpr auto kParallel = utils::IteratorType::parallel;
constexpr auto kReduction = utils::IteratorType::reduction;

/// A pool on memory values: x padded, windows counted.
struct Pool {
  Value x;
  onnx::Window window;
  onnx::ChannelLayout layout;
  bool channelsLast;
  SmallVector<OpFoldResult> spatial, counts, sizes;
  WindowPads pads;
  Value padded;
};

/// Combines the running value with one more element.
using Combine = llvm::function_ref<Value(OpBuilder &, Location, Value running,
                                         Value element)>;

template <typename OpTy>
FailureOr<Pool> getPool(OpTy op, Value x, OpBuilder &builder, Value padding) {
  FailureOr<onnx::Window> window = onnx::getPoolWindow(op);
  if (failed(window))
    return failure();
  Location loc = op.getLoc();
  int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
  if (rank != window->getRank() + 2)
    return op.emitOpError("rank of the input does not fit the kernel");
  bool last = op.getChannelsLast();
  Pool pool{x,  *window, onnx::ChannelLayout(last, rank), last, {}, {}, {},
            {}, x};
  pool.sizes = getRuntimeSizes(builder, loc, x);
  pool.spatial.assign(pool.sizes.begin() + pool.layout.spatial,
                      pool.sizes.begin() + pool.layout.spatial + rank - 2);
  pool.counts = getWindowCounts(builder, loc, *window, pool.spatial);
  llvm::copy(pool.counts, pool.sizes.begin() + pool.layout.spatial);
  pool.pads = getWindowPads(builder, loc, *window, pool.spatial, pool.counts);
  pool.padded =
      padSpatial(builder, loc, x, pool.layout.spatial, pool.pads, padding);
  return pool;
}

/// Iterators of a pool: the result's dimensions, then the kernel's.
SmallVector<utils::IteratorType> getPoolIterators(const Pool &pool) {
  SmallVector<utils::IteratorType> iterators(pool.sizes.size(), kParallel);
  iterators.append(pool.window.getRank(), kReduction);
  return iterators;
}

/// Maps of the padded x, of a tensor of the kernel's shape and of the result.
SmallVector<AffineMap> getPoolMaps(OpBuilder &builder, const Pool &pool) {
  int64_t rank = pool.sizes.size(), numLoops = rank + pool.window.getRank();
  SmallVector<AffineExpr> result, kernel;
  for (int64_t i = 0; i < numLoops; ++i)
    (i < rank ? result : kernel).push_back(builder.getAffineDimExpr(i));
  SmallVector<AffineExpr> input = result;
  for (int64_t i = 0, e = pool.window.getRank(); i < e; ++i) {
    AffineExpr &expr = input[pool.layout.spatial + i];
    expr = getWindowExpr(pool.window, i, expr, kernel[i]);
  }
  MLIRContext *context = builder.getContext();
  return {AffineMap::get(numLoops, 0, input, context),
          AffineMap::get(numLoops, 0, kernel, context),
          AffineMap::get(numLoops, 0, result, context)};
}

/// A tensor without contents that tells a generic the kernel's sizes.
Value createKernelShape(OpBuilder &builder, Location loc, const Pool &pool,
                        Type elementType) {
  return tensor::EmptyOp::create(builder, loc, pool.window.kernel, elementType);
}

/// Reduces the windows of the padded x, starting from `init`.
Value reduceWindows(OpBuilder &builder, Location loc, const Pool &pool,
                    Value init, Combine combine) {
  Value shape = createKernelShape(builder, loc, pool,
                                  getElementTypeOrSelf(pool.x.getType()));
  Value filled = createFilled(builder, loc, pool.sizes, init);
  return linalg::GenericOp::create(
             builder, loc, filled.getType(), ValueRange{pool.padded, shape},
             filled, getPoolMaps(builder, pool), getPoolIterators(pool),
             [&](OpBuilder &b, Location l, ValueRange args) {
               linalg::YieldOp::create(b, l, combine(b, l, args[2], args[0]));
             })
      .getResult(0);
}

/// Sums `term` of the elements of each window, in the accumulator's type.
Value sumWindows(OpBuilder &builder, Location loc, const Pool &pool,
                 llvm::function_ref<Value(OpBuilder &, Location, Value)> term) {
  Type accumulator = getAccumulatorType(getElementTypeOrSelf(pool.x.getType()));
  return reduceWindows(
      builder, loc, pool, createScalarConstant(builder, loc, 0, accumulator),
      [&](OpBuilder &b, Location l, Value sum, Value element) {
        Value added = term(b, l, convertScalar(b, l, element, accumulator));
        return arith::AddFOp::create(b, l, sum, added).getResult();
      });
}

/// The value below which no element lies.
Value createLowest(OpBuilder &builder, Location loc, Type type,
                   bool isUnsigned) {
  if (auto floatType = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(
        builder, loc,
        FloatAttr::get(floatType, APFloat::getInf(floatType.getFloatSemantics(),
                                                  /*Negative=*/true)));
  unsigned width = type.getIntOrFloatBitWidth();
  APInt lowest =
      isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width);
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(type, lowest));
}

Value createMax(OpBuilder &builder, Location loc, Value a, Value b,
                bool isUnsigned) {
  if (isa<FloatType>(a.getType()))
    return arith::MaximumFOp::create(builder, loc, a, b);
  if (isUnsigned)
    return arith::MaxUIOp::create(builder, loc, a, b);
  return arith::MaxSIOp::create(builder, loc, a, b);
}

/// Checks what every pool needs; the memory type of the result, or null after
/// an error.
RankedTensorType getPoolType(Operation *op, bool floatsOnly) {
  auto type = dyn_cast_or_null<RankedTensorType>(
      convertOnnxType(op->getResult(0).getType()));
  if (!type || !onnx::getRank(op->getOperand(0))) {
    op->emitOpError("input of unknown rank");
    return {};
  }
  if (floatsOnly && !isa<FloatType>(type.getElementType())) {
    op->emitOpError("on integers is not supported (supported: floats)");
    return {};
  }
  return type;
}

//===--- MaxPool ----------------------------------------------------------===//

struct LowerMaxPool : OnnxLowering<onnx::MaxPoolOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::MaxPoolOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getPoolType(op, /*floatsOnly=*/false);
    if (!type)
      return failure();
    Location loc = op.getLoc();
    bool isUnsigned = isUnsignedTensor(op.getX());
    Value lowest =
        createLowest(rewriter, loc, type.getElementType(), isUnsigned);
    FailureOr<Pool> pool = getPool(op, adaptor.getX(), rewriter, lowest);
    if (failed(pool))
      return failure();
    Value y = reduceWindows(
        rewriter, loc, *pool, lowest,
        [&](OpBuilder &b, Location l, Value running, Value element) {
          return createMax(b, l, running, element, isUnsigned);
        });
    Type indicesType = convertOnnxType(op.getIndices().getType());
    Value indices;
    if (op.getIndices().use_empty())
      indices = createEmpty(rewriter, loc, pool->sizes, rewriter.getI64Type());
    else
      indices = findMaxima(rewriter, loc, *pool, y, op.getStorageOrder() != 0);
    rewriter.replaceOp(op, {castTensor(rewriter, loc, y, type),
                            castTensor(rewriter, loc, indices, indicesType)});
    return success();
  }

private:
  /// Position in the flattened x of the first element of each window that
  /// equals its maximum. Padding never counts.
  static Value findMaxima(OpBuilder &builder, Location loc, const Pool &pool,
                          Value y, bool columnMajor) {
    int64_t rank = pool.sizes.size(), spatialRank = pool.window.getRank();
    auto toValue = [&](OpFoldResult size) {
      return getValueOrCreateConstantIndexOp(builder, loc, size);
    };
    SmallVector<Value> low = llvm::map_to_vector(pool.pads.low, toValue);
    SmallVector<Value> spatial = llvm::map_to_vector(pool.spatial, toValue);
    Value channels = toValue(pool.sizes[pool.layout.channel]);
    Value none = arith::ConstantIntOp::create(builder, loc, -1, 64);
    Value init = createFilled(builder, loc, pool.sizes, none);
    Value shape = createKernelShape(builder, loc, pool,
                                    getElementTypeOrSelf(y.getType()));
    SmallVector<AffineMap> maps = getPoolMaps(builder, pool);
    maps.insert(maps.begin() + 1, maps.back());
    auto body = [&](OpBuilder &b, Location l, ValueRange args) {
      Value zero = arith::ConstantIndexOp::create(b, l, 0);
      Value inside = arith::ConstantIntOp::create(b, l, 1, 1);
      SmallVector<Value> position;
      for (int64_t i = 0; i < spatialRank; ++i) {
        Value output = linalg::IndexOp::create(b, l, pool.layout.spatial + i);
        Value tap = linalg::IndexOp::create(b, l, rank + i);
        AffineExpr start = getWindowExpr(pool.window, i, b.getAffineDimExpr(0),
                                         b.getAffineDimExpr(1)) -
                           b.getAffineDimExpr(2);
        Value at = toIndex(b, l, foldSizes(b, l, start, {output, tap, low[i]}));
        position.push_back(at);
        for (auto [predicate, bound] :
             {std::pair{arith::CmpIPredicate::sge, zero},
              std::pair{arith::CmpIPredicate::slt, spatial[i]}})
          inside = arith::AndIOp::create(
              b, l, inside, arith::CmpIOp::create(b, l, predicate, at, bound));
      }
      Value flat = linalg::IndexOp::create(b, l, 0);
      auto advance = [&](Value size, Value index) {
        flat = arith::AddIOp::create(
            b, l, arith::MulIOp::create(b, l, flat, size), index);
      };
      advance(channels, linalg::IndexOp::create(b, l, pool.layout.channel));
      for (int64_t i = 0; i < spatialRank; ++i) {
        int64_t at = columnMajor ? spatialRank - 1 - i : i;
        advance(spatial[at], position[at]);
      }
      Value found = isMaximum(b, l, args[0], args[1]);
      Value isFirst =
          arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, args[3], none);
      Value take = arith::AndIOp::create(
          b, l, arith::AndIOp::create(b, l, inside, found), isFirst);
      Value index = arith::IndexCastOp::create(b, l, b.getI64Type(), flat);
      linalg::YieldOp::create(
          b, l,
          arith::SelectOp::create(b, l, take, index, args[3]).getResult());
    };
    return linalg::GenericOp::create(builder, loc, init.getType(),
                                     ValueRange{pool.padded, y, shape}, init,
                                     maps, getPoolIterators(pool), body)
        .getResult(0);
  }

  static Value toIndex(OpBuilder &builder, Location loc, OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(builder, loc, value);
  }

  /// A window with a NaN has NaN as its maximum: the first NaN is its place.
  static Value isMaximum(OpBuilder &b, Location loc, Value element,
                         Value maximum) {
    if (!isa<FloatType>(element.getType()))
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, element,
                                   maximum);
    Value equal = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                        element, maximum);
    Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO,
                                        element, element);
    return arith::OrIOp::create(b, loc, equal, isNan);
  }
};

//===--- AveragePool ------------------------------------------------------===//

struct LowerAveragePool : OnnxLowering<onnx::AveragePoolOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::AveragePoolOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getPoolType(op, /*floatsOnly=*/true);
    if (!type)
      return failure();
    Location loc = op.getLoc();
    Type elementType = type.getElementType();
    FailureOr<Pool> pool =
        getPool(op, adaptor.getX(), rewriter,
                createScalarConstant(rewriter, loc, 0, elementType));
    if (failed(pool))
      return failure();
    Value sum = sumWindows(rewriter, loc, *pool,
                           [](OpBuilder &, Location, Value x) { return x; });
    Value y = divide(rewriter, loc, *pool, sum, op.getCountIncludePad() != 0,
                     elementType);
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }

private:
  /// Divides each sum by the number of elements its window counts.
  static Value divide(OpBuilder &builder, Location loc, const Pool &pool,
                      Value sum, bool countPads, Type elementType) {
    Type accumulator = getElementTypeOrSelf(sum.getType());
    auto narrow = [&](OpBuilder &b, Location l, Value quotient) {
      return convertScalar(b, l, quotient, elementType);
    };
    bool uniform =
        pool.padded == pool.x || (countPads && !pool.window.ceilMode);
    if (uniform) {
      double count = 1;
      for (int64_t size : pool.window.kernel)
        count *= size;
      return createMapped(
          builder, loc, sum, elementType,
          [&](OpBuilder &b, Location l, ValueRange args) {
            Value divisor = createScalarConstant(b, l, count, accumulator);
            return narrow(b, l, arith::DivFOp::create(b, l, args[0], divisor));
          });
    }
    Value counts = countElements(builder, loc, pool, countPads, accumulator);
    int64_t rank = pool.sizes.size();
    SmallVector<AffineExpr> exprs;
    for (int64_t i = 0; i < pool.window.getRank(); ++i)
      exprs.push_back(builder.getAffineDimExpr(pool.layout.spatial + i));
    AffineMap spatial = AffineMap::get(rank, 0, exprs, builder.getContext());
    return createPointwise(
        builder, loc,
        {{sum, builder.getMultiDimIdentityMap(rank)}, {counts, spatial}},
        pool.sizes, elementType,
        [&](OpBuilder &b, Location l, ValueRange args) {
          return narrow(b, l, arith::DivFOp::create(b, l, args[0], args[1]));
        });
  }

  /// The number of elements of x (with `countPads`: of x and its pads) in each
  /// window, a tensor over the spatial dimensions; at least 1.
  static Value countElements(OpBuilder &builder, Location loc, const Pool &pool,
                             bool countPads, Type type) {
    SmallVector<OpFoldResult> starts = pool.pads.low, ends;
    for (auto [i, size] : llvm::enumerate(pool.spatial)) {
      AffineExpr end =
          builder.getAffineDimExpr(0) + builder.getAffineDimExpr(1);
      if (countPads) // beyond these lies what only ceil_mode added
        end = end + (pool.window.isSame() ? 0 : pool.window.padsEnd[i]);
      ends.push_back(foldSizes(builder, loc, end, {size, starts[i]}));
      if (countPads)
        starts[i] = builder.getIndexAttr(0);
    }
    return createPointwise(
        builder, loc, {}, pool.counts, type,
        [&](OpBuilder &b, Location l, ValueRange) {
          Value count;
          for (int64_t i = 0, e = pool.window.getRank(); i < e; ++i) {
            Value own = countTaps(b, l, pool.window, i, starts[i], ends[i]);
            count = count ? arith::MulIOp::create(b, l, count, own) : own;
          }
          Value one = arith::ConstantIndexOp::create(b, l, 1);
          count = arith::MaxSIOp::create(b, l, count, one);
          Value integer =
              arith::IndexCastOp::create(b, l, b.getI64Type(), count);
          return arith::SIToFPOp::create(b, l, type, integer).getResult();
        });
  }

  /// Taps of a window in dimension i that lie in [start, end) of the padded x.
  static Value countTaps(OpBuilder &b, Location loc, const onnx::Window &window,
                         int64_t i, OpFoldResult start, OpFoldResult end) {
    Value output = linalg::IndexOp::create(b, loc, i);
    AffineExpr bound =
        b.getAffineDimExpr(1) - b.getAffineDimExpr(0) * window.strides[i];
    // Taps below a bound: ceil((bound - window start) / dilation), in range.
    auto below = [&](OpFoldResult limit) {
      AffineMap map = AffineMap::get(2, 0, bound.ceilDiv(window.dilations[i]));
      Value taps = getValueOrCreateConstantIndexOp(
          b, loc, foldSizes(b, loc, map.getResult(0), {output, limit}));
      Value zero = arith::ConstantIndexOp::create(b, loc, 0);
      Value all = arith::ConstantIndexOp::create(b, loc, window.kernel[i]);
      taps = arith::MaxSIOp::create(b, loc, taps, zero);
      return arith::MinSIOp::create(b, loc, taps, all).getResult();
    };
    return arith::SubIOp::create(b, loc, below(end), below(start));
  }
};

//===--- LpPool -----------------------------------------------------------===//

/// |x|^p.
Value createPower(OpBuilder &b, Location loc, Value x, int64_t p) {
  if (p == 2)
    return arith::MulFOp::create(b, loc, x, x);
  Value magnitude = math::AbsFOp::create(b, loc, x);
  if (p == 1)
    return magnitude;
  return math::PowFOp::create(b, loc, magnitude,
                              createScalarConstant(b, loc, p, x.getType()));
}

/// x^(1/p).
Value createRoot(OpBuilder &b, Location loc, Value x, int64_t p) {
  if (p == 1)
    return x;
  if (p == 2)
    return math::SqrtOp::create(b, loc, x);
  return math::PowFOp::create(
      b, loc, x, createScalarConstant(b, loc, 1.0 / p, x.getType()));
}

struct LowerLpPool : OnnxLowering<onnx::LpPoolOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::LpPoolOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getPoolType(op, /*floatsOnly=*/true);
    if (!type)
      return failure();
    Location loc = op.getLoc();
    Type elementType = type.getElementType();
    FailureOr<Pool> pool =
        getPool(op, adaptor.getX(), rewriter,
                createScalarConstant(rewriter, loc, 0, elementType));
    if (failed(pool))
      return failure();
    Value sum = sumWindows(rewriter, loc, *pool,
                           [&](OpBuilder &b, Location l, Value x) {
                             return createPower(b, l, x, op.getP());
                           });
    Value y = createMapped(rewriter, loc, sum, elementType,
                           [&](OpBuilder &b, Location l, ValueRange args) {
                             Value root = createRoot(b, l, args[0], op.getP());
                             return convertScalar(b, l, root, elementType);
                           });
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }
};

//===--- Global pools -----------------------------------------------------===//

/// Reduces all spatial dimensions to (n, c), applies `finish` (which is given
/// the number of elements) and puts unit dimensions back.
Value createGlobalPool(
    OpBuilder &builder, Location loc, Value x, bool channelsLast,
    RankedTensorType type, Value init, Combine combine,
    llvm::function_ref<Value(OpBuilder &, Location, Value sum, Value count)>
        finish) {
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, x);
  int64_t rank = sizes.size();
  onnx::ChannelLayout layout(channelsLast, rank);
  MLIRContext *context = builder.getContext();
  SmallVector<OpFoldResult> kept{sizes[0], sizes[layout.channel]};
  SmallVector<utils::IteratorType> iterators(rank, kReduction);
  iterators[0] = iterators[layout.channel] = kParallel;
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  AffineMap result = AffineMap::get(
      rank, 0,
      {builder.getAffineDimExpr(0), builder.getAffineDimExpr(layout.channel)},
      context);
  Value filled = createFilled(builder, loc, kept, init);
  Value reduced =
      linalg::GenericOp::create(
          builder, loc, filled.getType(), x, filled,
          ArrayRef<AffineMap>{identity, result}, iterators,
          [&](OpBuilder &b, Location l, ValueRange args) {
            linalg::YieldOp::create(b, l, combine(b, l, args[1], args[0]));
          })
          .getResult(0);
  Value count = arith::ConstantIndexOp::create(builder, loc, 1);
  for (int64_t i = 0; i + 2 < rank; ++i)
    count = builder.createOrFold<arith::MulIOp>(
        loc, count,
        getValueOrCreateConstantIndexOp(builder, loc,
                                        sizes[layout.spatial + i]));
  reduced = createMapped(builder, loc, reduced, type.getElementType(),
                         [&](OpBuilder &b, Location l, ValueRange args) {
                           return finish(b, l, args[0], count);
                         });
  if (rank == 2)
    return reduced;
  SmallVector<ReassociationIndices> reassociation(2);
  SmallVector<OpFoldResult> resultSizes(rank, builder.getIndexAttr(1));
  SmallVector<int64_t> shape(rank, 1);
  auto reducedType = cast<RankedTensorType>(reduced.getType());
  for (int64_t i = 0; i < rank; ++i)
    reassociation[channelsLast ? i == rank - 1 : i > 0].push_back(i);
  resultSizes[0] = kept[0];
  resultSizes[layout.channel] = kept[1];
  shape[0] = reducedType.getDimSize(0);
  shape[layout.channel] = reducedType.getDimSize(1);
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(shape, reducedType.getElementType()),
      reduced, reassociation, resultSizes);
}

struct LowerGlobalAveragePool : OnnxLowering<onnx::GlobalAveragePoolOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::GlobalAveragePoolOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getPoolType(op, /*floatsOnly=*/true);
    if (!type)
      return failure();
    Location loc = op.getLoc();
    Type elementType = type.getElementType();
    Type accumulator = getAccumulatorType(elementType);
    Value y = createGlobalPool(
        rewriter, loc, adaptor.getX(), op.getChannelsLast(), type,
        createScalarConstant(rewriter, loc, 0, accumulator),
        [&](OpBuilder &b, Location l, Value running, Value element) -> Value {
          Value term = convertScalar(b, l, element, accumulator);
          return arith::AddFOp::create(b, l, running, term);
        },
        [&](OpBuilder &b, Location l, Value sum, Value count) -> Value {
          Value integer =
              arith::IndexCastOp::create(b, l, b.getI64Type(), count);
          Value divisor = arith::SIToFPOp::create(b, l, accumulator, integer);
          Value mean = arith::DivFOp::create(b, l, sum, divisor);
          return convertScalar(b, l, mean, elementType);
        });
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }
};

struct LowerGlobalMaxPool : OnnxLowering<onnx::GlobalMaxPoolOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::GlobalMaxPoolOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getPoolType(op, /*floatsOnly=*/false);
    if (!type)
      return failure();
    Location loc = op.getLoc();
    bool isUnsigned = isUnsignedTensor(op.getX());
    Value y = createGlobalPool(
        rewriter, loc, adaptor.getX(), op.getChannelsLast(), type,
        createLowest(rewriter, loc, type.getElementType(), isUnsigned),
        [&](OpBuilder &b, Location l, Value running, Value element) {
          return createMax(b, l, running, element, isUnsigned);
        },
        [](OpBuilder &, Location, Value maximum, Value) { return maximum; });
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }
};

struct LowerGlobalLpPool : OnnxLowering<onnx::GlobalLpPoolOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::GlobalLpPoolOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getPoolType(op, /*floatsOnly=*/true);
    if (!type)
      return failure();
    Location loc = op.getLoc();
    Type elementType = type.getElementType();
    Type accumulator = getAccumulatorType(elementType);
    Value y = createGlobalPool(
        rewriter, loc, adaptor.getX(), op.getChannelsLast(), type,
        createScalarConstant(rewriter, loc, 0, accumulator),
        [&](OpBuilder &b, Location l, Value running, Value element) -> Value {
          Value term = createPower(
              b, l, convertScalar(b, l, element, accumulator), op.getP());
          return arith::AddFOp::create(b, l, running, term);
        },
        [&](OpBuilder &b, Location l, Value sum, Value) {
          return convertScalar(b, l, createRoot(b, l, sum, op.getP()),
                               elementType);
        });
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgPoolingPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerMaxPool, LowerAveragePool, LowerLpPool,
               LowerGlobalAveragePool, LowerGlobalMaxPool, LowerGlobalLpPool>(
      lowering, patterns.getContext());
}
