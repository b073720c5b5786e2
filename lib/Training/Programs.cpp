//===- Programs.cpp - the programs that train a model ---------------------===//

#include "onnx-aot/Training/Training.h"

#include "Dropout.h"
#include "Loss.h"
#include "onnx-aot/Autodiff/BuildGradient.h"
#include "onnx-aot/Optimizer/OptimizerRule.h"
#include "onnx-aot/Support/EntryAttributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace onnx_aot;

/// One program under construction.
class TrainingBuilder::Program {
public:
  /// Starts from a copy of the prepared model, or from nothing.
  Program(const TrainingBuilder &owner, ProgramKind kind, ModuleOp model,
          bool isEmpty);

  LogicalResult build();
  TrainingProgram take() { return {std::move(info), std::move(module)}; }

private:
  LogicalResult buildTrain();
  void buildEval();
  LogicalResult buildInfer();
  void buildOptimizer();
  LogicalResult buildFused();

  const ParameterInfo &parameterInfo(unsigned index) const {
    return owner.info.parameters[index];
  }
  bool isTrained(unsigned index) const {
    return parameterInfo(index).kind == ONNX_AOT_PARAMETER_TRAINABLE;
  }
  unsigned numParameters() const { return owner.info.parameters.size(); }
  Value parameter(unsigned index) {
    return entry.getArgument(firstParameter + index);
  }

  Value addInput(Type type, const Twine &name, Binding binding);
  Value addScalar(Type elementType, const Twine &name, OnnxAotRole role) {
    return addInput(RankedTensorType::get({}, elementType), name, {role});
  }
  void addOutput(Value value, const Twine &name, Binding binding);
  /// The new value of an argument.
  void addUpdate(Value value, Value argument);
  void finishResults();

  /// Lets random operators depend on an input.
  void addSeed();
  /// The gradients of the trained parameters, null for the others.
  FailureOr<SmallVector<Value>> differentiate(Value seed);
  /// Random operators and normalizations as in inference.
  void stopTraining();
  /// The running statistics' new values.
  LogicalResult addStateUpdates();
  /// Slots, learning rate and step as inputs.
  void addOptimizerInputs();
  Value clipValue(Value gradient);
  /// Adds what follows as soon as a gradient is there and, where `isUpdate`,
  /// nothing reads the parameter any more: until then operands of both wait in
  /// memory.
  void moveBehind(Value gradient, unsigned index, bool isUpdate);
  ParameterUpdate step(unsigned index, Value gradient, Value isValid = {});

  const TrainingBuilder &owner;
  ProgramInfo info;
  OwningOpRef<ModuleOp> module;
  func::FuncOp entry;
  std::optional<OpBuilder> builder;
  std::optional<OpMaker> maker;
  unsigned firstParameter = 0;
  struct Result {
    Value value;
    std::string name;
    int64_t updates;
  };
  std::vector<Result> results;
  std::vector<SmallVector<Value>> slots;
  Value learningRate, stepNumber;
};

TrainingBuilder::Program::Program(const TrainingBuilder &owner,
                                  ProgramKind kind, ModuleOp model,
                                  bool isEmpty)
    : owner(owner) {
  info.kind = kind;
  Location loc =
      NameLoc::get(StringAttr::get(model.getContext(), getProgramName(kind)),
                   model.getLoc());
  if (isEmpty) {
    module = ModuleOp::create(loc, model.getName());
    entry = func::FuncOp::create(loc, "main",
                                 FunctionType::get(model.getContext(), {}, {}));
    module->push_back(entry);
    OpBuilder body = OpBuilder::atBlockBegin(entry.addEntryBlock());
    func::ReturnOp::create(body, loc);
  } else {
    module = model.clone();
    entry = module->lookupSymbol<func::FuncOp>("main");
    firstParameter = owner.numInputs;
    for (unsigned i = 0; i < owner.numInputs; ++i)
      info.inputs.push_back({ONNX_AOT_ROLE_USER, int32_t(i)});
    for (unsigned i = 0; i < numParameters(); ++i)
      info.inputs.push_back({ONNX_AOT_ROLE_PARAMETER, int32_t(i)});
  }
  builder.emplace(entry.getBody().front().getTerminator());
  maker.emplace(*builder, loc);
}

//===--- Inputs and outputs -----------------------------------------------===//

Value TrainingBuilder::Program::addInput(Type type, const Twine &name,
                                         Binding binding) {
  auto attribute = builder->getStringAttr(name);
  NamedAttribute named = builder->getNamedAttr(onnx::kNameAttr, attribute);
  (void)entry.insertArgument(entry.getNumArguments(), type,
                             builder->getDictionaryAttr({named}),
                             NameLoc::get(attribute, maker->getLoc()));
  info.inputs.push_back(binding);
  return entry.getArguments().back();
}

