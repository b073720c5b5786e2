//===- ControlFlowOps.cpp - verifiers and shape functions -----------------===//

#include "onnx-aot/Dialect/Onnx/IR/Composite.h"
#include "onnx-aot/Dialect/Onnx/IR/ControlFlow.h"
#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace onnx_aot::onnx;

#define GET_OP_CLASSES
#include "onnx-aot/Dialect/Onnx/IR/ControlFlowOps.cpp.inc"

void OnnxDialect::registerControlFlowOps() {
  addOperations<
#define GET_OP_LIST
#include "onnx-aot/Dialect/Onnx/IR/ControlFlowOps.cpp.inc"
      >();
}

//===--- Types that leave a body ------------------------------------------===//

namespace {
/// The symbols that have a value outside of an op's bodies: a size inside may
/// be another one in each iteration.
class OuterSymbols {
public:
  explicit OuterSymbols(Operation *op) {
    for (Value operand : op->getOperands())
      add(operand.getType());
    for (Block *block = op->getBlock(); block;
         block = block->getParentOp() ? block->getParentOp()->getBlock()
                                      : nullptr)
      for (BlockArgument argument : block->getArguments())
        add(argument.getType());
    visitUsedValuesDefinedAbove(op->getRegions(), [&](OpOperand *operand) {
      add(operand->get().getType());
    });
  }

  /// The dimension if it has a value outside, else unknown.
  Dim filter(Dim dim) const {
    bool isVisible = dim.isKnown();
    if (isVisible)
      dim.getExpr().walk([&](AffineExpr expr) {
        if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
          isVisible &= symbols.contains(symbol.getPosition());
      });
    return isVisible ? dim : Dim::unknown();
  }

private:
  void add(Type type) {
    std::optional<Shape> shape = getShape(type);
    if (!shape)
      return;
    for (Dim dim : *shape)
      if (dim.isKnown())
        dim.getExpr().walk([&](AffineExpr expr) {
          if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
            symbols.insert(symbol.getPosition());
        });
  }

  DenseSet<unsigned> symbols;
};
} // namespace

/// What is known of a value that has the one type or the other.
static FailureOr<Type> joinTypes(Operation *op, unsigned index, Type a, Type b,
                                 const OuterSymbols &outer) {
  auto mismatch = [&]() -> LogicalResult {
    return op->emitOpError("output ")
           << index << " has type " << a << " on one path and " << b
           << " on the other";
  };
  auto left = dyn_cast<TensorType>(a), right = dyn_cast<TensorType>(b);
  if (!left || !right) {
    FailureOr<Type> joined = joinCompositeTypes(a, b);
    return failed(joined) ? FailureOr<Type>(mismatch()) : joined;
  }
  if (left.getElementType() != right.getElementType())
    return mismatch();
  std::optional<Shape> leftShape = getShape(a), rightShape = getShape(b);
  if (!leftShape || !rightShape || leftShape->size() != rightShape->size())
    return getUnrankedType(left.getElementType());
  Shape shape;
  for (auto [x, y] : llvm::zip_equal(*leftShape, *rightShape))
    shape.push_back(x == y ? outer.filter(x) : Dim::unknown());
  return Type(getTensorType(shape, left.getElementType()));
}

/// Type of the values of all iterations, stacked along `axis`.
static Type stackType(Type type, int64_t axis, Dim length,
                      const OuterSymbols &outer) {
  Type elementType = getElementTypeOrSelf(type);
  std::optional<Shape> shape = getShape(type);
  if (!shape)
    return getUnrankedType(elementType);
  for (Dim &dim : *shape)
    dim = outer.filter(dim);
  shape->insert(shape->begin() + axis, length);
  return getTensorType(*shape, elementType);
}

static YieldOp getTerminator(Region &body) {
  if (body.empty() || body.front().empty())
    return {};
  return dyn_cast<YieldOp>(body.front().back());
}

//===--- If ---------------------------------------------------------------===//

LogicalResult IfOp::verify() {
  for (Region *region : {&getThenBranch(), &getElseBranch()}) {
    if (region->front().getNumArguments() != 0)
      return emitOpError("branches take no inputs");
    if (!getTerminator(*region))
      return emitOpError("branches must end in onnx.Yield");
    if (getTerminator(*region)->getNumOperands() != getNumResults())
      return emitOpError("has ")
             << getNumResults() << " outputs, but a branch yields "
             << getTerminator(*region)->getNumOperands();
  }
  return success();
}

