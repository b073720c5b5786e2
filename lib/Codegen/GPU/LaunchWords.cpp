//===- LaunchWords.cpp - the arguments of a launch ------------------------===//

#include "LaunchWords.h"

#include "onnx-aot/abi/Device.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace onnx_aot::gpu_kernel {

/// Most elements of a buffer: indices have 32 bits, and loops step past the
/// end.
static constexpr int64_t kMaxElements = (int64_t(1) << 31) - (int64_t(1) << 25);

bool isDense(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getLayout().isIdentity();
}

Value LaunchWords::word(int64_t value) {
  return arith::ConstantIntOp::create(builder, value, 64);
}

Value LaunchWords::toWord(Value value) {
  Type i64 = builder.getI64Type(), type = value.getType();
  if (isa<IndexType>(type))
    return arith::IndexCastOp::create(builder, i64, value);
  unsigned width = type.getIntOrFloatBitWidth();
  if (isa<FloatType>(type))
    value =
        arith::BitcastOp::create(builder, builder.getIntegerType(width), value);
  return width == 64 ? value
                     : arith::ExtUIOp::create(builder, i64, value).getResult();
}

void LaunchWords::appendScalar(Value value) {
  words.append({toWord(value), word(0), word(ONNX_AOT_SCALAR)});
}

void LaunchWords::appendScratch(Value bytes) {
  words.append({word(0), toWord(bytes), word(ONNX_AOT_SCRATCH)});
}

void LaunchWords::appendBuffer(Value buffer, int64_t access) {
  auto type = cast<MemRefType>(buffer.getType());
  HostRange range = calls.getRange(builder, buffer);
  words.append({range.address, range.bytes, word(access)});
  if (!type.hasStaticShape() || !isDense(buffer)) {
    Value limit = arith::ConstantIndexOp::create(builder, kMaxElements);
    Value small = arith::CmpIOp::create(builder, arith::CmpIPredicate::ule,
                                        range.elements, limit);
    fits =
        fits ? arith::AndIOp::create(builder, fits, small).getResult() : small;
  }
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, buffer);
  for (auto [axis, size] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(size))
      appendScalar(metadata.getSizes()[axis]);
  if (isDense(buffer))
    return;
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)type.getStridesAndOffset(strides, offset);
  for (auto [axis, stride] : llvm::enumerate(strides))
    if (ShapedType::isDynamic(stride))
      appendScalar(metadata.getStrides()[axis]);
}

void LaunchWords::store() {
  if (fits)
    cf::AssertOp::create(builder, fits,
                         "a tensor has too many elements for the device");
  memory = calls.getWords(words.size());
  for (auto [index, word] : llvm::enumerate(words)) {
    Value place = LLVM::GEPOp::create(
        builder, memory.getType(), builder.getI64Type(), memory,
        ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(index)});
    LLVM::StoreOp::create(builder, word, place);
  }
}

void LaunchWords::launch(int64_t kernel, Value blocks) {
  Value number = arith::ConstantIntOp::create(builder, kernel, 32);
  Value count = arith::ConstantIntOp::create(builder, words.size() / 3, 32);
  Value grid =
      arith::IndexCastOp::create(builder, builder.getI64Type(), blocks);
  calls.call(builder, kDeviceLaunch, {number, grid, memory, count});
}

} // namespace onnx_aot::gpu_kernel