void TrainingBuilder::Program::addOutput(Value value, const Twine &name,
                                         Binding binding) {
  results.push_back({value, name.str(), -1});
  info.outputs.push_back(binding);
}

void TrainingBuilder::Program::addUpdate(Value value, Value argument) {
  results.push_back(
      {value, "", int64_t(cast<BlockArgument>(argument).getArgNumber())});
}

void TrainingBuilder::Program::finishResults() {
  Operation *terminator = entry.getBody().front().getTerminator();
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  for (const Result &result : results) {
    values.push_back(result.value);
    NamedAttrList list;
    list.set(onnx::kNameAttr, builder->getStringAttr(result.name));
    if (result.updates >= 0)
      list.set(kUpdatesAttr, builder->getI64IntegerAttr(result.updates));
    attributes.push_back(list.getDictionary(entry.getContext()));
  }
  terminator->setOperands(values);
  entry.removeResAttrsAttr();
  entry.setFunctionType(FunctionType::get(entry.getContext(),
                                          entry.getArgumentTypes(),
                                          ValueRange(values).getTypes()));
  entry.setAllResultAttrs(attributes);
}

//===--- Parts ------------------------------------------------------------===//

void TrainingBuilder::Program::addSeed() {
  if (!hasTrainingDropout(entry))
    return;
  Value seed = addInput(RankedTensorType::get({2}, builder->getI64Type()),
                        "seed", {ONNX_AOT_ROLE_SEED});
  expandTrainingDropout(entry, seed);
}

FailureOr<SmallVector<Value>>
TrainingBuilder::Program::differentiate(Value seed) {
  Value loss = entry.getBody().front().getTerminator()->getOperand(0);
  SmallVector<Value> xs;
  for (unsigned i = 0; i < numParameters(); ++i)
    if (isTrained(i))
      xs.push_back(parameter(i));
  Value scaled;
  if (seed) {
    scaled = maker->cast(seed, onnx::getElementType(loss));
    if (onnx::getRank(loss) != 0)
      scaled = maker->create<onnx::ExpandOp>(
          scaled, maker->create<onnx::ShapeOp>(loss, IntegerAttr(), 0));
  }
  auto found = buildGradient(*builder, {loss}, {scaled}, xs);
  if (failed(found))
    return failure();
  SmallVector<Value> gradients;
  size_t next = 0;
  for (unsigned i = 0; i < numParameters(); ++i) {
    gradients.push_back(isTrained(i) ? (*found)[next++] : Value());
    if (isTrained(i) && (!gradients.back() ||
                         gradients.back().getType() != parameter(i).getType()))
      return entry.emitError("the gradient of '")
             << parameterInfo(i).value.name << "' was not found: this is a bug "
             << "in onnx-aot";
  }
  return gradients;
}

LogicalResult TrainingBuilder::Program::addStateUpdates() {
  for (unsigned i = 0; i < numParameters(); ++i) {
    if (parameterInfo(i).kind != ONNX_AOT_PARAMETER_STATE)
      continue;
    Value updated;
    for (OpOperand &use : parameter(i).getUses()) {
      auto norm = dyn_cast<onnx::BatchNormalizationOp>(use.getOwner());
      if (!norm || norm.getTrainingMode() == 0)
        continue;
      if (updated)
        return norm.emitOpError("shares its running statistics '")
               << parameterInfo(i).value.name
               << "' with another node, which is not supported in training";
      updated = norm->getResult(use.getOperandNumber() - 2);
    }
    if (updated && updated.getType() == parameter(i).getType())
      addUpdate(updated, parameter(i));
  }
  return success();
}

void TrainingBuilder::Program::addOptimizerInputs() {
  slots.resize(numParameters());
  for (unsigned i = 0; i < numParameters(); ++i) {
    if (!isTrained(i))
      continue;
    for (auto [slot, name] : llvm::enumerate(owner.info.slots))
      slots[i].push_back(addInput(
          parameter(i).getType(), parameterInfo(i).value.name + "." + name,
          {ONNX_AOT_ROLE_SLOT, int32_t(i), int32_t(slot)}));
  }
  learningRate = addScalar(builder->getF32Type(), "learning_rate",
                           ONNX_AOT_ROLE_LEARNING_RATE);
  stepNumber = addScalar(builder->getI64Type(), "step", ONNX_AOT_ROLE_STEP);
}

void TrainingBuilder::Program::moveBehind(Value gradient, unsigned index,
                                          bool isUpdate) {
  Block &block = entry.getBody().front();
  Operation *last = gradient.getDefiningOp();
  if (!last || last->getBlock() != &block)
    return;
  if (isUpdate)
    for (Operation *user : parameter(index).getUsers())
      if (Operation *op = block.findAncestorOpInBlock(*user);
          op && last->isBeforeInBlock(op))
        last = op;
  if (last != block.getTerminator())
    builder->setInsertionPointAfter(last);
}