/// The branch that is taken, where the condition is known at compile time;
/// shape arithmetic often decides it.
static std::optional<bool> getDecision(IfOp op) {
  std::optional<SmallVector<Dim>> value = getShapeValue(op.getCond());
  if (!value || value->size() != 1 || !(*value)[0].isStatic())
    return std::nullopt;
  return (*value)[0].getStatic() != 0;
}

namespace {
// Pattern: If(constant) {A} else {B} -> A or B
struct InlineDecidedIf : OpRewritePattern<IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IfOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<bool> decided = getDecision(op);
    if (!decided)
      return failure();
    Region &taken = *decided ? op.getThenBranch() : op.getElseBranch();
    Operation *yield = &taken.front().back();
    SmallVector<Value> results(yield->getOperands());
    // Shape inference has to see the decision first.
    if (ValueRange(results).getTypes() != op.getResultTypes())
      return failure();
    rewriter.eraseOp(yield);
    rewriter.inlineBlockBefore(&taken.front(), op);
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

void IfOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                       MLIRContext *context) {
  patterns.add<InlineDecidedIf>(context);
}

LogicalResult IfOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  if (!getElementType(getCond()).isInteger(1))
    return emitOpError("cond must be bool, found ") << getCond().getType();
  YieldOp yes = getTerminator(getThenBranch()),
          no = getTerminator(getElseBranch());
  if (!yes || !no || yes->getNumOperands() != no->getNumOperands())
    return emitOpError("its branches give different numbers of outputs");
  OuterSymbols outer(*this);
  // A branch that is never taken need not fit.
  if (std::optional<bool> decided = getDecision(*this)) {
    llvm::append_range(types, (*decided ? yes : no)->getOperandTypes());
    return success();
  }
  for (auto [index, pair] : llvm::enumerate(
           llvm::zip_equal(yes->getOperandTypes(), no->getOperandTypes()))) {
    FailureOr<Type> type =
        joinTypes(*this, index, std::get<0>(pair), std::get<1>(pair), outer);
    if (failed(type))
      return failure();
    types.push_back(*type);
  }
  return success();
}

//===--- Loop -------------------------------------------------------------===//

/// Looks through Identity.
static Value peel(Value value) {
  while (auto identity =
             value ? value.getDefiningOp<IdentityOp>() : IdentityOp())
    value = identity.getInput();
  return value;
}

static bool isTrue(Value value) {
  std::optional<SmallVector<int64_t>> constant =
      getConstantIntegers(peel(value));
  return constant && constant->size() == 1 && (*constant)[0] != 0;
}

bool onnx_aot::onnx::runsAllIterations(LoopOp op) {
  if (!op.getM() || (op.getCond() && !isTrue(op.getCond())))
    return false;
  Block &body = op.getBody().front();
  Value next = peel(body.back().getOperand(0));
  return isTrue(next) || next == body.getArgument(1);
}

LogicalResult LoopOp::verify() {
  Block &body = getBody().front();
  if (!getTerminator(getBody()))
    return emitOpError("its body must end in onnx.Yield");
  size_t carried = getVInitial().size();
  if (body.getNumArguments() != carried + 2)
    return emitOpError("its body takes ")
           << body.getNumArguments() << " inputs, " << carried + 2
           << " follow from the operands";
  if (body.back().getNumOperands() != getNumResults() + 1 ||
      getNumResults() < carried)
    return emitOpError("its body gives ")
           << body.back().getNumOperands() << " outputs for " << getNumResults()
           << " results";
  return success();
}

LogicalResult LoopOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  YieldOp yield = getTerminator(getBody());
  size_t carried = getVInitial().size();
  if (!yield || yield->getNumOperands() < carried + 1)
    return emitOpError("its body gives too few outputs");
  if (getM() && !getElementType(getM()).isInteger(64))
    return emitOpError("m must be int64, found ") << getM().getType();
  for (Value cond : {getCond(), yield->getOperand(0)})
    if (cond && !getElementType(cond).isInteger(1))
      return emitOpError("cond must be bool, found ") << cond.getType();
  OuterSymbols outer(*this);
  for (auto [index, initial] : llvm::enumerate(getVInitial())) {
    FailureOr<Type> type =
        joinTypes(*this, index, initial.getType(),
                  yield->getOperand(index + 1).getType(), outer);
    if (failed(type))
      return failure();
    types.push_back(*type);
  }
  Dim length = Dim::unknown();
  if (runsAllIterations(*this))
    if (auto count = getShapeValue(getM()); count && count->size() == 1) {
      length = (*count)[0];
      if (length.isStatic() && length.getStatic() < 0)
        length = Dim::constant(getContext(), 0);
      if (!isNonNegative(length))
        length = Dim::unknown();
    }
  for (Value scanned : yield->getOperands().drop_front(carried + 1)) {
    if (!isa<TensorType>(scanned.getType()))
      return emitOpError("scan outputs must be tensors, found ")
             << scanned.getType();
    types.push_back(stackType(scanned.getType(), 0, length, outer));
  }
  return success();
}

