//===- EmitDeviceKernels.cpp - device code for every launched kernel ------===//

#include "KernelFamily.h"
#include "LaunchWords.h"

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

/// What all parameters of a kernel may take.
constexpr int64_t kMaxParameterBytes = 4096;

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
    for (size_t first = 0, end; first < launches.size(); first = end) {
      end = findJointEnd(launches, first);
      lowerLaunches(ArrayRef(launches).slice(first, end - first));
    }
    for (Operation *body : bodies)
      if (!onHost.contains(body))
        body->erase();
    for (scf::ForOp loop : scatters)
      lowerScatter(loop);
    if (device)
      listKernels();
  }

private:
  /// Where the launches end that may be one with the first.
  static size_t findJointEnd(ArrayRef<kernel::LaunchOp> launches,
                             size_t first) {
    Attribute joint = launches[first]->getAttr(kJointAttr);
    size_t end = first + 1;
    while (joint && end < launches.size() &&
           launches[end]->getAttr(kJointAttr) == joint)
      ++end;
    return end;
  }

  /// Launches of one kernel that do not depend on each other.
  void lowerLaunches(ArrayRef<kernel::LaunchOp> launches) {
    SmallVector<func::FuncOp> same;
    for (kernel::LaunchOp launch : launches)
      same.push_back(
          getOperation().lookupSymbol<func::FuncOp>(launch.getKernel()));
    bodies.insert(same.begin(), same.end());
    SmallVector<Type> types(launches.front()->getOperandTypes());
    KernelAnalysis analysis(same.front(), types, architecture, allowTf32);
    if (failed(analysis.analyze())) {
      onHost.insert(same.begin(), same.end());
      for (kernel::LaunchOp launch : launches)
        if (report)
          launch.emitWarning("runs on the host: ") << analysis.getReason();
      return;
    }
    const size_t most = selectFamily(analysis).canJoin()
                            ? countJoinable(launches, analysis)
                            : 1;
    for (; !launches.empty();
         launches = launches.drop_front(std::min(most, launches.size()))) {
      SmallVector<Operation *> ops(
          launches.take_front(std::min(most, launches.size())));
      SmallVector<ValueRange> operands;
      for (Operation *op : ops)
        operands.push_back(op->getOperands());
      lower(ops, operands, analysis);
    }
  }

  /// Operands that are the same for all launches.
  static llvm::BitVector findCommon(ArrayRef<ValueRange> launches) {
    llvm::BitVector common(launches.front().size());
    for (size_t i = 0; i < common.size(); ++i)
      common[i] = llvm::all_of(launches, [&](ValueRange operands) {
        return operands[i] == launches.front()[i];
      });
    return common;
  }

  /// How many launches' operands fit into a kernel's parameters.
  static size_t countJoinable(ArrayRef<kernel::LaunchOp> launches,
                              const KernelAnalysis &analysis) {
    SmallVector<ValueRange> operands;
    for (kernel::LaunchOp launch : launches)
      operands.push_back(launch->getOperands());
    llvm::BitVector common = findCommon(operands);
    int64_t once = 0, each = 8;
    for (auto [index, type] : llvm::enumerate(analysis.getTypes())) {
      // Sizes and strides have half the bytes of an address.
      auto buffer = dyn_cast<MemRefType>(type);
      int64_t numbers = 0;
      if (buffer)
        numbers = buffer.getNumDynamicDims() +
                  (buffer.getLayout().isIdentity() ? 0 : buffer.getRank());
      (common[index] ? once : each) += 8 + llvm::alignTo(4 * numbers, 8);
    }
    return std::max<int64_t>((kMaxParameterBytes - once) / each, 1);
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
      lower({loop}, {operands}, analysis);
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

  Written write(const KernelAnalysis &analysis, KernelForm form) {
    std::string key = getKey(analysis.getTypes(), analysis.getKernel());
    if (form.launches > 1) {
      llvm::raw_string_ostream stream(key);
      stream << form.launches;
      for (unsigned operand : form.common.set_bits())
        stream << ',' << operand;
    }
    auto [place, isNew] = written.try_emplace(key);
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
    form.isSplit = summation;
    made.number = write(*made.family, analysis, form);
    if (summation)
      made.summation = write(*summation, analysis, form);
    return place->second = made;
  }

  int64_t write(const KernelFamily &family, const KernelAnalysis &analysis,
                const KernelForm &form) {
    int64_t number = numKernels++;
    StringRef joint = form.launches > 1 ? "joint_" : "";
    std::string name = (joint + family.getName() + "_" + Twine(number)).str();
    KernelWriter writer(analysis, device, name, family.getThreads(analysis),
                        form);
    family.emit(writer);
    writer.finish();
    return number;
  }

  /// Where host code finds the sizes of a launch's dimensions.
  static Value getSize(ImplicitLocOpBuilder &builder,
                       const KernelAnalysis &analysis, ValueRange operands,
                       unsigned dim) {
    const SizeSource &source = analysis.getSize(dim);
    if (source.isConstant())
      return arith::ConstantIndexOp::create(builder, source.constant);
    Value operand = operands[source.argument];
    if (source.axis < 0)
      return operand;
    return memref::DimOp::create(builder, operand, source.axis);
  }

  /// Replaces host code by the call of a kernel; several pieces that do not
  /// depend on each other by one call, where the last of them is.
  void lower(ArrayRef<Operation *> ops, ArrayRef<ValueRange> launches,
             const KernelAnalysis &analysis) {
    KernelForm form;
    form.launches = launches.size();
    form.common = findCommon(launches);
    Written kernel = write(analysis, form);
    ImplicitLocOpBuilder builder(ops.back()->getLoc(), ops.back());
    LaunchWords words(*calls, builder);
    Value blocks = appendLaunches(words, builder, *kernel.family, launches,
                                  analysis, form);
    auto size = [&](unsigned dim) {
      return getSize(builder, analysis, launches.front(), dim);
    };
    HostSizes host{builder, size};
    if (kernel.summation >= 0)
      blocks = appendScratch(words, host, blocks,
                             kernel.family->emitSplit(analysis, host));
    words.store();
    words.launch(kernel.number, blocks);
    if (kernel.summation >= 0)
      words.launch(kernel.summation,
                   kernel.family->getSummation()->emitBlocks(analysis, host));
    for (Operation *op : ops)
      op->erase();
  }

  /// The operands of all launches; returns the number of their blocks.
  static Value appendLaunches(LaunchWords &words, ImplicitLocOpBuilder &builder,
                              const KernelFamily &family,
                              ArrayRef<ValueRange> launches,
                              const KernelAnalysis &analysis,
                              const KernelForm &form) {
    auto append = [&](ValueRange operands, bool isCommon) {
      for (auto [index, operand] : llvm::enumerate(operands))
        if (form.isCommon(index) == isCommon)
          appendOperand(words, analysis, index, operand);
    };
    append(launches.front(), true);
    Value blocks;
    for (ValueRange operands : launches) {
      auto size = [&](unsigned dim) {
        return getSize(builder, analysis, operands, dim);
      };
      Value own = family.emitBlocks(analysis, {builder, size});
      if (launches.size() == 1)
        return own;
      append(operands, false);
      blocks = blocks ? builder.createOrFold<arith::AddIOp>(blocks, own) : own;
      words.appendScalar(blocks);
    }
    return HostSizes{builder, {}}.minimum(blocks, kMaxBlocks);
  }

  /// The memory of all parts of sums, and their number; returns the blocks for
  /// all of them.
  static Value appendScratch(LaunchWords &words, const HostSizes &host,
                             Value blocks, const SplitSizes &split) {
    int64_t bytes = split.elements * split.type.getIntOrFloatBitWidth() / 8;
    words.appendScratch(host.mul(split.parts, host.constant(bytes)));
    words.appendScalar(split.parts);
    return host.minimum(host.mul(blocks, split.parts), kMaxBlocks);
  }

  static void appendOperand(LaunchWords &words, const KernelAnalysis &analysis,
                            unsigned index, Value operand) {
    if (isa<MemRefType>(operand.getType()))
      words.appendBuffer(operand, getAccess(analysis, index, operand));
    else
      words.appendScalar(operand);
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

  func::FuncOp entry;
  std::optional<DeviceCalls> calls;
  /// Bodies of launches; those that some launch runs on the host.
  DenseSet<Operation *> bodies, onHost;
  gpu::GPUModuleOp device;
  llvm::StringMap<Written> written;
  int64_t numKernels = 0;
};

} // namespace
