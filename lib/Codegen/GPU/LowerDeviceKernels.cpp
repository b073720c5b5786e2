//===- LowerDeviceKernels.cpp - kernel bodies to the LLVM dialect ---------===//

#include "ExpandDeviceMath.h"

#include "onnx-aot/Codegen/GPU/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace onnx_aot;

namespace onnx_aot {
#define GEN_PASS_DEF_LOWERDEVICEKERNELS
#include "onnx-aot/Codegen/GPU/Passes.h.inc"
} // namespace onnx_aot

namespace {

// Pattern: math.f(x : f16) -> truncf(math.f(extf(x)))
struct WidenMath : RewritePattern {
  explicit WidenMath(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/10, context) {}

  static bool isNarrow(Type type) { return type.isF16() || type.isBF16(); }

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<math::MathDialect>(op->getDialect()) ||
        !llvm::any_of(op->getOperandTypes(), isNarrow))
      return failure();
    Location loc = op->getLoc();
    Type f32 = rewriter.getF32Type();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          isNarrow(operand.getType())
              ? arith::ExtFOp::create(rewriter, loc, f32, operand).getResult()
              : operand);
    Type result = op->getResult(0).getType();
    OperationState state(loc, op->getName(), operands,
                         isNarrow(result) ? f32 : result, op->getAttrs());
    Value value = rewriter.create(state)->getResult(0);
    if (isNarrow(result))
      value = arith::TruncFOp::create(rewriter, loc, result, value);
    rewriter.replaceOp(op, value);
    return success();
  }
};

struct LowerDeviceKernels
    : onnx_aot::impl::LowerDeviceKernelsBase<LowerDeviceKernels> {
  void runOnOperation() override {
    if (failed(expandMath()))
      return signalPassFailure();
    OpPassManager loops(gpu::GPUModuleOp::getOperationName());
    loops.addPass(createCanonicalizerPass());
    loops.addPass(createCSEPass());
    loops.addPass(createSCFToControlFlowPass());
    if (failed(runPipeline(loops, getOperation())) || failed(convert()))
      signalPassFailure();
  }

private:
  LogicalResult expandMath() {
    RewritePatternSet patterns(&getContext());
    patterns.add<WidenMath>(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained(
          {math::ExpOp::getOperationName(), math::TanhOp::getOperationName(),
           math::ErfOp::getOperationName(), math::LogOp::getOperationName(),
           math::Log1pOp::getOperationName(), math::Log2Op::getOperationName(),
           math::ExpM1Op::getOperationName(),
           math::Atan2Op::getOperationName()},
          name);
    });
    math::populateExpansionPatterns(patterns, {StringRef("rsqrt")});
    populateExpandDeviceMathPatterns(patterns);
    arith::populateArithExpandOpsPatterns(patterns);
    arith::populateExpandBFloat16Patterns(patterns);
    return applyPatternsGreedily(getOperation(), std::move(patterns));
  }

  LogicalResult convert() {
    LowerToLLVMOptions options(&getContext());
    options.overrideIndexBitwidth(64);
    LLVMTypeConverter converter(&getContext(), options);
    RewritePatternSet patterns(&getContext());
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    LLVMConversionTarget target(getContext());
    target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect,
                             math::MathDialect>();
    target.addLegalDialect<NVVM::NVVMDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    return applyPartialConversion(getOperation(), target, std::move(patterns));
  }
};

} // namespace