Value TrainingBuilder::Program::clipValue(Value gradient) {
  if (!owner.options.clipValue)
    return gradient;
  double limit = *owner.options.clipValue;
  return maker->create<onnx::ClipOp>(gradient, maker->scalar(-limit, gradient),
                                     maker->scalar(limit, gradient));
}

ParameterUpdate TrainingBuilder::Program::step(unsigned index, Value gradient,
                                               Value isValid) {
  ParameterUpdate state;
  state.parameter = parameter(index);
  state.gradient = gradient;
  state.isValid = isValid;
  state.slots = slots[index];
  state.learningRate =
      maker->cast(learningRate, onnx::getElementType(state.parameter));
  state.step = stepNumber;
  state.decays = parameterInfo(index).group == 0;
  owner.rule->update(*maker, state);
  return state;
}

//===--- The programs -----------------------------------------------------===//

LogicalResult TrainingBuilder::Program::buildTrain() {
  SmallVector<Value> sums(numParameters());
  for (unsigned i = 0; i < numParameters(); ++i)
    if (isTrained(i))
      sums[i] = addInput(parameter(i).getType(),
                         parameterInfo(i).value.name + ".grad",
                         {ONNX_AOT_ROLE_GRADIENT, int32_t(i)});
  Value accumulate =
      addScalar(builder->getI1Type(), "accumulate", ONNX_AOT_ROLE_ACCUMULATE);
  Value scale =
      addScalar(builder->getF32Type(), "loss_scale", ONNX_AOT_ROLE_LOSS_SCALE);
  addSeed();
  auto gradients = differentiate(scale);
  if (failed(gradients))
    return failure();
  addOutput(entry.getBody().front().getTerminator()->getOperand(0), "loss",
            {ONNX_AOT_ROLE_LOSS});
  for (unsigned i = 0; i < numParameters(); ++i)
    if (isTrained(i)) {
      OpBuilder::InsertionGuard guard(*builder);
      moveBehind((*gradients)[i], i, /*isUpdate=*/false);
      Value before =
          maker->where(accumulate, sums[i], maker->scalar(0, sums[i]));
      addUpdate(maker->add((*gradients)[i], before), sums[i]);
    }
  return addStateUpdates();
}

void TrainingBuilder::Program::stopTraining() {
  SmallVector<onnx::DropoutOp> dropouts;
  entry.walk([&](Operation *op) {
    if (auto norm = dyn_cast<onnx::BatchNormalizationOp>(op))
      norm.setTrainingMode(0);
    else if (auto dropout = dyn_cast<onnx::DropoutOp>(op))
      dropouts.push_back(dropout);
  });
  for (onnx::DropoutOp dropout : dropouts) {
    OpBuilder before(dropout);
    Value off =
        onnx::createScalar(before, dropout.getLoc(), 0, before.getI1Type());
    dropout.getTrainingModeMutable().assign(off);
  }
}

void TrainingBuilder::Program::buildEval() {
  stopTraining();
  Operation *terminator = entry.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    if (index == 0) {
      addOutput(value, "loss", {ONNX_AOT_ROLE_LOSS});
      continue;
    }
    auto name = entry.getResultAttrOfType<StringAttr>(index, onnx::kNameAttr);
    addOutput(value, name ? name.getValue() : "",
              {ONNX_AOT_ROLE_USER, int32_t(index - 1)});
  }
}

