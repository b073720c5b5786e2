//===- ParallelLaunch.cpp - kernels as parallel loops ---------------------===//

#include "AbiBuilder.h"

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/Passes.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_PARALLELLAUNCH
#include "onnx-aot/Codegen/Common/Passes.h.inc"
} // namespace onnx_aot

namespace {

struct ParallelLaunch : onnx_aot::impl::ParallelLaunchBase<ParallelLaunch> {
  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> launchers;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (function.isExternal() && function.getName().ends_with(kLaunchSuffix))
        launchers.push_back(function);
    for (LLVM::LLVMFuncOp launcher : launchers)
      define(launcher);
  }

private:
  void define(LLVM::LLVMFuncOp launcher) {
    StringRef name = launcher.getName().drop_back(kLaunchSuffix.size());
    auto kernel = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name);
    kernel.setLinkage(LLVM::Linkage::Internal);
    launcher.setLinkage(LLVM::Linkage::Internal);
    LLVM::LLVMFuncOp task = defineTask(kernel);

    AbiBuilder b(&getContext(), launcher.getLoc());
    b.setInsertionPointToStart(launcher.addEntryBlock(b));
    Value context = launcher.getArgument(0);
    Value count = launcher.getArguments().back();
    ValueRange packed = launcher.getArguments().drop_front().drop_back();
    Region &body = launcher.getBody();
    Block *direct = &body.emplaceBlock(), *check = &body.emplaceBlock(),
          *serviceCheck = &body.emplaceBlock(),
          *parallel = &body.emplaceBlock();

    Value one = b.constant(1);
    Value few =
        LLVM::ICmpOp::create(b, b.loc, LLVM::ICmpPredicate::sle, count, one);
    LLVM::CondBrOp::create(b, b.loc, few, direct, check);
    b.setInsertionPointToStart(check);
    Value runtime = b.load(b.ptr, context, kRuntime);
    LLVM::CondBrOp::create(b, b.loc, b.isNull(runtime), direct, serviceCheck);
    b.setInsertionPointToStart(serviceCheck);
    Value service = b.load(b.ptr, runtime, kParallelFor);
    LLVM::CondBrOp::create(b, b.loc, b.isNull(service), direct, parallel);

    b.setInsertionPointToStart(direct);
    SmallVector<Value> operands(packed);
    operands.append({b.constant(0), count});
    LLVM::CallOp::create(b, b.loc, kernel, operands);
    LLVM::ReturnOp::create(b, b.loc, ValueRange{});

    b.setInsertionPointToStart(parallel);
    Value words = b.allocaOf(std::max<int64_t>(1, packed.size()));
    for (auto [index, value] : llvm::enumerate(packed))
      b.store(value, words, index);
    Value user = b.load(b.ptr, runtime, kUser);
    Value address = LLVM::AddressOfOp::create(b, b.loc, task);
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(&getContext()), {b.ptr, b.ptr, b.ptr, b.i64});
    LLVM::CallOp::create(b, b.loc, type,
                         ValueRange{service, user, address, words, count});
    LLVM::ReturnOp::create(b, b.loc, ValueRange{});
  }

  /// OnnxAotTask: unpacks the arguments and runs the kernel on a range.
  LLVM::LLVMFuncOp defineTask(LLVM::LLVMFuncOp kernel) {
    AbiBuilder b(&getContext(), kernel.getLoc());
    b.setInsertionPoint(kernel);
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(&getContext()), {b.ptr, b.i64, b.i64});
    auto task =
        LLVM::LLVMFuncOp::create(b, b.loc, (kernel.getName() + ".task").str(),
                                 type, LLVM::Linkage::Internal);
    b.setInsertionPointToStart(task.addEntryBlock(b));
    SmallVector<Value> operands;
    ArrayRef<Type> types = kernel.getFunctionType().getParams();
    for (auto [index, type] : llvm::enumerate(types.drop_back(2)))
      operands.push_back(b.load(type, task.getArgument(0), index));
    operands.append({task.getArgument(1), task.getArgument(2)});
    LLVM::CallOp::create(b, b.loc, kernel, operands);
    LLVM::ReturnOp::create(b, b.loc, ValueRange{});
    return task;
  }
};

} // namespace
