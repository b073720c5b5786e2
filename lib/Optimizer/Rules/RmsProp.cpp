//===- RmsProp.cpp - rates by the mean of squared gradients ---------------===//

#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// v = a v + (1 - a) g^2, d = g / (sqrt(v) + eps), w = w - lr d;
/// centered: v - (mean of g)^2 in place of v; with momentum b = mu b + d, w -
/// lr b.
class RmsProp : public OptimizerRule {
public:
  explicit RmsProp(Spec &spec) {
    alpha = spec.number("alpha", 0.99, 0, kBelowOne);
    eps = spec.number("eps", 1e-8, 0, kAnyNumber);
    weightDecay = spec.number("weight_decay", 0, 0, kAnyNumber);
    momentum = spec.number("momentum", 0, 0, kAnyNumber);
    centered = spec.flag("centered", false);
  }

  SmallVector<StringRef> getSlots() const override {
    SmallVector<StringRef> names{"square_avg"};
    if (centered)
      names.push_back("grad_avg");
    if (momentum != 0)
      names.push_back("momentum_buffer");
    return names;
  }

  void update(OpMaker &m, ParameterUpdate &s) const override {
    addPenalty(m, s);
    s.set(m, 0, average(m, s.slots[0], m.square(s.gradient), alpha));
    Value mean = s.slots[0];
    if (centered) {
      s.set(m, 1, average(m, s.slots[1], s.gradient, alpha));
      mean = m.sub(mean, m.square(s.slots[1]));
    }
    Value direction = m.div(s.gradient, m.add(m.sqrt(mean), eps));
    if (momentum != 0)
      direction = s.set(m, s.slots.size() - 1,
                        m.add(m.mul(s.slots.back(), momentum), direction));
    s.parameter = m.sub(s.parameter, m.mul(direction, s.learningRate));
  }

private:
  double alpha, eps, momentum;
  bool centered;
};

} // namespace

std::unique_ptr<OptimizerRule> onnx_aot::createRmsProp(Spec &spec) {
  return std::make_unique<RmsProp>(spec);
}