/// The loss and what leads to it alone are taken out, and so are the targets.
LogicalResult TrainingBuilder::Program::buildInfer() {
  stopTraining();
  Operation *terminator = entry.getBody().front().getTerminator();
  for (unsigned i = 1; i < terminator->getNumOperands(); ++i) {
    auto name = entry.getResultAttrOfType<StringAttr>(i, onnx::kNameAttr);
    addOutput(terminator->getOperand(i), name ? name.getValue() : "",
              {ONNX_AOT_ROLE_USER, int32_t(i - 1)});
  }
  terminator->eraseOperand(0);
  SmallVector<Operation *> ops;
  for (Operation &op : entry.getBody().front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
  unsigned firstTarget = owner.numInputs - owner.info.numTargets;
  for (unsigned i = owner.numInputs; i-- > firstTarget;) {
    if (!entry.getArgument(i).use_empty() || failed(entry.eraseArgument(i)))
      return entry.emitError("the model depends on a target: this is a bug in "
                             "onnx-aot");
    info.inputs.erase(info.inputs.begin() + i);
  }
  return success();
}

void TrainingBuilder::Program::buildOptimizer() {
  OpMaker &m = *maker;
  SmallVector<Value> gradients(numParameters());
  for (unsigned i = 0; i < numParameters(); ++i) {
    const ParameterInfo &parameter = parameterInfo(i);
    Type element = owner.initialValues[i].getElementType();
    // State keeps its place in the list, so that `parameter` finds the others.
    addInput(RankedTensorType::get(parameter.value.dims, element),
             parameter.value.name, {ONNX_AOT_ROLE_PARAMETER, int32_t(i)});
  }
  for (unsigned i = 0; i < numParameters(); ++i)
    if (isTrained(i))
      gradients[i] = addInput(parameter(i).getType(),
                              parameterInfo(i).value.name + ".grad",
                              {ONNX_AOT_ROLE_GRADIENT, int32_t(i)});
  addOptimizerInputs();
  Value scale = addScalar(builder->getF32Type(), "gradient_scale",
                          ONNX_AOT_ROLE_GRADIENT_SCALE);
  // In double precision, where no sum of finite squares overflows; of the
  // gradients as they are, so that none is scaled on its way to two places.
  Value total;
  for (Value gradient : gradients) {
    if (!gradient)
      continue;
    Value sum = m.sumAll(m.square(m.cast(gradient, builder->getF64Type())));
    total = total ? m.add(total, sum) : sum;
  }
  Value factor = m.cast(scale, builder->getF64Type());
  Value norm = m.mul(m.sqrt(total), m.create<onnx::AbsOp>(factor));
  Value isFinite =
      m.create<onnx::EqualOp>(m.sub(norm, norm), m.scalar(0, norm));
  if (owner.options.clipNorm) {
    Value limit = m.scalar(*owner.options.clipNorm, norm);
    factor = m.mul(
        factor, m.minimum(m.div(limit, m.add(norm, 1e-6)), m.scalar(1, norm)));
  }
  addOutput(m.cast(norm, builder->getF32Type()), "grad_norm",
            {ONNX_AOT_ROLE_GRADIENT_NORM});
  addOutput(isFinite, "updated", {ONNX_AOT_ROLE_UPDATED});
  for (unsigned i = 0; i < numParameters(); ++i) {
    if (!isTrained(i))
      continue;
    Value gradient =
        m.mul(gradients[i], m.cast(factor, onnx::getElementType(gradients[i])));
    ParameterUpdate after = step(i, clipValue(gradient), isFinite);
    addUpdate(m.where(isFinite, after.parameter, parameter(i)), parameter(i));
    for (auto [before, slot] : llvm::zip_equal(slots[i], after.slots))
      addUpdate(slot, before);
  }
}

LogicalResult TrainingBuilder::Program::buildFused() {
  addOptimizerInputs();
  addSeed();
  auto gradients = differentiate({});
  if (failed(gradients))
    return failure();
  addOutput(entry.getBody().front().getTerminator()->getOperand(0), "loss",
            {ONNX_AOT_ROLE_LOSS});
  for (unsigned i = 0; i < numParameters(); ++i) {
    if (!isTrained(i))
      continue;
    OpBuilder::InsertionGuard guard(*builder);
    moveBehind((*gradients)[i], i, /*isUpdate=*/true);
    ParameterUpdate after = step(i, clipValue((*gradients)[i]));
    addUpdate(after.parameter, parameter(i));
    for (auto [before, slot] : llvm::zip_equal(slots[i], after.slots))
      addUpdate(slot, before);
  }
  return addStateUpdates();
}

LogicalResult TrainingBuilder::Program::build() {
  switch (info.kind) {
  case ProgramKind::Train:
    if (failed(buildTrain()))
      return failure();
    break;
  case ProgramKind::Eval:
    buildEval();
    break;
  case ProgramKind::Optimizer:
    buildOptimizer();
    break;
  case ProgramKind::Infer:
    if (failed(buildInfer()))
      return failure();
    break;
  case ProgramKind::Fused:
    if (failed(buildFused()))
      return failure();
    break;
  }
  finishResults();
  return success();
}

FailureOr<std::vector<TrainingProgram>>
TrainingBuilder::makePrograms(ModuleOp model) {
  std::vector<ProgramKind> kinds{ProgramKind::Train, ProgramKind::Eval};
  if (rule)
    kinds.push_back(ProgramKind::Optimizer);
  // A norm of all gradients must be known before the first update.
  if (rule && !options.clipNorm)
    kinds.push_back(ProgramKind::Fused);
  kinds.push_back(ProgramKind::Infer);
  std::vector<TrainingProgram> programs;
  for (ProgramKind kind : kinds) {
    Program program(*this, kind, model, kind == ProgramKind::Optimizer);
    if (failed(program.build()))
      return failure();
    programs.push_back(program.take());
  }
  return programs;
}
