//===- Optimizer.cpp - optimizer steps of ai.onnx.preview.training --------===//
//
// Inputs are a learning rate R, a count of updates T, then for any number of
// tensors all X, all gradients G, and all tensors of each kind of state. The
// outputs are the new X and the new states in the same order.
//
//===----------------------------------------------------------------------===//

#include "Functions.h"

using namespace mlir;

namespace onnx_aot::importer {

namespace {

/// The inputs of one step, and its formulas tensor by tensor.
class StepWriter {
public:
  StepWriter(FunctionWriter &writer, unsigned numStates)
      : writer(writer), numStates(numStates) {}

  /// Fails where the inputs are not whole groups.
  LogicalResult open();
  unsigned getNumTensors() const { return numTensors; }
  Type getType() const { return type; }

  /// Begins with tensor `index`: what follows is in its element type.
  void select(unsigned index);
  Name x() const { return writer.input(2 + current); }
  Name state(unsigned kind) const {
    return writer.input(2 + (2 + kind) * numTensors + current);
  }
  /// G, plus norm_coefficient times X.
  Name gradient();
  void finish(const Name &newX, ArrayRef<Name> newStates);

  Name rate() { return convert(writer.reshape(writer.input(0), {})); }
  /// The count of updates as a number of the type of R.
  Name count() {
    return writer.convert(writer.reshape(writer.input(1), {}), rateType());
  }
  Type rateType() const { return writer.getElementType(0); }
  Name convert(const Name &value) {
    return rateType() == type ? value : writer.convert(value, type);
  }

