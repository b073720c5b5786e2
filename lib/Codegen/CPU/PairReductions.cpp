//===- PairReductions.cpp - give integer products pairs to multiply -------===//
//
// Vector units multiply pairs of 16-bit integers and add the two products in 32
// bits at once. For that the reduction of a product of integers is split by
// two, with both numbers of a pair side by side in both operands. Some do so
// with four pairs of an unsigned and a signed byte.
//
//===----------------------------------------------------------------------===//

#include "ConstantBytes.h"

#include "onnx-aot/Codegen/CPU/Passes.h"
#include "onnx-aot/Codegen/Common/StructuredOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_PAIRREDUCTIONS
#include "onnx-aot/Codegen/CPU/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// One factor of the product: an input, extended to 32 bits.
struct Factor {
  OpOperand *operand = nullptr;
  AffineMap map;
  bool isUnsigned = false;
};

/// Nothing when the value is not an extended input that 16 signed bits hold.
std::optional<Factor> getFactor(linalg::GenericOp op, Value value) {
  Operation *extension = value.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(extension))
    return std::nullopt;
  auto argument = dyn_cast<BlockArgument>(extension->getOperand(0));
  if (!argument || argument.getOwner() != op.getBody() ||
      argument.getArgNumber() >= op.getNumDpsInputs())
    return std::nullopt;
  Factor factor{op.getDpsInputOperand(argument.getArgNumber()),
                {},
                isa<arith::ExtUIOp>(extension)};
  unsigned width = argument.getType().getIntOrFloatBitWidth();
  if (width != 8 && (width != 16 || factor.isUnsigned))
    return std::nullopt;
  factor.map = op.getMatchingIndexingMap(factor.operand);
  return factor;
}

/// What is subtracted from bytes: a constant and, where `point` is there, a
/// number of 8 bits that only the run knows.
struct ZeroPoint {
  int64_t constant = 0;
  Value point; ///< a tensor with one element
  bool isSigned = false;
};

/// A tensor of 16 bits whose elements are bytes less a number.
struct Bytes {
  linalg::GenericOp source; ///< what computes them
  Value number;             ///< the byte, in its body
  bool isSigned = false;
  ZeroPoint zero;
};

/// What a value of the body is: a constant, or the one element of an input.
std::optional<ZeroPoint> getZeroPoint(linalg::GenericOp op, Value value) {
  ZeroPoint zero;
  Operation *definer = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(definer)) {
    zero.constant = cast<IntegerAttr>(constant.getValue()).getInt();
    return zero;
  }
  if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(definer))
    return std::nullopt;
  auto argument = dyn_cast<BlockArgument>(definer->getOperand(0));
  if (!argument || argument.getOwner() != op.getBody() ||
      argument.getArgNumber() >= op.getNumDpsInputs() ||
      !argument.getType().isInteger(8))
    return std::nullopt;
  OpOperand *input = op.getDpsInputOperand(argument.getArgNumber());
  auto type = dyn_cast<RankedTensorType>(input->get().getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() != 1 ||
      !llvm::all_of(op.getMatchingIndexingMap(input).getResults(),
                    llvm::IsaPred<AffineConstantExpr>))
    return std::nullopt;
  zero.point = input->get();
  zero.isSigned = isa<arith::ExtSIOp>(definer);
  return zero;
}

std::optional<Bytes> getBytes(Value tensor) {
  auto source = tensor.getDefiningOp<linalg::GenericOp>();
  if (!source || !isPointwise(source) || source->getNumResults() != 1 ||
      !source.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>())
    return std::nullopt;
  Bytes bytes;
  bytes.source = source;
  Value value = source.getBody()->getTerminator()->getOperand(0);
  if (auto sub = value.getDefiningOp<arith::SubIOp>()) {
    std::optional<ZeroPoint> zero = getZeroPoint(source, sub.getRhs());
    if (!zero)
      return std::nullopt;
    bytes.zero = *zero;
    value = sub.getLhs();
  }
  Operation *extension = value.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(extension) ||
      !extension->getOperand(0).getType().isInteger(8))
    return std::nullopt;
  bytes.number = extension->getOperand(0);
  bytes.isSigned = isa<arith::ExtSIOp>(extension);
  return bytes;
}

