//===- Training.cpp - from a model to the programs that train it ----------===//

#include "onnx-aot/Training/Training.h"
#include "Loss.h"
#include "LowRank.h"
#include "Parameters.h"

#include "onnx-aot/Optimizer/OptimizerRule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace onnx_aot;

TrainingBuilder::TrainingBuilder() = default;
TrainingBuilder::~TrainingBuilder() = default;

llvm::Expected<std::unique_ptr<TrainingBuilder>>
TrainingBuilder::create(const TrainingOptions &options) {
  std::unique_ptr<TrainingBuilder> builder(new TrainingBuilder());
  builder->options = options;
  auto loss = Loss::create(options.losses);
  if (!loss)
    return loss.takeError();
  builder->loss = std::move(*loss);
  builder->info.loss = builder->loss->getText();
  for (const auto *globs :
       {&options.trainable, &options.frozen, &options.noDecay}) {
    auto filter = NameFilter::create(*globs);
    if (!filter)
      return filter.takeError();
  }
  if (!options.lowRank.empty()) {
    auto lowRank = LowRankUpdate::create(options.lowRank);
    if (!lowRank)
      return lowRank.takeError();
    builder->lowRank = std::move(*lowRank);
  }
  auto checkPositive = [](std::optional<double> value,
                          StringRef flag) -> llvm::Error {
    if (!value || *value > 0)
      return llvm::Error::success();
    return llvm::createStringError(flag + " wants a number above 0");
  };
  if (llvm::Error error = checkPositive(options.clipNorm, "--clip-norm"))
    return error;
  if (llvm::Error error = checkPositive(options.clipValue, "--clip-value"))
    return error;
  if (options.optimizer == "none") {
    builder->info.optimizer = "none";
    return builder;
  }
  Spec spec("optimizer", options.optimizer);
  if (spec.has("lr")) {
    (void)spec.text("lr", "");
    spec.refuse("'lr' is an input of each step: give it where the model is "
                "trained");
  }
  builder->rule = createOptimizerRule(spec);
  if (llvm::Error error = spec.finish())
    return error;
  builder->info.optimizer = spec.getText();
  for (StringRef slot : builder->rule->getSlots())
    builder->info.slots.push_back(slot.str());
  return builder;
}

LogicalResult TrainingBuilder::prepare(ModuleOp model, LossReader readLoss) {
  auto entry = model.lookupSymbol<func::FuncOp>("main");
  if (!entry || entry.getBody().empty() ||
      !isa<func::ReturnOp>(entry.getBody().front().getTerminator()))
    return model.emitError("the model has no entry function 'main'");
  if (failed(addLoss(model, readLoss)) || failed(addLowRank(model)) ||
      failed(chooseParameters(model)))
    return failure();
  describeModel(model);
  moveParameters(model);
  return success();
}

LogicalResult TrainingBuilder::addLoss(ModuleOp model, LossReader readLoss) {
  auto entry = model.lookupSymbol<func::FuncOp>("main");
  std::vector<std::string> targets;
  unsigned numModelInputs = entry.getNumArguments();
  if (failed(loss->append(entry, readLoss, targets)))
    return failure();
  numInputs = entry.getNumArguments();
  for (unsigned i = 0; i < numInputs; ++i) {
    auto name = entry.getArgAttrOfType<StringAttr>(i, onnx::kNameAttr);
    info.inputs.push_back(name ? name.str() : "");
  }
  info.numTargets = numInputs - numModelInputs;
  return success();
}

LogicalResult TrainingBuilder::addLowRank(ModuleOp model) {
  if (!lowRank)
    return success();
  auto added = lowRank->apply(model);
  if (failed(added))
    return failure();
  info.adapters = std::move(*added);
  return success();
}

LogicalResult TrainingBuilder::chooseParameters(ModuleOp model) {
  auto chosen = onnx_aot::chooseParameters(model, options, info.adapters);
  if (failed(chosen))
    return failure();
  NameFilter noDecay = cantFail(NameFilter::create(options.noDecay));
  bool isRefused = false;
  for (auto &[initializer, kind] : *chosen) {
    auto type = cast<RankedTensorType>(initializer.op.getType());
    std::optional<OnnxAotType> abiType = getAbiType(type.getElementType());
    if (!abiType ||
        (kind == ONNX_AOT_PARAMETER_TRAINABLE &&
         !type.getElementType().isF32() && !type.getElementType().isF64())) {
      isRefused = true;
      emitError(initializer.op.getLoc(), "initializer '")
          << initializer.name << "' of type " << type
          << " cannot be trained (supported: float and double; --frozen leaves "
             "it as it is)";
      continue;
    }
    ParameterInfo parameter;
    parameter.value.name = initializer.name;
    parameter.value.type = *abiType;
    parameter.value.dims.assign(type.getShape().begin(), type.getShape().end());
    parameter.kind = kind;
    if (kind == ONNX_AOT_PARAMETER_TRAINABLE)
      parameter.group = noDecay.matches(initializer.name) ? 1 : 0;
    info.parameters.push_back(std::move(parameter));
    initialValues.push_back(initializer.op.getValue());
  }
  if (isRefused)
    return failure();
  for (AdapterInfo &adapter : info.adapters)
    for (auto [index, parameter] : llvm::enumerate(info.parameters)) {
      if (parameter.value.name == getAdapterName(adapter, "A"))
        adapter.a = index;
      else if (parameter.value.name == getAdapterName(adapter, "B"))
        adapter.b = index;
    }
  return success();
}

void TrainingBuilder::moveParameters(ModuleOp model) {
  auto entry = model.lookupSymbol<func::FuncOp>("main");
  Builder builder(model.getContext());
  for (Initializer &initializer : findInitializers(model)) {
    bool isParameter = llvm::any_of(info.parameters, [&](const auto &p) {
      return p.value.name == initializer.name;
    });
    if (!isParameter) {
      initializer.op->removeAttr(onnx::kNameAttr);
      continue;
    }
    NamedAttribute named = builder.getNamedAttr(
        onnx::kNameAttr, builder.getStringAttr(initializer.name));
    (void)entry.insertArgument(
        entry.getNumArguments(), initializer.op.getType(),
        builder.getDictionaryAttr({named}), initializer.op.getLoc());
    initializer.op.replaceAllUsesWith(entry.getArguments().back());
    initializer.op.erase();
  }
}

/// The fingerprint tells models apart whose state cannot be exchanged: other
/// parameters, or other operators between them.
void TrainingBuilder::describeModel(ModuleOp model) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const ParameterInfo &parameter : info.parameters) {
    os << parameter.value.name << '\0' << parameter.value.type << '\0'
       << parameter.kind;
    for (int64_t size : parameter.value.dims)
      os << ' ' << size;
    os << '\n';
  }
  model.walk([&](Operation *op) {
    if (isa<onnx::OnnxDialect>(op->getDialect()) && !isa<onnx::ConstantOp>(op))
      os << op->getName().getStringRef() << '\n';
  });
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
      {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
  info.fingerprint[0] = hash.low64;
  info.fingerprint[1] = hash.high64;
  if (std::optional<StringRef> name = model.getName())
    info.name = name->str();
}
