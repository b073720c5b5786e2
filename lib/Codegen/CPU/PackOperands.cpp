//===- PackOperands.cpp - lay contraction operands out for vectors --------===//
//
// A tile reads a few neighbouring columns of the right-hand side at every step
// of the reduction. Constant operands are stored as panels of just that width
// at compile time, padded with zeros; run-time ones are only turned so that
// columns lie side by side.
//
//===----------------------------------------------------------------------===//

#include "ConstantBytes.h"
#include "Tiling.h"

#include "onnx-aot/Codegen/CPU/Passes.h"
#include "onnx-aot/Codegen/Common/StructuredOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_PACKOPERANDS
#include "onnx-aot/Codegen/CPU/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// One axis of the packed operand: a loop, or its quotient or remainder by the
/// panel's width; the remainder may hold the groups of the last loop.
struct Axis {
  enum Kind { Whole, Panel, Column, ColumnGroup } kind;
  unsigned loop;
  int64_t size;
};

struct PackOperands : onnx_aot::impl::PackOperandsBase<PackOperands> {
  using PackOperandsBase::PackOperandsBase;

  void runOnOperation() override {
    target.vectorBytes = vectorBytes;
    target.vectorRegisters = vectorRegisters;
    target.tuning.panelVectors = panelVectors;
    SmallVector<linalg::GenericOp> contractions;
    getOperation()->walk([&](linalg::GenericOp op) {
      if (op.hasPureTensorSemantics() && isContraction(op) &&
          !op->hasAttr(kPackedAttr))
        contractions.push_back(op);
    });
    for (linalg::GenericOp op : contractions)
      prepare(op);
  }

private:
  void prepare(linalg::GenericOp op) {
    AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    if (output.getNumResults() == 0)
      return;
    auto lane =
        dyn_cast<AffineDimExpr>(output.getResult(output.getNumResults() - 1));
    if (!lane)
      return;
    unsigned n = lane.getPosition();
    for (OpOperand *operand : op.getDpsInputOperands()) {
      AffineMap map = op.getMatchingIndexingMap(operand);
      bool plain = llvm::all_of(map.getResults(), [](AffineExpr expr) {
        return isa<AffineDimExpr>(expr);
      });
      if (!plain || !map.isFunctionOfDim(n) ||
          !isa<RankedTensorType>(operand->get().getType()))
        continue;
      if (auto constant = operand->get().getDefiningOp<arith::ConstantOp>()) {
        if (pack(op, *operand, constant, n))
          return;
      } else {
        bool isTurned = map.getResult(map.getNumResults() - 1) != lane;
        if (std::optional<int64_t> width =
                getRunTimeWidth(op, *operand, n, isTurned))
          copyToPanels(op, *operand, n, *width);
        else if (isTurned)
          transpose(op, *operand, n);
      }
    }
  }

  /// Size of the loop over the rows, for the choice of the panel's width.
  int64_t getRows(linalg::GenericOp op, AffineMap packed,
                  ArrayRef<int64_t> ranges) {
    int64_t rows = 1;
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
      if (kind == utils::IteratorType::parallel &&
          !packed.isFunctionOfDim(loop) && ranges[loop] != 1)
        rows = ranges[loop];
    return rows;
  }

