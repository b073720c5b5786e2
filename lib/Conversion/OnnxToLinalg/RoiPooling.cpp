//===- RoiPooling.cpp - lower RoiAlign, MaxRoiPool and MaxUnpool ----------===//

#include "Contraction.h"
#include "Gather.h"
#include "IndexedGeneric.h"
#include "ScalarBuilder.h"

#include "onnx-aot/Dialect/Onnx/IR/Window.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

using Compare = ScalarBuilder::Compare;

/// Element `column` of region `r`, widened.
Value readRegion(ScalarBuilder &s, Value rois, Value r, int64_t column,
                 Type compute) {
  OpBuilder &b = s.getBuilder();
  Value at = s.constant(column, b.getIndexType());
  Value number = s.create<tensor::ExtractOp>(rois, ValueRange{r, at});
  return convertScalar(b, s.getLoc(), number, compute);
}

RankedTensorType getFloatType(Operation *op) {
  auto type = dyn_cast_or_null<RankedTensorType>(
      convertOnnxType(op->getResult(0).getType()));
  if (!type || !isa<FloatType>(type.getElementType()) ||
      !llvm::all_of(op->getOperands(), [](Value operand) {
        return onnx::getRank(operand).has_value();
      })) {
    op->emitOpError("needs floats of known rank");
    return {};
  }
  return type;
}

//===--- RoiAlign ---------------------------------------------------------===//

/// Two neighbours along one dimension and their weights.
struct Neighbours {
  Value low, high, lowWeight, highWeight, isOutside;
};

/// One dimension of a region.
struct RegionAxis {
  Value start, binSize, samples, samplesFloat, length, size;
};

struct LowerRoiAlign : OnnxLowering<onnx::RoiAlignOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::RoiAlignOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getFloatType(op);
    if (!type)
      return failure();
    Location loc = op.getLoc();
    Value x = adaptor.getX(), rois = adaptor.getRois(),
          batches = adaptor.getBatchIndices();
    SmallVector<OpFoldResult> xSizes = getRuntimeSizes(rewriter, loc, x);
    checkSize(rewriter, op, rois, 1, rewriter.getIndexAttr(4),
              "a region has four numbers");
    checkSize(rewriter, op, batches, 0,
              tensor::getMixedSize(rewriter, loc, rois, 0),
              "rois and batch_indices");
    SmallVector<OpFoldResult> sizes{getRuntimeSizes(rewriter, loc, rois)[0],
                                    xSizes[1],
                                    rewriter.getIndexAttr(op.getOutputHeight()),
                                    rewriter.getIndexAttr(op.getOutputWidth())};
    SmallVector<Value> lengths = toValues(rewriter, loc, xSizes);
    checkRange(rewriter, op, batches,
               arith::ConstantIndexOp::create(rewriter, loc, 0), lengths[0],
               "a batch index is out of range");
    Type elementType = type.getElementType();
    Type compute = getAccumulatorType(elementType);
    bool isMax = op.getMode() == "max";
    Value y = createFromIndices(
        rewriter, loc, sizes, elementType,
        [&](OpBuilder &b, Location l, ArrayRef<Value> indices) -> Value {
          ScalarBuilder s(b, l, /*isUnsigned=*/false);
          Value batch = s.create<tensor::ExtractOp>(batches, indices[0]);
          batch = s.create<arith::IndexCastOp>(b.getIndexType(), batch);
          batch = clampIndex(b, l, batch, lengths[0]);
          RegionAxis height = getAxis(s, op, rois, indices[0], 1, lengths[2],
                                      op.getOutputHeight(), compute);
          RegionAxis width = getAxis(s, op, rois, indices[0], 0, lengths[3],
                                     op.getOutputWidth(), compute);
          Value zero = s.constant(0, b.getIndexType());
          Value init = s.constant(0, compute);
          if (isMax)
            init = s.lowest(compute);
          auto inner = [&](OpBuilder &ob, Location, Value iy,
                           ValueRange outer) {
            ScalarBuilder o(ob, l, /*isUnsigned=*/false);
            Neighbours row = getNeighbours(o, height, indices[2], iy);
            return createFor(
                ob, l, zero, width.samples, outer,
                [&](OpBuilder &ib, Location, Value ix,
                    ValueRange running) -> SmallVector<Value> {
                  ScalarBuilder i(ib, l, /*isUnsigned=*/false);
                  Neighbours column = getNeighbours(i, width, indices[3], ix);
                  return {accumulate(i, x, batch, indices[1], row, column,
                                     running[0], isMax, compute)};
                });
          };
          Value total = createFor(b, l, zero, height.samples, init, inner)[0];
          Value count = s.mul(height.samplesFloat, width.samplesFloat);
          Value isEmpty =
              s.compare(Compare::LessOrEqual, count, s.like(count, 0));
          Value one = s.like(count, 1);
          Value result =
              isMax ? total : s.div(total, s.select(isEmpty, one, count));
          result = s.select(isEmpty, s.like(result, 0), result);
          return convertScalar(b, l, result, elementType);
        });
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }

private:
  static RegionAxis getAxis(ScalarBuilder &s, onnx::RoiAlignOp op, Value rois,
                            Value r, int64_t column, Value length, int64_t bins,
                            Type compute) {
    OpBuilder &b = s.getBuilder();
    bool isHalfPixel = op.getCoordinateTransformationMode() == "half_pixel";
    Value scale = s.constant(op.getSpatialScale().convertToDouble(), compute);
    Value offset = s.like(scale, isHalfPixel ? 0.5 : 0);
    auto edge = [&](int64_t at) {
      return s.sub(s.mul(readRegion(s, rois, r, at, compute), scale), offset);
    };
    RegionAxis axis;
    axis.length = length;
    axis.size = toFloat(b, s.getLoc(), length, compute);
    axis.start = edge(column);
    Value extent = s.sub(edge(column + 2), axis.start);
    if (!isHalfPixel) // malformed regions count as one element
      extent = s.max(extent, s.like(extent, 1));
    axis.binSize = s.div(extent, s.like(extent, bins));
    if (op.getSamplingRatio() > 0) {
      axis.samples = s.constant(op.getSamplingRatio(), b.getIndexType());
    } else {
      Value count =
          toIndex(b, s.getLoc(), s.create<math::CeilOp>(axis.binSize));
      // No region is worth more samples than the image has elements.
      Value limit = s.add(length, s.like(length, 1));
      axis.samples = s.max(s.min(count, limit), s.like(count, 0));
    }
    axis.samplesFloat = toFloat(b, s.getLoc(), axis.samples, compute);
    return axis;
  }

  /// Sample `sample` of bin `bin`.
  static Neighbours getNeighbours(ScalarBuilder &s, const RegionAxis &axis,
                                  Value bin, Value sample) {
    OpBuilder &b = s.getBuilder();
    Location loc = s.getLoc();
    Type compute = axis.start.getType();
    auto c = [&](double value) { return s.constant(value, compute); };
    Value at =
        s.add(axis.start, s.mul(toFloat(b, loc, bin, compute), axis.binSize));
    Value step = s.div(
        s.mul(s.add(toFloat(b, loc, sample, compute), c(0.5)), axis.binSize),
        axis.samplesFloat);
    at = s.add(at, step);
    Neighbours result;
    result.isOutside =
        s.create<arith::OrIOp>(s.compare(Compare::Less, at, c(-1)),
                               s.compare(Compare::Greater, at, axis.size));
    Value last = s.sub(axis.size, c(1));
    Value inside = s.min(s.max(at, c(0)), last);
    Value floor = s.create<math::FloorOp>(inside);
    Value low = toIndex(b, loc, inside);
    result.low = clampIndex(b, loc, low, axis.length);
    result.high = clampIndex(b, loc, s.add(low, s.like(low, 1)), axis.length);
    result.highWeight = s.sub(inside, floor);
    result.lowWeight = s.sub(c(1), result.highWeight);
    return result;
  }

  static Value accumulate(ScalarBuilder &s, Value x, Value batch, Value channel,
                          const Neighbours &row, const Neighbours &column,
                          Value running, bool isMax, Type compute) {
    auto corner = [&](Value y, Value rowWeight, Value at, Value columnWeight) {
      Value element =
          s.create<tensor::ExtractOp>(x, ValueRange{batch, channel, y, at});
      element = convertScalar(s.getBuilder(), s.getLoc(), element, compute);
      return s.mul(s.mul(rowWeight, columnWeight), element);
    };
    Value a = corner(row.low, row.lowWeight, column.low, column.lowWeight);
    Value b = corner(row.low, row.lowWeight, column.high, column.highWeight);
    Value c = corner(row.high, row.highWeight, column.low, column.lowWeight);
    Value d = corner(row.high, row.highWeight, column.high, column.highWeight);
    // In mode max ONNX takes the largest weighted corner, not their sum.
    Value sample = isMax ? s.max(s.max(a, b), s.max(c, d))
                         : s.add(s.add(a, b), s.add(c, d));
    Value isOutside = s.create<arith::OrIOp>(row.isOutside, column.isOutside);
    sample = s.select(isOutside, s.like(sample, 0), sample);
    return isMax ? s.max(running, sample) : s.add(running, sample);
  }
};