//===--- Scan -------------------------------------------------------------===//

/// The entry of a list of axes or directions; 0 where there is none.
static int64_t getEntry(std::optional<ArrayRef<int64_t>> list, size_t index) {
  return list && index < list->size() ? (*list)[index] : 0;
}

LogicalResult ScanOp::verify() {
  Block &body = getBody().front();
  if (!getTerminator(getBody()))
    return emitOpError("its body must end in onnx.Yield");
  int64_t numOperands = getNumOperands(), numScanned = getNumScanInputs();
  if (numScanned < 1 || numScanned > numOperands)
    return emitOpError("num_scan_inputs is ")
           << numScanned << " with " << numOperands << " inputs";
  if (body.getNumArguments() != getNumOperands())
    return emitOpError("its body takes ")
           << body.getNumArguments() << " inputs, " << numOperands
           << " follow from the operands";
  if (body.back().getNumOperands() != getNumResults() ||
      static_cast<int64_t>(getNumResults()) < numOperands - numScanned)
    return emitOpError("its body gives ")
           << body.back().getNumOperands() << " outputs for " << getNumResults()
           << " results";
  for (auto [list, expected] :
       {std::pair<std::optional<ArrayRef<int64_t>>, int64_t>{getScanInputAxes(),
                                                             numScanned},
        {getScanInputDirections(), numScanned},
        {getScanOutputAxes(), getNumResults() - (numOperands - numScanned)},
        {getScanOutputDirections(),
         getNumResults() - (numOperands - numScanned)}})
    if (list && static_cast<int64_t>(list->size()) != expected)
      return emitOpError("a list of axes or directions has ")
             << list->size() << " entries, expected " << expected;
  return success();
}

LogicalResult ScanOp::inferResultTypes(SmallVectorImpl<Type> &types) {
  YieldOp yield = getTerminator(getBody());
  int64_t numScanned = getNumScanInputs(), numOperands = getNumOperands();
  if (numScanned < 1 || numScanned > numOperands)
    return emitOpError("num_scan_inputs is ")
           << numScanned << " with " << numOperands << " inputs";
  size_t carried = numOperands - numScanned;
  if (!yield || yield->getNumOperands() < carried)
    return emitOpError("its body gives too few outputs");
  Dim length = Dim::unknown();
  for (int64_t i = 0; i < numScanned; ++i) {
    std::optional<Shape> shape = getShape(getOperand(carried + i));
    if (!shape)
      continue;
    FailureOr<int64_t> axis =
        checkAxis(*this, getEntry(getScanInputAxes(), i), shape->size());
    if (failed(axis))
      return failure();
    Dim size = (*shape)[*axis];
    if (size.isStatic() && length.isStatic() && size != length)
      return emitOpError("scan inputs have different lengths ")
             << length.getStatic() << " and " << size.getStatic();
    if (!length.isKnown() || size.isStatic())
      length = size;
  }
  OuterSymbols outer(*this);
  for (size_t i = 0; i < carried; ++i) {
    FailureOr<Type> type = joinTypes(*this, i, getOperand(i).getType(),
                                     yield->getOperand(i).getType(), outer);
    if (failed(type))
      return failure();
    types.push_back(*type);
  }
  for (auto [i, value] :
       llvm::enumerate(yield->getOperands().drop_front(carried))) {
    int64_t axis = 0;
    if (std::optional<int64_t> rank = getRank(value)) {
      FailureOr<int64_t> normal =
          checkAxis(*this, getEntry(getScanOutputAxes(), i), *rank + 1);
      if (failed(normal))
        return failure();
      axis = *normal;
    }
    types.push_back(stackType(value.getType(), axis, length, outer));
  }
  return success();
}
