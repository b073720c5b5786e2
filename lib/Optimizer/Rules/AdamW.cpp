//===- AdamW.cpp - Adam with decoupled weight decay -----------------------===//
//
// In two numerics: PyTorch's, which decays the old parameter, and that of ONNX
// Runtime Training and Hugging Face, which adds eps to the uncorrected root and
// decays the new one.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

class AdamW : public OptimizerRule {
public:
  explicit AdamW(Spec &spec) {
    isOrt = spec.choice("mode", {"torch", "ort"}) == "ort";
    betas = spec.numbers("betas", {0.9, 0.999}, 0, kBelowOne);
    eps = spec.number("eps", isOrt ? 1e-6 : 1e-8, 0, kAnyNumber);
    weightDecay =
        spec.number("weight_decay", isOrt ? 0.0 : 1e-2, 0, kAnyNumber);
    amsgrad = !isOrt && spec.flag("amsgrad", false);
    correctBias = !isOrt || spec.flag("correct_bias", true);
  }

  SmallVector<StringRef> getSlots() const override {
    SmallVector<StringRef> names{"exp_avg", "exp_avg_sq"};
    if (amsgrad)
      names.push_back("max_exp_avg_sq");
    return names;
  }

  void update(OpMaker &m, ParameterUpdate &s) const override {
    s.set(m, 0, average(m, s.slots[0], s.gradient, betas[0]));
    s.set(m, 1, average(m, s.slots[1], m.square(s.gradient), betas[1]));
    if (isOrt)
      updateAsOrt(m, s);
    else
      updateAsTorch(m, s);
  }

private:
  /// w = w (1 - lr wd) - lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps)
  void updateAsTorch(OpMaker &m, ParameterUpdate &s) const {
    Value second = s.slots[1];
    if (amsgrad)
      second = s.set(m, 2, m.maximum(s.slots[2], second));
    Value parameter = s.parameter;
    if (double decay = getDecay(s))
      parameter = m.mul(parameter, m.sub(1.0, m.mul(s.learningRate, decay)));
    Value rate = m.div(s.learningRate, biasCorrection(m, s, betas[0]));
    Value correction = m.sqrt(biasCorrection(m, s, betas[1]));
    Value divisor = m.add(m.div(m.sqrt(second), correction), eps);
    s.parameter = m.sub(parameter, m.mul(m.div(s.slots[0], divisor), rate));
  }

  /// w = w - lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps), w = w - lr wd
  /// w
  void updateAsOrt(OpMaker &m, ParameterUpdate &s) const {
    Value rate = s.learningRate;
    if (correctBias)
      rate = m.div(m.mul(rate, m.sqrt(biasCorrection(m, s, betas[1]))),
                   biasCorrection(m, s, betas[0]));
    Value divisor = m.add(m.sqrt(s.slots[1]), eps);
    s.parameter = m.sub(s.parameter, m.mul(m.div(s.slots[0], divisor), rate));
    if (double decay = getDecay(s))
      s.parameter =
          m.sub(s.parameter, m.mul(s.parameter, m.mul(s.learningRate, decay)));
  }

  SmallVector<double> betas;
  double eps;
  bool isOrt, amsgrad, correctBias;
};

} // namespace

std::unique_ptr<OptimizerRule> onnx_aot::createAdamW(Spec &spec) {
  return std::make_unique<AdamW>(spec);
}
