//===- RecurrentActivations.cpp - activations of recurrent layers ---------===//

#include "RecurrentActivations.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace onnx_aot {

using Kind = Activation::Kind;

Value Activation::apply(ScalarBuilder &s, Value x) const {
  auto c = [&](double value) { return s.like(x, value); };
  if (clip)
    x = s.min(s.max(x, c(-*clip)), c(*clip));
  using Compare = ScalarBuilder::Compare;
  switch (kind) {
  case Kind::Relu:
    return s.max(x, c(0));
  case Kind::Tanh:
    return s.tanh(x);
  case Kind::Sigmoid:
    return s.sigmoid(x);
  case Kind::Affine:
    return s.add(s.mul(c(alpha), x), c(beta));
  case Kind::LeakyRelu:
    return s.select(s.compare(Compare::GreaterOrEqual, x, c(0)), x,
                    s.mul(c(alpha), x));
  case Kind::ThresholdedRelu:
    return s.select(s.compare(Compare::Greater, x, c(alpha)), x, c(0));
  case Kind::ScaledTanh:
    return s.mul(c(alpha), s.tanh(s.mul(c(beta), x)));
  case Kind::HardSigmoid:
    return s.min(s.max(s.add(s.mul(c(alpha), x), c(beta)), c(0)), c(1));
  case Kind::Elu:
    return s.select(s.compare(Compare::GreaterOrEqual, x, c(0)), x,
                    s.mul(c(alpha), s.expMinusOne(x)));
  case Kind::Softsign:
    return s.div(x, s.add(c(1), s.absolute(x)));
  case Kind::Softplus:
    return s.softplus(x);
  }
  return x;
}

/// Which parameters an activation takes, and their values when not given.
struct Parameters {
  std::optional<double> alpha, beta;
};

static Parameters getParameters(Kind kind) {
  switch (kind) {
  case Kind::Affine:
    return {1.0, 0.0};
  case Kind::LeakyRelu:
    return {0.01, std::nullopt};
  case Kind::ThresholdedRelu:
  case Kind::Elu:
    return {1.0, std::nullopt};
  case Kind::ScaledTanh:
    return {1.0, 1.0};
  case Kind::HardSigmoid:
    return {0.2, 0.5};
  default:
    return {};
  }
}

FailureOr<SmallVector<Activation>>
getActivations(Operation *op, std::optional<ArrayAttr> names,
               std::optional<ArrayRef<float>> alpha,
               std::optional<ArrayRef<float>> beta, std::optional<double> clip,
               int64_t count, ArrayRef<Kind> defaults) {
  if (names && static_cast<int64_t>(names->size()) != count)
    return op->emitOpError("has ")
           << names->size() << " activations, expected " << count;
  if (clip && !(*clip >= 0))
    return op->emitOpError("clip is negative");
  SmallVector<Activation> result;
  size_t nextAlpha = 0, nextBeta = 0;
  for (int64_t i = 0; i < count; ++i) {
    Activation activation;
    activation.clip = clip;
    activation.kind = defaults[i % defaults.size()];
    if (names) {
      StringRef name = cast<StringAttr>((*names)[i]).getValue();
      auto kind = llvm::StringSwitch<std::optional<Kind>>(name)
                      .CaseLower("relu", Kind::Relu)
                      .CaseLower("tanh", Kind::Tanh)
                      .CaseLower("sigmoid", Kind::Sigmoid)
                      .CaseLower("affine", Kind::Affine)
                      .CaseLower("leakyrelu", Kind::LeakyRelu)
                      .CaseLower("thresholdedrelu", Kind::ThresholdedRelu)
                      .CaseLower("scaledtanh", Kind::ScaledTanh)
                      .CaseLower("hardsigmoid", Kind::HardSigmoid)
                      .CaseLower("elu", Kind::Elu)
                      .CaseLower("softsign", Kind::Softsign)
                      .CaseLower("softplus", Kind::Softplus)
                      .Default(std::nullopt);
      if (!kind)
        return op->emitOpError("activation \"") << name << "\" is not known";
      activation.kind = *kind;
    }
    Parameters parameters = getParameters(activation.kind);
    auto take = [](std::optional<double> byDefault,
                   std::optional<ArrayRef<float>> given, size_t &next) {
      if (byDefault && given && next < given->size())
        return static_cast<double>((*given)[next++]);
      return byDefault.value_or(0);
    };
    activation.alpha = take(parameters.alpha, alpha, nextAlpha);
    activation.beta = take(parameters.beta, beta, nextBeta);
    result.push_back(activation);
  }
  return result;
}

} // namespace onnx_aot