  /// How often each element of the packed operand is read: the rows of all
  /// batches that meet it. Where a size is not known, those of one batch.
  int64_t countReads(linalg::GenericOp op, AffineMap packed,
                     ArrayRef<int64_t> ranges) {
    int64_t reads = 1;
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
      if (kind != utils::IteratorType::parallel || packed.isFunctionOfDim(loop))
        continue;
      if (ShapedType::isDynamic(ranges[loop]))
        return getRows(op, packed, ranges);
      reads *= ranges[loop];
    }
    return reads;
  }

  bool pack(linalg::GenericOp op, OpOperand &operand,
            arith::ConstantOp constant, unsigned n) {
    std::optional<ArrayRef<char>> bytes = getConstantBytes(constant.getValue());
    auto type = cast<RankedTensorType>(operand.get().getType());
    unsigned bits = type.getElementTypeBitWidth();
    if (!bytes || bits % 8 || !type.hasStaticShape() ||
        type.getNumElements() == 0)
      return false;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    // A size that another operand leaves open is the constant's.
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
      if (map.isFunctionOfDim(loop))
        ranges[loop] = getSize(type, map, loop);
    auto kinds = op.getIteratorTypesArray();
    // Without a reduced channel in the other operand this is depthwise: there
    // are no panels, the lanes just go last.
    bool reducesChannel = false;
    for (OpOperand *other : op.getDpsInputOperands())
      if (other != &operand)
        for (AffineExpr expr : op.getMatchingIndexingMap(other).getResults())
          if (auto loop = dyn_cast<AffineDimExpr>(expr))
            reducesChannel |=
                kinds[loop.getPosition()] == utils::IteratorType::reduction;
    std::optional<unsigned> pair =
        reducesChannel ? getPair(op, map) : std::nullopt;
    // Pairs of integers are added up in i32.
    int64_t width =
        reducesChannel ? cpu::getPanelWidth(ranges[n], getRows(op, map, ranges),
                                            pair ? 4 : bits / 8, target)
                       : ranges[n];
    SmallVector<Axis> axes;
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
      if (loop != n && map.isFunctionOfDim(loop) &&
          kinds[loop] == utils::IteratorType::parallel)
        axes.push_back({Axis::Whole, loop, ranges[loop]});
    if (reducesChannel)
      axes.push_back(
          {Axis::Panel, n,
           static_cast<int64_t>(llvm::divideCeil(ranges[n], width))});
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
      if (map.isFunctionOfDim(loop) && pair != loop &&
          kinds[loop] == utils::IteratorType::reduction)
        axes.push_back({Axis::Whole, loop, ranges[loop]});
    if (pair)
      axes.push_back({Axis::ColumnGroup, n, ranges[*pair] * width});
    else
      axes.push_back({reducesChannel ? Axis::Column : Axis::Whole, n, width});
    replaceOperand(op, operand, axes, width,
                   rearrange(*bytes, type, map, axes, width, bits / 8));
    return true;
  }

  /// The loop over pairs of an integer contraction: the last one, of two
  /// points.
  static std::optional<unsigned> getPair(linalg::GenericOp op, AffineMap map) {
    unsigned last = op.getNumLoops() - 1;
    bool isPair =
        getElementTypeOrSelf(op.getResult(0).getType()).isInteger(32) &&
        map.isFunctionOfDim(last) &&
        llvm::is_contained({2, 4}, op.getStaticLoopRanges()[last]) &&
        op.getIteratorTypesArray()[last] == utils::IteratorType::reduction;
    return isPair ? std::optional(last) : std::nullopt;
  }

  /// The constant's elements in the order of `axes`, zeros where there are
  /// none.
  Attribute rearrange(ArrayRef<char> bytes, RankedTensorType type,
                      AffineMap map, ArrayRef<Axis> axes, int64_t width,
                      int64_t elementBytes) {
    SmallVector<int64_t> sizes;
    int64_t count = 1;
    for (const Axis &axis : axes) {
      sizes.push_back(axis.size);
      count *= axis.size;
    }
    // Stride of each loop in the source.
    SmallVector<int64_t> strides(map.getNumDims(), 0);
    int64_t stride = 1;
    for (int64_t i = type.getRank() - 1; i >= 0; --i) {
      strides[cast<AffineDimExpr>(map.getResult(i)).getPosition()] += stride;
      stride *= type.getDimSize(i);
    }
    AsmResourceBlob blob =
        HeapAsmResourceBlob::allocate(count * elementBytes, /*align=*/64,
                                      /*dataIsMutable=*/true);
    char *out = blob.getMutableData().data();
    std::memset(out, 0, count * elementBytes);
    const Axis &last = axes.back();
    // A column is one element, or those of a group.
    int64_t perColumn = last.kind == Axis::ColumnGroup ? last.size / width : 1;
    int64_t lastStride = strides[last.loop], pairStride = strides.back();
    SmallVector<int64_t> position(axes.size(), 0);
    for (int64_t done = 0; done < count; done += last.size) {
      int64_t source = 0, limit = last.size / perColumn;
      for (auto [axis, at] :
           llvm::zip_equal(axes.drop_back(), ArrayRef(position).drop_back())) {
        source +=
            strides[axis.loop] * at * (axis.kind == Axis::Panel ? width : 1);
        if (axis.kind == Axis::Panel)
          limit = std::min(limit, getSize(type, map, axis.loop) - at * width);
      }
      for (int64_t i = 0; i < limit * perColumn; ++i)
        std::memcpy(out + (done + i) * elementBytes,
                    bytes.data() + (source + i / perColumn * lastStride +
                                    i % perColumn * pairStride) *
                                       elementBytes,
                    elementBytes);
      for (int64_t axis = (int64_t)axes.size() - 2; axis >= 0; --axis) {
        if (++position[axis] < sizes[axis])
          break;
        position[axis] = 0;
      }
    }
    auto packedType = RankedTensorType::get(sizes, type.getElementType());
    return DenseResourceElementsAttr::get(packedType, "packed",
                                          std::move(blob));
  }

  static int64_t getSize(RankedTensorType type, AffineMap map, unsigned loop) {
    for (auto [axis, expr] : llvm::enumerate(map.getResults()))
      if (cast<AffineDimExpr>(expr).getPosition() == loop)
        return type.getDimSize(axis);
    return 1;
  }

  void replaceOperand(linalg::GenericOp op, OpOperand &operand,
                      ArrayRef<Axis> axes, int64_t width, Attribute value) {
    OpBuilder builder(op);
    Value packed = arith::ConstantOp::create(builder, operand.get().getLoc(),
                                             cast<TypedAttr>(value));
    SmallVector<AffineExpr> exprs;
    for (const Axis &axis : axes) {
      AffineExpr loop = builder.getAffineDimExpr(axis.loop);
      AffineExpr pair = builder.getAffineDimExpr(op.getNumLoops() - 1);
      exprs.push_back(axis.kind == Axis::Whole   ? loop
                      : axis.kind == Axis::Panel ? loop.floorDiv(width)
                      : axis.kind == Axis::Column
                          ? loop % width
                          : (loop % width) * (axis.size / width) + pair);
    }
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    maps[operand.getOperandNumber()] =
        AffineMap::get(op.getNumLoops(), 0, exprs, op.getContext());
    operand.set(packed);
    op.setIndexingMapsAttr(builder.getAffineMapArrayAttr(maps));
  }

  /// The other operand has as many rows as columns, which only the run knows:
  /// where the one that is packed is large, it is read often.
  static bool isSquare(linalg::GenericOp op, OpOperand &packed) {
    for (OpOperand *other : op.getDpsInputOperands()) {
      auto producer = other->get().getDefiningOp<linalg::GenericOp>();
      if (other == &packed || !producer || producer->getNumResults() != 1)
        continue;
      auto empty = producer.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>();
      if (!empty || empty.getType().getRank() < 2)
        continue;
      SmallVector<OpFoldResult> sizes = empty.getMixedSizes();
      return sizes.back() == sizes[sizes.size() - 2];
    }
    return false;
  }

  /// The panels' width, if the operand is worth a copy: it is read by many
  /// rows, or is copied anyway because its columns do not lie side by side.
  std::optional<int64_t> getRunTimeWidth(linalg::GenericOp op,
                                         OpOperand &operand, unsigned n,
                                         bool isTurned) {
    constexpr int64_t kManyRows = 192;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    Type type = getElementTypeOrSelf(op.getResult(0).getType());
    auto kinds = op.getIteratorTypesArray();
    bool reduces = false;
    for (OpOperand *other : op.getDpsInputOperands())
      for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
        reduces |= other != &operand &&
                   kinds[loop] == utils::IteratorType::reduction &&
                   map.isFunctionOfDim(loop) &&
                   op.getMatchingIndexingMap(other).isFunctionOfDim(loop);
    if (!isa<FloatType>(type) || !reduces)
      return std::nullopt;
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    int64_t rows = getRows(op, map, ranges);
    bool isRead = ShapedType::isDynamic(rows)
                      ? isTurned || isSquare(op, operand)
                      : countReads(op, map, ranges) >= kManyRows;
    if (rows == 1 || (!isTurned && !isRead))
      return std::nullopt;
    unsigned bytes = std::max(type.getIntOrFloatBitWidth(),
                              cast<RankedTensorType>(operand.get().getType())
                                  .getElementTypeBitWidth()) /
                     8;
    int64_t width = cpu::getPanelWidth(ranges[n], rows, bytes, target);
    if (!ShapedType::isDynamic(ranges[n]) && ranges[n] <= width)
      return std::nullopt;
    return width;
  }

  /// A copy in panels of `width` columns; what the last one has too many is
  /// never used.
  void copyToPanels(linalg::GenericOp op, OpOperand &operand, unsigned n,
                    int64_t width) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    MLIRContext *context = op.getContext();
    AffineMap map = op.getMatchingIndexingMap(&operand);
    auto kinds = op.getIteratorTypesArray();
    auto type = cast<RankedTensorType>(operand.get().getType());
    // Loops of the copy: batches, panels, reductions, columns.
    SmallVector<unsigned> loops;
    for (auto kind :
         {utils::IteratorType::parallel, utils::IteratorType::reduction}) {
      for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
        if (loop != n && map.isFunctionOfDim(loop) && kinds[loop] == kind)
          loops.push_back(loop);
      if (kind == utils::IteratorType::parallel)
        loops.push_back(n);
    }
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(builder, loc, operand.get());
    SmallVector<OpFoldResult> packed(loops.size());
    SmallVector<AffineExpr> source(type.getRank()), use;
    SmallVector<int64_t> shape(type.getShape());
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      unsigned loop = cast<AffineDimExpr>(expr).getPosition();
      unsigned place = llvm::find(loops, loop) - loops.begin();
      AffineExpr at = builder.getAffineDimExpr(place);
      packed[place] = sizes[axis];
      if (loop == n) {
        AffineExpr size = builder.getAffineDimExpr(0);
        packed[place] = affine::makeComposedFoldedAffineApply(
            builder, loc, AffineMap::get(1, 0, size.ceilDiv(width)),
            sizes[axis]);
        at = at * width + builder.getAffineDimExpr(loops.size());
        // Reading past the end is guarded, which linalg cannot know.
        if (shape[axis] % width != 0)
          shape[axis] = ShapedType::kDynamic;
      }
      source[axis] = at;
    }
    packed.push_back(builder.getIndexAttr(width));
    Value input = operand.get();
    if (shape != type.getShape())
      input = tensor::CastOp::create(
          builder, loc, RankedTensorType::get(shape, type.getElementType()),
          input);
    Value empty =
        tensor::EmptyOp::create(builder, loc, packed, type.getElementType());
    unsigned numLoops = packed.size();
    auto copy = linalg::GenericOp::create(
        builder, loc, empty.getType(), input, empty,
        ArrayRef<AffineMap>{AffineMap::get(numLoops, 0, source, context),
                            builder.getMultiDimIdentityMap(numLoops)},
        SmallVector<utils::IteratorType>(numLoops,
                                         utils::IteratorType::parallel),
        [](OpBuilder &b, Location l, ValueRange args) {
          linalg::YieldOp::create(b, l, args[0]);
        });
    copy->setAttr(cpu::kGuardAttr, builder.getUnitAttr());
    for (unsigned loop : loops) {
      AffineExpr at = builder.getAffineDimExpr(loop);
      use.push_back(loop == n ? at.floorDiv(width) : at);
    }
    use.push_back(builder.getAffineDimExpr(n) % width);
    SmallVector<AffineMap> opMaps = op.getIndexingMapsArray();
    opMaps[operand.getOperandNumber()] =
        AffineMap::get(op.getNumLoops(), 0, use, context);
    operand.set(copy.getResult(0));
    op.setIndexingMapsAttr(builder.getAffineMapArrayAttr(opMaps));
  }

  /// A copy with the axis of loop `n` last.
  void transpose(linalg::GenericOp op, OpOperand &operand, unsigned n) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    AffineMap map = op.getMatchingIndexingMap(&operand);
    SmallVector<int64_t> permutation;
    for (auto [axis, expr] : llvm::enumerate(map.getResults()))
      if (cast<AffineDimExpr>(expr).getPosition() != n)
        permutation.push_back(axis);
    for (auto [axis, expr] : llvm::enumerate(map.getResults()))
      if (cast<AffineDimExpr>(expr).getPosition() == n)
        permutation.push_back(axis);
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc,
                                                            operand.get()),
                              turned;
    SmallVector<AffineExpr> exprs;
    SmallVector<AffineExpr> source(permutation.size());
    for (auto [to, from] : llvm::enumerate(permutation)) {
      turned.push_back(sizes[from]);
      exprs.push_back(map.getResult(from));
      source[from] = builder.getAffineDimExpr(to);
    }
    auto type = cast<RankedTensorType>(operand.get().getType());
    Value empty =
        tensor::EmptyOp::create(builder, loc, turned, type.getElementType());
    MLIRContext *context = op.getContext();
    SmallVector<AffineMap> maps{
        AffineMap::get(permutation.size(), 0, source, context),
        builder.getMultiDimIdentityMap(permutation.size())};
    SmallVector<utils::IteratorType> kinds(permutation.size(),
                                           utils::IteratorType::parallel);
    auto copy = linalg::GenericOp::create(
        builder, loc, empty.getType(), operand.get(), empty, maps, kinds,
        [](OpBuilder &b, Location l, ValueRange args) {
          linalg::YieldOp::create(b, l, args[0]);
        });
    SmallVector<AffineMap> opMaps = op.getIndexingMapsArray();
    opMaps[operand.getOperandNumber()] =
        AffineMap::get(op.getNumLoops(), 0, exprs, context);
    operand.set(copy.getResult(0));
    op.setIndexingMapsAttr(builder.getAffineMapArrayAttr(opMaps));
  }

  cpu::Target target;
};

} // namespace
