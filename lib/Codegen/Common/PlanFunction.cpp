//===- PlanFunction.cpp - the function that plans a run -------------------===//

#include "PlanFunction.h"

#include "onnx-aot/Codegen/Common/Entry.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace onnx_aot::codegen {

namespace {

/// Replaces affine ops by plain arithmetic, so that each step can be checked.
void expandAffine(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    OpBuilder builder(&op);
    Location loc = op.getLoc();
    AffineMap map;
    if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
      map = apply.getMap();
    else if (auto max = dyn_cast<affine::AffineMaxOp>(op))
      map = max.getMap();
    else if (auto min = dyn_cast<affine::AffineMinOp>(op))
      map = min.getMap();
    else
      continue;
    std::optional<SmallVector<Value, 8>> values =
        affine::expandAffineMap(builder, loc, map, op.getOperands());
    if (!values) // A division by a constant 0: left to fail when lowered.
      continue;
    Value result = values->front();
    for (Value value : ArrayRef(*values).drop_front()) {
      if (isa<affine::AffineMaxOp>(op))
        result = arith::MaxSIOp::create(builder, loc, result, value);
      else
        result = arith::MinSIOp::create(builder, loc, result, value);
    }
    op.getResult(0).replaceAllUsesWith(result);
    op.erase();
  }
}

/// Finds out whether the arithmetic of a block stays within 63 bits.
class ArithmeticGuard {
public:
  /// Guards every op of the block and returns whether all was well.
  Value guard(Block &block) {
    OpBuilder start = OpBuilder::atBlockBegin(&block);
    fits = arith::ConstantIntOp::create(start, block.getParentOp()->getLoc(), 1,
                                        1);
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      ops.push_back(&op);
    for (Operation *op : ops)
      guard(op);
    return fits;
  }

private:
  static bool isWide(Value value) {
    return value.getType().isIndex() || value.getType().isInteger(64);
  }

  Value constant(OpBuilder &b, Location loc, Type type, int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
  }

  void require(OpBuilder &b, Location loc, Value condition) {
    fits = arith::AndIOp::create(b, loc, fits, condition);
  }

  /// No overflow: the signs of two words do not both differ from a third's.
  void requireSign(Operation *op, Value a, Value b, Value c, Value d) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Location loc = op->getLoc();
    Value both = arith::AndIOp::create(
        builder, loc, arith::XOrIOp::create(builder, loc, a, b),
        arith::XOrIOp::create(builder, loc, c, d));
    require(builder, loc,
            arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, both,
                                  constant(builder, loc, both.getType(), 0)));
  }

  void requireProduct(arith::MulIOp op) {
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    Location loc = op.getLoc();
    SmallVector<Value, 2> factors;
    for (Value factor : op->getOperands())
      factors.push_back(
          factor.getType().isIndex()
              ? arith::IndexCastOp::create(b, loc, b.getI64Type(), factor)
              : factor);
    auto product =
        arith::MulSIExtendedOp::create(b, loc, factors[0], factors[1]);
    Value sign = arith::ShRSIOp::create(b, loc, product.getLow(),
                                        constant(b, loc, b.getI64Type(), 63));
    require(b, loc,
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                  product.getHigh(), sign));
  }

  /// Requires a condition before the op, which gets `instead` where it is
  /// false.
  void requireOperand(Operation *op, unsigned index, Value condition,
                      Value instead) {
    OpBuilder b(op);
    require(b, op->getLoc(), condition);
    op->setOperand(index,
                   arith::SelectOp::create(b, op->getLoc(), condition,
                                           op->getOperand(index), instead));
  }

  void requireDivisor(Operation *op) {
    Value divisor = op->getOperand(1);
    if (std::optional<int64_t> value = getConstantIntValue(divisor))
      if (*value != 0)
        return;
    OpBuilder b(op);
    Location loc = op->getLoc();
    Value zero = constant(b, loc, divisor.getType(), 0);
    Value condition =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, divisor, zero);
    requireOperand(op, 1, condition, constant(b, loc, divisor.getType(), 1));
  }

  void requireInteger(arith::FPToSIOp op) {
    OpBuilder b(op);
    Location loc = op.getLoc();
    auto type = cast<FloatType>(op.getIn().getType());
    auto limit = [&](double value) {
      return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
    };
    Value low = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE,
                                      op.getIn(), limit(-0x1p62));
    Value high = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE,
                                       op.getIn(), limit(0x1p62));
    requireOperand(op, 0, arith::AndIOp::create(b, loc, low, high), limit(0));
  }

  void guard(Operation *op) {
    // Without flags a result that does not fit is a number, not poison.
    if (auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op))
      op->setAttr(flags.getIntegerOverflowAttrName(),
                  arith::IntegerOverflowFlagsAttr::get(
                      op->getContext(), arith::IntegerOverflowFlags::none));
    if (auto add = dyn_cast<arith::AddIOp>(op); add && isWide(add))
      requireSign(op, add.getLhs(), add, add.getRhs(), add);
    else if (auto sub = dyn_cast<arith::SubIOp>(op); sub && isWide(sub))
      requireSign(op, sub.getLhs(), sub.getRhs(), sub.getLhs(), sub);
    else if (auto mul = dyn_cast<arith::MulIOp>(op); mul && isWide(mul))
      requireProduct(mul);
    else if (auto convert = dyn_cast<arith::FPToSIOp>(op);
             convert && isWide(convert) &&
             isa<FloatType>(convert.getIn().getType()))
      requireInteger(convert);
    else if (isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
                 arith::CeilDivUIOp, arith::FloorDivSIOp, arith::RemSIOp,
                 arith::RemUIOp>(op))
      requireDivisor(op);
  }

  Value fits;
};

