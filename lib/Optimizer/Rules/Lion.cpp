//===- Lion.cpp - the sign of an average of gradients ---------------------===//

#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// w = w (1 - lr wd) - lr sign(b1 m + (1 - b1) g), m = b2 m + (1 - b2) g
class Lion : public OptimizerRule {
public:
  explicit Lion(Spec &spec) {
    betas = spec.numbers("betas", {0.9, 0.99}, 0, kBelowOne);
    weightDecay = spec.number("weight_decay", 0, 0, kAnyNumber);
  }

  SmallVector<StringRef> getSlots() const override { return {"exp_avg"}; }

  void update(OpMaker &m, ParameterUpdate &s) const override {
    Value direction =
        m.create<onnx::SignOp>(average(m, s.slots[0], s.gradient, betas[0]));
    s.set(m, 0, average(m, s.slots[0], s.gradient, betas[1]));
    if (double decay = getDecay(s))
      s.parameter =
          m.mul(s.parameter, m.sub(1.0, m.mul(s.learningRate, decay)));
    s.parameter = m.sub(s.parameter, m.mul(direction, s.learningRate));
  }

private:
  SmallVector<double> betas;
};

} // namespace

std::unique_ptr<OptimizerRule> onnx_aot::createLion(Spec &spec) {
  return std::make_unique<Lion>(spec);
}
