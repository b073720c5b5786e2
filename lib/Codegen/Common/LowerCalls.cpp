//===- LowerCalls.cpp - calls of C functions by addresses and sizes -------===//

#include "CallInfo.h"

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/Passes.h"
#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_LOWERCALLS
#include "onnx-aot/Codegen/Common/Passes.h.inc"
} // namespace onnx_aot

namespace {

struct LowerCalls : onnx_aot::impl::LowerCallsBase<LowerCalls> {
  void runOnOperation() override {
    SmallVector<kernel::CallOp> calls;
    getOperation().walk([&](kernel::CallOp call) { calls.push_back(call); });
    if (calls.empty())
      return;
    func::FuncOp entry = getEntry(getOperation());
    for (auto [index, call] : llvm::enumerate(calls)) {
      if (!entry || call->getParentOfType<func::FuncOp>() != entry) {
        call.emitError("a call of a C function outside of the entry function");
        return signalPassFailure();
      }
      if (call.getCallee() == kStringsCallee)
        makeStrings(call);
      else if (call.getCallee() == kEqualCallee)
        compareStrings(call);
      else
        lower(call, entry, index);
    }
  }

private:
  /// scf.for loops over all elements of a buffer.
  void createLoops(OpBuilder &builder, Location loc, Value buffer,
                   function_ref<void(OpBuilder &, Location, ValueRange)> body) {
    auto type = cast<MemRefType>(buffer.getType());
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    SmallVector<Value> zeros(type.getRank(), constant(0));
    SmallVector<Value> ones(type.getRank(), constant(1)), sizes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      sizes.push_back(type.isDynamicDim(dim) ? Value(memref::DimOp::create(
                                                   builder, loc, buffer, dim))
                                             : constant(type.getDimSize(dim)));
    scf::buildLoopNest(builder, loc, zeros, sizes, ones, body);
  }

  static Value toInteger(OpBuilder &b, Location loc, Value index) {
    return arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
  }

  /// Strings of a constant: the bytes between two offsets each.
  void makeStrings(kernel::CallOp call) {
    OpBuilder builder(call);
    Location loc = call.getLoc();
    Value bytes = call.getInputs()[0], offsets = call.getInputs()[1];
    Value strings = call.getOutputs()[0];
    Value base = toInteger(
        builder, loc,
        memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, bytes));
    createLoops(builder, loc, strings,
                [&](OpBuilder &b, Location l, ValueRange at) {
                  Type wide = b.getIntegerType(128);
                  Value one = arith::ConstantIndexOp::create(b, l, 1);
                  Value next = arith::AddIOp::create(b, l, at[0], one);
                  Value begin = memref::LoadOp::create(b, l, offsets, at[0]);
                  Value end = memref::LoadOp::create(b, l, offsets, next);
                  Value size = arith::SubIOp::create(b, l, end, begin);
                  Value address = arith::AddIOp::create(b, l, base, begin);
                  Value half = arith::ConstantIntOp::create(b, l, 64, 128);
                  Value high = arith::ShLIOp::create(
                      b, l, arith::ExtUIOp::create(b, l, wide, size), half);
                  Value low = arith::ExtUIOp::create(b, l, wide, address);
                  memref::StoreOp::create(
                      b, l, arith::OrIOp::create(b, l, high, low), strings, at);
                });
    call.erase();
  }

