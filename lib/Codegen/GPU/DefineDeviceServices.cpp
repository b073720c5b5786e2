//===- DefineDeviceServices.cpp - calls of the runtime's device -----------===//

#include "DeviceCalls.h"

#include "../Common/AbiBuilder.h"
#include "onnx-aot/Codegen/GPU/Passes.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_DEFINEDEVICESERVICES
#include "onnx-aot/Codegen/GPU/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// Words of OnnxAotDevice.
enum DeviceWord { kDeviceUser, kLaunchWord, kAccessWord, kCopyWord };

struct DefineDeviceServices
    : onnx_aot::impl::DefineDeviceServicesBase<DefineDeviceServices> {
  void runOnOperation() override {
    std::pair<StringRef, int64_t> services[] = {{kDeviceLaunch, kLaunchWord},
                                                {kDeviceAccess, kAccessWord},
                                                {kDeviceCopy, kCopyWord}};
    for (auto [name, word] : services)
      if (auto function = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name))
        define(function, word);
  }

private:
  /// (context, arguments...) -> status of the service of that number.
  void define(LLVM::LLVMFuncOp function, int64_t word) {
    AbiBuilder b(&getContext(), function.getLoc());
    function.setLinkage(LLVM::Linkage::Internal);
    b.setInsertionPointToStart(function.addEntryBlock(b));
    auto addBlock = [&] { return &function.getBody().emplaceBlock(); };
    Block *none = addBlock(), *some = addBlock(), *call = addBlock();
    Value runtime = b.load(b.ptr, function.getArgument(0), kRuntime);
    LLVM::CondBrOp::create(b, b.loc, b.isNull(runtime), none, some);
    b.setInsertionPointToStart(none);
    LLVM::ReturnOp::create(b, b.loc, b.constant32(1));
    b.setInsertionPointToStart(some);
    Value device = b.load(b.ptr, runtime, kDeviceTable);
    LLVM::CondBrOp::create(b, b.loc, b.isNull(device), none, call);

    b.setInsertionPointToStart(call);
    Value service = b.load(b.ptr, device, word);
    SmallVector<Value> operands{service, b.load(b.ptr, device, kDeviceUser)};
    SmallVector<Type> types{b.ptr};
    for (Value argument : function.getArguments().drop_front()) {
      // Addresses travel as words.
      operands.push_back(argument);
      types.push_back(argument.getType());
    }
    auto type = LLVM::LLVMFunctionType::get(b.i32, types);
    Value status = LLVM::CallOp::create(b, b.loc, type, operands).getResult();
    LLVM::ReturnOp::create(b, b.loc, status);
  }
};

} // namespace
