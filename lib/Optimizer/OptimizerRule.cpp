//===- OptimizerRule.cpp - what optimizers share --------------------------===//

#include "onnx-aot/Optimizer/OptimizerRule.h"
#include "Rules/Rules.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace onnx_aot;

static constexpr StringRef names[] = {"sgd",     "adam", "adamw", "adagrad",
                                      "rmsprop", "lamb", "lion"};
static constexpr std::unique_ptr<OptimizerRule> (*makers[])(Spec &) = {
    createSgd,     createAdam, createAdamW, createAdagrad,
    createRmsProp, createLamb, createLion};
static_assert(std::size(names) == std::size(makers));

ArrayRef<StringRef> onnx_aot::getOptimizerNames() { return names; }

std::unique_ptr<OptimizerRule> onnx_aot::createOptimizerRule(Spec &spec) {
  for (auto [name, make] : llvm::zip_equal(names, makers))
    if (name == spec.getName())
      return make(spec);
  spec.refuse("it is not supported (supported: " +
              llvm::join(getOptimizerNames(), ", ") + ")");
  return nullptr;
}

Value OptimizerRule::biasCorrection(OpMaker &m, const ParameterUpdate &state,
                                    double beta) {
  OpBuilder &builder = m.getBuilder();
  Value base =
      onnx::createScalar(builder, m.getLoc(), beta, builder.getF64Type());
  Value power =
      m.create<onnx::PowOp>(base, m.cast(state.step, builder.getF64Type()));
  return m.cast(m.sub(1.0, power), onnx::getElementType(state.parameter));
}

Value OptimizerRule::average(OpMaker &m, Value average, Value value,
                             double beta) {
  return m.add(m.mul(average, beta), m.mul(value, 1 - beta));
}

void OptimizerRule::addPenalty(OpMaker &m, ParameterUpdate &state) const {
  if (double decay = getDecay(state))
    state.gradient = m.add(state.gradient, m.mul(state.parameter, decay));
}
