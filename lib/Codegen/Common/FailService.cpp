//===- FailService.cpp - tell the caller why a run ends -------------------===//

#include "FailService.h"

#include "AbiBuilder.h"

using namespace mlir;

namespace onnx_aot::codegen {

static constexpr StringLiteral kFailName = "onnx_aot.fail";

LLVM::LLVMFuncOp getOrDefineFail(ModuleOp module) {
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(kFailName))
    return function;
  AbiBuilder b(module.getContext(), module.getLoc());
  b.setInsertionPointToEnd(module.getBody());
  Type none = LLVM::LLVMVoidType::get(module.getContext());
  auto type = LLVM::LLVMFunctionType::get(none, {b.ptr, b.ptr});
  auto function = LLVM::LLVMFuncOp::create(b, b.loc, kFailName, type,
                                           LLVM::Linkage::Internal);
  Block *start = function.addEntryBlock(b);
  auto addBlock = [&] { return &function.getBody().emplaceBlock(); };
  Block *hasRuntime = addBlock(), *hasService = addBlock(), *end = addBlock();
  Value context = function.getArgument(0), text = function.getArgument(1);

  b.setInsertionPointToStart(start);
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

LLVM::GlobalOp createTexts(ModuleOp module, StringRef name,
                           ArrayRef<StringRef> texts,
                           SmallVectorImpl<int64_t> &offsets) {
  AbiBuilder b(module.getContext(), module.getLoc());
  b.setInsertionPointToStart(module.getBody());
  std::string all;
  for (StringRef text : texts) {
    offsets.push_back(all.size());
    all += text;
    // Names from files may hold other zeros.
    std::replace(all.begin() + offsets.back(), all.end(), '\0', ' ');
    all.push_back('\0');
  }
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), all.size());
  return LLVM::GlobalOp::create(b, b.loc, type, /*isConstant=*/true,
                                LLVM::Linkage::Internal, name,
                                b.getStringAttr(all));
}

} // namespace onnx_aot::codegen