  /// Element by element: sizes, then bytes.
  void compareStrings(kernel::CallOp call) {
    OpBuilder builder(call);
    Value a = call.getInputs()[0], b = call.getInputs()[1];
    Value flags = call.getOutputs()[0];
    LLVM::LLVMFuncOp compare = declareCompare();
    createLoops(
        builder, call.getLoc(), flags,
        [&](OpBuilder &builder, Location loc, ValueRange at) {
          Type i64 = builder.getI64Type();
          Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
          Value half = arith::ConstantIntOp::create(builder, loc, 64, 128);
          auto getSize = [&](Value string) -> Value {
            return arith::TruncIOp::create(
                builder, loc, i64,
                arith::ShRUIOp::create(builder, loc, string, half));
          };
          auto getBytes = [&](Value string) -> Value {
            Value address = arith::TruncIOp::create(builder, loc, i64, string);
            return LLVM::IntToPtrOp::create(builder, loc, pointer, address);
          };
          Value first = memref::LoadOp::create(builder, loc, a, at);
          Value second = memref::LoadOp::create(builder, loc, b, at);
          Value size = getSize(first);
          Value sameSize = arith::CmpIOp::create(
              builder, loc, arith::CmpIPredicate::eq, size, getSize(second));
          Value none = arith::ConstantIntOp::create(builder, loc, 0, 64);
          Value compared =
              arith::SelectOp::create(builder, loc, sameSize, size, none);
          Value order =
              LLVM::CallOp::create(
                  builder, loc, compare,
                  ValueRange{getBytes(first), getBytes(second), compared})
                  .getResult();
          Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
          Value sameBytes = arith::CmpIOp::create(
              builder, loc, arith::CmpIPredicate::eq, order, zero);
          Value isEqual =
              arith::AndIOp::create(builder, loc, sameSize, sameBytes);
          memref::StoreOp::create(builder, loc,
                                  arith::ExtUIOp::create(builder, loc,
                                                         builder.getI8Type(),
                                                         isEqual),
                                  flags, at);
        });
    call.erase();
  }

  LLVM::LLVMFuncOp declareCompare() {
    if (auto function = getOperation().lookupSymbol<LLVM::LLVMFuncOp>("memcmp"))
      return function;
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    return LLVM::LLVMFuncOp::create(
        builder, getOperation().getLoc(), "memcmp",
        LLVM::LLVMFunctionType::get(builder.getI32Type(),
                                    {pointer, pointer, builder.getI64Type()}));
  }

  void lower(kernel::CallOp call, func::FuncOp entry, size_t index) {
    OpBuilder builder(call);
    Location loc = call.getLoc();
    SmallVector<Value> operands{EntryArguments(entry).runtime()}, sizes;
    for (Value buffer : call.getOperands()) {
      operands.push_back(
          memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer));
      auto type = cast<MemRefType>(buffer.getType());
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        sizes.push_back(
            type.isDynamicDim(dim)
                ? Value(memref::DimOp::create(builder, loc, buffer, dim))
                : Value(arith::ConstantIndexOp::create(builder, loc,
                                                       type.getDimSize(dim))));
    }
    llvm::append_range(operands, sizes);
    auto function = func::FuncOp::create(
        loc, (kCall + "." + Twine(index)).str(),
        FunctionType::get(&getContext(), ValueRange(operands).getTypes(),
                          builder.getI32Type()));
    function.setPrivate();
    function->setAttr(kCallAttr, describe(call));
    getOperation().push_back(function);
    Value status =
        func::CallOp::create(builder, loc, function, operands).getResult(0);
    Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
    Value isFine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         status, zero);
    cf::AssertOp::create(builder, loc, isFine, call.getMessageAttr());
    call.erase();
  }

  /// What the function's definition needs to know.
  DictionaryAttr describe(kernel::CallOp call) {
    Builder builder(&getContext());
    SmallVector<int32_t> ranks;
    for (Value buffer : call.getOperands())
      ranks.push_back(cast<MemRefType>(buffer.getType()).getRank());
    NamedAttrList list;
    list.set("callee", call.getCalleeAttr());
    list.set("inputs", call.getInputTypesAttr());
    list.set("outputs", call.getOutputTypesAttr());
    list.set("ranks", builder.getDenseI32ArrayAttr(ranks));
    if (DenseI32ArrayAttr asked = call.getOutputRanksAttr())
      list.set("asked", asked);
    list.set("attributes", call.getNodeAttributesAttr());
    return list.getDictionary(&getContext());
  }
};

} // namespace
