//===- FuseElementwise.cpp - merge pointwise generics ---------------------===//

#include "onnx-aot/Codegen/Common/Passes.h"
#include "onnx-aot/Codegen/Common/StructuredOps.h"
#include "onnx-aot/Support/EntryAttributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_FUSEELEMENTWISE
#include "onnx-aot/Codegen/Common/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// The scheduler of the machine code takes quadratic time in the loads of one
/// loop body; this many keep every vector unit busy.
constexpr unsigned kMaxOperands = 64;

/// Which producers are merged into which consumers.
bool shouldFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer || !isPointwise(producer))
    return false;
  if (producer->getNumResults() != 1)
    return false;
  if (producer.getNumDpsInputs() + consumer.getNumDpsInputs() > kMaxOperands)
    return false;
  // Reading through a permutation or a broadcast costs the consumer nothing.
  if (isDataMovement(producer) &&
      (isPointwise(consumer) || isContraction(consumer)))
    return true;
  if (!producer->hasOneUse())
    return false;
  return isPointwise(consumer);
}

/// A pointwise op whose results are all indexed by its loops as they are.
bool isPlainMap(linalg::GenericOp op) {
  return isPointwise(op) &&
         llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
           return op.getMatchingIndexingMap(&init).isIdentity();
         });
}

/// The last op of the body up to which few operands are read and whose result
/// is all that the ops after it need of that.
Operation *findCut(linalg::GenericOp op) {
  Block *body = op.getBody();
  SetVector<Value> before;
  unsigned numRead = 0;
  Operation *cut = nullptr;
  for (Operation &inner : body->without_terminator()) {
    if (inner.getNumRegions() != 0)
      return nullptr;
    for (Value operand : inner.getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand);
          argument && argument.getOwner() == body && before.insert(argument))
        ++numRead;
    if (numRead > kMaxOperands / 2)
      break;
    bool isAll = llvm::all_of(before, [&](Value value) {
      return llvm::all_of(value.getUsers(), [&](Operation *user) {
        return user == &inner || user->isBeforeInBlock(&inner);
      });
    });
    if (isAll && numRead > 1 && inner.getNumResults() == 1)
      cut = &inner;
    before.insert(inner.result_begin(), inner.result_end());
  }
  return cut;
}

/// Moves the first part of a body that reads too many tensors into an op of its
/// own. Gives the op with the rest, null where nothing was done.
linalg::GenericOp splitWideMap(linalg::GenericOp op, IRRewriter &rewriter) {
  if (op.getNumDpsInputs() <= kMaxOperands || !op.hasPureTensorSemantics() ||
      op->getNumResults() != 1 || !isPlainMap(op) ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)))
    return {};
  auto empty = op.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>();
  Operation *cut = empty ? findCut(op) : nullptr;
  if (!cut)
    return {};
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  AffineMap identity = rewriter.getMultiDimIdentityMap(op.getNumLoops());
  // An op of some of the inputs and the body's ops in [begin, end).
  auto create = [&](Value init, ArrayRef<OpOperand *> operands, Value partial,
                    Block::iterator begin, Block::iterator end, Value result) {
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    for (OpOperand *operand : operands) {
      inputs.push_back(operand->get());
      maps.push_back(op.getMatchingIndexingMap(operand));
    }
    if (partial)
      inputs.push_back(partial);
    maps.resize(inputs.size() + 1, identity);
    return linalg::GenericOp::create(
        rewriter, loc, init.getType(), inputs, init, maps,
        op.getIteratorTypesArray(),
        [&](OpBuilder &b, Location l, ValueRange args) {
          IRMapping values;
          for (auto [operand, arg] : llvm::zip(operands, args))
            values.map(op.getMatchingBlockArgument(operand), arg);
          if (partial)
            values.map(cut->getResult(0), args[operands.size()]);
          for (Operation &inner : llvm::make_range(begin, end))
            b.clone(inner, values);
          linalg::YieldOp::create(b, l, values.lookupOrDefault(result));
        });
  };
  Block *body = op.getBody();
  Block::iterator middle = std::next(Block::iterator(cut));
  SmallVector<OpOperand *> first, rest;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(operand);
    bool isFirst = !argument.use_empty() &&
                   llvm::all_of(argument.getUsers(), [&](Operation *user) {
                     return user == cut || user->isBeforeInBlock(cut);
                   });
    (isFirst ? first : rest).push_back(operand);
  }
  Value start = tensor::EmptyOp::create(rewriter, loc, empty.getMixedSizes(),
                                        cut->getResult(0).getType());
  linalg::GenericOp head =
      create(start, first, Value(), body->begin(), middle, cut->getResult(0));
  linalg::GenericOp tail = create(empty, rest, head.getResult(0), middle,
                                  Block::iterator(body->getTerminator()),
                                  body->getTerminator()->getOperand(0));
  rewriter.replaceOp(op, tail);
  return tail;
}