/// Checks of the entry that the symbols alone decide, each condition once.
SmallVector<cf::AssertOp> getSymbolChecks(func::FuncOp entry) {
  SmallVector<cf::AssertOp> checks;
  for (auto check : entry.getBody().front().getOps<cf::AssertOp>())
    if (dependsOnSymbolsOnly(check.getArg()))
      checks.push_back(check);
  return checks;
}

/// For each dimension that the entry returns: is it of an output that the run
/// asks for, and so not the plan's to tell?
SmallVector<bool> getAskedFor(ModuleOp module) {
  SmallVector<bool> result;
  auto outputs = module->getAttrOfType<ArrayAttr>(kOutputsAttr);
  auto valueShaped = module->getAttrOfType<DenseI64ArrayAttr>(kValueShapedAttr);
  if (!outputs || !valueShaped)
    return result;
  for (auto [index, info] :
       llvm::enumerate(outputs.getAsRange<DictionaryAttr>()))
    for (int64_t dim : info.getAs<DenseI64ArrayAttr>("dims").asArrayRef())
      if (dim < 0)
        result.push_back(
            llvm::is_contained(valueShaped.asArrayRef(), (int64_t)index));
  return result;
}

} // namespace

void buildPlanFunction(func::FuncOp entry, Value arenaBytes) {
  EntryArguments arguments(entry);
  Location loc = entry.getLoc();
  Block &block = entry.getBody().front();
  SmallVector<Value> wanted(block.getTerminator()->getOperands());
  wanted.push_back(arenaBytes);
  auto indexType = IndexType::get(entry.getContext());
  SmallVector<Type> symbols(arguments.getNumSymbols(), indexType);
  SmallVector<Type> results(wanted.size() + 1, indexType);
  auto plan = func::FuncOp::create(
      loc, kPlanName, FunctionType::get(entry.getContext(), symbols, results));
  plan.setPrivate();
  entry->getParentOfType<ModuleOp>().push_back(plan);
  Block *planBlock = plan.addEntryBlock();
  OpBuilder body = OpBuilder::atBlockBegin(planBlock);
  IRMapping mapping;
  for (unsigned i = 0; i < symbols.size(); ++i)
    mapping.map(arguments.symbol(i), plan.getArgument(i));
  auto copy = [&](Value value) -> Value {
    SetVector<Operation *> slice;
    if (!dependsOnSymbolsOnly(value, &slice))
      return {};
    for (Operation *op : slice)
      if (!mapping.contains(op->getResult(0)))
        body.clone(*op, mapping);
    return mapping.lookup(value);
  };

  SmallVector<Value> returned, negative;
  Value zero = arith::ConstantIndexOp::create(body, loc, 0);
  SmallVector<bool> askedFor = getAskedFor(entry->getParentOfType<ModuleOp>());
  askedFor.resize(wanted.size());
  for (auto [value, isAskedFor] : llvm::zip_equal(wanted, askedFor)) {
    Value planned = isAskedFor ? Value() : copy(value);
    if (planned)
      negative.push_back(planned);
    returned.push_back(planned ? planned
                               : arith::ConstantIndexOp::create(body, loc, -1));
  }
  // A model without symbols is not planned: its checks stay in the run.
  SmallVector<Value> conditions;
  SmallVector<Attribute> texts;
  if (!symbols.empty())
    for (cf::AssertOp check : getSymbolChecks(entry)) {
      Value condition = copy(check.getArg());
      if (!llvm::is_contained(conditions, condition)) {
        conditions.push_back(condition);
        texts.push_back(check.getMsgAttr());
      }
      check.erase();
    }
  for (Value value : negative) {
    conditions.push_back(arith::CmpIOp::create(
        body, loc, arith::CmpIPredicate::sge, value, zero));
    texts.push_back(body.getStringAttr("a size is negative"));
  }
  // The first check that fails is the reason; none counts if a size wrapped.
  Value reason = zero;
  for (size_t i = conditions.size(); i-- > 0;)
    reason = arith::SelectOp::create(
        body, loc, conditions[i], reason,
        arith::ConstantIndexOp::create(body, loc, i + 1));
  returned.push_back(reason);
  auto terminator = func::ReturnOp::create(body, loc, returned);

  expandAffine(*planBlock);
  Value fits = ArithmeticGuard().guard(*planBlock);
  body.setInsertionPoint(terminator);
  texts.push_back(body.getStringAttr("a size does not fit 63 bits"));
  unsigned last = terminator.getNumOperands() - 1;
  terminator.setOperand(
      last, arith::SelectOp::create(
                body, loc, fits, terminator.getOperand(last),
                arith::ConstantIndexOp::create(body, loc, texts.size())));
  entry->getParentOfType<ModuleOp>()->setAttr(kPlanChecksAttr,
                                              body.getArrayAttr(texts));
}

} // namespace onnx_aot::codegen
