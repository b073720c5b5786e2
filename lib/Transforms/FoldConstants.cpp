//===- FoldConstants.cpp - evaluate ops on constants
//------------------------===//

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
    int64_t budget = maxTotalBytes;
    SmallVector<Operation *> ops;
    // Inner ops first; folding an op never makes one before it foldable.
    getOperation().walk([&](Operation *op) {
      if (isa<onnx::OnnxOpInterface>(op) && !isa<onnx::ConstantOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (failed(onnx::inferAndSetResultTypes(op)))
        return signalPassFailure();
      fold(op, budget);
    }
    refreshFunctionTypes(getOperation());
  }

private:
  void fold(Operation *op, int64_t &budget) {
    if (!isPure(op) || op->use_empty())
      return;
    SmallVector<ElementsAttr> results;
    if (ElementsAttr shape = evaluateShapeValue(op)) {
      results.push_back(shape);
    } else {
      if (!isDataMovement(op) && !isArithmetic(op))
        return;
      if (!llvm::all_of(op->getOperands(), isConstant) ||
          !isWorthIt(op, budget))
        return;
      if (failed(isDataMovement(op) ? evaluateDataMovement(op, results)
                                    : evaluateArithmetic(op, results)))
        return;
    }
    OpBuilder builder(op);
    for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
      result.replaceAllUsesWith(
          onnx::createConstant(builder, op->getLoc(), value));
    SmallVector<Value> operands(op->getOperands());
    op->erase();
    // A large weight that was replaced must not be counted as a user's.
    for (Value operand : operands)
      if (Operation *producer = operand.getDefiningOp();
          producer && isa<onnx::ConstantOp>(producer) && producer->use_empty())
        producer->erase();
  }

  /// The pass's description says what is not.
  bool isWorthIt(Operation *op, int64_t &budget) const {
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
};
} // namespace
