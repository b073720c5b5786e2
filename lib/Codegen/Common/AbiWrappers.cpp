//===- AbiWrappers.cpp - the functions of a module's descriptor -----------===//
//
// `run` builds the entry's buffer descriptors from the ABI's bare pointers. The
// entry sees a context in place of OnnxAotRuntime: { runtime, head of the list
// of blocks allocated during the run, status }. Blocks are released when it
// ends.
//
//===----------------------------------------------------------------------===//

#include "AbiBuilder.h"
#include "FailService.h"

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/Passes.h"
#include "onnx-aot/abi/Abi.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_ABIWRAPPERS
#include "onnx-aot/Codegen/Common/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// Bytes in front of an allocated block: the next block, then padding.
constexpr int64_t kHeaderBytes = ONNX_AOT_ALIGNMENT;

struct AbiWrappers : onnx_aot::impl::AbiWrappersBase<AbiWrappers> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    entry = module.lookupSymbol<LLVM::LLVMFuncOp>(kEntryName);
    plan = module.lookupSymbol<LLVM::LLVMFuncOp>(kPlanName);
    if (!entry || !plan) {
      module.emitError("entry function is not in the LLVM dialect");
      return signalPassFailure();
    }
    inputs = module->getAttrOfType<ArrayAttr>(kInputsAttr);
    outputs = module->getAttrOfType<ArrayAttr>(kOutputsAttr);
    auto symbols = module->getAttrOfType<ArrayAttr>(kAbiSymbolsAttr);
    numSymbols = symbols ? symbols.size() : 0;
    entry.setLinkage(LLVM::Linkage::Internal);
    entry->setAttr(kScalarLoopsAttr, UnitAttr::get(&getContext()));
    plan.setLinkage(LLVM::Linkage::Internal);
    SmallVector<LLVM::LLVMFuncOp> services;
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (function.isExternal() && function.getName().starts_with(kAllocate))
        services.push_back(function);
    for (LLVM::LLVMFuncOp function : services) {
      if (function.getName().starts_with(kAllocateOutput))
        defineAllocateOutput(function);
      else
        defineAllocate(function);
    }
    returnWhenOutOfMemory();
    definePlan();
    defineRun();
  }