/// The same elements in another shape; null for a value that is no constant.
Value reshapeConstant(OpBuilder &builder, Value value, RankedTensorType type) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return {};
  TypedAttr reshaped;
  if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
    reshaped = dense.reshape(type);
  else if (auto blob = dyn_cast<DenseResourceElementsAttr>(constant.getValue()))
    reshaped = DenseResourceElementsAttr::get(type, blob.getRawHandle());
  if (!reshaped)
    return {};
  return arith::ConstantOp::create(builder, value.getLoc(), reshaped);
}

struct PairReductions : onnx_aot::impl::PairReductionsBase<PairReductions> {
  using PairReductionsBase::PairReductionsBase;

  void runOnOperation() override {
    SmallVector<linalg::GenericOp> contractions;
    getOperation()->walk([&](linalg::GenericOp op) {
      if (op.hasPureTensorSemantics() && isContraction(op))
        contractions.push_back(op);
    });
    // What is decided for one user of the rows holds for all.
    DenseSet<Operation *> fours;
    if (byteDots)
      for (linalg::GenericOp op : contractions)
        if (std::optional<Split> found = analyze(op))
          if (takesBytes(op, *found))
            fours.insert(op);
    for (linalg::GenericOp op : contractions) {
      std::optional<Split> found = analyze(op);
      if (!found)
        continue;
      if (byteDots && multipliesBytes(*found, fours))
        rewriteBytes(op, *found);
      else
        rewrite(op, *found, 2);
    }
    for (auto &[source, bytes] : madeBytes)
      if (source->use_empty())
        source->erase();
  }

private:
  /// The operands of a contraction and the loop that is split.
  struct Split {
    Factor rows, columns;
    unsigned loop = 0, lane = 0;
  };

  static std::optional<Split> analyze(linalg::GenericOp op) {
    if (!getElementTypeOrSelf(op.getResult(0).getType()).isInteger(32))
      return std::nullopt;
    Combiner combiner = *getCombiner(op);
    Operation *product =
        combiner.op->getOperand(1 - combiner.accumulator).getDefiningOp();
    std::optional<Factor> rows = getFactor(op, product->getOperand(0)),
                          columns = getFactor(op, product->getOperand(1));
    AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    if (!rows || !columns || output.getNumResults() == 0)
      return std::nullopt;
    auto lane =
        dyn_cast<AffineDimExpr>(output.getResult(output.getNumResults() - 1));
    if (!lane)
      return std::nullopt;
    if (rows->map.isFunctionOfDim(lane.getPosition()))
      std::swap(rows, columns);
    std::optional<unsigned> loop =
        findLoop(op, *rows, *columns, lane.getPosition());
    if (!loop)
      return std::nullopt;
    return Split{*rows, *columns, *loop, lane.getPosition()};
  }

  /// Unsigned bytes by signed ones, in fours, each column of which has one sum.
  static bool takesBytes(linalg::GenericOp op, const Split &found) {
    if (found.columns.isUnsigned || !getBytes(found.rows.operand->get()) ||
        op.getStaticLoopRanges()[found.loop] % 4 != 0)
      return false;
    auto type = cast<RankedTensorType>(found.columns.operand->get().getType());
    auto constant =
        found.columns.operand->get().getDefiningOp<arith::ConstantOp>();
    if (!type.getElementType().isInteger(8) ||
        !getConstantBytes(constant.getValue()))
      return false;
    auto kinds = op.getIteratorTypesArray();
    return llvm::all_of(found.columns.map.getResults(), [&](AffineExpr expr) {
      unsigned loop = cast<AffineDimExpr>(expr).getPosition();
      return loop == found.lane ||
             kinds[loop] == utils::IteratorType::reduction;
    });
  }

