//===- LowerChecks.cpp - end the run where a check fails ------------------===//

#include "AbiBuilder.h"
#include "FailService.h"

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/Passes.h"
#include "onnx-aot/abi/Abi.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_LOWERCHECKS
#include "onnx-aot/Codegen/Common/Passes.h.inc"
} // namespace onnx_aot

namespace {

struct LowerChecks : onnx_aot::impl::LowerChecksBase<LowerChecks> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto entry = module.lookupSymbol<LLVM::LLVMFuncOp>(kEntryName);
    SmallVector<cf::AssertOp> checks;
    module.walk([&](cf::AssertOp check) { checks.push_back(check); });
    if (checks.empty())
      return;
    LLVM::LLVMFuncOp fail = getOrDefineFail(module);
    for (auto [index, check] : llvm::enumerate(checks)) {
      // Only the entry has the runtime at hand.
      if (!entry || check->getParentOp() != entry) {
        check.emitError("a check outside of the entry function");
        return signalPassFailure();
      }
      SmallVector<int64_t> offsets;
      LLVM::GlobalOp text =
          createTexts(module, ("onnx_aot.check_" + Twine(index)).str(),
                      check.getMsg(), offsets);
      lowerCheck(check, entry, fail, text);
    }
  }

private:
  static void lowerCheck(cf::AssertOp check, LLVM::LLVMFuncOp entry,
                         LLVM::LLVMFuncOp fail, LLVM::GlobalOp text) {
    AbiBuilder b(check.getContext(), check.getLoc());
    Block *block = check->getBlock();
    Block *rest = block->splitBlock(std::next(check->getIterator()));
    Block *leave = &entry.getBody().emplaceBlock();
    b.setInsertionPointToEnd(block);
    cf::CondBranchOp::create(b, b.loc, check.getArg(), rest, leave);
    b.setInsertionPointToStart(leave);
    b.store(b.constant(ONNX_AOT_RUN_FAILED), entry.getArgument(0), kStatus);
    Value message = LLVM::AddressOfOp::create(b, b.loc, text);
    LLVM::CallOp::create(b, b.loc, fail,
                         ValueRange{entry.getArgument(0), message});
    Type result = entry.getFunctionType().getReturnType();
    if (isa<LLVM::LLVMVoidType>(result))
      LLVM::ReturnOp::create(b, b.loc, ValueRange{});
    else
      LLVM::ReturnOp::create(
          b, b.loc, LLVM::PoisonOp::create(b, b.loc, result).getResult());
    check.erase();
  }
};

} // namespace
