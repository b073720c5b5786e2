//===- ElementLoss.cpp - losses of single elements ------------------------===//

#include "Loss.h"

#include <limits>

using namespace mlir;
using namespace onnx_aot;

namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();

/// A loss of each element of an output and a target of the same shape, reduced.
class ElementLoss : public FormulaLoss {
public:
  using Formula = Value (*)(OpMaker &, const ElementLoss &, Value x, Value t);

  ElementLoss(Spec &spec, Formula formula) : formula(formula) {
    targetName = "target";
    SmallVector<StringRef> reductions{"mean", "sum", "none"};
    if (spec.getName() == "kl-div")
      reductions.push_back("batchmean");
    reduction = spec.choice("reduction", reductions);
  }

  RankedTensorType getTargetType(Location loc, Value output) const override {
    return cast<RankedTensorType>(output.getType());
  }

  Value build(OpMaker &m, Value output, Value target) const override {
    Value losses = formula(m, *this, output, target);
    if (reduction == "none")
      return losses;
    Value axes;
    if (reduction == "mean")
      return m.create<onnx::ReduceMeanOp>(losses, axes, /*keepdims=*/0);
    Value sum = m.create<onnx::ReduceSumOp>(losses, axes, /*keepdims=*/0);
    if (reduction == "sum" || *onnx::getRank(output) == 0)
      return sum;
    Value sizes = m.create<onnx::ShapeOp>(
        output, m.getBuilder().getI64IntegerAttr(1), /*start=*/0);
    Value batch = m.create<onnx::SqueezeOp>(
        sizes, onnx::createIntegers(m.getBuilder(), m.getLoc(), {0}));
    return m.div(sum, m.cast(batch, onnx::getElementType(sum)));
  }

  /// beta of smooth-l1, delta of huber, pos_weight of bce-with-logits.
  double number = 1;
  bool logTarget = false;

private:
  Formula formula;
  std::string reduction;
};

Value absolute(OpMaker &m, Value x) { return m.create<onnx::AbsOp>(x); }

/// (x - t)^2
Value mse(OpMaker &m, const ElementLoss &, Value x, Value t) {
  return m.square(m.sub(x, t));
}

/// |x - t|
Value l1(OpMaker &m, const ElementLoss &, Value x, Value t) {
  return absolute(m, m.sub(x, t));
}

/// d^2 / (2 beta) where |d| < beta, else |d| - beta / 2
Value smoothL1(OpMaker &m, const ElementLoss &loss, Value x, Value t) {
  if (loss.number == 0)
    return l1(m, loss, x, t);
  Value d = m.sub(x, t), size = absolute(m, d);
  Value isSmall = m.create<onnx::LessOp>(size, m.scalar(loss.number, size));
  return m.where(isSmall, m.mul(m.square(d), 0.5 / loss.number),
                 m.sub(size, 0.5 * loss.number));
}

/// d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2)
Value huber(OpMaker &m, const ElementLoss &loss, Value x, Value t) {
  Value d = m.sub(x, t), size = absolute(m, d);
  Value isSmall =
      m.create<onnx::LessOrEqualOp>(size, m.scalar(loss.number, size));
  return m.where(isSmall, m.mul(m.square(d), 0.5),
                 m.mul(m.sub(size, 0.5 * loss.number), loss.number));
}

/// -(p t log s(x) + (1 - t) log(1 - s(x))) with -log s(x) = softplus(-x) and
/// -log(1 - s(x)) = softplus(x): neither overflows, nothing cancels, and the
/// slope is that of s everywhere, at 0 too.
Value bceWithLogits(OpMaker &m, const ElementLoss &loss, Value x, Value t) {
  Value positive = m.create<onnx::SoftplusOp>(m.create<onnx::NegOp>(x));
  Value negative = m.create<onnx::SoftplusOp>(x);
  if (loss.number != 1)
    positive = m.mul(positive, loss.number);
  return m.add(m.mul(t, positive), m.mul(m.sub(1.0, t), negative));
}

/// t (log t - x), 0 where t is; e^t (t - x) where the target is a logarithm
/// too.
Value klDivergence(OpMaker &m, const ElementLoss &loss, Value x, Value t) {
  if (loss.logTarget)
    return m.mul(m.create<onnx::ExpOp>(t), m.sub(t, x));
  Value isPositive = m.create<onnx::GreaterOp>(t, m.scalar(0, t));
  Value safe = m.where(isPositive, t, m.scalar(1, t));
  Value value = m.mul(t, m.sub(m.create<onnx::LogOp>(safe), x));
  return m.where(isPositive, value, m.scalar(0, value));
}

} // namespace

ArrayRef<StringRef> onnx_aot::getElementLossNames() {
  static constexpr StringRef names[] = {
      "mse", "l1", "smooth-l1", "huber", "bce-with-logits", "kl-div"};
  return names;
}

std::unique_ptr<FormulaLoss> onnx_aot::createElementLoss(Spec &spec) {
  auto make = [&](ElementLoss::Formula formula) {
    return std::make_unique<ElementLoss>(spec, formula);
  };
  StringRef name = spec.getName();
  if (name == "mse")
    return make(mse);
  if (name == "l1")
    return make(l1);
  if (name == "smooth-l1") {
    auto loss = make(smoothL1);
    loss->number = spec.number("beta", 1, 0, kAny);
    return loss;
  }
  if (name == "huber") {
    auto loss = make(huber);
    loss->number =
        spec.number("delta", 1, std::numeric_limits<double>::min(), kAny);
    return loss;
  }
  if (name == "bce-with-logits") {
    auto loss = make(bceWithLogits);
    loss->number = spec.number("pos_weight", 1, 0, kAny);
    return loss;
  }
  auto loss = make(klDivergence);
  loss->logTarget = spec.flag("log_target", false);
  return loss;
}