  /// All that reads the rows, or has done so, multiplies bytes.
  bool multipliesBytes(const Split &found, const DenseSet<Operation *> &fours) {
    Value rows = found.rows.operand->get();
    return llvm::all_of(
               rows.getUsers(),
               [&](Operation *user) { return fours.contains(user); }) &&
           fours.contains(found.rows.operand->getOwner());
  }

  /// The rows as unsigned bytes, and what is to be subtracted from them.
  std::pair<Value, ZeroPoint> createBytes(Value rows) {
    Bytes bytes = *getBytes(rows);
    ZeroPoint zero = bytes.zero;
    zero.constant += bytes.isSigned ? 128 : 0;
    Value &made = madeBytes[bytes.source];
    if (made)
      return {made, zero};
    // A copy of what is there already.
    auto argument = dyn_cast<BlockArgument>(bytes.number);
    auto isIdentity = [&](OpOperand *operand) {
      return bytes.source.getMatchingIndexingMap(operand).isIdentity();
    };
    if (argument && !bytes.isSigned &&
        isIdentity(bytes.source.getDpsInputOperand(argument.getArgNumber())) &&
        isIdentity(bytes.source.getDpsInitOperand(0))) {
      made = bytes.source.getDpsInputs()[argument.getArgNumber()];
      return {made, zero};
    }
    OpBuilder builder(bytes.source);
    Location loc = bytes.source.getLoc();
    auto empty = bytes.source.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>();
    Value init = tensor::EmptyOp::create(builder, loc, empty.getMixedSizes(),
                                         builder.getI8Type());
    made =
        linalg::GenericOp::create(
            builder, loc, init.getType(), bytes.source.getDpsInputs(), init,
            bytes.source.getIndexingMapsArray(),
            bytes.source.getIteratorTypesArray(),
            [&](OpBuilder &b, Location l, ValueRange args) {
              IRMapping mapping;
              mapping.map(bytes.source.getBody()->getArguments().drop_back(),
                          args.drop_back());
              for (Operation &inner :
                   bytes.source.getBody()->without_terminator())
                b.clone(inner, mapping);
              Value number = mapping.lookupOrDefault(bytes.number);
              if (bytes.isSigned)
                number = arith::XOrIOp::create(
                    b, l, number, arith::ConstantIntOp::create(b, l, -128, 8));
              linalg::YieldOp::create(b, l, number);
            })
            .getResult(0);
    return {made, zero};
  }

  /// Products of the bytes, less the zero point times each column's sum.
  void rewriteBytes(linalg::GenericOp op, Split found) {
    std::pair<Value, ZeroPoint> made = createBytes(found.rows.operand->get());
    const ZeroPoint &zero = made.second;
    Value columns = found.columns.operand->get();
    AffineMap columnMap = found.columns.map;
    unsigned lane = found.lane;
    found.rows.operand->set(made.first);
    found.rows.isUnsigned = true;
    linalg::GenericOp products = rewrite(op, found, 4);
    if (zero.constant == 0 && !zero.point)
      return;
    OpBuilder builder(products);
    builder.setInsertionPointAfter(products);
    Location loc = products.getLoc();
    Value sums = arith::ConstantOp::create(
        builder, loc,
        sumColumns(columns, columnMap, lane, zero.point ? -1 : -zero.constant));
    Value result = products.getResult(0);
    int64_t rank = cast<RankedTensorType>(result.getType()).getRank();
    AffineMap all = builder.getMultiDimIdentityMap(rank);
    Value empty = tensor::EmptyOp::create(
        builder, loc, tensor::getMixedSizes(builder, loc, result),
        builder.getI32Type());
    SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
    SmallVector<Value> inputs{result, sums};
    SmallVector<AffineMap> maps{
        all, AffineMap::get(rank, 0, builder.getAffineDimExpr(rank - 1))};
    if (zero.point) {
      inputs.push_back(zero.point);
      SmallVector<AffineExpr> first(
          cast<RankedTensorType>(zero.point.getType()).getRank(),
          builder.getAffineConstantExpr(0));
      maps.push_back(AffineMap::get(rank, 0, first, builder.getContext()));
    }
    maps.push_back(all);
    auto corrected = linalg::GenericOp::create(
        builder, loc, result.getType(), inputs, empty, maps, kinds,
        [&](OpBuilder &b, Location l, ValueRange args) {
          Value less = args[1];
          if (zero.point) {
            Value point = extend(b, l, args[2], b.getI32Type(), !zero.isSigned);
            if (zero.constant != 0)
              point = arith::AddIOp::create(
                  b, l, point,
                  arith::ConstantIntOp::create(b, l, zero.constant, 32));
            less = arith::MulIOp::create(b, l, less, point);
          }
          Value sum = arith::AddIOp::create(b, l, args[0], less);
          linalg::YieldOp::create(b, l, sum);
        });
    result.replaceUsesWithIf(corrected.getResult(0), [&](OpOperand &use) {
      return use.getOwner() != corrected && !isa<tensor::DimOp>(use.getOwner());
    });
  }

