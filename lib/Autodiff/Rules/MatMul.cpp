//===- MatMul.cpp - gradients of matrix products --------------------------===//

#include "Rules.h"
#include "onnx-aot/Dialect/Onnx/IR/Einsum.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

/// alpha a' b', where the primes transpose the last two dimensions if asked
/// for.
static Value multiply(GradientBuilder &g, APFloat alpha, Value a, Value b,
                      bool transA, bool transB) {
  APFloat zero(0.0f);
  if (g.getRank(a) == 2 && g.getRank(b) == 2)
    return g.create<GemmOp>(a, b, Value(), alpha, zero, transA, transB);
  return g.create<FusedMatMulOp>(a, b, alpha, transA, transB);
}

/// y = alpha a' b' in numpy.matmul's sense, vectors and batches included.
static void gradProduct(GradientBuilder &g, Value y, Value left, Value right,
                        APFloat alpha, bool transA, bool transB) {
  Value a = left, b = right, dy = g.getGradient(y);
  bool aIsRow = g.getRank(a) == 1, bIsColumn = g.getRank(b) == 1;
  if (bIsColumn) {
    b = g.unsqueeze(b, {1});
    dy = g.unsqueeze(dy, {g.getRank(dy)});
    transB = false;
  }
  if (aIsRow) {
    a = g.unsqueeze(a, {0});
    dy = g.unsqueeze(dy, {g.getRank(dy) - 1});
    transA = false;
  }
  if (g.isActive(left)) {
    Value da = transA ? multiply(g, alpha, b, dy, transB, true)
                      : multiply(g, alpha, dy, b, false, !transB);
    da = g.sumLike(da, a);
    g.accumulate(left, aIsRow ? g.squeeze(da, {0}) : da);
  }
  if (!g.isActive(right))
    return;
  // All rows of a batch that meets one matrix are one sum.
  if (g.getRank(b) == 2 && g.getRank(a) > 2 && !transA) {
    int64_t rows = g.getRank(a) - 1;
    a = g.create<FlattenOp>(a, rows);
    dy = g.create<FlattenOp>(dy, rows);
  }
  Value db = transB ? multiply(g, alpha, dy, a, true, transA)
                    : multiply(g, alpha, a, dy, !transA, false);
  db = g.sumLike(db, b);
  g.accumulate(right, bIsColumn ? g.squeeze(db, {1}) : db);
}

/// y = a b
static LogicalResult gradMatMul(MatMulOp op, GradientBuilder &g) {
  gradProduct(g, op.getY(), op.getA(), op.getB(), APFloat(1.0f), false, false);
  return success();
}

/// y = alpha a' b'
static LogicalResult gradFusedMatMul(FusedMatMulOp op, GradientBuilder &g) {
  if (op.getTransBatchA() || op.getTransBatchB())
    return g.unsupported(op, "has no gradient where trans_batch_a or "
                             "trans_batch_b is set");
  gradProduct(g, op.getY(), op.getA(), op.getB(), op.getAlpha(), op.getTransA(),
              op.getTransB());
  return success();
}

/// y = alpha a' b' + beta c
static LogicalResult gradGemm(GemmOp op, GradientBuilder &g) {
  gradProduct(g, op.getY(), op.getA(), op.getB(), op.getAlpha(), op.getTransA(),
              op.getTransB());
  g.accumulateBroadcast(op.getC(), g.mul(g.getGradient(op.getY()),
                                         op.getBeta().convertToFloat()));
  return success();
}

//===--- Einsum -----------------------------------------------------------===//

static void append(std::string &text, ArrayRef<int> labels) {
  for (int label : labels)
    text += static_cast<char>(label < 26 ? 'a' + label : 'A' + (label - 26));
}

/// x with a new dimension at `place`, equal to dimension `like` and zero off
/// the diagonal of the two. `size` is the dimension's as a tensor of one
/// element.
static Value embedDiagonal(GradientBuilder &g, Value x, int64_t like,
                           int64_t place, Value size) {
  Value square = g.create<ConstantOfShapeOp>(
      g.concat({size, size}),
      DenseElementsAttr::get(
          RankedTensorType::get({1}, getElementType(x)),
          g.getBuilder().getFloatAttr(getElementType(x), 0.0).getValue()));
  Value eye = g.create<EyeLikeOp>(square, IntegerAttr());
  SmallVector<int64_t> others;
  for (int64_t axis = 0; axis <= g.getRank(x); ++axis)
    if (axis != like && axis != place)
      others.push_back(axis);
  return g.mul(g.unsqueeze(x, {place}), g.unsqueeze(eye, others));
}

