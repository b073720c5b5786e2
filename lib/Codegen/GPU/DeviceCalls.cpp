//===- DeviceCalls.cpp - what host code asks of the device ----------------===//

#include "DeviceCalls.h"

#include "onnx-aot/Codegen/Common/Entry.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

DeviceCalls::DeviceCalls(func::FuncOp entry) : entry(entry) {}

HostRange DeviceCalls::getRange(ImplicitLocOpBuilder &builder, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, value);
  };
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, buffer);
  Value pointer =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, buffer);
  Value elementBytes = constant(llvm::divideCeil(
      DataLayout::closest(entry).getTypeSizeInBits(type.getElementType()), 8));
  Value offset =
      builder.createOrFold<arith::MulIOp>(metadata.getOffset(), elementBytes);
  Value address = builder.createOrFold<arith::AddIOp>(pointer, offset);

  // From the first element to the last; nothing where a size is zero.
  Value last = constant(0), isEmpty;
  for (auto [size, stride] :
       llvm::zip_equal(metadata.getSizes(), metadata.getStrides())) {
    Value steps = builder.createOrFold<arith::SubIOp>(size, constant(1));
    last = builder.createOrFold<arith::AddIOp>(
        last, builder.createOrFold<arith::MulIOp>(steps, stride));
    Value none = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, size,
                                       constant(0));
    isEmpty = isEmpty ? arith::OrIOp::create(builder, isEmpty, none).getResult()
                      : none;
  }
  Value elements = builder.createOrFold<arith::AddIOp>(last, constant(1));
  if (isEmpty)
    elements = arith::SelectOp::create(builder, isEmpty, constant(0), elements);
  Value bytes = builder.createOrFold<arith::MulIOp>(elements, elementBytes);
  auto toWord = [&](Value value) -> Value {
    return arith::IndexCastOp::create(builder, builder.getI64Type(), value);
  };
  return {toWord(address), toWord(bytes), elements};
}

Value DeviceCalls::getWords(int64_t count) {
  OpBuilder builder = OpBuilder::atBlockBegin(&entry.getBody().front());
  Type i64 = builder.getI64Type();
  if (!words) {
    Value one = LLVM::ConstantOp::create(builder, entry.getLoc(), i64,
                                         builder.getI64IntegerAttr(1));
    words = LLVM::AllocaOp::create(
        builder, entry.getLoc(), LLVM::LLVMPointerType::get(entry.getContext()),
        LLVM::LLVMArrayType::get(i64, 0), one);
  }
  auto type = cast<LLVM::LLVMArrayType>(words.getElemType());
  if ((int64_t)type.getNumElements() < count)
    words.setElemType(LLVM::LLVMArrayType::get(i64, count));
  return words;
}

void DeviceCalls::call(ImplicitLocOpBuilder &builder, StringRef name,
                       ArrayRef<Value> arguments) {
  auto module = entry->getParentOfType<ModuleOp>();
  SmallVector<Value> operands{EntryArguments(entry).runtime()};
  llvm::append_range(operands, arguments);
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function) {
    function = func::FuncOp::create(
        module.getLoc(), name,
        FunctionType::get(builder.getContext(), ValueRange(operands).getTypes(),
                          builder.getI32Type()));
    function.setPrivate();
    module.push_back(function);
  }
  Value status = func::CallOp::create(builder, function, operands).getResult(0);
  Value zero = arith::ConstantIntOp::create(builder, 0, 32);
  Value isOk =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, status, zero);
  cf::AssertOp::create(
      builder, isOk, "the model was compiled for a device and none is at hand");
}
