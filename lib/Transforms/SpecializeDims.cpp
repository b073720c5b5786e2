//===- SpecializeDims.cpp - replace symbolic dimensions by constants ------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Dialect/Onnx/IR/ReplaceSizes.h"
#include "onnx-aot/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace onnx_aot;

namespace onnx_aot {
#define GEN_PASS_DEF_SPECIALIZEDIMS
#include "onnx-aot/Transforms/Passes.h.inc"
} // namespace onnx_aot

/// The position of a named symbol, or an error that lists the names there are.
static FailureOr<unsigned> findSymbol(ModuleOp module, StringRef name) {
  auto symbols = module->getAttrOfType<ArrayAttr>(onnx::kSymbolsAttr);
  SmallVector<StringRef> known;
  for (auto [index, symbol] :
       llvm::enumerate(symbols ? symbols.getValue() : ArrayRef<Attribute>())) {
    auto symbolName = dyn_cast<StringAttr>(symbol);
    if (!symbolName || symbolName.getValue().empty())
      continue;
    if (symbolName.getValue() == name)
      return index;
    known.push_back(symbolName.getValue());
  }
  InFlightDiagnostic diagnostic = module.emitError("no dimension is named \"")
                                  << name << "\"";
  if (known.empty())
    return diagnostic << " (the model has no symbolic dimensions)";
  diagnostic << " (there are: ";
  llvm::interleaveComma(known, diagnostic);
  return diagnostic << ")";
}

/// Reads "NAME=N". A name may contain '=', a size cannot.
static FailureOr<std::pair<unsigned, int64_t>> parseDim(ModuleOp module,
                                                        StringRef text) {
  auto [name, number] = text.rsplit('=');
  int64_t size;
  if (name.size() == text.size() || number.getAsInteger(10, size) || size < 0)
    return module.emitError("cannot read the dimension \"")
           << text << "\" (expected NAME=N with N >= 0)";
  FailureOr<unsigned> symbol = findSymbol(module, name);
  if (failed(symbol))
    return failure();
  return std::make_pair(*symbol, size);
}

namespace {
struct SpecializeDims : onnx_aot::impl::SpecializeDimsBase<SpecializeDims> {
  using SpecializeDimsBase::SpecializeDimsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    DenseMap<AffineExpr, AffineExpr> sizes;
    bool bad = false;
    for (StringRef text : dims) {
      FailureOr<std::pair<unsigned, int64_t>> dim = parseDim(module, text);
      if (failed(dim)) {
        bad = true;
        continue;
      }
      auto [symbol, size] = *dim;
      auto [entry, isNew] =
          sizes.try_emplace(getAffineSymbolExpr(symbol, &getContext()),
                            getAffineConstantExpr(size, &getContext()));
      if (!isNew &&
          entry->second != getAffineConstantExpr(size, &getContext())) {
        module.emitError("the dimension of \"")
            << text << "\" is given two different sizes";
        bad = true;
      }
    }
    if (bad)
      return signalPassFailure();

    onnx::replaceSizes(module, sizes);
  }
};
} // namespace