//===--- MaxRoiPool -------------------------------------------------------===//

struct LowerMaxRoiPool : OnnxLowering<onnx::MaxRoiPoolOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::MaxRoiPoolOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getFloatType(op);
    if (!type)
      return failure();
    Location loc = op.getLoc();
    Value x = adaptor.getX(), rois = adaptor.getRois();
    checkSize(rewriter, op, rois, 1, rewriter.getIndexAttr(5),
              "a region has five numbers");
    SmallVector<OpFoldResult> xSizes = getRuntimeSizes(rewriter, loc, x);
    ArrayRef<int64_t> bins = op.getPooledShape();
    SmallVector<OpFoldResult> sizes{getRuntimeSizes(rewriter, loc, rois)[0],
                                    xSizes[1], rewriter.getIndexAttr(bins[0]),
                                    rewriter.getIndexAttr(bins[1])};
    SmallVector<Value> lengths = toValues(rewriter, loc, xSizes);
    Value batches = tensor::ExtractSliceOp::create(
        rewriter, loc, rois,
        {rewriter.getIndexAttr(0), rewriter.getIndexAttr(0)},
        {sizes[0], rewriter.getIndexAttr(1)},
        {rewriter.getIndexAttr(1), rewriter.getIndexAttr(1)});
    checkRange(rewriter, op, batches,
               arith::ConstantIndexOp::create(rewriter, loc, 0), lengths[0],
               "a batch index is out of range");
    Type elementType = type.getElementType();
    Type compute = getAccumulatorType(elementType);
    double scale = op.getSpatialScale().convertToDouble();
    Value y = createFromIndices(
        rewriter, loc, sizes, elementType,
        [&](OpBuilder &b, Location l, ArrayRef<Value> indices) -> Value {
          ScalarBuilder s(b, l, /*isUnsigned=*/false);
          Value number = readRegion(s, rois, indices[0], 0, compute);
          Value batch = clampIndex(b, l, toIndex(b, l, number), lengths[0]);
          auto rows = getRange(s, rois, indices[0], 2, scale, bins[0],
                               indices[2], lengths[2], compute);
          auto columns = getRange(s, rois, indices[0], 1, scale, bins[1],
                                  indices[3], lengths[3], compute);
          Value lowest = s.lowest(compute);
          auto inner = [&](OpBuilder &ob, Location, Value row,
                           ValueRange outer) {
            return createFor(
                ob, l, columns.first, columns.second, outer,
                [&](OpBuilder &ib, Location, Value column,
                    ValueRange running) -> SmallVector<Value> {
                  ScalarBuilder i(ib, l, /*isUnsigned=*/false);
                  Value element = i.create<tensor::ExtractOp>(
                      x, ValueRange{batch, indices[1], row, column});
                  return {i.max(running[0],
                                convertScalar(ib, l, element, compute))};
                });
          };
          Value maximum =
              createFor(b, l, rows.first, rows.second, lowest, inner)[0];
          Value isEmpty = s.create<arith::OrIOp>(
              s.compare(Compare::GreaterOrEqual, rows.first, rows.second),
              s.compare(Compare::GreaterOrEqual, columns.first,
                        columns.second));
          Value result = s.select(isEmpty, s.like(maximum, 0), maximum);
          return convertScalar(b, l, result, elementType);
        });
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }

private:
  /// Elements [first, last) of bin `bin` along one dimension.
  static std::pair<Value, Value> getRange(ScalarBuilder &s, Value rois, Value r,
                                          int64_t column, double scale,
                                          int64_t bins, Value bin, Value length,
                                          Type compute) {
    OpBuilder &b = s.getBuilder();
    Location loc = s.getLoc();
    auto edge = [&](int64_t at) {
      Value scaled = s.mul(readRegion(s, rois, r, at, compute),
                           s.constant(scale, compute));
      return s.create<math::RoundOp>(scaled);
    };
    Value start = edge(column), end = edge(column + 2);
    Value one = s.like(start, 1);
    Value extent = s.max(s.add(s.sub(end, start), one), one);
    Value size = s.div(extent, s.like(extent, bins));
    Value position = toFloat(b, loc, bin, compute);
    Value first = s.create<math::FloorOp>(s.mul(position, size));
    Value last = s.create<math::CeilOp>(s.mul(s.add(position, one), size));
    auto bound = [&](Value offset) {
      Value at = toIndex(b, loc, s.add(start, offset));
      return s.min(s.max(at, s.like(at, 0)), length);
    };
    return {bound(first), bound(last)};
  }
};

//===--- MaxUnpool --------------------------------------------------------===//

struct LowerMaxUnpool : OnnxLowering<onnx::MaxUnpoolOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::MaxUnpoolOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = getFloatType(op);
    FailureOr<onnx::Window> window =
        onnx::getWindow(op, {op.getKernelShape(), op.getStrides(), std::nullopt,
                             op.getPads(), "", false});
    if (!type || failed(window))
      return failure();
    Location loc = op.getLoc();
    ScalarBuilder s(rewriter, loc, /*isUnsigned=*/false);
    Value x = adaptor.getX(), indices = adaptor.getI();
    for (auto [axis, size] :
         llvm::enumerate(tensor::getMixedSizes(rewriter, loc, x)))
      checkSize(rewriter, op, indices, axis, size, "values and indices");
    Type elementType = type.getElementType();
    int64_t rank = type.getRank();
    SmallVector<OpFoldResult> sizes = getRuntimeSizes(rewriter, loc, x);
    for (int64_t i = 0; i < window->getRank(); ++i) {
      AffineExpr size =
          (rewriter.getAffineDimExpr(0) - 1) * window->strides[i] +
          (window->kernel[i] - window->padsBegin[i] - window->padsEnd[i]);
      sizes[i + 2] = foldSizes(rewriter, loc, size, sizes[i + 2]);
    }
    Value total = s.constant(1, rewriter.getIndexType());
    for (Value size : toValues(rewriter, loc, sizes))
      total = rewriter.createOrFold<arith::MulIOp>(loc, total, size);
    checkRange(rewriter, op, indices, s.like(total, 0), total,
               "an index is out of range");
    Value zero = createScalarConstant(rewriter, loc, 0, elementType);
    Value flat = createFilled(rewriter, loc, getAsOpFoldResult(total), zero);
    flat = scatter(rewriter, loc, flatten(rewriter, loc, x),
                   flatten(rewriter, loc, indices), flat, total);
    SmallVector<ReassociationIndices> all(1);
    SmallVector<int64_t> shape;
    for (int64_t i = 0; i < rank; ++i) {
      all[0].push_back(i);
      shape.push_back(
          getConstantIntValue(sizes[i]).value_or(ShapedType::kDynamic));
    }
    Value y = tensor::ExpandShapeOp::create(
        rewriter, loc, RankedTensorType::get(shape, elementType), flat, all,
        sizes);
    if (Value given = adaptor.getOutputShape())
      y = place(rewriter, loc, y, sizes, given, type, zero);
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }

private:
  static Value flatten(OpBuilder &builder, Location loc, Value tensor) {
    int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
    SmallVector<ReassociationIndices> all(1);
    for (int64_t i = 0; i < rank; ++i)
      all[0].push_back(i);
    return tensor::CollapseShapeOp::create(builder, loc, tensor, all);
  }

  /// flat[indices[i]] = x[i], in order; indices outside never get here, and are
  /// dropped all the same so that no write can leave the tensor.
  static Value scatter(OpBuilder &builder, Location loc, Value x, Value indices,
                       Value flat, Value total) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value count = tensor::DimOp::create(builder, loc, x, zero);
    return createFor(
        builder, loc, zero, count, flat,
        [&](OpBuilder &b, Location l, Value i,
            ValueRange carried) -> SmallVector<Value> {
          Value index = tensor::ExtractOp::create(b, l, indices, i);
          index = arith::IndexCastOp::create(b, l, b.getIndexType(), index);
          auto branch = scf::IfOp::create(
              b, l, isInside(b, l, index, total),
              [&](OpBuilder &ib, Location) {
                Value element = tensor::ExtractOp::create(ib, l, x, i);
                Value next =
                    tensor::InsertOp::create(ib, l, element, carried[0], index);
                scf::YieldOp::create(ib, l, next);
              },
              [&](OpBuilder &ib, Location) {
                scf::YieldOp::create(ib, l, carried[0]);
              });
          return {branch.getResult(0)};
        })[0];
  }

  /// y in the corner of zeros of the given shape.
  static Value place(OpBuilder &builder, Location loc, Value y,
                     ArrayRef<OpFoldResult> sizes, Value given,
                     RankedTensorType type, Value zero) {
    ScalarBuilder s(builder, loc, /*isUnsigned=*/false);
    SmallVector<OpFoldResult> outputSizes, common;
    for (auto [i, size] : llvm::enumerate(sizes)) {
      Value own = getValueOrCreateConstantIndexOp(builder, loc, size);
      Value wanted;
      if (type.isDynamicDim(i)) {
        Value at = s.constant(i, builder.getIndexType());
        Value number = s.create<tensor::ExtractOp>(given, at);
        wanted = s.create<arith::IndexCastOp>(builder.getIndexType(), number);
        wanted = s.max(wanted, s.like(wanted, 0));
      } else {
        wanted = s.constant(type.getDimSize(i), builder.getIndexType());
      }
      outputSizes.push_back(getAsOpFoldResult(wanted));
      common.push_back(getAsOpFoldResult(
          builder.createOrFold<arith::MinSIOp>(loc, wanted, own)));
    }
    SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
        strides(sizes.size(), builder.getIndexAttr(1));
    Value part = tensor::ExtractSliceOp::create(builder, loc, y, offsets,
                                                common, strides);
    Value zeros = createFilled(builder, loc, outputSizes, zero);
    return tensor::InsertSliceOp::create(builder, loc, part, zeros, offsets,
                                         common, strides);
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgRoiPoolingPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerRoiAlign, LowerMaxRoiPool, LowerMaxUnpool>(
      lowering, patterns.getContext());
}
