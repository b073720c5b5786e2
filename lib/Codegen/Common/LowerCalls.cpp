//===- LowerCalls.cpp - calls of C functions by addresses and sizes
//---------===//

#include "CallInfo.h"

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/Passes.h"
#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

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
      lower(call, entry, index);
    }
  }

private:
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
