//===- SVM.cpp - support vector machines as products ----------------------===//

#include "ML.h"

using namespace mlir;

namespace onnx_aot::importer {

/// The kernel of each row of x (rows, features) with each vector.
static FailureOr<Name> addKernel(FunctionWriter &writer, const Name &x,
                                 ArrayRef<double> vectors, int64_t count) {
  Type f32 = Float32Type::get(writer.getElementType(0).getContext());
  int64_t features = vectors.size() / count;
  FailureOr<SmallVector<double>> given = writer.getNumbers("kernel_params");
  if (failed(given))
    return failure();
  SmallVector<double> parameters = *given;
  parameters.resize(std::max<size_t>(parameters.size(), 3), 0);
  double gamma = parameters[0], offset = parameters[1], degree = parameters[2];
  std::string kernel = writer.getString("kernel_type", "LINEAR");
  Name table = writer.tensor(vectors, {count, features}, f32);
  if (kernel == "RBF") {
    // By differences: |x|^2 + |v|^2 - 2 x v would lose the digits of close
    // rows.
    Name difference = writer.add(
        "Sub", {writer.add("Unsqueeze", {x, writer.integers({1})}), table});
    Name distance =
        writer.add("ReduceSumSquare", {difference, writer.integers({2})},
                   {{"keepdims", 0}});
    return writer.add(
        "Exp", {writer.add("Mul", {distance, writer.number(-gamma, f32)})});
  }
  Name product = writer.add("Gemm", {x, table}, {{"transB", 1}});
  if (kernel == "LINEAR")
    return product;
  product = writer.add("Mul", {product, writer.number(gamma, f32)});
  product = writer.add("Add", {product, writer.number(offset, f32)});
  if (kernel == "POLY")
    return writer.add("Pow", {product, writer.number(degree, f32)});
  if (kernel == "SIGMOID")
    return writer.add("Tanh", {product});
  return FailureOr<Name>(
      writer.refuse("kernel '" + kernel + "' is not supported"));
}

static LogicalResult writeRegressor(FunctionWriter &writer) {
  FailureOr<SmallVector<double>> coefficients =
                                     writer.getNumbers("coefficients"),
                                 vectors = writer.getNumbers("support_vectors"),
                                 rho = writer.getNumbers("rho");
  if (failed(coefficients) || failed(vectors) || failed(rho))
    return failure();
  int64_t count = writer.getInt("n_supports", 0),
          weights = coefficients->size();
  if (rho->size() != 1 || weights < 1 || count < 0 ||
      (count > 0 &&
       (count != weights || vectors->empty() || vectors->size() % count)))
    return writer.refuse(
        "the sizes of its coefficients, vectors and rho do not fit");
  Type f32 = Float32Type::get(writer.getElementType(0).getContext());
  // Without support vectors the coefficients are those of a linear model.
  FailureOr<Name> kernel = addMatrix(writer, 0);
  if (count > 0)
    kernel = addKernel(writer, *kernel, *vectors, count);
  if (failed(kernel))
    return failure();
  Name sum = writer.add(
      "MatMul", {*kernel, writer.tensor(*coefficients, {weights, 1}, f32)});
  sum = writer.add("Add", {sum, writer.number(rho->front(), f32)});
  if (writer.getInt("one_class", 0)) {
    Name isInside = writer.add("Greater", {sum, writer.number(0, f32)});
    sum = writer.add("Where",
                     {isInside, writer.number(1, f32), writer.number(-1, f32)});
  }
  FailureOr<Name> result = addPostTransform(writer, sum);
  if (failed(result))
    return failure();
  writer.result(0, *result);
  return success();
}

namespace {
/// A classifier of support vectors: one decision for each pair of classes.
struct Classifier {
  FunctionWriter &writer;
  ClassLabels labels;
  SmallVector<double> coefficients = {}, vectors = {}, rho = {}, probA = {},
                      probB = {};
  SmallVector<int64_t> sizes = {};
  int64_t count = 0, pairs = 0;
  Type f32 = {};

