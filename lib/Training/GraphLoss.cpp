//===- GraphLoss.cpp - an ONNX file as the loss ---------------------------===//
//
// The file's graph is laid behind the model's: an input of it is, by its name,
// an output of the model, an input of the model, or a target. If none is an
// output, the first that is no input either is the first output. Its sizes are
// stated in the model's symbols first, so that what is equal stays
// recognisable.
//
//===----------------------------------------------------------------------===//

#include "Loss.h"

#include "onnx-aot/Dialect/Onnx/IR/ReplaceSizes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

/// The loss graph's arguments and what they stand for in the model.
class GraphInliner {
public:
  GraphInliner(LossEntry &entry, ModuleOp graph, StringRef file)
      : entry(entry), graph(graph), file(file),
        body(graph.lookupSymbol<func::FuncOp>("main")),
        model(entry.function->getParentOfType<ModuleOp>()) {}

  /// Finds a value of the model for each argument but for the targets.
  LogicalResult bind(ArrayRef<StringRef> outputs);
  /// States the graph's sizes in the model's symbols.
  void renameSymbols();
  LogicalResult addTargets();
  /// The graph's first result, once its ops are in the model.
  FailureOr<Value> inlineGraph(OpMaker &maker);

private:
  StringRef getName(unsigned argument) const {
    func::FuncOp function = body;
    auto name =
        function.getArgAttrOfType<StringAttr>(argument, onnx::kNameAttr);
    return name ? name.getValue() : "";
  }
  InFlightDiagnostic refuse(const Twine &why) {
    return entry.function.emitError("loss '" + file + "': " + why);
  }
  LogicalResult bind(unsigned argument, Value value, StringRef what);

  LossEntry &entry;
  ModuleOp graph;
  StringRef file;
  func::FuncOp body;
  ModuleOp model;
  SmallVector<Value> values;
  /// Expressions of the model for symbols of the graph.
  DenseMap<AffineExpr, AffineExpr> sizes;
};

LogicalResult GraphInliner::bind(unsigned argument, Value value,
                                 StringRef what) {
  Type wanted = body.getArgument(argument).getType();
  std::optional<onnx::Shape> wantedShape = onnx::getShape(wanted),
                             shape = onnx::getShape(value);
  auto mismatch = [&] {
    return refuse("input '" + getName(argument) + "' is of type ")
           << wanted << ", but " << what << " of the model of type "
           << value.getType();
  };
  if (!wantedShape || !shape || wantedShape->size() != shape->size() ||
      onnx::getElementType(value) != cast<TensorType>(wanted).getElementType())
    return mismatch();
  for (auto [want, have] : llvm::zip_equal(*wantedShape, *shape)) {
    if (!want.isKnown() || !have.isKnown())
      return mismatch();
    if (want.isStatic() ? want == have
                        : isa<AffineSymbolExpr>(want.getExpr()) &&
                              sizes.try_emplace(want.getExpr(), have.getExpr())
                                      .first->second == have.getExpr())
      continue;
    return mismatch() << " (a dimension of the model can be fixed by --dim)";
  }
  values[argument] = value;
  return success();
}

LogicalResult GraphInliner::bind(ArrayRef<StringRef> outputs) {
  unsigned count = body.getNumArguments();
  values.resize(count);
  if (outputs.size() > count)
    return refuse(Twine(outputs.size()) + " outputs are given for " +
                  Twine(count) + " inputs");
  bool isNamed = false;
  for (unsigned i = 0; i < count; ++i) {
    Value value;
    if (i < outputs.size()) {
      value = entry.lookUpOutput(outputs[i]);
      if (!value)
        return refuse(
            "the model has no output '" + outputs[i] +
            "' (there are: " + llvm::join(entry.getOutputNames(), ", ") + ")");
    } else {
      value = entry.lookUpOutput(getName(i));
    }
    isNamed |= bool(value);
    if (value && failed(bind(i, value, "an output")))
      return failure();
  }
  for (unsigned i = 0; i < count; ++i)
    if (Value value = entry.lookUpInput(getName(i)); value && !values[i])
      if (failed(bind(i, value, "an input")))
        return failure();
  SmallVector<StringRef> known = entry.getOutputNames();
  auto *open = llvm::find(values, Value());
  if (isNamed || known.empty() || open == values.end())
    return success();
  return bind(open - values.begin(), entry.lookUpOutput(known.front()),
              "the first output");
}

