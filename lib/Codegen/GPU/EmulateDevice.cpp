//===- EmulateDevice.cpp - device kernels as checked host code ------------===//

#include "KernelWriter.h"

#include "onnx-aot/Codegen/GPU/Passes.h"
#include "onnx-aot/Support/EntryAttributes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace onnx_aot;
using gpu_kernel::kGlobalSpace;
using gpu_kernel::kSharedSpace;

namespace onnx_aot {
#define GEN_PASS_DEF_EMULATEDEVICE
#include "onnx-aot/Codegen/GPU/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// Special registers by the numbers that the emulator knows them by.
enum Register { kThreadX, kBlockX, kGridX };

struct EmulateDevice : onnx_aot::impl::EmulateDeviceBase<EmulateDevice> {
  void runOnOperation() override {
    ImplicitLocOpBuilder b(getOperation().getLoc(), &getContext());
    builder = &b;
    pointer = LLVM::LLVMPointerType::get(&getContext());
    SmallVector<LLVM::LLVMFuncOp> kernels;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal())
        kernels.push_back(function);
    placeShared();
    for (LLVM::LLVMFuncOp kernel : kernels) {
      if (failed(replaceOps(kernel)))
        return signalPassFailure();
      dropSpaces(kernel);
      addThunk(kernel);
    }
    addSizes();
    for (auto global :
         llvm::make_early_inc_range(getOperation().getOps<LLVM::GlobalOp>()))
      if (global.getAddrSpace() == kSharedSpace)
        global.erase();
  }

private:
  Type i32() { return builder->getI32Type(); }
  Type i64() { return builder->getI64Type(); }
  Type none() { return LLVM::LLVMVoidType::get(&getContext()); }

  Value constant(Type type, int64_t value) {
    return LLVM::ConstantOp::create(*builder, type,
                                    builder->getIntegerAttr(type, value));
  }