  LogicalResult read();
  /// (rows, pairs): above 0 where the first class of the pair wins.
  FailureOr<Name> addDecisions();
  /// (rows, classes): the pairs that each class wins.
  Name addVotes(const Name &decisions);
  /// (rows, classes) from the probability that the first of each pair wins.
  FailureOr<Name> addProbabilities(const Name &decisions);
  Name couple(const Name &first);
  /// One iteration: whether a row goes on, and its probabilities.
  std::vector<Name> addStep(const Name &p, const Name &q, const Name &diagonal,
                            const Name &identity, Type f64);
};
} // namespace

LogicalResult Classifier::read() {
  for (auto [name, list] :
       {std::pair{"coefficients", &coefficients},
        std::pair{"support_vectors", &vectors}, std::pair{"rho", &rho},
        std::pair{"prob_a", &probA}, std::pair{"prob_b", &probB}}) {
    FailureOr<SmallVector<double>> numbers = writer.getNumbers(name);
    if (failed(numbers))
      return failure();
    *list = *numbers;
  }
  sizes = writer.getInts("vectors_per_class");
  f32 = Float32Type::get(writer.getElementType(0).getContext());
  int64_t classes = labels.count;
  if (classes < 2 || classes > 1000)
    return writer.refuse(Twine(classes) +
                         " classes are not supported (supported: 2 to "
                         "1000)");
  pairs = classes * (classes - 1) / 2;
  if (sizes.empty())
    return writer.refuse(
        "a linear machine without vectors_per_class is not supported");
  for (int64_t size : sizes) {
    if (size < 0 || size > INT32_MAX)
      return writer.refuse("vectors_per_class is out of range");
    count += size;
  }
  if (static_cast<int64_t>(sizes.size()) != classes || count < 1 ||
      vectors.empty() || vectors.size() % count != 0 ||
      static_cast<int64_t>(coefficients.size()) != (classes - 1) * count ||
      static_cast<int64_t>(rho.size()) != pairs ||
      probA.size() != probB.size() ||
      (!probA.empty() && static_cast<int64_t>(probA.size()) != pairs))
    return writer.refuse(
        "the sizes of its coefficients, vectors and rho do not fit");
  return success();
}

FailureOr<Name> Classifier::addDecisions() {
  FailureOr<Name> kernel =
      addKernel(writer, addMatrix(writer, 0), vectors, count);
  if (failed(kernel))
    return failure();
  SmallVector<int64_t> starts{0};
  for (int64_t size : sizes)
    starts.push_back(starts.back() + size);
  // Column p of the matrix holds the weights of pair p: those of class i
  // against j are in row j - 1 of the coefficients, those of j against i in row
  // i.
  SmallVector<double> matrix(count * pairs, 0);
  int64_t pair = 0;
  for (int64_t i = 0; i < labels.count; ++i)
    for (int64_t j = i + 1; j < labels.count; ++j, ++pair) {
      for (int64_t k = starts[i]; k < starts[i + 1]; ++k)
        matrix[k * pairs + pair] = coefficients[(j - 1) * count + k];
      for (int64_t k = starts[j]; k < starts[j + 1]; ++k)
        matrix[k * pairs + pair] = coefficients[i * count + k];
    }
  Name sum = writer.add("MatMul",
                        {*kernel, writer.tensor(matrix, {count, pairs}, f32)});
  return writer.add("Add", {sum, writer.tensor(rho, {pairs}, f32)});
}

Name Classifier::addVotes(const Name &decisions) {
  // The first of a pair gets a vote above 0, the second one otherwise.
  SmallVector<double> difference(pairs * labels.count, 0),
      seconds(labels.count, 0);
  int64_t pair = 0;
  for (int64_t i = 0; i < labels.count; ++i)
    for (int64_t j = i + 1; j < labels.count; ++j, ++pair) {
      difference[pair * labels.count + i] = 1;
      difference[pair * labels.count + j] = -1;
      seconds[j] += 1;
    }
  Name wins = writer.convert(
      writer.add("Greater", {decisions, writer.number(0, f32)}), f32);
  Name votes = writer.add(
      "MatMul", {wins, writer.tensor(difference, {pairs, labels.count}, f32)});
  return writer.add("Add",
                    {votes, writer.tensor(seconds, {labels.count}, f32)});
}

FailureOr<Name> Classifier::addProbabilities(const Name &decisions) {
  // 1 / (1 + e ^ (a * d + b))
  Name sum = writer.add("Mul", {decisions, writer.tensor(probA, {pairs}, f32)});
  sum = writer.add("Add", {sum, writer.tensor(probB, {pairs}, f32)});
  Name first = writer.add("Sigmoid", {writer.add("Neg", {sum})});
  first = writer.add("Clip", {first, writer.number(1e-7f, f32),
                              writer.number(1 - 1e-7f, f32)});
  // Also of two: libsvm's answers end short of what agrees exactly.
  return couple(first);
}

/// Probabilities of classes that agree best with those of the pairs: the method
/// of Wu, Lin and Weng (2004, algorithm 2), whose steps and end are libsvm's,
/// for all rows at once. In f64: where it ends depends on small differences.
Name Classifier::couple(const Name &first) {
  int64_t classes = labels.count;
  MLIRContext *context = f32.getContext();
  Type f64 = Float64Type::get(context), i64 = IntegerType::get(context, 64),
       i1 = IntegerType::get(context, 1);
  // r[i, j] is the probability of i against j: that of the pair, or what is
  // left.
  SmallVector<double> sign(pairs * classes * classes, 0),
      rest(classes * classes, 0), unit(classes * classes, 0);
  int64_t pair = 0;
  for (int64_t i = 0; i < classes; ++i) {
    unit[i * classes + i] = 1;
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      sign[(pair * classes + i) * classes + j] = 1;
      sign[(pair * classes + j) * classes + i] = -1;
      rest[j * classes + i] = 1;
    }
  }
  Name spread = writer.add(
      "MatMul", {writer.convert(first, f64),
                 writer.tensor(sign, {pairs, classes * classes}, f64)});
  spread = writer.add("Add",
                      {spread, writer.tensor(rest, {classes * classes}, f64)});
  Name r = writer.reshape(spread, {-1, classes, classes});
  // q[t, j] = -r[j, t] r[t, j], and q[t, t] the sum of r[j, t] ^ 2.
  Name product = writer.add("Mul", {r, writer.transpose(r, {0, 2, 1})});
  Name diagonal = writer.add("ReduceSumSquare", {r, writer.integers({1})},
                             {{"keepdims", 0}});
  Name identity = writer.tensor(unit, {classes, classes}, f64);
  Name spreadDiagonal = writer.add(
      "Mul",
      {writer.add("Unsqueeze", {diagonal, writer.integers({2})}), identity});
  Name q = writer.add("Sub", {spreadDiagonal, product});
  Name start =
      writer.add("Add", {writer.add("Mul", {diagonal, writer.number(0, f64)}),
                         writer.number(1.0 / classes, f64)});

