//===- LowerChecks.cpp - end the run where a check fails --------------------===//

#include "AbiBuilder.h"

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

/// Notes the failure and hands the reason to the runtime: (context, message).
constexpr StringLiteral kFailName = "onnx_aot.fail";

struct LowerChecks : onnx_aot::impl::LowerChecksBase<LowerChecks> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto entry = module.lookupSymbol<LLVM::LLVMFuncOp>(kEntryName);
    SmallVector<cf::AssertOp> checks;
    module.walk([&](cf::AssertOp check) { checks.push_back(check); });
    if (checks.empty())
      return;
    LLVM::LLVMFuncOp fail = defineFail();
    for (auto [index, check] : llvm::enumerate(checks)) {
      // Only the entry has the runtime at hand.
      if (!entry || check->getParentOp() != entry) {
        check.emitError("a check outside of the entry function");
        return signalPassFailure();
      }
      lowerCheck(check, entry, fail, createText(check, index));
    }
  }

private:
  /// void fail(context, text): sets the status, tells the runtime why.
  LLVM::LLVMFuncOp defineFail() {
    AbiBuilder b(&getContext(), getOperation().getLoc());
    b.setInsertionPointToEnd(getOperation().getBody());
    Type none = LLVM::LLVMVoidType::get(&getContext());
    auto type = LLVM::LLVMFunctionType::get(none, {b.ptr, b.ptr});
    auto function = LLVM::LLVMFuncOp::create(b, b.loc, kFailName, type,
                                             LLVM::Linkage::Internal);
    Block *start = function.addEntryBlock(b);
    auto addBlock = [&] { return &function.getBody().emplaceBlock(); };
    Block *hasRuntime = addBlock(), *hasService = addBlock(), *end = addBlock();
    Value context = function.getArgument(0), text = function.getArgument(1);

    b.setInsertionPointToStart(start);
    b.store(b.constant(ONNX_AOT_RUN_FAILED), context, kStatus);
    Value runtime = b.load(b.ptr, context, kRuntime);
    LLVM::CondBrOp::create(b, b.loc, b.isNull(runtime), end, hasRuntime);
    b.setInsertionPointToStart(hasRuntime);
    Value service = b.load(b.ptr, runtime, kFail);
    LLVM::CondBrOp::create(b, b.loc, b.isNull(service), end, hasService);
    b.setInsertionPointToStart(hasService);
    Value user = b.load(b.ptr, runtime, kUser);
    LLVM::CallOp::create(b, b.loc, type, ValueRange{service, user, text});
    LLVM::BrOp::create(b, b.loc, end);
    b.setInsertionPointToStart(end);
    LLVM::ReturnOp::create(b, b.loc, ValueRange{});
    return function;
  }

  /// The message as a constant of the module.
  LLVM::GlobalOp createText(cf::AssertOp check, unsigned index) {
    AbiBuilder b(&getContext(), check.getLoc());
    b.setInsertionPointToStart(getOperation().getBody());
    // With the end that C expects; names from files may hold other zeros.
    std::string text = check.getMsg().str();
    std::replace(text.begin(), text.end(), '\0', ' ');
    text.push_back('\0');
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
    return LLVM::GlobalOp::create(b, b.loc, type, /*isConstant=*/true,
                                  LLVM::Linkage::Internal,
                                  ("onnx_aot.check_" + Twine(index)).str(),
                                  b.getStringAttr(text));
  }

  static void lowerCheck(cf::AssertOp check, LLVM::LLVMFuncOp entry,
                         LLVM::LLVMFuncOp fail, LLVM::GlobalOp text) {
    AbiBuilder b(check.getContext(), check.getLoc());
    Block *block = check->getBlock();
    Block *rest = block->splitBlock(std::next(check->getIterator()));
    Block *leave = &entry.getBody().emplaceBlock();
    b.setInsertionPointToEnd(block);
    cf::CondBranchOp::create(b, b.loc, check.getArg(), rest, leave);
    b.setInsertionPointToStart(leave);
    Value message = LLVM::AddressOfOp::create(b, b.loc, text);
    LLVM::CallOp::create(b, b.loc, fail,
                         ValueRange{entry.getArgument(0), message});
    Type result = entry.getFunctionType().getReturnType();
    if (isa<LLVM::LLVMVoidType>(result))
      LLVM::ReturnOp::create(b, b.loc, ValueRange{});
    else
      LLVM::ReturnOp::create(b, b.loc,
                             LLVM::PoisonOp::create(b, b.loc, result).getResult());
    check.erase();
  }
};

} // namespace