  Value call(StringRef name, Type result, ValueRange arguments) {
    auto function = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!function) {
      OpBuilder::InsertionGuard guard(*builder);
      builder->setInsertionPointToEnd(getOperation().getBody());
      function = LLVM::LLVMFuncOp::create(
          *builder, name,
          LLVM::LLVMFunctionType::get(result,
                                      SmallVector<Type>(arguments.getTypes())));
    }
    auto made = LLVM::CallOp::create(*builder, function, arguments);
    return isa<LLVM::LLVMVoidType>(result) ? Value() : made.getResult();
  }

  /// A kernel's shared memory is one block, which the emulator gives out.
  void placeShared() {
    DataLayout layout(getOperation()->getParentOfType<ModuleOp>());
    llvm::StringMap<int64_t> sizes;
    for (auto global : getOperation().getOps<LLVM::GlobalOp>()) {
      StringRef kernel = global.getSymName().split('.').first;
      int64_t &offset = sizes[kernel];
      places[global.getSymName()] = offset;
      offset += llvm::alignTo(layout.getTypeSize(global.getType()), 16);
    }
  }

  /// Constants <kernel>__shared: bytes of shared memory.
  void addSizes() {
    builder->setInsertionPointToEnd(getOperation().getBody());
    auto list = getOperation()->getAttrOfType<ArrayAttr>(kDeviceKernelsAttr);
    for (Attribute entry : list) {
      auto kernel = cast<DictionaryAttr>(entry);
      LLVM::GlobalOp::create(
          *builder, i64(), /*isConstant=*/true, LLVM::Linkage::External,
          (kernel.getAs<StringAttr>("name").getValue() + "__shared").str(),
          kernel.get("shared_bytes"));
    }
  }

  LogicalResult replaceOps(LLVM::LLVMFuncOp kernel) {
    SmallVector<Operation *> ops;
    kernel.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      builder->setInsertionPoint(op);
      builder->setLoc(op->getLoc());
      if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
        announce(load.getAddr(), load.getType(), false);
      } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
        announce(store.getAddr(), store.getValue().getType(), true);
      } else if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
        Value place =
            call("onnx_aot_emu_shared", pointer,
                 {constant(i64(), places.lookup(address.getGlobalName()))});
        // Accesses tell the kinds of memory apart by their addresses' types.
        replace(op, LLVM::AddrSpaceCastOp::create(*builder, address.getType(),
                                                  place));
      } else if (isa<NVVM::NVVMDialect>(op->getDialect())) {
        if (failed(replaceIntrinsic(op)))
          return failure();
      }
    }
    return success();
  }

  LogicalResult replaceIntrinsic(Operation *op) {
    std::optional<Register> number;
    if (isa<NVVM::ThreadIdXOp>(op))
      number = kThreadX;
    else if (isa<NVVM::BlockIdXOp>(op))
      number = kBlockX;
    else if (isa<NVVM::GridDimXOp>(op))
      number = kGridX;
    if (number) {
      replace(op,
              call("onnx_aot_emu_register", i32(), {constant(i32(), *number)}));
      return success();
    }
    if (isa<NVVM::Barrier0Op>(op)) {
      call("onnx_aot_emu_barrier", none(), {});
      op->erase();
      return success();
    }
    if (auto rounding = dyn_cast<NVVM::ConvertFloatToTF32Op>(op)) {
      replace(op, call("onnx_aot_emu_round_tf32", i32(), rounding.getSrc()));
      return success();
    }
    if (auto copy = dyn_cast<NVVM::CpAsyncOp>(op)) {
      Value bytes = constant(i32(), copy.getSize());
      call("onnx_aot_emu_copy", none(),
           {plain(copy.getDst()), plain(copy.getSrc()), bytes,
            copy.getCpSize() ? copy.getCpSize() : bytes});
      op->erase();
      return success();
    }
    if (isa<NVVM::CpAsyncCommitGroupOp>(op)) {
      call("onnx_aot_emu_commit_copies", none(), {});
      op->erase();
      return success();
    }
    if (auto wait = dyn_cast<NVVM::CpAsyncWaitGroupOp>(op)) {
      call("onnx_aot_emu_wait_for_copies", none(),
           {constant(i32(), wait.getN())});
      op->erase();
      return success();
    }
    if (auto product = dyn_cast<NVVM::MmaOp>(op))
      return replaceProduct(product);
    if (auto load = dyn_cast<NVVM::LdMatrixOp>(op))
      return replaceMatrixLoad(load);
    auto shuffle = dyn_cast<NVVM::ShflOp>(op);
    if (!shuffle || shuffle.getKind() != NVVM::ShflKind::bfly ||
        !shuffle.getType().isInteger(32))
      return op->emitError("the emulator lacks this operation");
    replace(op, call("onnx_aot_emu_shuffle", i32(),
                     {shuffle.getThreadMask(), shuffle.getVal(),
                      shuffle.getOffset()}));
    return success();
  }

  /// Kinds of products by the numbers that the emulator knows them by.
  static std::optional<int64_t> getProductKind(NVVM::MmaOp op) {
    using NVVM::MMATypes;
    std::optional<MMATypes> type = op.getMultiplicandAPtxType();
    NVVM::MMAShapeAttr shape = op.getShapeAttr();
    if (!type || type != op.getMultiplicandBPtxType() || shape.getM() != 16 ||
        shape.getN() != 8)
      return std::nullopt;
    constexpr std::pair<MMATypes, int64_t> known[] = {{MMATypes::f16, 16},
                                                      {MMATypes::bf16, 16},
                                                      {MMATypes::tf32, 8},
                                                      {MMATypes::s8, 32},
                                                      {MMATypes::u8, 32}};
    for (auto [number, kind] : llvm::enumerate(known))
      if (kind.first == *type && kind.second == shape.getK())
        return number;
    return std::nullopt;
  }

  /// A product of fragments: registers by value, the sums through memory.
  LogicalResult replaceProduct(NVVM::MmaOp op) {
    std::optional<int64_t> kind = getProductKind(op);
    if (!kind)
      return op->emitError("the emulator lacks this operation");
    auto toWord = [&](Value value) -> Value {
      if (value.getType() == i32())
        return value;
      return LLVM::BitcastOp::create(*builder, i32(), value);
    };
    SmallVector<Value> arguments{constant(i32(), *kind)};
    for (OperandRange words :
         {op.getOperandA(), op.getOperandB(), op.getOperandC()})
      for (Value word : words)
        arguments.push_back(toWord(word));
    replaceByParts(op, "onnx_aot_emu_multiply", arguments,
                   op.getOperandC().front().getType());
    return success();
  }

  /// Four matrices of rows of 16 bytes, as they lie.
  LogicalResult replaceMatrixLoad(NVVM::LdMatrixOp op) {
    if (op.getNum() != 4 || op.getLayout() != NVVM::MMALayout::row ||
        op.getEltType() != NVVM::LdStMatrixEltType::B16)
      return op->emitError("the emulator lacks this operation");
    SmallVector<Value> arguments{plain(op.getPtr())};
    replaceByParts(op, "onnx_aot_emu_load_matrices", arguments, i32());
    return success();
  }

  /// Calls a function that writes the op's four results to memory.
  void replaceByParts(Operation *op, StringRef name,
                      SmallVector<Value> arguments, Type element) {
    auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
    Value parts;
    {
      OpBuilder::InsertionGuard guard(*builder);
      builder->setInsertionPointToStart(&function.getBody().front());
      parts = LLVM::AllocaOp::create(*builder, pointer, element,
                                     constant(i32(), 4));
    }
    arguments.push_back(parts);
    call(name, none(), arguments);
    Value result = LLVM::PoisonOp::create(*builder, op->getResult(0).getType());
    for (int64_t i = 0; i < 4; ++i) {
      Value place =
          LLVM::GEPOp::create(*builder, pointer, element, parts,
                              ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(i)});
      Value part = LLVM::LoadOp::create(*builder, element, place);
      result = LLVM::InsertValueOp::create(*builder, result, part, i);
    }
    replace(op, result);
  }

  static void replace(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }

  void announce(Value address, Type type, bool isStore) {
    DataLayout layout(getOperation()->getParentOfType<ModuleOp>());
    int64_t bytes = llvm::divideCeil(layout.getTypeSizeInBits(type), 8);
    bool isShared =
        cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace() ==
        kSharedSpace;
    call(isShared ? (isStore ? "onnx_aot_emu_shared_store"
                             : "onnx_aot_emu_shared_load")
                  : (isStore ? "onnx_aot_emu_store" : "onnx_aot_emu_load"),
         none(), {plain(address), constant(i32(), bytes)});
  }

  /// The same address; its type follows when spaces are dropped.
  Value plain(Value address) {
    if (address.getType() == pointer)
      return address;
    return LLVM::AddrSpaceCastOp::create(*builder, pointer, address);
  }

  void dropSpaces(LLVM::LLVMFuncOp kernel) {
    auto isSpace = [](Type type) {
      auto pointerType = dyn_cast<LLVM::LLVMPointerType>(type);
      return pointerType && pointerType.getAddressSpace() != 0;
    };
    for (Block &block : kernel.getBody())
      for (BlockArgument argument : block.getArguments())
        if (isSpace(argument.getType()))
          argument.setType(pointer);
    SmallVector<LLVM::AddrSpaceCastOp> casts;
    kernel.walk([&](Operation *op) {
      for (Value result : op->getResults())
        if (isSpace(result.getType()))
          result.setType(pointer);
      if (auto cast = dyn_cast<LLVM::AddrSpaceCastOp>(op))
        casts.push_back(cast);
    });
    for (LLVM::AddrSpaceCastOp cast : casts) {
      cast.getResult().replaceAllUsesWith(cast.getArg());
      cast.erase();
    }
    SmallVector<Type> types;
    for (Type type : kernel.getFunctionType().getParams())
      types.push_back(isSpace(type) ? pointer : type);
    kernel.setFunctionType(LLVM::LLVMFunctionType::get(none(), types));
    kernel->removeAttr(NVVM::NVVMDialect::getKernelFuncAttrName());
    kernel->removeAttr(NVVM::NVVMDialect::getReqntidAttrName());
    kernel.setLinkage(LLVM::Linkage::Internal);
  }

  /// void <kernel>__thunk(void **): the driver hands over each argument's
  /// address.
  void addThunk(LLVM::LLVMFuncOp kernel) {
    builder->setInsertionPointToEnd(getOperation().getBody());
    builder->setLoc(kernel.getLoc());
    auto thunk = LLVM::LLVMFuncOp::create(
        *builder, (kernel.getName() + "__thunk").str(),
        LLVM::LLVMFunctionType::get(none(), {pointer}));
    builder->setInsertionPointToStart(thunk.addEntryBlock(*builder));
    SmallVector<Value> arguments;
    DataLayout layout(getOperation()->getParentOfType<ModuleOp>());
    SmallVector<int64_t> sizes{kernel.getNumArguments()};
    for (auto [index, type] :
         llvm::enumerate(kernel.getFunctionType().getParams())) {
      sizes.push_back(layout.getTypeSize(type));
      Value place =
          LLVM::GEPOp::create(*builder, pointer, pointer, thunk.getArgument(0),
                              ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(index)});
      Value address = LLVM::LoadOp::create(*builder, pointer, place);
      arguments.push_back(LLVM::LoadOp::create(*builder, type, address));
    }
    LLVM::CallOp::create(*builder, kernel, arguments);
    LLVM::ReturnOp::create(*builder, ValueRange{});
    // A driver copies arguments: it is told their number and the bytes of each.
    builder->setInsertionPointToEnd(getOperation().getBody());
    LLVM::GlobalOp::create(*builder,
                           LLVM::LLVMArrayType::get(i64(), sizes.size()),
                           /*isConstant=*/true, LLVM::Linkage::External,
                           (kernel.getName() + "__parameters").str(),
                           builder->getI64TensorAttr(sizes));
  }

  ImplicitLocOpBuilder *builder = nullptr;
  Type pointer;
  llvm::StringMap<int64_t> places;
};

} // namespace