  Name iteration = writer.makeName(), going = writer.makeName(),
       p = writer.makeName();
  NodeAttribute body =
      writer.graph("body", {{iteration, i64}, {going, i1}, {p, f64}},
                   [&] { return addStep(p, q, diagonal, identity, f64); });
  Name condition = writer.convert(writer.integer(1), i1);
  Name limit = writer.integer(std::max<int64_t>(100, classes));
  return writer.convert(writer.add("Loop", {limit, condition, start}, {body}),
                        f32);
}

std::vector<Name> Classifier::addStep(const Name &p, const Name &q,
                                      const Name &diagonal,
                                      const Name &identity, Type f64) {
  Name axis = writer.integers({1}), one = writer.number(1, f64);
  auto sumOf = [&](const Name &x, const Name &along) {
    return writer.add("ReduceSum", {x, along});
  };
  // (rows, classes) and (rows, 1)
  Name qp = writer.add(
      "Squeeze",
      {sumOf(writer.add("Mul", {q, writer.add("Unsqueeze", {p, axis})}),
             writer.integers({2})),
       writer.integers({2})});
  Name pqp = sumOf(writer.add("Mul", {p, qp}), axis);
  Name error = writer.add(
      "ReduceMax", {writer.add("Abs", {writer.add("Sub", {qp, pqp})}), axis});
  // A row that has come to its end keeps what it has.
  Name isOpen = writer.add("GreaterOrEqual",
                           {error, writer.number(0.005 / labels.count, f64)});
  Name next = p;
  for (int64_t t = 0; t < labels.count; ++t) {
    Name at = writer.slice(qp, 1, t, t + 1),
         own = writer.slice(diagonal, 1, t, t + 1);
    Name step = writer.add("Div", {writer.add("Sub", {pqp, at}), own});
    Name scale = writer.add("Add", {step, one});
    Name twice = writer.add("Add", {at, at});
    Name change = writer.add(
        "Mul",
        {step, writer.add("Add", {writer.add("Mul", {step, own}), twice})});
    pqp = writer.add(
        "Div",
        {writer.add("Div", {writer.add("Add", {pqp, change}), scale}), scale});
    Name row = writer.add("Squeeze", {writer.slice(q, 1, t, t + 1), axis});
    qp = writer.add(
        "Div",
        {writer.add("Add", {qp, writer.add("Mul", {step, row})}), scale});
    Name place = writer.slice(identity, 0, t, t + 1);
    next = writer.add(
        "Div",
        {writer.add("Add", {next, writer.add("Mul", {step, place})}), scale});
  }
  next = writer.add("Where", {isOpen, next, p});
  return {writer.add("ReduceMax", {isOpen}, {{"keepdims", 0}}), next};
}