private:
  AbiBuilder emitterFor(LLVM::LLVMFuncOp function) {
    AbiBuilder b(&getContext(), entry.getLoc());
    function.setLinkage(LLVM::Linkage::Internal);
    b.setInsertionPointToStart(function.addEntryBlock(b));
    return b;
  }

  /// Fills the shape part of a memref descriptor, row-major, and returns it.
  Value describe(AbiBuilder &b, Type type, Value data, ArrayRef<Value> sizes) {
    Value descriptor = LLVM::PoisonOp::create(b, b.loc, type);
    auto insert = [&](Value value, ArrayRef<int64_t> position) {
      descriptor =
          LLVM::InsertValueOp::create(b, b.loc, descriptor, value, position);
    };
    insert(data, {0});
    insert(data, {1});
    insert(b.constant(0), {2});
    Value stride = b.constant(1);
    for (int64_t dim = sizes.size() - 1; dim >= 0; --dim) {
      insert(sizes[dim], {3, dim});
      insert(stride, {4, dim});
      stride = b.multiply(stride, sizes[dim]);
    }
    return descriptor;
  }

  /// The sizes of a static-or-dynamic shape, dynamic ones taken from `values`.
  SmallVector<Value> sizesOf(AbiBuilder &b, ArrayRef<int64_t> shape,
                             ValueRange values) {
    SmallVector<Value> sizes;
    for (int64_t size : shape) {
      sizes.push_back(ShapedType::isDynamic(size) ? values.front()
                                                  : b.constant(size));
      if (ShapedType::isDynamic(size))
        values = values.drop_front();
    }
    return sizes;
  }

  MemRefType memoryType(LLVM::LLVMFuncOp function) {
    return cast<MemRefType>(
        function->getAttrOfType<TypeAttr>(kBufferAttr).getValue());
  }

  void finishService(AbiBuilder &b, LLVM::LLVMFuncOp function, Value data,
                     ArrayRef<Value> sizes) {
    Type type = function.getFunctionType().getReturnType();
    LLVM::ReturnOp::create(b, b.loc, describe(b, type, data, sizes));
  }

  /// (context, dims...) -> buffer from OnnxAotRuntime::allocate_output.
  void defineAllocateOutput(LLVM::LLVMFuncOp function) {
    StringRef number =
        function.getName().drop_front(kAllocateOutput.size() + 1);
    int64_t index = 0;
    (void)number.getAsInteger(10, index);
    AbiBuilder b = emitterFor(function);
    auto buffer = memoryType(function);
    SmallVector<Value> sizes =
        sizesOf(b, buffer.getShape(), function.getArguments().drop_front());
    Value dims = b.allocaOf(std::max<int64_t>(1, sizes.size()));
    for (auto [i, size] : llvm::enumerate(sizes))
      b.store(size, dims, i);
    Value runtime = b.load(b.ptr, function.getArgument(0), kRuntime);
    Value service = loadService(b, function, runtime, kAllocateOutputWord);
    Value user = b.load(b.ptr, runtime, kUser);
    auto type =
        LLVM::LLVMFunctionType::get(b.ptr, {b.ptr, b.i32, b.i32, b.ptr});
    Value data =
        LLVM::CallOp::create(b, b.loc, type,
                             ValueRange{service, user, b.constant32(index),
                                        b.constant32(sizes.size()), dims})
            .getResult();
    finishService(b, function, data, sizes);
  }

  /// (context, dims...) -> buffer from OnnxAotRuntime::allocate, put on the
  /// list.
  void defineAllocate(LLVM::LLVMFuncOp function) {
    AbiBuilder b = emitterFor(function);
    auto buffer = memoryType(function);
    SmallVector<Value> sizes =
        sizesOf(b, buffer.getShape(), function.getArguments().drop_front());
    Type element = buffer.getElementType();
    Value bytes =
        b.constant(element.isIndex()
                       ? 8
                       : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
    // Sizes come from tensor values: a product that does not fit asks for more
    // than there is, and so for nothing.
    for (Value size : sizes)
      bytes = b.multiplySaturating(bytes, size);
    bytes = LLVM::UAddSat::create(b, b.loc, bytes, b.constant(kHeaderBytes));
    Value context = function.getArgument(0);
    Value runtime = b.load(b.ptr, context, kRuntime);
    Value service = loadService(b, function, runtime, kAllocateWord);
    Value user = b.load(b.ptr, runtime, kUser);
    auto type = LLVM::LLVMFunctionType::get(b.ptr, {b.ptr, b.i64});
    Value block =
        LLVM::CallOp::create(b, b.loc, type, ValueRange{service, user, bytes})
            .getResult();
    Block *none = addBlock(function), *some = addBlock(function);
    LLVM::CondBrOp::create(b, b.loc, b.isNull(block), none, some);
    b.setInsertionPointToStart(none);
    finishService(b, function, b.null(), sizes);
    b.setInsertionPointToStart(some);
    b.store(b.load(b.ptr, context, kHead), block, 0);
    b.store(block, context, kHead);
    finishService(b, function, b.element(block, kHeaderBytes / 8), sizes);
  }

  Block *addBlock(LLVM::LLVMFuncOp function) {
    return &function.getBody().emplaceBlock();
  }

  /// Loads a function pointer of the runtime; on a null runtime or pointer the
  /// service returns a null buffer.
  Value loadService(AbiBuilder &b, LLVM::LLVMFuncOp function, Value runtime,
                    int64_t word) {
    SmallVector<Value> noSizes(memoryType(function).getRank(), b.constant(0));
    Block *none = addBlock(function), *some = addBlock(function),
          *call = addBlock(function);
    LLVM::CondBrOp::create(b, b.loc, b.isNull(runtime), none, some);
    b.setInsertionPointToStart(none);
    finishService(b, function, b.null(), noSizes);
    b.setInsertionPointToStart(some);
    Value service = b.load(b.ptr, runtime, word);
    LLVM::CondBrOp::create(b, b.loc, b.isNull(service), none, call);
    b.setInsertionPointToStart(call);
    return service;
  }

  /// After each request for memory in the entry: leave when there was none.
  void returnWhenOutOfMemory() {
    SmallVector<LLVM::CallOp> calls;
    entry.walk([&](LLVM::CallOp call) {
      if (call.getCallee() && call.getCallee()->starts_with(kAllocate))
        calls.push_back(call);
    });
    for (LLVM::CallOp call : calls) {
      AbiBuilder b(&getContext(), call.getLoc());
      Block *block = call->getBlock();
      Block *rest = block->splitBlock(std::next(call->getIterator()));
      Block *leave = &entry.getBody().emplaceBlock();
      b.setInsertionPointToEnd(block);
      Value data = LLVM::ExtractValueOp::create(b, b.loc, call.getResult(), 1);
      LLVM::CondBrOp::create(b, b.loc, b.isNull(data), leave, rest);
      b.setInsertionPointToStart(leave);
      b.store(b.constant(ONNX_AOT_RUN_NO_ALLOCATOR), entry.getArgument(0),
              kStatus);
      LLVM::ReturnOp::create(b, b.loc, ValueRange{});
    }
  }

  /// Calls main.plan with symbols read from memory; returns the output dims and
  /// the arena's bytes. Returns from the function when the plan gives a reason
  /// against the symbols, after what `refused` does with it.
  SmallVector<Value> callPlan(AbiBuilder &b, LLVM::LLVMFuncOp function,
                              Value symbols,
                              function_ref<void(Value)> refused) {
    SmallVector<Value> arguments;
    for (unsigned i = 0; i < numSymbols; ++i)
      arguments.push_back(b.load(b.i64, symbols, i));
    auto call = LLVM::CallOp::create(b, b.loc, plan, arguments);
    auto structure = cast<LLVM::LLVMStructType>(call.getResult().getType());
    SmallVector<Value> results;
    for (int64_t i = 0; i < (int64_t)structure.getBody().size(); ++i)
      results.push_back(
          LLVM::ExtractValueOp::create(b, b.loc, call.getResult(), i));
    Value reason = results.pop_back_val();
    Block *leave = addBlock(function), *rest = addBlock(function);
    Value isGood = LLVM::ICmpOp::create(b, b.loc, LLVM::ICmpPredicate::eq,
                                        reason, b.constant(0));
    LLVM::CondBrOp::create(b, b.loc, isGood, rest, leave);
    b.setInsertionPointToStart(leave);
    refused(reason);
    LLVM::ReturnOp::create(b, b.loc, b.constant32(ONNX_AOT_RUN_BAD_SHAPE));
    b.setInsertionPointToStart(rest);
    return results;
  }

  /// Hands the text of a reason of the plan to the caller of `run`.
  void tellReason(AbiBuilder &b, Value context, Value reason) {
    ModuleOp module = getOperation();
    SmallVector<StringRef> texts;
    if (auto checks = module->getAttrOfType<ArrayAttr>(kPlanChecksAttr))
      for (auto text : checks.getAsRange<StringAttr>())
        texts.push_back(text.getValue());
    SmallVector<int64_t> offsets;
    LLVM::GlobalOp all =
        createTexts(module, "onnx_aot.plan_checks", texts, offsets);
    // Where each text begins, as a table of the module.
    OpBuilder start = OpBuilder::atBlockBegin(module.getBody());
    auto type = LLVM::LLVMArrayType::get(b.i64, offsets.size());
    auto table = LLVM::GlobalOp::create(
        start, b.loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
        "onnx_aot.plan_check_offsets", b.getI64TensorAttr(offsets));
    Value begin = LLVM::AddressOfOp::create(b, b.loc, table);
    Value index = LLVM::SubOp::create(b, b.loc, reason, b.constant(1));
    Value place = LLVM::GEPOp::create(b, b.loc, b.ptr, b.i64, begin,
                                      ArrayRef<LLVM::GEPArg>{index});
    Value offset = b.load(b.i64, place, 0);
    Value base = LLVM::AddressOfOp::create(b, b.loc, all);
    Value text = LLVM::GEPOp::create(b, b.loc, b.ptr, b.getI8Type(), base,
                                     ArrayRef<LLVM::GEPArg>{offset});
    LLVM::CallOp::create(b, b.loc, getOrDefineFail(module),
                         ValueRange{context, text});
  }

  ArrayRef<int64_t> dimsOf(Attribute info) {
    return cast<DenseI64ArrayAttr>(cast<DictionaryAttr>(info).get("dims"));
  }

  LLVM::LLVMFuncOp createFunction(StringRef name, ArrayRef<Type> arguments) {
    Builder b(&getContext());
    OpBuilder end = OpBuilder::atBlockEnd(getOperation().getBody());
    return LLVM::LLVMFuncOp::create(
        end, entry.getLoc(), name,
        LLVM::LLVMFunctionType::get(b.getI32Type(), arguments));
  }

  void definePlan() {
    Type ptr = LLVM::LLVMPointerType::get(&getContext());
    LLVM::LLVMFuncOp function = createFunction("plan", {ptr, ptr, ptr});
    AbiBuilder b(&getContext(), entry.getLoc());
    b.setInsertionPointToStart(function.addEntryBlock(b));
    SmallVector<Value> results =
        callPlan(b, function, function.getArgument(0), [](Value) {});
    auto guarded = [&](Value pointer, function_ref<void()> body) {
      Block *then = addBlock(function), *after = addBlock(function);
      LLVM::CondBrOp::create(b, b.loc, b.isNull(pointer), after, then);
      b.setInsertionPointToStart(then);
      body();
      LLVM::BrOp::create(b, b.loc, ValueRange{}, after);
      b.setInsertionPointToStart(after);
    };
    guarded(function.getArgument(1), [&] {
      int64_t position = 0, next = 0;
      for (Attribute info : outputs)
        for (int64_t size : dimsOf(info))
          b.store(size < 0 ? results[next++] : b.constant(size),
                  function.getArgument(1), position++);
    });
    guarded(function.getArgument(2),
            [&] { b.store(results.back(), function.getArgument(2), 0); });
    LLVM::ReturnOp::create(b, b.loc, b.constant32(ONNX_AOT_RUN_OK));
  }

  void defineRun() {
    Type ptr = LLVM::LLVMPointerType::get(&getContext());
    LLVM::LLVMFuncOp function =
        createFunction("run", SmallVector<Type>(6, ptr));
    AbiBuilder b(&getContext(), entry.getLoc());
    b.setInsertionPointToStart(function.addEntryBlock(b));
    Value runtime = function.getArgument(0), weights = function.getArgument(1),
          symbols = function.getArgument(2), in = function.getArgument(3),
          out = function.getArgument(4), arena = function.getArgument(5);

    Value context = b.allocaOf(kContextWords);
    b.store(runtime, context, kRuntime);
    b.store(b.null(), context, kHead);
    b.store(b.constant(ONNX_AOT_RUN_OK), context, kStatus);
    SmallVector<Value> planned =
        callPlan(b, function, symbols,
                 [&](Value reason) { tellReason(b, context, reason); });

    SmallVector<Value> arguments{context};
    auto pass = [&](Value data, ArrayRef<Value> sizes) {
      SmallVector<Value> strides(sizes.size());
      Value stride = b.constant(1);
      for (int64_t i = sizes.size() - 1; i >= 0; --i) {
        strides[i] = stride;
        stride = b.multiply(stride, sizes[i]);
      }
      arguments.append({data, data, b.constant(0)});
      arguments.append(sizes.begin(), sizes.end());
      arguments.append(strides);
    };
    auto module = getOperation();
    auto bytes = module->getAttrOfType<IntegerAttr>(kWeightBytesAttr);
    pass(weights, b.constant(bytes ? bytes.getInt() : 0));
    pass(arena, planned.back());
    for (unsigned i = 0; i < numSymbols; ++i)
      arguments.push_back(b.load(b.i64, symbols, i));
    for (auto [index, info] : llvm::enumerate(inputs)) {
      SmallVector<Value> sizes;
      for (int64_t size : dimsOf(info))
        sizes.push_back(size < 0 ? b.load(b.i64, symbols, -size - 1)
                                 : b.constant(size));
      pass(b.load(b.ptr, in, index), sizes);
    }
    auto valueShaped =
        module->getAttrOfType<DenseI64ArrayAttr>(kValueShapedAttr);
    unsigned next = 0;
    for (auto [index, info] : llvm::enumerate(outputs)) {
      SmallVector<Value> sizes;
      for (int64_t size : dimsOf(info))
        sizes.push_back(size < 0 ? planned[next++] : b.constant(size));
      if (!llvm::is_contained(valueShaped.asArrayRef(), (int64_t)index))
        pass(b.load(b.ptr, out, index), sizes);
    }
    LLVM::CallOp::create(b, b.loc, entry, arguments);
    releaseBlocks(b, function, context, runtime);
    Value status = b.load(b.i32, context, kStatus);
    LLVM::ReturnOp::create(b, b.loc, status);
  }

  /// Frees the list of blocks: while (head) { next = *head; release(head); }.
  void releaseBlocks(AbiBuilder &b, LLVM::LLVMFuncOp function, Value context,
                     Value runtime) {
    Block *loop = addBlock(function), *body = addBlock(function),
          *done = addBlock(function);
    Value block = loop->addArgument(b.ptr, b.loc);
    LLVM::BrOp::create(b, b.loc, ValueRange{b.load(b.ptr, context, kHead)},
                       loop);
    b.setInsertionPointToStart(loop);
    LLVM::CondBrOp::create(b, b.loc, b.isNull(block), done, body);
    b.setInsertionPointToStart(body);
    Value next = b.load(b.ptr, block, 0);
    Value release = b.load(b.ptr, runtime, kReleaseWord);
    Value user = b.load(b.ptr, runtime, kUser);
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(&getContext()), {b.ptr, b.ptr});
    LLVM::CallOp::create(b, b.loc, type, ValueRange{release, user, block});
    LLVM::BrOp::create(b, b.loc, ValueRange{next}, loop);
    b.setInsertionPointToStart(done);
  }

  LLVM::LLVMFuncOp entry, plan;
  ArrayAttr inputs, outputs;
  unsigned numSymbols = 0;
};

} // namespace
