//===- Lamb.cpp - Adam with a rate for each layer -------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// u = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd w,
/// w = w - lr |w| / |u| u, with the factor 1 where a norm is 0.
class Lamb : public OptimizerRule {
public:
  explicit Lamb(Spec &spec) {
    betas = spec.numbers("betas", {0.9, 0.999}, 0, kBelowOne);
    eps = spec.number("eps", 1e-6, 0, kAnyNumber);
    weightDecay = spec.number("weight_decay", 0, 0, kAnyNumber);
  }

  SmallVector<StringRef> getSlots() const override {
    return {"exp_avg", "exp_avg_sq"};
  }

  void update(OpMaker &m, ParameterUpdate &s) const override {
    s.set(m, 0, average(m, s.slots[0], s.gradient, betas[0]));
    s.set(m, 1, average(m, s.slots[1], m.square(s.gradient), betas[1]));
    Value first = m.div(s.slots[0], biasCorrection(m, s, betas[0]));
    Value second = m.div(s.slots[1], biasCorrection(m, s, betas[1]));
    Value direction = m.div(first, m.add(m.sqrt(second), eps));
    if (double decay = getDecay(s))
      direction = m.add(direction, m.mul(s.parameter, decay));
    Value weightNorm = norm(m, s.parameter), updateNorm = norm(m, direction);
    Value zero = m.scalar(0, weightNorm);
    Value usable =
        m.create<onnx::AndOp>(m.create<onnx::GreaterOp>(weightNorm, zero),
                              m.create<onnx::GreaterOp>(updateNorm, zero));
    Value ratio =
        m.where(usable, m.div(weightNorm, updateNorm), m.scalar(1, weightNorm));
    s.parameter =
        m.sub(s.parameter, m.mul(direction, m.mul(s.learningRate, ratio)));
  }

private:
  static Value norm(OpMaker &m, Value x) {
    return m.sqrt(m.sumAll(m.square(x)));
  }

  SmallVector<double> betas;
  double eps;
};

} // namespace

std::unique_ptr<OptimizerRule> onnx_aot::createLamb(Spec &spec) {
  return std::make_unique<Lamb>(spec);
}
