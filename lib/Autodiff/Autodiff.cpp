//===- Autodiff.cpp - append gradients to the entry function --------------===//

#include "onnx-aot/Autodiff/BuildGradient.h"
#include "onnx-aot/Autodiff/GradientBuilder.h"
#include "onnx-aot/Autodiff/Passes.h"
#include "onnx-aot/Dialect/Train/IR/Train.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace onnx_aot;

namespace onnx_aot {
#define GEN_PASS_DEF_AUTODIFF
#include "onnx-aot/Autodiff/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// Positions of the names that patterns choose.
class NameChooser {
public:
  NameChooser(func::FuncOp function, StringRef what)
      : function(function), what(what) {}

  void add(StringAttr name) { names.push_back(name ? name.getValue() : ""); }

  /// Fails with an error for a pattern that is malformed or chooses nothing.
  FailureOr<SmallVector<unsigned>> choose(ArrayRef<std::string> patterns) {
    llvm::SmallBitVector chosen(names.size());
    for (const std::string &text : patterns) {
      auto glob = llvm::GlobPattern::create(text);
      if (!glob) {
        function.emitError("'")
            << text << "' is no pattern: " << llvm::toString(glob.takeError());
        return failure();
      }
      bool found = false;
      for (auto [index, name] : llvm::enumerate(names))
        if (name == text || glob->match(name)) {
          chosen.set(index);
          found = true;
        }
      if (!found) {
        InFlightDiagnostic error = function.emitError("no ")
                                   << what << " is called '" << text
                                   << "' (there are: ";
        llvm::interleaveComma(names, error);
        error << ")";
        return failure();
      }
    }
    return SmallVector<unsigned>(chosen.set_bits());
  }

private:
  func::FuncOp function;
  StringRef what;
  SmallVector<StringRef> names;
};

struct Autodiff : onnx_aot::impl::AutodiffBase<Autodiff> {
  using AutodiffBase::AutodiffBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && function.isPublic() &&
          failed(runOnFunction(function)))
        return signalPassFailure();
  }

private:
  LogicalResult runOnFunction(func::FuncOp function);
  FailureOr<SmallVector<unsigned>> chooseInputs(func::FuncOp function);
  FailureOr<SmallVector<unsigned>> chooseOutputs(func::FuncOp function);
};

FailureOr<SmallVector<unsigned>> Autodiff::chooseInputs(func::FuncOp function) {
  auto isFloat = [&](unsigned index) {
    return isDifferentiable(function.getArgument(index).getType());
  };
  SmallVector<unsigned> chosen;
  if (inputs.empty()) {
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      if (isFloat(index))
        chosen.push_back(index);
    return chosen;
  }
  NameChooser chooser(function, "input");
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    chooser.add(function.getArgAttrOfType<StringAttr>(index, onnx::kNameAttr));
  FailureOr<SmallVector<unsigned>> found = chooser.choose(inputs);
  if (failed(found))
    return failure();
  for (unsigned index : *found) {
    auto name = function.getArgAttrOfType<StringAttr>(index, onnx::kNameAttr);
    if (isFloat(index))
      chosen.push_back(index);
    else if (name && llvm::is_contained(inputs, name.getValue()))
      return function.emitError("input ")
             << name << " of type " << function.getArgument(index).getType()
             << " has no gradient (supported: f16, bf16, f32, f64)";
  }
  return chosen;
}

FailureOr<SmallVector<unsigned>>
Autodiff::chooseOutputs(func::FuncOp function) {
  if (outputs.empty()) {
    if (function.getNumResults() == 0)
      return SmallVector<unsigned>();
    return SmallVector<unsigned>{0};
  }
  NameChooser chooser(function, "output");
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    chooser.add(
        function.getResultAttrOfType<StringAttr>(index, onnx::kNameAttr));
  return chooser.choose(outputs);
}

LogicalResult Autodiff::runOnFunction(func::FuncOp function) {
  FailureOr<SmallVector<unsigned>> wrt = chooseInputs(function),
                                   of = chooseOutputs(function);
  if (failed(wrt) || failed(of))
    return failure();
  Operation *terminator = function.getBody().front().getTerminator();
  SmallVector<Value> xs, ys;
  for (unsigned index : *wrt)
    xs.push_back(function.getArgument(index));
  for (unsigned index : *of) {
    Value y = terminator->getOperand(index);
    if (!isa<RankedTensorType>(y.getType()) || !isDifferentiable(y.getType()))
      return function.emitError("output number ")
             << index << " of type " << y.getType()
             << " cannot be differentiated (supported: tensors of f16, bf16, "
                "f32, f64)";
    ys.push_back(y);
  }
  OpBuilder builder(terminator);
  auto gradients = buildGradient(builder, ys, {}, xs);
  if (failed(gradients))
    return failure();

  DenseSet<StringRef> taken;
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    if (auto name =
            function.getResultAttrOfType<StringAttr>(index, onnx::kNameAttr))
      taken.insert(name.getValue());
  for (auto [index, x, gradient] : llvm::zip_equal(*wrt, xs, *gradients)) {
    auto given = function.getArgAttrOfType<StringAttr>(index, onnx::kNameAttr);
    StringRef base = given ? given.getValue() : "input";
    if (!gradient) {
      function.emitWarning("no output depends on input '")
          << base << "' through floats: its gradient is 0";
      GradientBuilder zeros(builder, function.getLoc(), {});
      gradient = zeros.zerosLike(x);
    }
    std::string name = (base + "_grad").str();
    while (taken.contains(name))
      name += "_grad";
    auto attribute = builder.getStringAttr(name);
    taken.insert(attribute.getValue());
    terminator->insertOperands(terminator->getNumOperands(), gradient);
    if (failed(function.insertResult(
            function.getNumResults(), gradient.getType(),
            builder.getDictionaryAttr(
                builder.getNamedAttr(onnx::kNameAttr, attribute)))))
      return failure();
  }
  return success();
}

} // namespace
