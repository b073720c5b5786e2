//===- OnnxToLinalg.cpp - the conversion pass -----------------------------===//

#include "Calls.h"
#include "EntryInterface.h"
#include "LoweringBase.h"
#include "Strings.h"
#include "Trees.h"

#include "onnx-aot/Conversion/Passes.h"
#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"
#include "onnx-aot/Dialect/Train/IR/Train.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"

using namespace mlir;
using namespace onnx_aot;

namespace onnx_aot {
#define GEN_PASS_DEF_CONVERTONNXTOLINALG
#include "onnx-aot/Conversion/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// Notes the first value that has each symbol as a dimension of its own.
void collectSymbols(ModuleOp module, LoweringContext &lowering) {
  auto note = [&](Value value) {
    std::optional<onnx::Shape> shape = onnx::getShape(value);
    if (!shape)
      return;
    for (auto [index, dim] : llvm::enumerate(*shape))
      if (auto symbol = dyn_cast_or_null<AffineSymbolExpr>(dim.getExpr()))
        lowering.symbols.try_emplace(symbol.getPosition(), value, index);
  };
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    llvm::for_each(op->getResults(), note);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), note);
  });
}

/// What has no elements needs no code: most lowerings could not even say it, as
/// a slice of a dimension of size 0 is not valid wherever it begins.
void replaceEmptyResults(ModuleOp module) {
  auto isEmpty = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 0 &&
           tensor.getElementType().isIntOrFloat();
  };
  module.walk([&](onnx::OnnxOpInterface op) {
    if (isa<onnx::ConstantOp>(op) || op->getNumRegions() || !isPure(op) ||
        op->getNumResults() == 0 ||
        !llvm::all_of(op->getResultTypes(), isEmpty))
      return;
    OpBuilder builder(op);
    for (Value result : op->getResults())
      result.replaceAllUsesWith(onnx::ConstantOp::create(
          builder, op.getLoc(),
          DenseElementsAttr::get(cast<RankedTensorType>(result.getType()),
                                 ArrayRef<Attribute>())));
    op.erase();
  });
}

/// Reports every op that no pattern lowers.
LogicalResult checkHasLowering(ModuleOp module, RewritePatternSet &patterns) {
  DenseSet<OperationName> roots;
  for (const std::unique_ptr<RewritePattern> &pattern :
       patterns.getNativePatterns())
    if (std::optional<OperationName> root = pattern->getRootKind())
      roots.insert(*root);
  bool bad = false;
  module.walk([&](Operation *op) {
    if (!isa_and_nonnull<onnx::OnnxDialect, train::TrainDialect>(
            op->getDialect()) ||
        roots.contains(op->getName()))
      return;
    op->emitOpError("is not supported by code generation");
    bad = true;
  });
  return failure(bad);
}

struct ConvertOnnxToLinalg
    : onnx_aot::impl::ConvertOnnxToLinalgBase<ConvertOnnxToLinalg> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    if (failed(describeEntry(getOperation())))
      return signalPassFailure();
    TypeConverter typeConverter;
    typeConverter.addConversion(
        [](Type type) { return convertOnnxType(type); });

    replaceEmptyResults(getOperation());
    LoweringContext lowering;
    lowering.typeConverter = &typeConverter;
    collectSymbols(getOperation(), lowering);

    RewritePatternSet patterns(context);
#define ONNX_AOT_LOWERING_CATEGORY(NAME)                                       \
  populateOnnxToLinalg##NAME##Patterns(lowering, patterns);
#include "LoweringCategories.def"
    populateOnnxToLinalgCallsPatterns(lowering, patterns);
    populateOnnxToLinalgStringsPatterns(lowering, patterns);
    populateOnnxToLinalgTreesPatterns(lowering, patterns);
    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(
        patterns, typeConverter);
    populateReturnOpTypeConversionPattern(patterns, typeConverter);

    ConversionTarget target(*context);
    target.addIllegalDialect<onnx::OnnxDialect, train::TrainDialect>();
    target.addLegalDialect<arith::ArithDialect, linalg::LinalgDialect,
                           math::MathDialect, scf::SCFDialect,
                           tensor::TensorDialect, affine::AffineDialect,
                           kernel::KernelDialect>();
    target.addLegalOp<ModuleOp, cf::AssertOp>();
    target.addDynamicallyLegalOp<func::FuncOp>([&](func::FuncOp op) {
      return typeConverter.isSignatureLegal(op.getFunctionType());
    });
    target.addDynamicallyLegalOp<func::ReturnOp>(
        [&](func::ReturnOp op) { return typeConverter.isLegal(op); });
    LogicalResult known = checkHasLowering(getOperation(), patterns);
    if (failed(checkStrings(getOperation())))
      known = failure();
    FrozenRewritePatternSet frozen(std::move(patterns));
    if (succeeded(known) &&
        succeeded(applyFullConversion(getOperation(), target, frozen)))
      return;
    // The conversion ends at the first op that it cannot lower: let the others
    // give their reasons too.
    ConversionConfig config;
    config.buildMaterializations = false;
    (void)applyAnalysisConversion(getOperation(), target, frozen, config);
    signalPassFailure();
  }
};

} // namespace
