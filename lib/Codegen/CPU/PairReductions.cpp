//===- PairReductions.cpp - give integer products pairs to multiply
//---------===//
//
// Vector units multiply pairs of 16-bit integers and add the two products in 32
// bits at once. For that the reduction of a product of integers is split by
// two, with both numbers of a pair side by side in both operands.
//
//===----------------------------------------------------------------------===//

#include "onnx-aot/Codegen/CPU/Passes.h"
#include "onnx-aot/Codegen/Common/StructuredOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"

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
    for (linalg::GenericOp op : contractions)
      pair(op);
  }

private:
  void pair(linalg::GenericOp op) {
    if (!getElementTypeOrSelf(op.getResult(0).getType()).isInteger(32))
      return;
    Combiner combiner = *getCombiner(op);
    Operation *product =
        combiner.op->getOperand(1 - combiner.accumulator).getDefiningOp();
    std::optional<Factor> rows = getFactor(op, product->getOperand(0)),
                          columns = getFactor(op, product->getOperand(1));
    AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    if (!rows || !columns || output.getNumResults() == 0)
      return;
    auto lane =
        dyn_cast<AffineDimExpr>(output.getResult(output.getNumResults() - 1));
    if (!lane)
      return;
    if (rows->map.isFunctionOfDim(lane.getPosition()))
      std::swap(rows, columns);
    std::optional<unsigned> loop =
        findLoop(op, *rows, *columns, lane.getPosition());
    if (loop)
      rewrite(op, *rows, *columns, *loop);
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

  /// The tensor with the axis split, as a view.
  static Value split(OpBuilder &builder, Location loc, Value tensor,
                     int64_t axis) {
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
      shape.append({type.getDimSize(i) / 2, 2});
    }
    auto splitType = RankedTensorType::get(shape, type.getElementType());
    if (Value constant = reshapeConstant(builder, tensor, splitType))
      return constant;
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(builder, loc, tensor);
    sizes[axis] = builder.getIndexAttr(type.getDimSize(axis) / 2);
    sizes.insert(sizes.begin() + axis + 1, builder.getIndexAttr(2));
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

  void rewrite(linalg::GenericOp op, const Factor &rows, const Factor &columns,
               unsigned loop) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    unsigned numLoops = op.getNumLoops() + 1;
    AffineExpr whole = builder.getAffineDimExpr(loop),
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
    Value a = split(builder, loc,
                    widen(builder, loc, rows.operand->get(), rows.isUnsigned),
                    rows.map.getNumResults() - 1);
    int64_t axis = llvm::find(columns.map.getResults(), whole) -
                   columns.map.getResults().begin();
    Value b = split(builder, loc, columns.operand->get(), axis);
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
          Value left = extend(body, l, args[0], i32, /*isUnsigned=*/false);
          Value right = extend(body, l, args[1], i32, columns.isUnsigned);
          Value product = arith::MulIOp::create(body, l, left, right);
          Value sum = arith::AddIOp::create(body, l, args[2], product);
          linalg::YieldOp::create(body, l, sum);
        });
    op.replaceAllUsesWith(paired->getResults());
    op.erase();
  }
};

} // namespace