/// The gradient of one input: the equation with this input and the output
/// exchanged. A label that only this input has is broadcast, one that it has
/// twice is a diagonal.
static Value gradEinsumInput(EinsumOp op, const EinsumEquation &equation,
                             unsigned index, GradientBuilder &g) {
  Value x = op.getInputs()[index];
  std::string text;
  append(text, equation.output);
  EinsumLabels known = equation.output, result;
  SmallVector<Value> operands{g.getGradient(op.getOutput())};
  for (auto [place, input] : llvm::enumerate(equation.inputs)) {
    if (place == index)
      continue;
    operands.push_back(op.getInputs()[place]);
    append(text += ",", input);
    known.append(input.begin(), input.end());
  }
  const EinsumLabels &own = equation.inputs[index];
  for (int label : own)
    if (llvm::is_contained(known, label) && !llvm::is_contained(result, label))
      result.push_back(label);
  append(text += "->", result);
  Value gradient = g.create<EinsumOp>(ValueRange(operands), text);
  // Dimension by dimension what the equation cannot give.
  for (int64_t place = 0, rank = own.size(); place < rank; ++place) {
    auto first = llvm::find(own, own[place]) - own.begin();
    if (first < place)
      gradient = embedDiagonal(g, gradient, first, place, g.sizeOf(x, place));
    else if (!llvm::is_contained(known, own[place]))
      gradient = g.unsqueeze(gradient, {place});
  }
  return g.sumLike(g.expandLike(gradient, x), x);
}

/// Numbers the labels 0, 1, ... in order; returns how many there are.
static size_t renumberLabels(EinsumEquation &equation) {
  llvm::SmallDenseMap<int, int> numbers;
  auto renumber = [&](EinsumLabels &labels) {
    for (int &label : labels)
      label = numbers.try_emplace(label, numbers.size()).first->second;
  };
  llvm::for_each(equation.inputs, renumber);
  renumber(equation.output);
  return numbers.size();
}

/// output = sum over labels of a product
static LogicalResult gradEinsum(EinsumOp op, GradientBuilder &g) {
  SmallVector<int64_t> ranks;
  for (Value input : op.getInputs())
    ranks.push_back(g.getRank(input));
  FailureOr<EinsumEquation> equation = parseEinsum(op, op.getEquation(), ranks);
  if (failed(equation) || renumberLabels(*equation) > 52)
    return g.unsupported(op, "has no gradient for more than 52 indices");
  for (auto [index, input] : llvm::enumerate(op.getInputs()))
    if (g.isActive(input))
      g.accumulate(input, gradEinsumInput(op, *equation, index, g));
  return success();
}

//===--- Det --------------------------------------------------------------===//

/// y = det x: the cofactors, which are determinants, so that singular matrices
/// are no exception.
static LogicalResult gradDet(DetOp op, GradientBuilder &g) {
  Value x = op.getX(), dy = g.getGradient(op.getY());
  int64_t rank = g.getRank(x);
  auto type = cast<RankedTensorType>(x.getType());
  if (type.isDynamicDim(rank - 1) && type.isDynamicDim(rank - 2))
    return g.unsupported(op, "has no gradient where the number of rows is not "
                             "known at compile time");
  int64_t n =
      type.getDimSize(type.isDynamicDim(rank - 1) ? rank - 2 : rank - 1);
  if (n == 0)
    return success(); // x has no elements
  // For each row those that are left without it, and the signs.
  SmallVector<int64_t> rest, signs;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      signs.push_back((i + j) % 2 ? -1 : 1);
      if (i != j)
        rest.push_back(j);
    }
  Value indices = g.reshape(g.integers(rest), g.integers({n, n - 1}));
  Value minors = g.create<GatherOp>(x, indices, rank - 2);
  minors = g.create<GatherOp>(minors, indices, rank);
  SmallVector<int64_t> permutation =
      llvm::to_vector(llvm::seq<int64_t>(0, rank + 2));
  std::swap(permutation[rank - 1], permutation[rank]);
  Value cofactors = g.create<DetOp>(g.transpose(minors, permutation));
  Value sign = g.reshape(g.integers(signs), g.integers({n, n}));
  cofactors = g.mul(cofactors, g.castLike(sign, x));
  g.accumulate(x, g.mul(g.unsqueeze(dy, {rank - 2, rank - 1}), cofactors));
  return success();
}

void onnx_aot::populateMatMulGradientRules(MLIRContext *context) {
  attachRule<MatMulOp, gradMatMul>(context);
  attachRule<FusedMatMulOp, gradFusedMatMul>(context);
  attachRule<GemmOp, gradGemm>(context);
  attachRule<EinsumOp, gradEinsum>(context);
  attachRule<DetOp, gradDet>(context);
}
