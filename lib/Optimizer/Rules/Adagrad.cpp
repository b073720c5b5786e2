//===- Adagrad.cpp - rates by the sum of squared gradients ----------------===//

#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// h = h + g^2, w = w - lr / (1 + (t - 1) lr_decay) g / (sqrt(h) + eps)
class Adagrad : public OptimizerRule {
public:
  explicit Adagrad(Spec &spec) {
    rateDecay = spec.number("lr_decay", 0, 0, kAnyNumber);
    weightDecay = spec.number("weight_decay", 0, 0, kAnyNumber);
    initial = spec.number("initial_accumulator_value", 0, 0, kAnyNumber);
    eps = spec.number("eps", 1e-10, 0, kAnyNumber);
  }

  /// The sum without its initial value, since slots begin as zeros.
  SmallVector<StringRef> getSlots() const override { return {"sum"}; }

  void update(OpMaker &m, ParameterUpdate &s) const override {
    addPenalty(m, s);
    s.set(m, 0, m.add(s.slots[0], m.square(s.gradient)));
    Value sum = initial != 0 ? m.add(s.slots[0], initial) : s.slots[0];
    Value rate = s.learningRate;
    if (rateDecay != 0) {
      Value before =
          m.cast(m.sub(s.step, 1.0), onnx::getElementType(s.parameter));
      rate = m.div(rate, m.add(m.mul(before, rateDecay), 1.0));
    }
    Value divisor = m.add(m.sqrt(sum), eps);
    s.parameter = m.sub(s.parameter, m.mul(m.div(s.gradient, divisor), rate));
  }

private:
  double rateDecay, initial, eps;
};

} // namespace

std::unique_ptr<OptimizerRule> onnx_aot::createAdagrad(Spec &spec) {
  return std::make_unique<Adagrad>(spec);
}
