//===- CheckSizes.cpp - sizes that only the run knows must agree ----------===//

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_CHECKSIZES
#include "onnx-aot/Codegen/Common/Passes.h.inc"
} // namespace onnx_aot

namespace {

struct CheckSizes : onnx_aot::impl::CheckSizesBase<CheckSizes> {
  void runOnOperation() override {
    entry = getEntry(getOperation());
    if (!entry)
      return;
    SmallVector<Operation *> ops;
    entry.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      if (auto generic = dyn_cast<linalg::GenericOp>(op);
          generic && generic.hasPureTensorSemantics())
        checkLoops(generic);
      else if (auto empty = dyn_cast<tensor::EmptyOp>(op))
        checkEmpty(empty);
      else if (auto cast = dyn_cast<tensor::CastOp>(op))
        checkCast(cast);
    }
    if (madeDims)
      resolveTensorDims(entry);
  }

private:
  /// The size of a dimension without a use of what computes the tensor: kernels
  /// are formed from values that nothing else looks at.
  OpFoldResult getSize(OpBuilder &builder, Location loc, Value tensor,
                       int64_t dim) {
    auto type = cast<RankedTensorType>(tensor.getType());
    if (!type.isDynamicDim(dim))
      return builder.getIndexAttr(type.getDimSize(dim));
    if (auto result = dyn_cast<OpResult>(tensor))
      if (auto op = dyn_cast<DestinationStyleOpInterface>(result.getOwner()))
        return getSize(builder, loc, op.getTiedOpOperand(result)->get(), dim);
    if (auto empty = tensor.getDefiningOp<tensor::EmptyOp>())
      return empty.getDynamicSize(dim);
    if (auto convert = tensor.getDefiningOp<tensor::CastOp>())
      return getSize(builder, loc, convert.getSource(), dim);
    if (Value size = getEntryDim(entry, tensor, dim))
      return size;
    madeDims = true;
    return builder.createOrFold<tensor::DimOp>(loc, tensor, dim);
  }

  /// A tensor's own sizes are not negative.
  void checkEmpty(tensor::EmptyOp op) {
    OpBuilder builder(op);
    for (Value size : op.getDynamicSizes()) {
      if (isa<BlockArgument>(size) || size.getDefiningOp<tensor::DimOp>())
        continue;
      Value zero = arith::ConstantIndexOp::create(builder, op.getLoc(), 0);
      check(builder, op.getLoc(), arith::CmpIPredicate::sge, size, zero,
            "a size is negative: its inputs are too small");
    }
  }

  /// A cast may claim a size that only the run knows: that of an operand of the
  /// same loop, made a constant by canonicalization.
  void checkCast(tensor::CastOp op) {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    auto from = dyn_cast<RankedTensorType>(op.getSource().getType());
    if (!type || !from)
      return;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    for (int64_t axis = 0; axis < type.getRank(); ++axis) {
      if (type.isDynamicDim(axis) || !from.isDynamicDim(axis))
        continue;
      OpFoldResult size = getSize(builder, loc, op.getSource(), axis);
      if (getConstantIntValue(size) != type.getDimSize(axis))
        check(
            builder, loc, arith::CmpIPredicate::eq,
            getValueOrCreateConstantIndexOp(builder, loc, size),
            arith::ConstantIndexOp::create(builder, loc, type.getDimSize(axis)),
            "sizes of its inputs do not fit together");
    }
  }

  void checkLoops(linalg::GenericOp op) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> loops(op.getNumLoops());
    forEachAxis(op, [&](Value tensor, int64_t axis, AffineExpr expr) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop)
        return;
      OpFoldResult size = getSize(builder, loc, tensor, axis);
      OpFoldResult &known = loops[loop.getPosition()];
      if (!known)
        known = size;
      else if (known != size &&
               !(getConstantIntValue(known) && getConstantIntValue(size)))
        check(builder, loc, arith::CmpIPredicate::eq,
              getValueOrCreateConstantIndexOp(builder, loc, known),
              getValueOrCreateConstantIndexOp(builder, loc, size),
              "sizes of its inputs do not fit together");
    });
    forEachAxis(op, [&](Value tensor, int64_t axis, AffineExpr expr) {
      if (!isa<AffineDimExpr>(expr))
        checkWindow(builder, loc, loops, tensor, axis, expr);
    });
  }

  static void
  forEachAxis(linalg::GenericOp op,
              function_ref<void(Value, int64_t, AffineExpr)> visit) {
    for (OpOperand &operand : op->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()))
        for (auto [axis, expr] :
             llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
          visit(operand.get(), axis, expr);
  }

  /// True when the expression does not fall as the loops go on.
  static bool isMonotone(AffineExpr expr) {
    if (isa<AffineDimExpr, AffineConstantExpr>(expr))
      return true;
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!binary || !isMonotone(binary.getLHS()))
      return false;
    auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    switch (expr.getKind()) {
    case AffineExprKind::Add:
      return isMonotone(binary.getRHS());
    case AffineExprKind::Mul:
    case AffineExprKind::FloorDiv:
    case AffineExprKind::CeilDiv:
      return factor && factor.getValue() >= 0;
    default:
      return false;
    }
  }

  /// An index made of several loops ends inside of the axis, unless a loop has
  /// no iterations.
  void checkWindow(OpBuilder &builder, Location loc,
                   ArrayRef<OpFoldResult> loops, Value tensor, int64_t axis,
                   AffineExpr expr) {
    SmallVector<OpFoldResult> sizes(loops);
    SmallVector<AffineExpr> lastIteration;
    for (auto [i, size] : llvm::enumerate(sizes)) {
      if (!size && expr.isFunctionOfDim(i))
        return;
      if (!size)
        size = builder.getIndexAttr(1);
      lastIteration.push_back(builder.getAffineDimExpr(i) - 1);
    }
    OpFoldResult axisSize = getSize(builder, loc, tensor, axis);
    OpFoldResult last = affine::makeComposedFoldedAffineApply(
        builder, loc,
        AffineMap::get(sizes.size(), 0, expr.replaceDims(lastIteration)),
        sizes);
    if (!isMonotone(expr) ||
        (getConstantIntValue(last) && getConstantIntValue(axisSize)))
      return;
    Value condition = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt,
        getValueOrCreateConstantIndexOp(builder, loc, last),
        getValueOrCreateConstantIndexOp(builder, loc, axisSize));
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    for (OpFoldResult size : sizes) {
      auto dynamic = dyn_cast<Value>(size);
      if (!dynamic)
        continue;
      Value isEmpty = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq, dynamic, zero);
      condition = arith::OrIOp::create(builder, loc, condition, isEmpty);
    }
    check(builder, loc, condition, "its window reaches over its input");
  }

  void check(OpBuilder &builder, Location loc, arith::CmpIPredicate predicate,
             Value a, Value b, StringRef message) {
    check(builder, loc, arith::CmpIOp::create(builder, loc, predicate, a, b),
          message);
  }

  void check(OpBuilder &builder, Location loc, Value condition,
             StringRef message) {
    std::string where = "an operator";
    if (auto name = dyn_cast<NameLoc>(loc))
      where = "node " + name.getName().getValue().str();
    cf::AssertOp::create(builder, loc, condition, where + ": " + message.str());
  }

  bool madeDims = false;
  func::FuncOp entry;
};

} // namespace