/// The operand by which an op reads `value` in a loop nest that could compute
/// it as well; null when there is none. All other users of the producer come
/// later, so nothing between the two depends on it.
OpOperand *findLoopMate(OpResult value) {
  auto producer = cast<linalg::GenericOp>(value.getOwner());
  OpOperand *mate = nullptr;
  for (OpOperand &use : value.getUses()) {
    auto consumer = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (consumer && consumer->getBlock() == producer->getBlock() &&
        (!mate || consumer->isBeforeInBlock(mate->getOwner())))
      mate = &use;
  }
  if (!mate)
    return nullptr;
  auto consumer = cast<linalg::GenericOp>(mate->getOwner());
  if (!isPlainMap(consumer) || !consumer.isDpsInput(mate) ||
      !consumer.getMatchingIndexingMap(mate).isIdentity())
    return nullptr;
  for (Operation *user : producer->getUsers()) {
    Operation *ancestor = producer->getBlock()->findAncestorOpInBlock(*user);
    if (!ancestor ||
        (ancestor != consumer && ancestor->isBeforeInBlock(consumer)))
      return nullptr;
  }
  return mate;
}

/// Computes the new values of state that one loop nest can in one op.
bool fuseUpdates(func::FuncOp function, IRRewriter &rewriter) {
  auto terminator =
      dyn_cast<func::ReturnOp>(function.getBody().front().getTerminator());
  if (!terminator)
    return false;
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto producer = operand.get().getDefiningOp<linalg::GenericOp>();
    if (!producer || !isPlainMap(producer) || producer->getNumResults() != 1 ||
        !function.getResultAttr(operand.getOperandNumber(), kUpdatesAttr))
      continue;
    OpOperand *mate = findLoopMate(cast<OpResult>(operand.get()));
    if (!mate)
      continue;
    Operation *consumer = mate->getOwner();
    rewriter.setInsertionPoint(consumer);
    FailureOr<linalg::ElementwiseOpFusionResult> fused =
        linalg::fuseElementwiseOps(rewriter, mate);
    if (failed(fused))
      continue;
    for (auto [before, after] : fused->replacements)
      rewriter.replaceUsesWithIf(before, after, [&](OpOperand &use) {
        return use.getOwner() != consumer;
      });
    rewriter.eraseOp(consumer);
    return true;
  }
  return false;
}

struct FuseElementwise : onnx_aot::impl::FuseElementwiseBase<FuseElementwise> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> named;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (!isa<linalg::GenericOp, linalg::FillOp>(op.getOperation()))
        named.push_back(op);
    });
    for (linalg::LinalgOp op : named) {
      rewriter.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(rewriter, op);
    }
    SmallVector<linalg::GenericOp> generics;
    getOperation()->walk([&](linalg::GenericOp op) { generics.push_back(op); });
    for (linalg::GenericOp op : generics)
      while (op)
        op = splitWideMap(op, rewriter);
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseOpsFusionPatterns(patterns, shouldFuse);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    linalg::GenericOp::getCanonicalizationPatterns(patterns, &getContext());
    FrozenRewritePatternSet frozen(std::move(patterns));
    (void)applyPatternsGreedily(getOperation(), frozen);
    auto function = dyn_cast<func::FuncOp>(getOperation());
    if (!function || function.isExternal())
      return;
    bool changed = false;
    while (fuseUpdates(function, rewriter))
      changed = true;
    if (changed)
      (void)applyPatternsGreedily(getOperation(), frozen);
  }
};

} // namespace
