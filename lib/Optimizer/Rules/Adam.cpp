//===- Adam.cpp - adaptive moments ----------------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2,
/// w = w - lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps);
/// with amsgrad the largest v so far in place of v.
class Adam : public OptimizerRule {
public:
  explicit Adam(Spec &spec) {
    betas = spec.numbers("betas", {0.9, 0.999}, 0, kBelowOne);
    eps = spec.number("eps", 1e-8, 0, kAnyNumber);
    weightDecay = spec.number("weight_decay", 0, 0, kAnyNumber);
    amsgrad = spec.flag("amsgrad", false);
  }

  SmallVector<StringRef> getSlots() const override {
    SmallVector<StringRef> names{"exp_avg", "exp_avg_sq"};
    if (amsgrad)
      names.push_back("max_exp_avg_sq");
    return names;
  }

  void update(OpMaker &m, ParameterUpdate &s) const override {
    addPenalty(m, s);
    s.set(m, 0, average(m, s.slots[0], s.gradient, betas[0]));
    s.set(m, 1, average(m, s.slots[1], m.square(s.gradient), betas[1]));
    Value second = s.slots[1];
    if (amsgrad)
      second = s.set(m, 2, m.maximum(s.slots[2], second));
    Value rate = m.div(s.learningRate, biasCorrection(m, s, betas[0]));
    Value correction = m.sqrt(biasCorrection(m, s, betas[1]));
    Value divisor = m.add(m.div(m.sqrt(second), correction), eps);
    s.parameter = m.sub(s.parameter, m.mul(m.div(s.slots[0], divisor), rate));
  }

private:
  SmallVector<double> betas;
  double eps;
  bool amsgrad;
};

} // namespace

std::unique_ptr<OptimizerRule> onnx_aot::createAdam(Spec &spec) {
  return std::make_unique<Adam>(spec);
}
