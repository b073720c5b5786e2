//===- Attention.cpp - softmax between two products -----------------------===//

#include "Attention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace onnx_aot::codegen;

namespace onnx_aot::gpu_kernel {

//===--- Softmax ----------------------------------------------------------===//

static Value getYielded(linalg::GenericOp op) {
  return op.getBody()->getTerminator()->getOperand(0);
}

/// The tensor that a value of an op's body is the element of, widened or not.
static Value getTensor(linalg::GenericOp op, Value value) {
  if (auto widened = value.getDefiningOp<arith::ExtFOp>())
    value = widened.getIn();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != op.getBody())
    return {};
  OpOperand *operand = op.getMatchingOpOperand(argument);
  return op.isDpsInput(operand) ? operand->get() : Value();
}

static bool isElementOf(linalg::GenericOp op, Value value,
                        linalg::GenericOp producer) {
  return getTensor(op, value) == producer->getResult(0);
}

/// For `select(a == number, zero, other)` with `a` an element of what
/// `producer` makes: the other value; else the value itself.
static Value dropGuard(linalg::GenericOp op, Value value,
                       linalg::GenericOp producer,
                       function_ref<bool(const APFloat &)> isNumber,
                       bool &isGuarded) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  auto compare =
      select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
  APFloat number(0.0f);
  isGuarded = compare && compare.getPredicate() == arith::CmpFPredicate::OEQ &&
              isElementOf(op, compare.getLhs(), producer) &&
              matchPattern(compare.getRhs(), m_ConstantFloat(&number)) &&
              isNumber(number) &&
              matchPattern(select.getTrueValue(), m_AnyZeroFloat());
  return isGuarded ? select.getFalseValue() : value;
}

static bool isLowest(const APFloat &number) {
  return number.isInfinity() && number.isNegative();
}

static bool startsAt(linalg::GenericOp op,
                     function_ref<bool(const APFloat &)> isNumber) {
  APFloat number(0.0f);
  return matchPattern(getInitialScalar(op), m_ConstantFloat(&number)) &&
         isNumber(number);
}

/// Finds a reduction of this kind over what one op makes.
template <typename... Combining>
static Value getReduced(linalg::GenericOp op) {
  std::optional<Combiner> combiner = getCombiner(op);
  if (!combiner || !isa<Combining...>(combiner->op))
    return {};
  return getTensor(op, combiner->op->getOperand(1 - combiner->accumulator));
}

/// exp(scored - maximum), where a maximum of -inf may count as 0.
static bool isExponential(linalg::GenericOp op, linalg::GenericOp scored,
                          linalg::GenericOp maximum) {
  auto exp = getYielded(op).getDefiningOp<math::ExpOp>();
  auto shifted =
      exp ? exp.getOperand().getDefiningOp<arith::SubFOp>() : nullptr;
  if (!shifted || !isElementOf(op, shifted.getLhs(), scored))
    return false;
  bool isGuarded;
  return isElementOf(
      op, dropGuard(op, shifted.getRhs(), maximum, isLowest, isGuarded),
      maximum);
}

/// exponential / sum, or 0 where the sum is 0.
static bool isQuotient(linalg::GenericOp op, linalg::GenericOp exponential,
                       linalg::GenericOp sum, bool &isZeroWithoutKeys) {
  Value value = getYielded(op);
  if (auto narrowed = value.getDefiningOp<arith::TruncFOp>())
    value = narrowed.getIn();
  value = dropGuard(
      op, value, sum, [](const APFloat &number) { return number.isZero(); },
      isZeroWithoutKeys);
  auto quotient = value.getDefiningOp<arith::DivFOp>();
  return quotient && isElementOf(op, quotient.getLhs(), exponential) &&
         isElementOf(op, quotient.getRhs(), sum);
}

/// Matches the last four ops of a stage; those before are pointwise.
static bool findSoftmax(ArrayRef<linalg::GenericOp> ops, Attention &attention) {
  if (ops.size() < 4 || !llvm::all_of(ops.drop_back(4), isPointwise))
    return false;
  ops = ops.take_back(4);
  attention.maximum = ops[0];
  attention.exponential = ops[1];
  attention.sum = ops[2];
  attention.weights = ops[3];
  Value scored =
      getReduced<arith::MaximumFOp, arith::MaxNumFOp>(attention.maximum);
  attention.scored =
      scored ? scored.getDefiningOp<linalg::GenericOp>() : nullptr;
  auto isSingle = [](linalg::GenericOp op) {
    return getElementTypeOrSelf(op->getResult(0).getType()).isF32();
  };
  return attention.scored && isSingle(attention.maximum) &&
         isSingle(attention.exponential) && isSingle(attention.sum) &&
         startsAt(attention.maximum, isLowest) &&
         isExponential(attention.exponential, attention.scored,
                       attention.maximum) &&
         getReduced<arith::AddFOp>(attention.sum) ==
             attention.exponential->getResult(0) &&
         startsAt(attention.sum,
                  [](const APFloat &number) { return number.isZero(); }) &&
         isQuotient(attention.weights, attention.exponential, attention.sum,
                    attention.isZeroWithoutKeys);
}

