//===- Loss.cpp - what is minimised ---------------------------------------===//

#include "Loss.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace onnx_aot;

/// Makes a term of a spec, or the model's own loss (null without an error).
static std::unique_ptr<LossTerm> createTerm(Spec &spec) {
  ArrayRef<StringRef> elements = getElementLossNames(),
                      classes = getClassLossNames();
  std::unique_ptr<LossTerm> term;
  if (llvm::is_contained(elements, spec.getName()))
    term = createElementLoss(spec);
  else if (llvm::is_contained(classes, spec.getName()))
    term = createClassLoss(spec);
  else if (spec.getName() != "none")
    spec.refuse(
        "it is not supported (supported: " + llvm::join(elements, ", ") + ", " +
        llvm::join(classes, ", ") + ", none)");
  if (!term)
    return nullptr;
  term->scale = spec.number("scale", 1, -1e30, 1e30);
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
    std::unique_ptr<LossTerm> term = createTerm(spec);
    std::string output = spec.text("output", "");
    if (spec.getName() == "none" && specs.size() > 1)
      spec.refuse("it cannot be added to others");
    if (llvm::Error error = spec.finish())
      return error;
    loss->text += (loss->text.empty() ? "" : " + ") + spec.getText();
    if (term) {
      term->outputName = output;
      loss->terms.push_back(std::move(term));
    } else {
      loss->outputName = output;
    }
  }
  return loss;
}

FailureOr<Value> Loss::findOutput(func::FuncOp entry, StringRef name) const {
  Operation *terminator = entry.getBody().front().getTerminator();
  SmallVector<StringRef> names;
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    auto attribute = entry.getResultAttrOfType<StringAttr>(i, onnx::kNameAttr);
    names.push_back(attribute ? attribute.getValue() : "");
    if (!name.empty() && names.back() != name)
      continue;
    Value value = terminator->getOperand(i);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && isa<FloatType>(type.getElementType()))
      return value;
    return entry.emitError("output '")
           << names.back() << "' of type " << value.getType()
           << " has no loss (supported: tensors of floats of known rank)";
  }
  return entry.emitError("the model has no output '")
         << name << "' for the loss (there are: " << llvm::join(names, ", ")
         << ")";
}

/// The argument for a target, appended to the entry's or, of the same name and
/// type, already there.
static FailureOr<Value> addTarget(func::FuncOp entry, const LossTerm &term,
                                  RankedTensorType type,
                                  std::vector<std::string> &targets) {
  auto find = [&](StringRef name) -> std::optional<unsigned> {
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      auto attribute = entry.getArgAttrOfType<StringAttr>(i, onnx::kNameAttr);
      if (attribute && attribute.getValue() == name)
        return i;
    }
    return std::nullopt;
  };
  std::string name = term.targetName;
  for (unsigned number = 2; !term.isTargetGiven && find(name); ++number)
    name = term.targetName + std::to_string(number);
  if (std::optional<unsigned> index = find(name)) {
    if (entry.getArgument(*index).getType() == type)
      return Value(entry.getArgument(*index));
    return entry.emitError("target '")
           << name << "' of type " << type << " is already an input of type "
           << entry.getArgument(*index).getType();
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

LogicalResult Loss::append(func::FuncOp entry,
                           std::vector<std::string> &targets) const {
  Operation *terminator = entry.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  Location loc = NameLoc::get(builder.getStringAttr("loss"), entry.getLoc());
  OpMaker maker(builder, loc);
  Value total;
  if (terms.empty()) {
    FailureOr<Value> output = findOutput(entry, outputName);
    if (failed(output))
      return failure();
    total = *output;
  }
  for (const std::unique_ptr<LossTerm> &term : terms) {
    FailureOr<Value> output = findOutput(entry, term->outputName);
    if (failed(output))
      return failure();
    RankedTensorType type = term->getTargetType(loc, *output);
    if (!type)
      return failure();
    FailureOr<Value> target = addTarget(entry, *term, type, targets);
    if (failed(target))
      return failure();
    Value value = term->build(maker, *output, *target);
    if (!value)
      return failure();
    if (term->scale != 1)
      value = maker.mul(value, term->scale);
    if (terms.size() > 1 && onnx::getRank(value) != 0)
      return emitError(loc, "losses without a reduction cannot be added");
    total = total ? maker.add(total, value) : value;
  }
  terminator->insertOperands(0, total);
  Builder attributes(entry.getContext());
  return entry.insertResult(
      0, total.getType(),
      attributes.getDictionaryAttr({attributes.getNamedAttr(
          onnx::kNameAttr, attributes.getStringAttr("loss"))}));
}
