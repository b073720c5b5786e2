//===- Sgd.cpp - stochastic gradient descent with momentum ----------------===//

#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// b = momentum b + (1 - dampening) g (b = g in the first step);
/// w = w - lr b, or w - lr (g + momentum b) with Nesterov's momentum.
class Sgd : public OptimizerRule {
public:
  explicit Sgd(Spec &spec) {
    momentum = spec.number("momentum", 0, 0, kAnyNumber);
    dampening = spec.number("dampening", 0, -kAnyNumber, kAnyNumber);
    weightDecay = spec.number("weight_decay", 0, 0, kAnyNumber);
    nesterov = spec.flag("nesterov", false);
    if (nesterov && (momentum == 0 || dampening != 0))
      spec.refuse("'nesterov' wants a momentum and no dampening");
  }

  SmallVector<StringRef> getSlots() const override {
    if (momentum == 0)
      return {};
    return {"momentum_buffer"};
  }

  void update(OpMaker &m, ParameterUpdate &s) const override {
    addPenalty(m, s);
    Value direction = s.gradient;
    if (momentum != 0) {
      Value buffer =
          m.add(m.mul(s.slots[0], momentum), m.mul(s.gradient, 1 - dampening));
      if (dampening != 0)
        buffer = m.where(m.create<onnx::EqualOp>(s.step, m.scalar(1, s.step)),
                         s.gradient, buffer);
      buffer = s.set(m, 0, buffer);
      direction =
          nesterov ? m.add(s.gradient, m.mul(buffer, momentum)) : buffer;
    }
    s.parameter = m.sub(s.parameter, m.mul(direction, s.learningRate));
  }

private:
  double momentum, dampening;
  bool nesterov;
};

} // namespace

std::unique_ptr<OptimizerRule> onnx_aot::createSgd(Spec &spec) {
  return std::make_unique<Sgd>(spec);
}