  Name add(const Name &a, const Name &b) { return writer.add("Add", {a, b}); }
  Name sub(const Name &a, const Name &b) { return writer.add("Sub", {a, b}); }
  Name mul(const Name &a, const Name &b) { return writer.add("Mul", {a, b}); }
  Name div(const Name &a, const Name &b) { return writer.add("Div", {a, b}); }
  Name sqrt(const Name &a) { return writer.add("Sqrt", {a}); }
  Name scale(const Name &a, double factor) {
    return mul(a, writer.number(factor, type));
  }
  /// `first` in the first update (T = 0), later `other`.
  Name atStart(const Name &first, const Name &other) {
    Name isLater =
        writer.add("Greater", {count(), writer.number(0, rateType())});
    return writer.add("Where", {isLater, other, first});
  }

private:
  FunctionWriter &writer;
  unsigned numStates, numTensors = 0, current = 0;
  Type type;
};

LogicalResult StepWriter::open() {
  unsigned rest = writer.getNumInputs() - 2, group = 2 + numStates;
  if (rest % group != 0)
    return writer.refuse("it has " + Twine(rest) +
                         " tensors (supported: a multiple of " + Twine(group) +
                         ")");
  for (unsigned index = 0; index < writer.getNumInputs(); ++index)
    if (!writer.has(index))
      return writer.refuse("input #" + Twine(index) + " is missing");
  numTensors = rest / group;
  for (unsigned index = 0; index < rest; ++index) {
    Type own = writer.getElementType(2 + index);
    if (own != writer.getElementType(2 + index % numTensors) ||
        !isa<Float32Type, Float64Type>(own))
      return writer.refuse("input #" + Twine(2 + index) +
                           " has another element type than its X (supported: "
                           "float and double)");
  }
  if (!isa<Float32Type, Float64Type>(rateType()))
    return writer.refuse("the learning rate is not float or double");
  return success();
}

void StepWriter::select(unsigned index) {
  current = index;
  type = writer.getElementType(2 + index);
}

Name StepWriter::gradient() {
  Name g = writer.input(2 + numTensors + current);
  float coefficient = writer.getFloat("norm_coefficient", 0.0f);
  return coefficient == 0.0f ? g : add(scale(x(), coefficient), g);
}

void StepWriter::finish(const Name &newX, ArrayRef<Name> newStates) {
  writer.result(current, newX);
  for (auto [kind, value] : llvm::enumerate(newStates))
    writer.result((1 + kind) * numTensors + current, value);
}

} // namespace

/// H = H + g^2, X = X - R / (1 + T decay) g / (sqrt(H) + epsilon)
static LogicalResult writeAdagrad(FunctionWriter &writer) {
  StepWriter s(writer, 1);
  if (failed(s.open()))
    return failure();
  double epsilon = writer.getFloat("epsilon", 1e-6f);
  double decay = writer.getFloat("decay_factor", 0.0f);
  for (unsigned i = 0; i < s.getNumTensors(); ++i) {
    s.select(i);
    Name g = s.gradient();
    Name one = writer.number(1, s.rateType());
    Name slow =
        s.add(one, s.mul(s.count(), writer.number(decay, s.rateType())));
    Name rate = s.div(s.rate(), s.convert(slow));
    Name sum = s.add(s.state(0), s.mul(g, g));
    Name divisor = s.add(s.sqrt(sum), writer.number(epsilon, s.getType()));
    s.finish(s.sub(s.x(), s.mul(rate, s.div(g, divisor))), {sum});
  }
  return success();
}

/// V = alpha V + beta g (g in the first update), X = X - R V;
/// with Nesterov's momentum X = X - R (g + alpha V)
static LogicalResult writeMomentum(FunctionWriter &writer) {
  StepWriter s(writer, 1);
  for (StringRef name : {"alpha", "beta", "mode", "norm_coefficient"})
    if (!writer.find(name))
      return writer.refuse("attribute '" + name + "' is required");
  std::string mode = writer.getString("mode", "");
  if (mode != "standard" && mode != "nesterov")
    return writer.refuse("mode \"" + mode +
                         "\" is not known (supported: standard, nesterov)");
  if (failed(s.open()))
    return failure();
  double alpha = writer.getFloat("alpha", 0), beta = writer.getFloat("beta", 0);
  for (unsigned i = 0; i < s.getNumTensors(); ++i) {
    s.select(i);
    Name g = s.gradient();
    Name weight = s.atStart(writer.number(1, s.getType()),
                            writer.number(beta, s.getType()));
    Name v = s.add(s.scale(s.state(0), alpha), s.mul(weight, g));
    Name step = mode == "nesterov" ? s.add(g, s.scale(v, alpha)) : v;
    s.finish(s.sub(s.x(), s.mul(s.rate(), step)), {v});
  }
  return success();
}

/// V = alpha V + (1 - alpha) g, H = beta H + (1 - beta) g^2,
/// X = (1 - norm_coefficient_post) (X - r V / (sqrt(H) + epsilon)) with
/// r = R sqrt(1 - beta^T) / (1 - alpha^T), in the first update R
static LogicalResult writeAdam(FunctionWriter &writer) {
  StepWriter s(writer, 2);
  if (failed(s.open()))
    return failure();
  double alpha = writer.getFloat("alpha", 0.9f),
         beta = writer.getFloat("beta", 0.999f),
         epsilon = writer.getFloat("epsilon", 1e-6f),
         post = writer.getFloat("norm_coefficient_post", 0.0f);
  auto rest = [&](double base) { // 1 - base^T
    Name power =
        writer.add("Pow", {writer.number(base, s.rateType()), s.count()});
    return s.sub(writer.number(1, s.rateType()), power);
  };
  for (unsigned i = 0; i < s.getNumTensors(); ++i) {
    s.select(i);
    Name g = s.gradient();
    Name v = s.add(s.scale(s.state(0), alpha), s.scale(g, 1.0 - alpha));
    Name h = s.add(s.scale(s.state(1), beta), s.scale(s.mul(g, g), 1.0 - beta));
    Name correction = s.convert(s.div(s.sqrt(rest(beta)), rest(alpha)));
    Name rate =
        s.mul(s.rate(), s.atStart(writer.number(1, s.getType()), correction));
    Name divisor = s.add(s.sqrt(h), writer.number(epsilon, s.getType()));
    Name next = s.sub(s.x(), s.mul(rate, s.div(v, divisor)));
    if (post != 0.0)
      next = s.scale(next, 1.0 - post);
    s.finish(next, {v, h});
  }
  return success();
}

void addOptimizerFunctions(OperatorFunctions &list) {
  constexpr llvm::StringLiteral domain = "ai.onnx.preview.training";
  constexpr unsigned kMaxInputs = 1 << 20;
  list.push_back({domain,
                  "Adagrad",
                  2,
                  kMaxInputs,
                  writeAdagrad,
                  {"decay_factor", "epsilon", "norm_coefficient"}});
  list.push_back({domain,
                  "Momentum",
                  2,
                  kMaxInputs,
                  writeMomentum,
                  {"alpha", "beta", "mode", "norm_coefficient"}});
  list.push_back({domain,
                  "Adam",
                  2,
                  kMaxInputs,
                  writeAdam,
                  {"alpha", "beta", "epsilon", "norm_coefficient",
                   "norm_coefficient_post"}});
}

} // namespace onnx_aot::importer
