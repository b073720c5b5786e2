//===- EmitDeviceKernels.cpp - device code for every launched kernel ------===//

#include "DeviceCalls.h"
#include "KernelFamily.h"

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/GPU/Passes.h"
#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"
#include "onnx-aot/abi/Device.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;
using namespace onnx_aot::gpu_kernel;

namespace onnx_aot {
#define GEN_PASS_DEF_EMITDEVICEKERNELS
#include "onnx-aot/Codegen/GPU/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// Most elements of a buffer: indices have 32 bits, and loops step past the
/// end.
constexpr int64_t kMaxElements = (int64_t(1) << 31) - (int64_t(1) << 25);

/// A kernel that has been written, and the one that adds up the parts of its
/// sums.
struct Written {
  int64_t number = -1, summation = -1;
  const KernelFamily *family = nullptr;
};

struct EmitDeviceKernels
    : onnx_aot::impl::EmitDeviceKernelsBase<EmitDeviceKernels> {
  using EmitDeviceKernelsBase::EmitDeviceKernelsBase;

  void runOnOperation() override {
    entry = getEntry(getOperation());
    if (!entry)
      return;
    calls.emplace(entry);
    SmallVector<kernel::LaunchOp> launches;
    SmallVector<scf::ForOp> scatters;
    entry.walk([&](kernel::LaunchOp launch) { launches.push_back(launch); });
    collectScatters(entry.getBody(), scatters);
    for (kernel::LaunchOp launch : launches)
      lowerLaunch(launch);
    for (Operation *body : bodies)
      if (!onHost.contains(body))
        body->erase();
    for (scf::ForOp loop : scatters)
      lowerScatter(loop);
    if (device)
      listKernels();
  }

private:
  void lowerLaunch(kernel::LaunchOp launch) {
    auto body = getOperation().lookupSymbol<func::FuncOp>(launch.getKernel());
    bodies.insert(body);
    SmallVector<Type> types(launch.getOperandTypes());
    KernelAnalysis analysis(body, types, architecture, allowTf32);
    if (succeeded(analysis.analyze()))
      return lower(launch, launch.getOperands(), analysis);
    onHost.insert(body);
    if (report)
      launch.emitWarning("runs on the host: ") << analysis.getReason();
  }

  /// Loops without a launch around them are host code as a whole.
  static void collectScatters(Region &region,
                              SmallVectorImpl<scf::ForOp> &found) {
    for (Block &block : region)
      for (Operation &op : block) {
        auto loop = dyn_cast<scf::ForOp>(op);
        if (loop && ScatterLoops::find(loop)) {
          found.push_back(loop);
          continue;
        }
        bool launches = op.walk([](kernel::LaunchOp) {
                            return WalkResult::interrupt();
                          }).wasInterrupted();
        if (launches)
          for (Region &inner : op.getRegions())
            collectScatters(inner, found);
      }
  }

  /// Loops on buffers, as the body of a kernel.
  void lowerScatter(scf::ForOp loop) {
    SmallVector<Value> operands = ScatterLoops::find(loop)->getOperands();
    SmallVector<Type> types(ValueRange(operands).getTypes());
    OpBuilder b(&getContext());
    OwningOpRef<func::FuncOp> body = func::FuncOp::create(
        loop.getLoc(), "scatter", b.getFunctionType(types, {}));
    Block *block = body->addEntryBlock();
    IRMapping mapping;
    mapping.map(operands, block->getArguments());
    b.setInsertionPointToStart(block);
    SetVector<Operation *> constants;
    loop->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (!mapping.contains(operand) && operand.getDefiningOp() &&
            !loop->isAncestor(operand.getDefiningOp()))
          constants.insert(operand.getDefiningOp());
    });
    for (Operation *constant : constants)
      b.clone(*constant, mapping);
    b.clone(*loop, mapping);
    func::ReturnOp::create(b, loop.getLoc());
    KernelAnalysis analysis(*body, types, architecture, allowTf32);
    if (succeeded(analysis.analyze()))
      lower(loop, operands, analysis);
  }

  /// What decides on the code: the body without names and the buffer types.
  static std::string getKey(ArrayRef<Type> types, func::FuncOp body) {
    std::string key, text;
    llvm::raw_string_ostream stream(key), bodyStream(text);
    for (Type type : types)
      stream << type << ';';
    OpPrintingFlags flags;
    flags.useLocalScope();
    body->print(bodyStream, flags);
    key += StringRef(text).drop_until([](char c) { return c == '('; });
    return key;
  }

  /// Notes what the descriptor says of each kernel.
  void listKernels() {
    DataLayout layout(getOperation());
    llvm::StringMap<int64_t> sharedBytes;
    for (auto global : device.getOps<LLVM::GlobalOp>())
      sharedBytes[global.getSymName().split('.').first] +=
          llvm::alignTo(layout.getTypeSize(global.getType()), 16);
    Builder builder(&getContext());
    SmallVector<Attribute> kernels;
    for (auto function : device.getOps<LLVM::LLVMFuncOp>()) {
      auto threads = function->getAttrOfType<DenseI32ArrayAttr>(
          NVVM::NVVMDialect::getReqntidAttrName());
      int64_t bytes = sharedBytes.lookup(function.getName());
      kernels.push_back(builder.getDictionaryAttr(
          {{builder.getStringAttr("name"),
            builder.getStringAttr(function.getName())},
           {builder.getStringAttr("threads"),
            builder.getI64IntegerAttr(threads.asArrayRef().front())},
           {builder.getStringAttr("shared_bytes"),
            builder.getI64IntegerAttr(bytes)}}));
    }
    device->setAttr(kDeviceKernelsAttr, builder.getArrayAttr(kernels));
  }

  Written write(const KernelAnalysis &analysis) {
    auto [place, isNew] =
        written.try_emplace(getKey(analysis.getTypes(), analysis.getKernel()));
    if (!isNew)
      return place->second;
    if (!device) {
      OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
      device = gpu::GPUModuleOp::create(builder, getOperation().getLoc(),
                                        kDeviceModule);
    }
    Written made;
    made.family = &selectFamily(analysis);
    const KernelFamily *summation = made.family->getSummation();
    made.number = write(*made.family, analysis, summation);
    if (summation)
      made.summation = write(*summation, analysis, true);
    return place->second = made;
  }

  int64_t write(const KernelFamily &family, const KernelAnalysis &analysis,
                bool isSplit) {
    int64_t number = numKernels++;
    std::string name = (family.getName() + "_" + Twine(number)).str();
    KernelWriter writer(analysis, device, name, family.getThreads(analysis),
                        isSplit);
    family.emit(writer);
    writer.finish();
    return number;
  }

  /// Replaces host code by the call of a kernel.
  void lower(Operation *op, ValueRange operands,
             const KernelAnalysis &analysis) {
    Written kernel = write(analysis);
    ImplicitLocOpBuilder builder(op->getLoc(), op);
    auto size = [&](unsigned dim) -> Value {
      const SizeSource &source = analysis.getSize(dim);
      if (source.isConstant())
        return arith::ConstantIndexOp::create(builder, source.constant);
      Value operand = operands[source.argument];
      if (source.axis < 0)
        return operand;
      return memref::DimOp::create(builder, operand, source.axis);
    };
    Value blocks = kernel.family->emitBlocks(analysis, {builder, size});

    SmallVector<Value> words;
    Value fits;
    for (auto [index, operand] : llvm::enumerate(operands)) {
      if (!isa<MemRefType>(operand.getType())) {
        appendWord(builder, words, getScalarWord(builder, operand));
        continue;
      }
      appendBuffer(builder, words, operand, getAccess(analysis, index, operand),
                   fits);
    }
    if (fits)
      cf::AssertOp::create(builder, fits,
                           "a tensor has too many elements for the device");
    if (kernel.summation >= 0)
      blocks =
          appendScratch(builder, words, blocks,
                        kernel.family->emitSplit(analysis, {builder, size}));
    Value memory = calls->getWords(words.size());
    for (auto [index, word] : llvm::enumerate(words)) {
      Value place = LLVM::GEPOp::create(
          builder, memory.getType(), builder.getI64Type(), memory,
          ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(index)});
      LLVM::StoreOp::create(builder, word, place);
    }
    auto launch = [&](int64_t number, Value blocks) {
      Value grid =
          arith::IndexCastOp::create(builder, builder.getI64Type(), blocks);
      calls->call(
          builder, kDeviceLaunch,
          {arith::ConstantIntOp::create(builder, number, 32), grid, memory,
           arith::ConstantIntOp::create(builder, words.size() / 3, 32)});
    };
    launch(kernel.number, blocks);
    if (kernel.summation >= 0)
      launch(kernel.summation, kernel.family->getSummation()->emitBlocks(
                                   analysis, {builder, size}));
    op->erase();
  }

  /// The memory of all parts of sums, and their number; returns the blocks for
  /// all of them.
  static Value appendScratch(ImplicitLocOpBuilder &builder,
                             SmallVector<Value> &words, Value blocks,
                             const SplitSizes &split) {
    HostSizes host{builder, {}};
    int64_t bytes = split.elements * split.type.getIntOrFloatBitWidth() / 8;
    Value all = host.mul(split.parts, host.constant(bytes));
    words.append({word(builder, 0), getScalarWord(builder, all),
                  word(builder, ONNX_AOT_SCRATCH)});
    appendWord(builder, words, getScalarWord(builder, split.parts));
    return host.minimum(host.mul(blocks, split.parts), kMaxBlocks);
  }

  static Value word(ImplicitLocOpBuilder &builder, int64_t value) {
    return arith::ConstantIntOp::create(builder, value, 64);
  }

  static void appendWord(ImplicitLocOpBuilder &builder,
                         SmallVector<Value> &words, Value value) {
    words.append({value, word(builder, 0), word(builder, ONNX_AOT_SCALAR)});
  }

  static Value getScalarWord(ImplicitLocOpBuilder &builder, Value value) {
    Type i64 = builder.getI64Type(), type = value.getType();
    if (isa<IndexType>(type))
      return arith::IndexCastOp::create(builder, i64, value);
    unsigned width = type.getIntOrFloatBitWidth();
    if (isa<FloatType>(type))
      value = arith::BitcastOp::create(builder, builder.getIntegerType(width),
                                       value);
    return width == 64
               ? value
               : arith::ExtUIOp::create(builder, i64, value).getResult();
  }

  static bool isDense(Value buffer) {
    return cast<MemRefType>(buffer.getType()).getLayout().isIdentity();
  }

  static int64_t getAccess(const KernelAnalysis &analysis, unsigned index,
                           Value buffer) {
    if (index < analysis.getFirstOutput())
      return ONNX_AOT_READ;
    // Scatters leave what they do not update, and between the rows of a view
    // lies what belongs to others.
    return analysis.getScatter() || !isDense(buffer)
               ? ONNX_AOT_READ | ONNX_AOT_WRITE
               : ONNX_AOT_WRITE;
  }

  /// Address, then run-time sizes and strides, as KernelWriter takes them.
  void appendBuffer(ImplicitLocOpBuilder &builder, SmallVector<Value> &words,
                    Value buffer, int64_t access, Value &fits) {
    auto type = cast<MemRefType>(buffer.getType());
    HostRange range = calls->getRange(builder, buffer);
    words.append({range.address, range.bytes, word(builder, access)});
    if (!type.hasStaticShape() || !isDense(buffer)) {
      Value limit = arith::ConstantIndexOp::create(builder, kMaxElements);
      Value small = arith::CmpIOp::create(builder, arith::CmpIPredicate::ule,
                                          range.elements, limit);
      fits = fits ? arith::AndIOp::create(builder, fits, small).getResult()
                  : small;
    }
    auto metadata = memref::ExtractStridedMetadataOp::create(builder, buffer);
    auto append = [&](Value value) {
      appendWord(builder, words, getScalarWord(builder, value));
    };
    for (auto [axis, size] : llvm::enumerate(type.getShape()))
      if (ShapedType::isDynamic(size))
        append(metadata.getSizes()[axis]);
    if (isDense(buffer))
      return;
    SmallVector<int64_t> strides;
    int64_t offset;
    (void)type.getStridesAndOffset(strides, offset);
    for (auto [axis, stride] : llvm::enumerate(strides))
      if (ShapedType::isDynamic(stride))
        append(metadata.getStrides()[axis]);
  }

  func::FuncOp entry;
  std::optional<DeviceCalls> calls;
  /// Bodies of launches; those that some launch runs on the host.
  DenseSet<Operation *> bodies, onHost;
  gpu::GPUModuleOp device;
  llvm::StringMap<Written> written;
  int64_t numKernels = 0;
};

} // namespace
