//===- Parameters.cpp - which initializers are trained --------------------===//

#include "Parameters.h"
#include "Dropout.h"

#include "onnx-aot/Autodiff/BuildGradient.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace onnx_aot;

llvm::Expected<NameFilter> NameFilter::create(ArrayRef<std::string> globs) {
  NameFilter filter;
  for (const std::string &glob : globs) {
    auto pattern = llvm::GlobPattern::create(glob, /*MaxSubPatterns=*/1024);
    if (!pattern)
      return llvm::createStringError("'" + glob + "' is no pattern of names: " +
                                     llvm::toString(pattern.takeError()));
    filter.patterns.push_back({glob, std::move(*pattern)});
  }
  return filter;
}

bool NameFilter::matches(StringRef name) const {
  // A name may hold what is special in patterns.
  return llvm::any_of(patterns, [&](const auto &pattern) {
    return pattern.first == name ||
           (pattern.second && pattern.second->match(name));
  });
}

StringRef NameFilter::findUnused(ArrayRef<StringRef> names) const {
  for (const auto &[glob, pattern] : patterns)
    if (llvm::none_of(
            names, [&, &glob = glob, &pattern = pattern](StringRef name) {
              return glob == name || (pattern && pattern->match(name));
            }))
      return glob;
  return "";
}

std::vector<Initializer> onnx_aot::findInitializers(ModuleOp model) {
  std::vector<Initializer> initializers;
  auto entry = model.lookupSymbol<func::FuncOp>("main");
  for (auto op : entry.getBody().front().getOps<onnx::ConstantOp>()) {
    auto name = op->getAttrOfType<StringAttr>(onnx::kNameAttr);
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (name && type && isa<FloatType>(type.getElementType()))
      initializers.push_back({op, name.str()});
  }
  return initializers;
}

/// Mean or variance of a BatchNormalization; `isUpdated` when it is in training
/// mode.
static bool isStatistic(onnx::ConstantOp op, bool &isUpdated) {
  isUpdated = false;
  bool found = false;
  for (OpOperand &use : op->getUses())
    if (auto norm = dyn_cast<onnx::BatchNormalizationOp>(use.getOwner()))
      if (use.getOperandNumber() >= 3) {
        found = true;
        isUpdated |= norm.getTrainingMode() != 0;
      }
  return found;
}

/// A number that says how an op works, not a weight: a dropout's ratio, a
/// bound, a scale of sizes, an exponent. Trained only where it is asked for by
/// name.
static bool isSetting(onnx::ConstantOp op) {
  return llvm::any_of(op->getUses(), [](OpOperand &use) {
    return use.getOperandNumber() > 0 &&
           isa<onnx::DropoutOp, onnx::ClipOp, onnx::ResizeOp, onnx::PadOp,
               onnx::PowOp>(use.getOwner());
  });
}

/// For each initializer whether the loss depends on it, found by
/// differentiating a copy of the model.
static FailureOr<SmallVector<bool>> findReachable(ModuleOp model,
                                                  ArrayRef<bool> wanted) {
  OwningOpRef<ModuleOp> copy = model.clone();
  auto entry = copy->lookupSymbol<func::FuncOp>("main");
  SmallVector<Value> xs;
  for (auto [initializer, isWanted] :
       llvm::zip_equal(findInitializers(*copy), wanted))
    if (isWanted)
      xs.push_back(initializer.op);
  Operation *terminator = entry.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  // As the programs will have it: each op's gradient is that of its parts.
  if (hasTrainingDropout(entry)) {
    auto type = RankedTensorType::get({2}, builder.getI64Type());
    expandTrainingDropout(
        entry, entry.getBody().front().addArgument(type, entry.getLoc()));
  }
  auto gradients = buildGradient(builder, {terminator->getOperand(0)}, {}, xs);
  if (failed(gradients))
    return failure();
  SmallVector<bool> reachable;
  size_t next = 0;
  for (bool isWanted : wanted)
    reachable.push_back(isWanted && (*gradients)[next++]);
  return reachable;
}

/// Says which initializers stay as they are because their graph is a branch or
/// the body of a loop.
static void warnOfInnerInitializers(func::FuncOp entry,
                                    const NameFilter &frozen) {
  entry.walk([&](onnx::ConstantOp op) {
    auto name = op->getAttrOfType<StringAttr>(onnx::kNameAttr);
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (op->getParentOp() != entry && name && type && type.getRank() > 0 &&
        isa<FloatType>(type.getElementType()) && !frozen.matches(name))
      emitWarning(op.getLoc())
          << "initializer '" << name.getValue()
          << "' of a branch or loop body is not trained: only those of the "
             "main graph are";
  });
}

FailureOr<std::vector<std::pair<Initializer, OnnxAotParameterKind>>>
onnx_aot::chooseParameters(ModuleOp model, const TrainingOptions &options,
                           ArrayRef<AdapterInfo> adapters) {
  auto entry = model.lookupSymbol<func::FuncOp>("main");
  std::vector<Initializer> initializers = findInitializers(model);
  SmallVector<StringRef> names;
  for (const Initializer &initializer : initializers)
    names.push_back(initializer.name);
  // Checked when the builder was made.
  NameFilter trainable = cantFail(NameFilter::create(options.trainable)),
             frozen = cantFail(NameFilter::create(options.frozen)),
             noDecay = cantFail(NameFilter::create(options.noDecay));
  for (const AdapterInfo &adapter : adapters) {
    trainable.add(getAdapterName(adapter, "A"));
    trainable.add(getAdapterName(adapter, "B"));
    frozen.add(adapter.weight);
  }
  for (const NameFilter *filter : {&trainable, &frozen, &noDecay})
    if (StringRef unused = filter->findUnused(names); !unused.empty())
      return entry.emitError("no initializer of floats is called '")
             << unused << "'";

  if (trainable.empty())
    warnOfInnerInitializers(entry, frozen);
  SmallVector<bool> wanted;
  for (const Initializer &initializer : initializers) {
    bool isUpdated = false;
    wanted.push_back(!isStatistic(initializer.op, isUpdated) &&
                     !frozen.matches(initializer.name) &&
                     (trainable.empty() ? !isSetting(initializer.op)
                                        : trainable.matches(initializer.name)));
  }
  auto reachable = findReachable(model, wanted);
  if (failed(reachable))
    return failure();
  std::vector<std::pair<Initializer, OnnxAotParameterKind>> chosen;
  for (auto [initializer, isReachable] :
       llvm::zip_equal(initializers, *reachable)) {
    bool isUpdated = false;
    if (isReachable)
      chosen.push_back({initializer, ONNX_AOT_PARAMETER_TRAINABLE});
    else if (isStatistic(initializer.op, isUpdated) && isUpdated)
      chosen.push_back({initializer, ONNX_AOT_PARAMETER_STATE});
    else if (llvm::is_contained(options.trainable, initializer.name) ||
             llvm::any_of(adapters, [&, name = initializer.name](
                                        const AdapterInfo &adapter) {
               return name == getAdapterName(adapter, "A") ||
                      name == getAdapterName(adapter, "B");
             }))
      return emitError(initializer.op.getLoc(),
                       "the loss does not depend on this initializer, which "
                       "shall be trained");
  }
  if (llvm::none_of(chosen, [](const auto &pair) {
        return pair.second == ONNX_AOT_PARAMETER_TRAINABLE;
      }))
    return entry.emitError(
        "there is nothing to train: the loss depends on no initializer that is "
        "chosen");
  return chosen;
}