//===--- Products ---------------------------------------------------------===//

/// A product with sums in f32 and pointwise ops after it.
static std::optional<Product> findStage(ArrayRef<linalg::GenericOp> ops,
                                        const KernelDomain &domain) {
  if (!llvm::all_of(ops.drop_front(), isPointwise) ||
      !getElementTypeOrSelf(ops.front()->getResult(0).getType()).isF32())
    return std::nullopt;
  return findFactors(ops.front(), domain);
}

static std::optional<int64_t>
getStaticSize(linalg::GenericOp op, const KernelDomain &domain, unsigned dim) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (auto [loop, of] : llvm::enumerate(domain.getLoopDims(op)))
    if (of == dim && !ShapedType::isDynamic(ranges[loop]))
      return ranges[loop];
  return std::nullopt;
}

/// Rows are what only the queries have, columns what only the keys have.
static bool orderScores(Attention &attention) {
  Product &product = attention.scores;
  Side &rows = product.rows, &columns = product.columns;
  if (columns.used.contains(attention.row))
    std::swap(rows, columns);
  rows.dims = {attention.row};
  columns.dims = {attention.key};
  return rows.used.contains(attention.row) &&
         !rows.used.contains(attention.key) &&
         columns.used.contains(attention.key) &&
         !columns.used.contains(attention.row);
}

/// Rows are the weights, as they are; columns what only the values have.
static bool orderValues(Attention &attention, const KernelDomain &domain) {
  Product &product = attention.values;
  Side &rows = product.rows, &columns = product.columns;
  auto isWeights = [&](const Side &side) {
    return getTensor(product.op, side.value) == attention.weights->getResult(0);
  };
  if (isWeights(columns))
    std::swap(rows, columns);
  if (!isWeights(rows) || columns.used.contains(attention.row) ||
      rows.value.getType() !=
          getElementTypeOrSelf(attention.weights->getResult(0).getType()))
    return false;
  for (unsigned dim : product.batch)
    if (!llvm::is_contained(attention.scores.batch, dim) &&
        dim != attention.row)
      columns.dims.push_back(dim);
  rows.dims = {attention.row};
  product.batch = attention.scores.batch;
  return startsAt(product.op,
                  [](const APFloat &number) { return number.isZero(); });
}

std::optional<Attention>
findAttention(ArrayRef<SmallVector<linalg::GenericOp>> stages,
              const KernelDomain &domain) {
  Attention attention;
  std::optional<Product> scores = findStage(stages[0], domain),
                         values = findStage(stages[2], domain);
  if (!scores || !values || domain.hasWindows() ||
      !findSoftmax(stages[1], attention))
    return std::nullopt;
  attention.scores = *scores;
  attention.values = *values;
  ArrayRef<int> axes = domain.getAxisDims(stages[0].back()->getResult(0));
  attention.key = axes.back();
  attention.row = axes[axes.size() - 2];
  llvm::append_range(attention.scores.batch, axes.drop_back(2));
  // In the order in which they lie in memory.
  for (int dim : domain.getAxisDims(stages[2].back()->getResult(0)))
    if (dim >= 0)
      attention.values.batch.push_back(dim);
  if (!orderScores(attention) || !orderValues(attention, domain))
    return std::nullopt;
  // Below this tiles would be mostly empty.
  constexpr int64_t kLeast = 8;
  int64_t depth = 1;
  for (unsigned dim : attention.scores.depth)
    depth *= getStaticSize(attention.scores.op, domain, dim).value_or(0);
  auto isLarge = [&](unsigned dim) {
    return getStaticSize(attention.scores.op, domain, dim).value_or(kLeast) >=
           kLeast;
  };
  if (depth == 0 || !isLarge(attention.row) || !isLarge(attention.key))
    return std::nullopt;
  return attention;
}

bool isAttention(ArrayRef<SmallVector<linalg::GenericOp>> stages) {
  FailureOr<KernelDomain> domain = KernelDomain::analyzeStages(stages);
  if (failed(domain) || !findAttention(stages, *domain))
    return false;
  for (ArrayRef<linalg::GenericOp> ops : stages)
    for (linalg::GenericOp op : ops) {
      for (Operation &inner : op.getBody()->without_terminator())
        if (!isDeviceOp(&inner))
          return false;
      for (Type type : op->getOperandTypes())
        if (!isDeviceType(getElementTypeOrSelf(type)) && !isa<IndexType>(type))
          return false;
    }
  return true;
}

} // namespace onnx_aot::gpu_kernel
