//===- CheckSizes.cpp - sizes that only the run knows must agree ------------===//

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/Passes.h"

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
    SmallVector<linalg::GenericOp> ops;
    entry.walk([&](linalg::GenericOp op) {
      if (op.hasPureTensorSemantics())
        ops.push_back(op);
    });
    for (linalg::GenericOp op : ops)
      check(op);
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
    if (Value size = getEntryDim(entry, tensor, dim))
      return size;
    return builder.createOrFold<tensor::DimOp>(loc, tensor, dim);
  }

  void check(linalg::GenericOp op) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> loops(op.getNumLoops());
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.get().getType());
      if (!type)
        continue;
      AffineMap map = op.getMatchingIndexingMap(&operand);
      for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
        auto loop = dyn_cast<AffineDimExpr>(expr);
        if (!loop)
          continue;
        OpFoldResult size = getSize(builder, loc, operand.get(), axis);
        OpFoldResult &known = loops[loop.getPosition()];
        if (!known)
          known = size;
        else if (known != size &&
                 !(getConstantIntValue(known) && getConstantIntValue(size)))
          assertEqual(builder, loc, known, size);
      }
    }
  }

  void assertEqual(OpBuilder &builder, Location loc, OpFoldResult a,
                   OpFoldResult b) {
    Value equal = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq,
        getValueOrCreateConstantIndexOp(builder, loc, a),
        getValueOrCreateConstantIndexOp(builder, loc, b));
    std::string where = "an operator";
    if (auto name = dyn_cast<NameLoc>(loc))
      where = "'" + name.getName().getValue().str() + "'";
    cf::AssertOp::create(builder, loc, equal,
                         where + ": sizes of its inputs do not fit together");
  }

  func::FuncOp entry;
};

} // namespace