  /// `factor` times the sum of each column.
  static DenseElementsAttr sumColumns(Value columns, AffineMap map,
                                      unsigned lane, int64_t factor) {
    auto type = cast<RankedTensorType>(columns.getType());
    ArrayRef<char> bytes = *getConstantBytes(
        columns.getDefiningOp<arith::ConstantOp>().getValue());
    int64_t inner = 1, axis = 0;
    for (auto [index, expr] : llvm::enumerate(map.getResults()))
      if (cast<AffineDimExpr>(expr).getPosition() == lane)
        axis = index;
    for (int64_t size : type.getShape().drop_front(axis + 1))
      inner *= size;
    // Sums are those of 32 bits: they may wrap, like the products.
    SmallVector<uint32_t> sums(type.getDimSize(axis), 0);
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      sums[i / inner % type.getDimSize(axis)] +=
          static_cast<int8_t>(bytes[i]) * static_cast<uint32_t>(factor);
    SmallVector<int32_t> values(sums.begin(), sums.end());
    return DenseElementsAttr::get(
        RankedTensorType::get({type.getDimSize(axis)},
                              IntegerType::get(columns.getContext(), 32)),
        ArrayRef<int32_t>(values));
  }

  /// The reduction to split: it runs along the rows' last axis and one axis of
  /// the constant columns, and its size is even.
  static std::optional<unsigned> findLoop(linalg::GenericOp op,
                                          const Factor &rows,
                                          const Factor &columns,
                                          unsigned lane) {
    if (rows.map.isFunctionOfDim(lane) || !columns.map.isFunctionOfDim(lane) ||
        rows.map.getNumResults() == 0 ||
        !columns.operand->get().getDefiningOp<arith::ConstantOp>() ||
        !llvm::all_of(columns.map.getResults(), llvm::IsaPred<AffineDimExpr>))
      return std::nullopt;
    auto last = dyn_cast<AffineDimExpr>(
        rows.map.getResult(rows.map.getNumResults() - 1));
    if (!last)
      return std::nullopt;
    unsigned loop = last.getPosition();
    int64_t size = op.getStaticLoopRanges()[loop];
    if (op.getIteratorTypesArray()[loop] != utils::IteratorType::reduction ||
        ShapedType::isDynamic(size) || size < 2 || size % 2 != 0)
      return std::nullopt;
    for (AffineExpr expr : rows.map.getResults().drop_back())
      if (expr.isFunctionOfDim(loop))
        return std::nullopt;
    if (llvm::count(columns.map.getResults(), last) != 1)
      return std::nullopt;
    return loop;
  }

