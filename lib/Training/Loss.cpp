//===- Loss.cpp - what is minimised ---------------------------------------===//

#include "Loss.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace onnx_aot;

/// Whether a spec of this name is a file; all others are formulas.
static bool isFile(StringRef name) { return name.ends_with(".onnx"); }

std::vector<std::string> TrainingOptions::getLossFiles() const {
  std::vector<std::string> files;
  for (const std::string &loss : losses)
    if (Spec spec("loss", loss); isFile(spec.getName()))
      files.push_back(spec.getName().str());
  return files;
}

/// Makes a formula of a spec; null with an error in the spec, or for `none`.
static std::unique_ptr<LossTerm> createFormula(Spec &spec) {
  ArrayRef<StringRef> elements = getElementLossNames(),
                      classes = getClassLossNames();
  std::unique_ptr<FormulaLoss> term;
  if (llvm::is_contained(elements, spec.getName()))
    term = createElementLoss(spec);
  else if (llvm::is_contained(classes, spec.getName()))
    term = createClassLoss(spec);
  else if (spec.getName() != "none")
    spec.refuse(
        "it is not supported (supported: " + llvm::join(elements, ", ") + ", " +
        llvm::join(classes, ", ") + ", none, a file that ends in .onnx)");
  std::string output = spec.text("output", "");
  if (!term)
    return nullptr;
  term->outputName = output;
  term->isTargetGiven = spec.has("target");
  term->targetName = spec.text("target", term->targetName);
  return term;
}

llvm::Expected<std::unique_ptr<Loss>>
Loss::create(ArrayRef<std::string> specs) {
  if (specs.empty())
    return llvm::createStringError(
        "training needs a loss: give --loss=SPEC (mse, cross-entropy, ..., or "
        "none if an output of the model is the loss)");
  auto loss = std::make_unique<Loss>();
  for (const std::string &text : specs) {
    Spec spec("loss", text);
    std::unique_ptr<LossTerm> term =
        isFile(spec.getName()) ? createGraphLoss(spec) : createFormula(spec);
    if (term)
      term->scale = spec.number("scale", 1, -1e30, 1e30);
    if (spec.getName() == "none" && specs.size() > 1)
      spec.refuse("it cannot be added to others");
    if (llvm::Error error = spec.finish())
      return error;
    // Not where a file lies: the module does not depend on it.
    std::string shown = spec.getText();
    if (isFile(spec.getName())) {
      StringRef folder = llvm::sys::path::parent_path(spec.getName());
      shown = StringRef(shown).drop_front(folder.size()).ltrim('/').str();
    }
    loss->text += (loss->text.empty() ? "" : " + ") + shown;
    if (term)
      loss->terms.push_back(std::move(term));
    else
      loss->outputName = spec.text("output", "");
  }
  return loss;
}

//===--- The entry --------------------------------------------------------===//

SmallVector<StringRef> LossEntry::getOutputNames() const {
  SmallVector<StringRef> names;
  func::FuncOp entry = function;
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    auto name = entry.getResultAttrOfType<StringAttr>(i, onnx::kNameAttr);
    names.push_back(name ? name.getValue() : "");
  }
  return names;
}

Value LossEntry::lookUpOutput(StringRef name) const {
  func::FuncOp entry = function;
  for (auto [index, known] : llvm::enumerate(getOutputNames()))
    if (known == name)
      return entry.getBody().front().getTerminator()->getOperand(index);
  return {};
}

Value LossEntry::lookUpInput(StringRef name) const {
  func::FuncOp entry = function;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto known = entry.getArgAttrOfType<StringAttr>(i, onnx::kNameAttr);
    if (known && known.getValue() == name)
      return entry.getArgument(i);
  }
  return {};
}

FailureOr<Value> LossEntry::findOutput(StringRef name) const {
  SmallVector<StringRef> names = getOutputNames();
  if (name.empty() && !names.empty())
    name = names.front();
  Value value = lookUpOutput(name);
  func::FuncOp entry = function;
  if (!value)
    return entry.emitError("the model has no output '")
           << name << "' for the loss (there are: " << llvm::join(names, ", ")
           << ")";
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && isa<FloatType>(type.getElementType()))
    return value;
  return entry.emitError("output '")
         << name << "' of type " << value.getType()
         << " has no loss (supported: tensors of floats of known rank)";
}

FailureOr<Value> LossEntry::addTarget(std::string name, bool isGiven,
                                      RankedTensorType type) {
  func::FuncOp entry = function;
  std::string base = name;
  for (unsigned number = 2; !isGiven && lookUpInput(name); ++number)
    name = base + std::to_string(number);
  if (Value known = lookUpInput(name)) {
    if (known.getType() == type)
      return known;
    return entry.emitError("target '")
           << name << "' of type " << type << " is already an input of type "
           << known.getType();
  }
  Builder builder(entry.getContext());
  unsigned index = entry.getNumArguments();
  auto attribute = builder.getStringAttr(name);
  NamedAttribute named = builder.getNamedAttr(onnx::kNameAttr, attribute);
  if (failed(entry.insertArgument(index, type,
                                  builder.getDictionaryAttr({named}),
                                  NameLoc::get(attribute, entry.getLoc()))))
    return failure();
  targets.push_back(name);
  return Value(entry.getArgument(index));
}

//===--- The loss ---------------------------------------------------------===//

FailureOr<Value> FormulaLoss::append(OpMaker &maker, LossEntry &entry) const {
  FailureOr<Value> output = entry.findOutput(outputName);
  if (failed(output))
    return failure();
  RankedTensorType type = getTargetType(maker.getLoc(), *output);
  if (!type)
    return failure();
  FailureOr<Value> target = entry.addTarget(targetName, isTargetGiven, type);
  if (failed(target))
    return failure();
  Value value = build(maker, *output, *target);
  if (!value)
    return failure();
  return value;
}

LogicalResult Loss::append(func::FuncOp function, LossReader readLoss,
                           std::vector<std::string> &targets) const {
  Operation *terminator = function.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  Location loc = NameLoc::get(builder.getStringAttr("loss"), function.getLoc());
  OpMaker maker(builder, loc);
  LossEntry entry(function, readLoss, targets);
  Value total;
  if (terms.empty()) {
    FailureOr<Value> output = entry.findOutput(outputName);
    if (failed(output))
      return failure();
    total = *output;
  }
  for (const std::unique_ptr<LossTerm> &term : terms) {
    FailureOr<Value> value = term->append(maker, entry);
    if (failed(value))
      return failure();
    if (term->scale != 1)
      value = maker.mul(*value, term->scale);
    if (terms.size() > 1 && onnx::getRank(*value) != 0)
      return emitError(loc, "losses without a reduction cannot be added");
    if (total && onnx::getElementType(total) != onnx::getElementType(*value))
      return emitError(loc, "losses of element types ")
             << onnx::getElementType(total) << " and "
             << onnx::getElementType(*value) << " cannot be added";
    total = total ? maker.add(total, *value) : *value;
  }
  terminator->insertOperands(0, total);
  Builder attributes(function.getContext());
  return function.insertResult(
      0, total.getType(),
      attributes.getDictionaryAttr({attributes.getNamedAttr(
          onnx::kNameAttr, attributes.getStringAttr("loss"))}));
}
