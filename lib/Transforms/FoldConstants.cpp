//===- FoldConstants.cpp - evaluate ops on constants ----------------------===//

#include "ConstantEvaluators.h"
#include "TransformUtils.h"
#include "onnx-aot/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace onnx_aot;

namespace onnx_aot {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "onnx-aot/Transforms/Passes.h.inc"
} // namespace onnx_aot

static bool isConstant(Value value) {
  return value.getDefiningOp<onnx::ConstantOp>() != nullptr;
}

/// Bytes of a static tensor; nothing when that overflows or is not known.
static std::optional<int64_t> getBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return std::nullopt;
  int64_t bytes = getElementBytes(tensor.getElementType());
  if (bytes == 0)
    return std::nullopt;
  for (int64_t size : tensor.getShape())
    if (llvm::MulOverflow(bytes, size, bytes))
      return std::nullopt;
  return bytes;
}

/// What shapes and conditions are made of.
static bool isSmallInteger(Type type) {
  constexpr int64_t kMaxElements = 64;
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getRank() <= 1 &&
         isa<IntegerType>(tensor.getElementType()) &&
         tensor.getNumElements() <= kMaxElements;
}

/// Replaces an If of a constant condition by the branch taken. Returns the op
/// that comes first then; null where the op is no such If.
static Operation *inlineDecidedBranch(Operation *op) {
  auto branch = dyn_cast<onnx::IfOp>(op);
  std::optional<double> condition =
      branch ? getSplatNumber(branch.getCond()) : std::nullopt;
  if (!condition)
    return nullptr;
  Region &taken =
      *condition != 0 ? branch.getThenBranch() : branch.getElseBranch();
  if (!taken.hasOneBlock() || taken.getNumArguments() != 0)
    return nullptr;
  Block &body = taken.front();
  Operation *yield = body.getTerminator();
  if (yield->getNumOperands() != op->getNumResults())
    return nullptr;
  Operation *first = &body.front() == yield ? op->getNextNode() : &body.front();
  op->getBlock()->getOperations().splice(op->getIterator(),
                                         body.getOperations(), body.begin(),
                                         yield->getIterator());
  op->replaceAllUsesWith(yield->getOperands());
  op->erase();
  return first;
}

/// Shape arithmetic whose every element is a constant, for instance
/// Gather(Shape(x), 1) of an x with a symbolic batch.
static ElementsAttr evaluateShapeValue(Operation *op) {
  if (op->getNumResults() != 1)
    return {};
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || type.getRank() > 1 ||
      !(type.getElementType().isInteger(64) ||
        type.getElementType().isInteger(32)))
    return {};
  std::optional<SmallVector<onnx::Dim>> elements =
      onnx::getShapeValue(op->getResult(0));
  if (!elements || (type.getRank() == 0 && elements->size() != 1))
    return {};
  for (onnx::Dim element : *elements)
    if (!element.isStatic() || (type.getElementType().isInteger(32) &&
                                !llvm::isInt<32>(element.getStatic())))
      return {};
  SmallVector<int64_t> shape;
  if (type.getRank() == 1)
    shape.push_back(elements->size());
  ConstantBuilder result(RankedTensorType::get(shape, type.getElementType()));
  for (auto [index, element] : llvm::enumerate(*elements))
    result.setInteger(index, element.getStatic());
  return result.finish();
}

namespace {
struct FoldConstants : onnx_aot::impl::FoldConstantsBase<FoldConstants> {
  using FoldConstantsBase::FoldConstantsBase;

  void runOnOperation() override {
    budget = maxTotalBytes;
    bool bad = false;
    for (auto function : getOperation().getOps<func::FuncOp>())
      bad |= failed(foldRegion(function.getBody()));
    refreshFunctionTypes(getOperation());
    if (bad)
      signalPassFailure();
  }

private:
  /// In program order, so that one pass sees all that earlier ops decide. Fails
  /// after all ops, each that contradicts itself reported.
  LogicalResult foldRegion(Region &region) {
    bool bad = false;
    for (Block &block : region) {
      for (auto iterator = block.begin(); iterator != block.end();) {
        Operation *op = &*iterator;
        if (Operation *next = inlineDecidedBranch(op)) {
          iterator = next->getIterator();
          continue;
        }
        ++iterator;
        for (Region &inner : op->getRegions())
          bad |= failed(foldRegion(inner));
        if (failed(onnx::inferAndSetResultTypes(op)))
          bad = true;
        else if (isa<onnx::OnnxOpInterface>(op) && !isa<onnx::ConstantOp>(op))
          fold(op);
      }
    }
    return failure(bad);
  }

  void fold(Operation *op) {
    if (!isPure(op) || op->use_empty())
      return;
    if (smallIntegersOnly &&
        !llvm::all_of(op->getResultTypes(), isSmallInteger))
      return;
    SmallVector<ElementsAttr> results;
    if (ElementsAttr shape = evaluateShapeValue(op)) {
      results.push_back(shape);
    } else {
      if (!isDataMovement(op) && !isArithmetic(op))
        return;
      if (!llvm::all_of(op->getOperands(), isConstant) || !isWorthIt(op))
        return;
      if (failed(isDataMovement(op) ? evaluateDataMovement(op, results)
                                    : evaluateArithmetic(op, results)))
        return;
    }
    OpBuilder builder(op);
    for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
      result.replaceAllUsesWith(
          onnx::createConstant(builder, op->getLoc(), value));
    // Each once: an op may take a value twice.
    SmallPtrSet<Operation *, 4> producers;
    for (Value operand : op->getOperands())
      if (auto constant = operand.getDefiningOp<onnx::ConstantOp>())
        producers.insert(constant);
    op->erase();
    // A large weight that was replaced must not count as having a user.
    for (Operation *producer : producers)
      if (producer->use_empty())
        producer->erase();
  }

  /// The pass's description says what is not.
  bool isWorthIt(Operation *op) {
    int64_t before = 0, after = 0;
    bool isShared = false;
    for (Value operand : op->getOperands()) {
      std::optional<int64_t> bytes = getBytes(operand.getType());
      if (!bytes)
        return false;
      before += *bytes;
      isShared |= *bytes > maxGrowthBytes && !operand.hasOneUse();
    }
    for (Type type : op->getResultTypes()) {
      std::optional<int64_t> bytes = getBytes(type);
      // Sums of sizes that each fit a model cannot overflow, wild ones might.
      if (!bytes || llvm::AddOverflow(after, *bytes, after))
        return false;
    }
    if (after > maxGrowthBytes && (after > before || isShared))
      return false;
    if (after > budget)
      return false;
    budget -= after;
    return true;
  }

  int64_t budget = 0;
};
} // namespace