  /// The tensor with the axis split into groups of `count`, as a view.
  static Value split(OpBuilder &builder, Location loc, Value tensor,
                     int64_t axis, int64_t count) {
    auto type = cast<RankedTensorType>(tensor.getType());
    SmallVector<int64_t> shape;
    SmallVector<ReassociationIndices> groups;
    for (int64_t i = 0; i < type.getRank(); ++i) {
      groups.push_back({static_cast<int64_t>(shape.size())});
      if (i != axis) {
        shape.push_back(type.getDimSize(i));
        continue;
      }
      groups.back().push_back(shape.size() + 1);
      shape.append({type.getDimSize(i) / count, count});
    }
    auto splitType = RankedTensorType::get(shape, type.getElementType());
    if (Value constant = reshapeConstant(builder, tensor, splitType))
      return constant;
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(builder, loc, tensor);
    sizes[axis] = builder.getIndexAttr(type.getDimSize(axis) / count);
    sizes.insert(sizes.begin() + axis + 1, builder.getIndexAttr(count));
    return tensor::ExpandShapeOp::create(builder, loc, splitType, tensor,
                                         groups, sizes);
  }

  /// A tensor of 8 bits in 16.
  static Value widen(OpBuilder &builder, Location loc, Value tensor,
                     bool isUnsigned) {
    auto type = cast<RankedTensorType>(tensor.getType());
    if (type.getElementTypeBitWidth() == 16)
      return tensor;
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(builder, loc, tensor);
    Value empty =
        tensor::EmptyOp::create(builder, loc, sizes, builder.getI16Type());
    AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
    SmallVector<utils::IteratorType> kinds(type.getRank(),
                                           utils::IteratorType::parallel);
    return linalg::GenericOp::create(
               builder, loc, empty.getType(), tensor, empty,
               ArrayRef<AffineMap>{map, map}, kinds,
               [&](OpBuilder &b, Location l, ValueRange args) {
                 Value wide = extend(b, l, args[0], b.getI16Type(), isUnsigned);
                 linalg::YieldOp::create(b, l, wide);
               })
        .getResult(0);
  }

  static Value extend(OpBuilder &b, Location loc, Value value, Type type,
                      bool isUnsigned) {
    if (isUnsigned)
      return arith::ExtUIOp::create(b, loc, type, value);
    return arith::ExtSIOp::create(b, loc, type, value);
  }

  /// Splits the loop into groups of `count`: of 16-bit numbers if these are
  /// two.
  linalg::GenericOp rewrite(linalg::GenericOp op, const Split &found,
                            int64_t count) {
    const Factor &rows = found.rows, &columns = found.columns;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    unsigned numLoops = op.getNumLoops() + 1;
    AffineExpr whole = builder.getAffineDimExpr(found.loop),
               inner = builder.getAffineDimExpr(numLoops - 1);
    auto withPair = [&](AffineMap map) {
      SmallVector<AffineExpr> exprs;
      for (AffineExpr expr : map.getResults()) {
        exprs.push_back(expr);
        if (expr == whole)
          exprs.push_back(inner);
      }
      return AffineMap::get(numLoops, 0, exprs, op.getContext());
    };
    Value numbers = rows.operand->get();
    if (count == 2)
      numbers = widen(builder, loc, numbers, rows.isUnsigned);
    Value a = split(builder, loc, numbers, rows.map.getNumResults() - 1, count);
    int64_t axis = llvm::find(columns.map.getResults(), whole) -
                   columns.map.getResults().begin();
    Value b = split(builder, loc, columns.operand->get(), axis, count);
    AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
    kinds.push_back(utils::IteratorType::reduction);
    auto paired = linalg::GenericOp::create(
        builder, loc, op.getResultTypes(), ValueRange{a, b},
        ValueRange(op.getDpsInits()),
        ArrayRef<AffineMap>{withPair(rows.map), withPair(columns.map),
                            withPair(output)},
        kinds, [&](OpBuilder &body, Location l, ValueRange args) {
          Type i32 = body.getI32Type();
          Value left = extend(body, l, args[0], i32, /*isUnsigned=*/count == 4);
          Value right = extend(body, l, args[1], i32, columns.isUnsigned);
          Value product = arith::MulIOp::create(body, l, left, right);
          Value sum = arith::AddIOp::create(body, l, args[2], product);
          linalg::YieldOp::create(body, l, sum);
        });
    op.replaceAllUsesWith(paired->getResults());
    op.erase();
    return paired;
  }

  /// What computes rows, and the same as bytes.
  llvm::MapVector<Operation *, Value> madeBytes;
};

} // namespace