void GraphInliner::renameSymbols() {
  MLIRContext *context = graph.getContext();
  auto symbols = graph->getAttrOfType<ArrayAttr>(onnx::kSymbolsAttr);
  for (auto [index, symbol] :
       llvm::enumerate(symbols ? symbols.getValue() : ArrayRef<Attribute>())) {
    AffineExpr expr = getAffineSymbolExpr(index, context);
    if (sizes.count(expr))
      continue;
    auto name = dyn_cast<StringAttr>(symbol);
    // The name of a size that follows from others has their numbers in it:
    // inference finds it again.
    bool isOwn = name && !name.getValue().starts_with("#");
    sizes[expr] = getAffineSymbolExpr(
        onnx::getOrAddSymbol(model, isOwn ? name.getValue() : ""), context);
  }
  onnx::replaceSizes(graph, sizes);
}

LogicalResult GraphInliner::addTargets() {
  for (auto [index, value] : llvm::enumerate(values)) {
    if (value)
      continue;
    auto type = dyn_cast<RankedTensorType>(body.getArgument(index).getType());
    if (!type)
      return refuse("input '" + getName(index) + "' is of type ")
             << body.getArgument(index).getType()
             << " (supported: tensors of known rank)";
    FailureOr<Value> target =
        entry.addTarget(getName(index).str(), /*isGiven=*/true, type);
    if (failed(target))
      return failure();
    value = *target;
  }
  return success();
}

FailureOr<Value> GraphInliner::inlineGraph(OpMaker &maker) {
  IRMapping mapping;
  mapping.map(body.getArguments(), values);
  Block &block = body.getBody().front();
  bool bad = false;
  for (Operation &op : block.without_terminator()) {
    Operation *copy = maker.getBuilder().clone(op, mapping);
    // Sizes of the model may say more. Inner ops first, as everywhere.
    copy->walk<WalkOrder::PostOrder>([&](Operation *inner) {
      bad |= failed(onnx::inferAndSetResultTypes(inner));
    });
  }
  if (bad)
    return failure();
  Value loss = mapping.lookup(block.getTerminator()->getOperand(0));
  auto type = dyn_cast<RankedTensorType>(loss.getType());
  if (!type || !isa<FloatType>(type.getElementType()) ||
      !type.hasStaticShape() || type.getNumElements() != 1)
    return refuse("its first output is of type ")
           << loss.getType() << " (supported: one float)";
  if (type.getRank() != 0)
    loss = maker.create<onnx::ReshapeOp>(
        loss, onnx::createIntegers(maker.getBuilder(), maker.getLoc(), {}),
        /*allowzero=*/0);
  return loss;
}

class GraphLoss : public LossTerm {
public:
  explicit GraphLoss(Spec &spec) : path(spec.getName()) {
    std::string text = spec.text("output", "");
    SmallVector<StringRef> parts;
    if (!text.empty())
      StringRef(text).split(parts, '+');
    for (StringRef part : parts)
      outputs.push_back(part.str());
  }

  FailureOr<Value> append(OpMaker &maker, LossEntry &entry) const override {
    OwningOpRef<ModuleOp> graph = entry.readLoss(path);
    if (!graph)
      return failure();
    GraphInliner inliner(entry, *graph, llvm::sys::path::filename(path));
    SmallVector<StringRef> names(outputs.begin(), outputs.end());
    if (failed(inliner.bind(names)))
      return failure();
    inliner.renameSymbols();
    if (failed(inliner.addTargets()))
      return failure();
    return inliner.inlineGraph(maker);
  }

private:
  std::string path;
  std::vector<std::string> outputs;
};

} // namespace

std::unique_ptr<LossTerm> onnx_aot::createGraphLoss(Spec &spec) {
  return std::make_unique<GraphLoss>(spec);
}
