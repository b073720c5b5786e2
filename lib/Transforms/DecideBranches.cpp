//===- DecideBranches.cpp - branches that only one rank fits --------------===//

#include "Composites.h"

#include "onnx-aot/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

namespace onnx_aot {
#define GEN_PASS_DEF_DECIDEBRANCHES
#include "onnx-aot/Transforms/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// An If with an output that has one rank or another.
bool hasOpenRank(IfOp op) {
  return llvm::any_of(op->getResults(), [](Value result) {
    return isa<UnrankedTensorType>(result.getType()) && !result.use_empty();
  });
}

IfOp findOpen(func::FuncOp function, unsigned skip) {
  IfOp found;
  function.walk<WalkOrder::PreOrder>([&](IfOp op) {
    if (!hasOpenRank(op) || skip-- > 0)
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

/// Puts one branch in place of the If; the run ends where it is not the one
/// taken.
void inlineBranch(IfOp op, bool taken) {
  Block &branch = (taken ? op.getThenBranch() : op.getElseBranch()).front();
  Operation *yield = branch.getTerminator();
  SmallVector<Value> results(yield->getOperands());
  yield->erase();
  op->getBlock()->getOperations().splice(op->getIterator(),
                                         branch.getOperations());
  OpBuilder builder(op);
  CompositeBuilder b(builder, op.getLoc());
  Value isTaken = op.getCond();
  if (std::optional<int64_t> rank = getRank(isTaken); rank && *rank > 0)
    isTaken = createInferred<ReshapeOp>(
        builder, op.getLoc(), isTaken, createIntegers(builder, op.getLoc(), {}),
        uint64_t(1));
  if (!taken)
    isTaken = createInferred<NotOp>(builder, op.getLoc(), isTaken);
  for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
    if (!result.use_empty())
      result.replaceAllUsesWith(b.getPresent(isTaken, value));
  op->erase();
}

struct DecideBranches : onnx_aot::impl::DecideBranchesBase<DecideBranches> {
  void runOnOperation() override {
    auto entry = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!entry || entry.isExternal())
      return;
    unsigned skip = 0, tries = 0;
    constexpr unsigned kMaxTries = 64;
    while (IfOp op = findOpen(entry, skip)) {
      if (++tries > kMaxTries)
        return;
      bool fits[2];
      for (bool taken : {false, true})
        fits[taken] = tryBranch(entry, skip, taken);
      if (fits[0] == fits[1]) {
        ++skip; // both or none: VerifyLowerable says so
        continue;
      }
      inlineBranch(op, fits[1]);
      if (failed(fold()))
        return signalPassFailure();
    }
  }

private:
  LogicalResult fold() {
    OpPassManager manager(ModuleOp::getOperationName());
    FoldConstantsOptions decided;
    decided.smallIntegersOnly = true;
    manager.addPass(createFoldConstants(decided));
    return runPipeline(manager, getOperation());
  }

  /// Whether the rest of the graph takes what a branch gives.
  bool tryBranch(func::FuncOp entry, unsigned skip, bool taken) {
    func::FuncOp copy = entry.clone();
    copy.setName("main.try");
    getOperation().push_back(copy);
    IfOp op = findOpen(copy, skip);
    if (!op) {
      copy.erase();
      return false;
    }
    inlineBranch(op, taken);
    LogicalResult result = success();
    {
      ScopedDiagnosticHandler quiet(&getContext(),
                                    [](Diagnostic &) { return success(); });
      result = fold();
    }
    copy.erase();
    return succeeded(result);
  }
};

} // namespace
