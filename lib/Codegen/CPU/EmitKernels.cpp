//===- EmitKernels.cpp - vector code for every launched kernel ------------===//

#include "ChainEmitter.h"

#include "onnx-aot/Codegen/CPU/Passes.h"
#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/KernelChain.h"
#include "onnx-aot/Codegen/Common/KernelExtremes.h"
#include "onnx-aot/Codegen/Common/StructuredOps.h"
#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_EMITKERNELS
#include "onnx-aot/Codegen/CPU/Passes.h.inc"
} // namespace onnx_aot

namespace {

struct EmitKernels : onnx_aot::impl::EmitKernelsBase<EmitKernels> {
  using EmitKernelsBase::EmitKernelsBase;

  void runOnOperation() override {
    func::FuncOp entry = getEntry(getOperation());
    if (!entry)
      return;
    target.vectorBytes = vectorBytes;
    target.vectorRegisters = vectorRegisters;
    target.tuning.panelVectors = panelVectors;
    target.tuning.maxRows = maxRows;
    target.tuning.cachedBytes = cachedBytes;
    target.tuning.taskPoints = taskPoints;
    SmallVector<kernel::LaunchOp> launches;
    entry.walk([&](kernel::LaunchOp launch) { launches.push_back(launch); });
    DenseSet<Operation *> bodies;
    for (kernel::LaunchOp launch : launches) {
      auto body = getOperation().lookupSymbol<func::FuncOp>(launch.getKernel());
      bodies.insert(body);
      createReader(body);
      if (failed(lower(launch, body)))
        return signalPassFailure();
    }
    for (Operation *body : bodies)
      body->erase();
  }

private:
  /// What decides on the code: the body without names and the buffer types.
  static std::string getKey(kernel::LaunchOp launch, func::FuncOp body) {
    std::string key;
    llvm::raw_string_ostream stream(key);
    for (Type type : launch.getOperandTypes())
      stream << type << ';';
    OpPrintingFlags flags;
    flags.useLocalScope();
    std::string text;
    llvm::raw_string_ostream bodyStream(text);
    body->print(bodyStream, flags);
    // The name stands before the first parenthesis.
    key += StringRef(text).drop_until([](char c) { return c == '('; });
    return key;
  }

  /// Hands the kernel's emitter to `use`.
  template <typename UseFn>
  LogicalResult withEmitter(func::FuncOp body, ValueRange arguments,
                            UseFn use) {
    auto prepared = [&](auto emitter) {
      if (failed(emitter.prepare()))
        return failure();
      use(emitter);
      return success();
    };
    if (!getStages(body).empty())
      return prepared(cpu::ChainEmitter(body, arguments, target));
    return prepared(cpu::KernelEmitter(body, arguments, target));
  }

  LogicalResult lower(kernel::LaunchOp launch, func::FuncOp body) {
    Location loc = launch.getLoc();
    OpBuilder builder(launch);
    Value count;
    if (failed(withEmitter(body, launch.getOperands(), [&](auto &emitter) {
          count = emitter.emitTaskCount(builder, loc);
        })))
      return launch.emitError("kernel cannot be emitted");

    func::FuncOp &declaration = launchers[getKey(launch, body)];
    if (!declaration) {
      FailureOr<func::FuncOp> made = emitFunction(launch, body);
      if (failed(made))
        return failure();
      declaration = *made;
    }
    startExtremes(launch, body);
    EntryArguments arguments(getEntry(getOperation()));
    SmallVector<Value> operands{arguments.runtime()};
    llvm::append_range(operands, launch.getOperands());
    operands.push_back(count);
    func::CallOp::create(builder, loc, declaration, operands);
    launch.erase();
    return success();
  }

  /// A kernel of extremes alone gets an op whose values they are of.
  static void createReader(func::FuncOp body) {
    SmallVector<linalg::GenericOp> extremes = getExtremes(body);
    if (extremes.empty() || !getOtherOps(body).empty())
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(&body.getBody().front());
    Location loc = body.getLoc();
    Value source = extremes.front().getDpsInputs().front();
    auto type = cast<RankedTensorType>(source.getType());
    Value empty = tensor::EmptyOp::create(
        builder, loc, tensor::getMixedSizes(builder, loc, source),
        type.getElementType());
    AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
    SmallVector<utils::IteratorType> kinds(type.getRank(),
                                           utils::IteratorType::parallel);
    auto reader = linalg::GenericOp::create(
        builder, loc, type, source, empty, ArrayRef<AffineMap>{map, map}, kinds,
        [](OpBuilder &b, Location l, ValueRange args) {
          linalg::YieldOp::create(b, l, args[0]);
        });
    for (linalg::GenericOp op : extremes)
      op.getDpsInputOperand(0)->set(reader.getResult(0));
  }

  /// Tasks combine the extremes that they find with what lies in the outputs.
  static void startExtremes(kernel::LaunchOp launch, func::FuncOp body) {
    OpBuilder builder(launch);
    SmallVector<linalg::GenericOp> extremes = getExtremes(body);
    for (auto [op, output] : llvm::zip_equal(
             extremes, launch.getOutputs().take_back(extremes.size()))) {
      Operation *initial = builder.clone(*getInitialScalar(op).getDefiningOp());
      memref::StoreOp::create(builder, launch.getLoc(), initial->getResult(0),
                              output, ValueRange{});
    }
  }

  /// The function over a range of tasks, and the declaration of its launcher.
  FailureOr<func::FuncOp> emitFunction(kernel::LaunchOp launch,
                                       func::FuncOp body) {
    Location loc = launch.getLoc();
    std::string name = ("k" + Twine(numFunctions++)).str();
    auto index = IndexType::get(&getContext());
    SmallVector<Type> types(launch.getOperandTypes());
    types.append({index, index});
    auto function = func::FuncOp::create(
        loc, name, FunctionType::get(&getContext(), types, {}));
    function.setPrivate();
    getOperation().push_back(function);
    Block *block = function.addEntryBlock();
    OpBuilder builder = OpBuilder::atBlockBegin(block);
    ValueRange arguments = block->getArguments();
    if (failed(withEmitter(body, arguments.drop_back(2), [&](auto &emitter) {
          emitter.emitTasks(builder, loc, arguments[types.size() - 2],
                            arguments.back());
        })))
      return failure();
    builder.setInsertionPointToEnd(block);
    func::ReturnOp::create(builder, loc);

    SmallVector<Type> launchTypes{
        EntryArguments(getEntry(getOperation())).runtime().getType()};
    llvm::append_range(launchTypes, launch.getOperandTypes());
    launchTypes.push_back(index);
    auto declaration =
        func::FuncOp::create(loc, (name + kLaunchSuffix).str(),
                             FunctionType::get(&getContext(), launchTypes, {}));
    declaration.setPrivate();
    getOperation().push_back(declaration);
    return declaration;
  }

  cpu::Target target;
  llvm::StringMap<func::FuncOp> launchers;
  unsigned numFunctions = 0;
};

} // namespace
