//===- LowerCopies.cpp - strided copies as loops --------------------------===//

#include "onnx-aot/Codegen/CPU/Passes.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace onnx_aot;

namespace onnx_aot {
#define GEN_PASS_DEF_LOWERCOPIES
#include "onnx-aot/Codegen/CPU/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// Reshapes of dense buffers into several dimensions of run-time size: upstream
/// expands only those with one such dimension per group.
void lowerExpansion(memref::ExpandShapeOp op) {
  auto source = cast<MemRefType>(op.getSrc().getType());
  if (!source.getLayout().isIdentity() || op.getResultType().hasStaticShape())
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
  SmallVector<OpFoldResult> strides(sizes.size());
  OpFoldResult stride = builder.getIndexAttr(1);
  for (int64_t dim = sizes.size() - 1; dim >= 0; --dim) {
    strides[dim] = stride;
    std::optional<int64_t> a = getConstantIntValue(stride);
    std::optional<int64_t> b = getConstantIntValue(sizes[dim]);
    stride =
        a && b
            ? OpFoldResult(builder.getIndexAttr(*a * *b))
            : OpFoldResult(builder.createOrFold<arith::MulIOp>(
                  loc, getValueOrCreateConstantIndexOp(builder, loc, stride),
                  getValueOrCreateConstantIndexOp(builder, loc, sizes[dim])));
  }
  // The result keeps its dense type, which copies of it rely on.
  Value cast = memref::ReinterpretCastOp::create(
      builder, loc, op.getResultType(), op.getSrc(), builder.getIndexAttr(0),
      sizes, strides);
  op.replaceAllUsesWith(cast);
  op.erase();
}

struct LowerCopies : onnx_aot::impl::LowerCopiesBase<LowerCopies> {
  void runOnOperation() override {
    SmallVector<memref::ExpandShapeOp> expansions;
    getOperation()->walk(
        [&](memref::ExpandShapeOp op) { expansions.push_back(op); });
    llvm::for_each(expansions, lowerExpansion);
    SmallVector<memref::CopyOp> copies;
    getOperation()->walk([&](memref::CopyOp copy) { copies.push_back(copy); });
    for (memref::CopyOp copy : copies) {
      auto source = dyn_cast<MemRefType>(copy.getSource().getType());
      auto target = dyn_cast<MemRefType>(copy.getTarget().getType());
      if (!source || !target ||
          (source.getLayout().isIdentity() && target.getLayout().isIdentity()))
        continue;
      OpBuilder builder(copy);
      linalg::makeMemRefCopyOp(builder, copy.getLoc(), copy.getSource(),
                               copy.getTarget());
      copy.erase();
    }
  }
};
} // namespace
