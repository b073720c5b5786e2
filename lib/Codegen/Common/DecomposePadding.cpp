//===- DecomposePadding.cpp - padded tensors as a ring and an inside ------===//
//
// Whoever makes the inside of a padded tensor can write it there, if the tensor
// exists by then: the ring is built before the producer of the inside.
//
//===----------------------------------------------------------------------===//

#include "onnx-aot/Codegen/Common/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace onnx_aot;

namespace onnx_aot {
#define GEN_PASS_DEF_DECOMPOSEPADDING
#include "onnx-aot/Codegen/Common/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// Rewrites one padding with one value all round.
class Decomposition {
public:
  Decomposition(tensor::PadOp pad, Value filler)
      : pad(pad), filler(filler), b(pad), loc(pad.getLoc()) {}

  void run() {
    OpBuilder::InsertPoint here = b.saveInsertionPoint();
    Operation *producer = findProducer();
    Value shape = pad.getSource();
    if (producer) {
      b.setInsertionPoint(producer);
      shape = cast<DestinationStyleOpInterface>(producer)
                  .getTiedOpOperand(cast<OpResult>(shape))
                  ->get();
    }
    inside = tensor::getMixedSizes(b, loc, shape);
    for (auto [low, size, high] :
         llvm::zip_equal(pad.getMixedLowPad(), inside, pad.getMixedHighPad()))
      whole.push_back(add(add(low, size), high));
    Value ring = tensor::EmptyOp::create(b, loc, whole,
                                         pad.getResultType().getElementType());
    for (int64_t axis = 0; axis < pad.getResultType().getRank(); ++axis)
      ring = fillEnds(ring, axis);
    b.restoreInsertionPoint(here);
    Value result = ring;
    if (!isEmpty(inside))
      result = tensor::InsertSliceOp::create(
          b, loc, producer ? pad.getSource() : copySource(), ring,
          pad.getMixedLowPad(), inside, ones());
    if (result.getType() != pad.getType())
      result = tensor::CastOp::create(b, loc, pad.getType(), result);
    pad.replaceAllUsesWith(result);
    pad.erase();
  }

private:
  /// Known to have no elements; a slice of such a shape lies out of bounds.
  static bool isEmpty(ArrayRef<OpFoldResult> sizes) {
    return llvm::any_of(
        sizes, [](OpFoldResult size) { return isConstantIntValue(size, 0); });
  }

  OpFoldResult add(OpFoldResult left, OpFoldResult right) {
    AffineExpr sum = b.getAffineDimExpr(0) + b.getAffineDimExpr(1);
    return affine::makeComposedFoldedAffineApply(b, loc, sum, {left, right});
  }

  SmallVector<OpFoldResult> ones() {
    return SmallVector<OpFoldResult>(whole.size(), b.getIndexAttr(1));
  }

  /// The op that makes the inside, if the ring can be built before it.
  Operation *findProducer() {
    Operation *producer = pad.getSource().getDefiningOp();
    if (!isa_and_nonnull<linalg::LinalgOp>(producer) ||
        producer->getBlock() != pad->getBlock())
      return nullptr;
    auto isEarlier = [&](Value value) {
      Operation *definer = value.getDefiningOp();
      return !definer || definer->getBlock() != producer->getBlock() ||
             definer->isBeforeInBlock(producer);
    };
    bool available = isEarlier(filler) &&
                     llvm::all_of(pad.getLow(), isEarlier) &&
                     llvm::all_of(pad.getHigh(), isEarlier);
    // Before the first value of the reduction, which is written in place too.
    Value init = cast<DestinationStyleOpInterface>(producer)
                     .getTiedOpOperand(cast<OpResult>(pad.getSource()))
                     ->get();
    if (auto fill = init.getDefiningOp<linalg::FillOp>())
      if (available && fill->getBlock() == pad->getBlock() && fill->hasOneUse())
        fill->moveBefore(producer);
    return available ? producer : nullptr;
  }

  /// Both ends of an axis, between the ends of the axes before it.
  Value fillEnds(Value ring, int64_t axis) {
    SmallVector<OpFoldResult> low = pad.getMixedLowPad(),
                              high = pad.getMixedHighPad();
    for (bool isHigh : {false, true}) {
      OpFoldResult width = isHigh ? high[axis] : low[axis];
      if (isConstantIntValue(width, 0))
        continue;
      SmallVector<OpFoldResult> offsets, sizes;
      for (int64_t other = 0; other < (int64_t)whole.size(); ++other) {
        offsets.push_back(other < axis   ? low[other]
                          : other > axis ? OpFoldResult(b.getIndexAttr(0))
                          : isHigh       ? add(low[axis], inside[axis])
                                         : OpFoldResult(b.getIndexAttr(0)));
        sizes.push_back(other < axis   ? inside[other]
                        : other > axis ? whole[other]
                                       : width);
      }
      if (isEmpty(sizes))
        continue;
      Value end = tensor::EmptyOp::create(b, loc, sizes,
                                          pad.getResultType().getElementType());
      end = linalg::FillOp::create(b, loc, filler, end).getResult(0);
      ring = tensor::InsertSliceOp::create(b, loc, end, ring, offsets, sizes,
                                           ones());
    }
    return ring;
  }

  /// What no kernel makes is moved by one.
  Value copySource() {
    Value empty = tensor::EmptyOp::create(b, loc, inside,
                                          pad.getResultType().getElementType());
    unsigned rank = whole.size();
    SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(rank));
    SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
    return linalg::GenericOp::create(
               b, loc, empty.getType(), pad.getSource(), empty, maps, kinds,
               [](OpBuilder &body, Location at, ValueRange args) {
                 linalg::YieldOp::create(body, at, args[0]);
               })
        .getResult(0);
  }

  tensor::PadOp pad;
  Value filler;
  OpBuilder b;
  Location loc;
  SmallVector<OpFoldResult> inside, whole; ///< sizes
};

struct DecomposePadding
    : onnx_aot::impl::DecomposePaddingBase<DecomposePadding> {
  void runOnOperation() override {
    SmallVector<tensor::PadOp> pads;
    getOperation()->walk([&](tensor::PadOp pad) { pads.push_back(pad); });
    for (tensor::PadOp pad : pads)
      if (Value filler = pad.getConstantPaddingValue())
        Decomposition(pad, filler).run();
  }
};

} // namespace
