//===- ExpandGradients.cpp - ONNX's Gradient operator ---------------------===//

#include "onnx-aot/Autodiff/BuildGradient.h"
#include "onnx-aot/Autodiff/GradientBuilder.h"
#include "onnx-aot/Autodiff/Passes.h"
#include "onnx-aot/Dialect/Train/IR/Train.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace onnx_aot;
using onnx_aot::onnx::createInferred;
using onnx_aot::train::GradientOp;

namespace onnx_aot {
#define GEN_PASS_DEF_EXPANDGRADIENTS
#include "onnx-aot/Autodiff/Passes.h.inc"
} // namespace onnx_aot

/// The ops around `end` and before it that y depends on without a way through
/// `inputs`, in program order.
static SmallVector<Operation *> getSlice(Value y, Operation *end,
                                         const DenseSet<Value> &inputs) {
  SmallVector<Block *> blocks;
  for (Operation *op = end; op && op->getBlock(); op = op->getParentOp())
    blocks.push_back(op->getBlock());
  DenseSet<Operation *> needed;
  SmallVector<Value> queue{y};
  while (!queue.empty()) {
    Value value = queue.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (inputs.contains(value) || !op ||
        !llvm::is_contained(blocks, op->getBlock()) ||
        !needed.insert(op).second)
      continue;
    op->walk([&](Operation *nested) {
      llvm::append_range(queue, nested->getOperands());
    });
  }
  SmallVector<Operation *> slice;
  for (Block *block : llvm::reverse(blocks))
    for (Operation &op : *block)
      if (needed.contains(&op))
        slice.push_back(&op);
  return slice;
}

static LogicalResult expand(GradientOp op) {
  OpBuilder builder(op);
  Value y = op.getY();
  if (!isDifferentiable(y.getType()))
    return op.emitOpError("has a y of type ")
           << y.getType() << " (supported: f16, bf16, f32, f64)";
  // The function's inputs are what they are given, however they were computed.
  IRMapping mapping;
  DenseSet<Value> inputs;
  SmallVector<Value> xs;
  SmallVector<Value> names(op.getXs());
  llvm::append_range(names, op.getZs());
  for (auto [index, pair] :
       llvm::enumerate(llvm::zip_equal(names, op.getInputs()))) {
    auto [name, value] = pair;
    if (index < op.getXs().size() && !isDifferentiable(value.getType()))
      return op.emitOpError("has an x of type ")
             << value.getType() << " (supported: f16, bf16, f32, f64)";
    Value copy = createInferred<onnx::IdentityOp>(builder, op.getLoc(), value)
                     ->getResult(0);
    mapping.map(name, copy);
    inputs.insert(name);
    if (index < op.getXs().size())
      xs.push_back(copy);
  }
  for (Operation *needed : getSlice(y, op, inputs)) {
    Operation *copy = builder.clone(*needed, mapping);
    if (failed(onnx::inferAndSetResultTypes(copy)))
      return failure();
  }
  auto gradients = buildGradient(builder, {mapping.lookupOrDefault(y)}, {}, xs);
  if (failed(gradients))
    return failure();
  GradientBuilder zeros(builder, op.getLoc(), {});
  for (auto [gradient, x] : llvm::zip_equal(*gradients, xs))
    if (!gradient)
      gradient = zeros.zerosLike(x);
  op->replaceAllUsesWith(*gradients);
  op->erase();
  return success();
}

namespace {
struct ExpandGradients : onnx_aot::impl::ExpandGradientsBase<ExpandGradients> {
  void runOnOperation() override {
    SmallVector<GradientOp> ops;
    getOperation().walk([&](GradientOp op) { ops.push_back(op); });
    bool bad = false;
    for (GradientOp op : ops)
      bad |= failed(expand(op));
    if (bad)
      signalPassFailure();
  }
};
} // namespace