static LogicalResult writeClassifier(FunctionWriter &writer) {
  FailureOr<ClassLabels> labels = getClassLabels(writer, "classlabels_ints");
  if (failed(labels))
    return failure();
  Classifier classifier{writer, *labels};
  if (failed(classifier.read()))
    return failure();
  if (writer.getString("post_transform", "NONE") != "NONE")
    return writer.refuse("post_transform '" +
                         writer.getString("post_transform", "NONE") +
                         "' is not supported (supported: NONE)");
  FailureOr<Name> decisions = classifier.addDecisions();
  if (failed(decisions))
    return failure();
  if (failed(addLabels(writer, *labels,
                       addArgMax(writer, classifier.addVotes(*decisions)))))
    return failure();
  FailureOr<Name> scores = decisions;
  if (!classifier.probA.empty())
    scores = classifier.addProbabilities(*decisions);
  else if (labels->count == 2)
    scores = addBinaryScores(writer, *decisions, /*isProbability=*/false);
  if (failed(scores))
    return failure();
  writer.result(1, *scores);
  return success();
}

void addSVMFunctions(OperatorFunctions &list) {
  list.insert(list.end(),
              {{"ai.onnx.ml",
                "SVMRegressor",
                1,
                1,
                writeRegressor,
                {"coefficients", "kernel_params", "kernel_type", "n_supports",
                 "one_class", "post_transform", "rho", "support_vectors"}},
               {"ai.onnx.ml",
                "SVMClassifier",
                1,
                1,
                writeClassifier,
                {"classlabels_ints", "classlabels_strings", "coefficients",
                 "kernel_params", "kernel_type", "post_transform", "prob_a",
                 "prob_b", "rho", "support_vectors", "vectors_per_class"}}});
}

} // namespace onnx_aot::importer
