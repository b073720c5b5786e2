//===- Bufferize.cpp - the entry function from tensors to buffers ---------===//
//
// Kernels keep their tensor bodies, which say what they compute: only the entry
// is bufferised. A launch writes its outputs and reads its inputs.
//
//===----------------------------------------------------------------------===//

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/KernelChain.h"
#include "onnx-aot/Codegen/Common/KernelDomain.h"
#include "onnx-aot/Codegen/Common/Passes.h"
#include "onnx-aot/Codegen/Common/RegisterInterfaces.h"
#include "onnx-aot/Codegen/Common/StructuredOps.h"
#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_BUFFERIZEENTRY
#include "onnx-aot/Codegen/Common/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// The kernel reads `input` only where it then writes `output`, so both may be
/// one buffer. That is so in the ops which store: they load all operands of a
/// tile before they write it, and what comes before them is kept in registers.
bool readsWhereItWrites(func::FuncOp kernel, BlockArgument input,
                        BlockArgument output) {
  if (input.getType() != output.getType() || !getStages(kernel).empty())
    return false;
  SmallVector<linalg::GenericOp> ops(
      kernel.getBody().front().getOps<linalg::GenericOp>());
  FailureOr<KernelDomain> domain = KernelDomain::analyze(ops);
  if (failed(domain) || domain->isRowwise() || !isPointwise(ops.back()))
    return false;
  linalg::GenericOp last = ops.back();
  AffineMap written;
  for (OpOperand &init : last.getDpsInitsMutable())
    if (init.get() == output)
      written = last.getMatchingIndexingMap(&init);
  return written && llvm::all_of(input.getUses(), [&](OpOperand &use) {
           return use.getOwner() == last && last.isDpsInput(&use) &&
                  last.getMatchingIndexingMap(&use) == written;
         });
}

struct LaunchModel
    : DstBufferizableOpInterfaceExternalModel<LaunchModel, kernel::LaunchOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<kernel::LaunchOp>(op).isDpsInit(&operand);
  }

  bool bufferizesToElementwiseAccess(Operation *op, const AnalysisState &,
                                     ArrayRef<OpOperand *> operands) const {
    auto launch = cast<kernel::LaunchOp>(op);
    auto module = op->getParentOfType<ModuleOp>();
    auto kernel = module.lookupSymbol<func::FuncOp>(launch.getKernel());
    if (!kernel)
      return false;
    auto isInit = [&](OpOperand *operand) { return launch.isDpsInit(operand); };
    for (OpOperand *output : llvm::make_filter_range(operands, isInit))
      for (OpOperand *input : operands)
        if (!isInit(input) &&
            !readsWhereItWrites(kernel,
                                kernel.getArgument(input->getOperandNumber()),
                                kernel.getArgument(output->getOperandNumber())))
          return false;
    return llvm::count_if(operands, isInit) <= 1;
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto launch = cast<kernel::LaunchOp>(op);
    auto getBuffers = [&](ValueRange values) -> FailureOr<SmallVector<Value>> {
      SmallVector<Value> buffers;
      for (Value value : values) {
        if (!isa<TensorType>(value.getType())) {
          buffers.push_back(value);
          continue;
        }
        FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
        if (failed(buffer))
          return failure();
        buffers.push_back(*buffer);
      }
      return buffers;
    };
    rewriter.setInsertionPoint(launch);
    FailureOr<SmallVector<Value>> inputs = getBuffers(launch.getInputs());
    FailureOr<SmallVector<Value>> outputs = getBuffers(launch.getOutputs());
    if (failed(inputs) || failed(outputs))
      return failure();
    kernel::LaunchOp::create(rewriter, launch.getLoc(), TypeRange{},
                             launch.getKernelAttr(), *inputs, *outputs);
    replaceOpWithBufferizedValues(rewriter, op, *outputs);
    return success();
  }
};

/// C functions see dense buffers only: parts of others are copied.
struct CallModel
    : DstBufferizableOpInterfaceExternalModel<CallModel, kernel::CallOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<kernel::CallOp>(op).isDpsInit(&operand);
  }

  static Value createDense(OpBuilder &builder, Location loc, Value buffer) {
    auto type = cast<MemRefType>(buffer.getType());
    SmallVector<Value> sizes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        sizes.push_back(memref::DimOp::create(builder, loc, buffer, dim));
    return memref::AllocOp::create(
        builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
        sizes);
  }

  static bool isDense(Value buffer) {
    return cast<MemRefType>(buffer.getType()).getLayout().isIdentity();
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto call = cast<kernel::CallOp>(op);
    Location loc = call.getLoc();
    rewriter.setInsertionPoint(call);
    SmallVector<Value> inputs, outputs, targets;
    for (Value input : call.getInputs()) {
      FailureOr<Value> buffer = getBuffer(rewriter, input, options, state);
      if (failed(buffer))
        return failure();
      inputs.push_back(*buffer);
      if (isDense(*buffer))
        continue;
      inputs.back() = createDense(rewriter, loc, *buffer);
      memref::CopyOp::create(rewriter, loc, *buffer, inputs.back());
    }
    for (Value output : call.getOutputs()) {
      FailureOr<Value> buffer = getBuffer(rewriter, output, options, state);
      if (failed(buffer))
        return failure();
      targets.push_back(*buffer);
      outputs.push_back(isDense(*buffer) ? *buffer
                                         : createDense(rewriter, loc, *buffer));
    }
    kernel::CallOp::create(rewriter, loc, TypeRange{}, call.getCalleeAttr(),
                           call.getMessageAttr(), call.getInputTypesAttr(),
                           call.getOutputTypesAttr(), call.getOutputRanksAttr(),
                           call.getNodeAttributesAttr(), inputs, outputs);
    for (auto [output, target] : llvm::zip_equal(outputs, targets))
      if (output != target)
        memref::CopyOp::create(rewriter, loc, output, target);
    replaceOpWithBufferizedValues(rewriter, op, targets);
    return success();
  }
};

/// The value is `carried` after a chain of updates in place.
bool isUpdateOf(Value value, Value carried) {
  while (value != carried) {
    auto result = dyn_cast<OpResult>(value);
    if (!result)
      return false;
    Operation *op = result.getOwner();
    if (auto structured = dyn_cast<DestinationStyleOpInterface>(op))
      value = structured.getTiedOpOperand(result)->get();
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      value = loop.getInitArgs()[result.getResultNumber()];
    else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      value = insert.getDest();
    else
      return false;
  }
  return true;
}

/// A loop should carry each tensor in one buffer. A tensor of constant shape
/// may always be written over the last one; others get a new buffer each time.
void carryInPlace(Operation *yield, ValueRange arguments,
                  IRRewriter &rewriter) {
  rewriter.setInsertionPoint(yield);
  for (auto [operand, carried] : llvm::zip(yield->getOpOperands(), arguments)) {
    auto type = dyn_cast<RankedTensorType>(carried.getType());
    if (!type || !type.hasStaticShape() || operand.get().getType() != type ||
        isUpdateOf(operand.get(), carried))
      continue;
    operand.set(MaterializeInDestinationOp::create(rewriter, yield->getLoc(),
                                                   type, operand.get(), carried)
                    .getResult());
  }
}

/// Gives each user of an empty or filled tensor one of its own. Two values that
/// start from the same one would both be put into the output buffer that only
/// one of them is meant for.
void separateEmptyTensors(func::FuncOp entry, IRRewriter &rewriter) {
  auto separate = [&](Operation *op) {
    if (op->use_empty())
      return;
    rewriter.setInsertionPointAfter(op);
    for (OpOperand &use :
         llvm::make_early_inc_range(llvm::drop_begin(op->getUses())))
      use.set(rewriter.clone(*op)->getResult(0));
  };
  SmallVector<Operation *> fills, empties;
  entry.walk([&](linalg::FillOp op) {
    if (op->getNumResults() == 1 &&
        op.getOutputs().front().getDefiningOp<tensor::EmptyOp>())
      fills.push_back(op);
  });
  llvm::for_each(fills, separate);
  entry.walk([&](tensor::EmptyOp op) { empties.push_back(op); });
  llvm::for_each(empties, separate);
}

/// From this many slices on, a tensor put together of them is a buffer before
/// the analysis: that compares each write of a chain with all others for each
/// of its ops, which takes cubic time.
constexpr size_t kManySlices = 16;

/// The slices that are inserted one after the other into a new tensor which
/// ends as `last`, and which nothing reads before that.
SmallVector<tensor::InsertSliceOp> getSlices(tensor::InsertSliceOp last) {
  SmallVector<tensor::InsertSliceOp> slices{last};
  while (auto before =
             slices.back().getDest().getDefiningOp<tensor::InsertSliceOp>()) {
    if (!before->hasOneUse() || before->getBlock() != last->getBlock())
      return {};
    slices.push_back(before);
  }
  auto empty = slices.back().getDest().getDefiningOp<tensor::EmptyOp>();
  if (!empty || empty->getBlock() != last->getBlock())
    return {};
  std::reverse(slices.begin(), slices.end());
  return slices;
}

/// The argument of the entry that `value` is written to and nothing else.
Value getOutputBuffer(Value value) {
  if (!value.hasOneUse())
    return {};
  auto use = dyn_cast<MaterializeInDestinationOp>(*value.user_begin());
  if (!use || use.getSource() != value || !use.getRestrict() ||
      !use.getWritable())
    return {};
  auto argument = dyn_cast<BlockArgument>(use.getDest());
  return argument && isa<MemRefType>(argument.getType()) ? argument : Value();
}

/// Writes each slice of a long chain into its part of one buffer.
void insertIntoBuffer(tensor::InsertSliceOp last, IRRewriter &rewriter) {
  SmallVector<tensor::InsertSliceOp> slices = getSlices(last);
  if (slices.size() < kManySlices)
    return;
  auto empty = slices.front().getDest().getDefiningOp<tensor::EmptyOp>();
  auto type = MemRefType::get(last.getType().getShape(),
                              last.getType().getElementType());
  Value output = getOutputBuffer(last.getResult());
  Value buffer = output && output.getType() == type ? output : Value();
  if (!buffer) {
    rewriter.setInsertionPoint(empty);
    buffer = memref::AllocOp::create(rewriter, empty.getLoc(), type,
                                     empty.getDynamicSizes(),
                                     rewriter.getI64IntegerAttr(64));
  }
  for (tensor::InsertSliceOp slice : slices) {
    rewriter.setInsertionPoint(slice);
    auto partType = memref::SubViewOp::inferRankReducedResultType(
        slice.getSourceType().getShape(), type, slice.getMixedOffsets(),
        slice.getMixedSizes(), slice.getMixedStrides());
    Value part = memref::SubViewOp::create(
        rewriter, slice.getLoc(), cast<MemRefType>(partType), buffer,
        slice.getMixedOffsets(), slice.getMixedSizes(),
        slice.getMixedStrides());
    MaterializeInDestinationOp::create(rewriter, slice.getLoc(),
                                       /*result=*/Type(), slice.getSource(),
                                       part, /*restrict=*/true,
                                       /*writable=*/true);
  }
  if (buffer == output)
    rewriter.eraseOp(*last->user_begin());
  else
    rewriter.replaceAllUsesWith(
        last.getResult(),
        ToTensorOp::create(rewriter, last.getLoc(), last.getType(), buffer,
                           /*restrict=*/true, /*writable=*/true)
            .getResult());
  for (tensor::InsertSliceOp slice : llvm::reverse(slices))
    rewriter.eraseOp(slice);
  if (empty.use_empty())
    rewriter.eraseOp(empty);
}

/// Finds the ends of the chains.
void insertIntoBuffers(func::FuncOp entry, IRRewriter &rewriter) {
  SmallVector<tensor::InsertSliceOp> ends;
  entry.walk([&](tensor::InsertSliceOp op) {
    bool goesOn = op->hasOneUse() &&
                  isa<tensor::InsertSliceOp>(*op->user_begin()) &&
                  op->use_begin()->getOperandNumber() == 1;
    if (!goesOn)
      ends.push_back(op);
  });
  for (tensor::InsertSliceOp end : ends)
    insertIntoBuffer(end, rewriter);
}

/// A materialisation into a buffer writes it without the analysis knowing. So a
/// value may be computed in that buffer only if nothing that comes later reads
/// what the buffer held before, or writes over what it holds then.
class PlacedValues {
public:
  PlacedValues(MaterializeInDestinationOp write, const AnalysisState &state)
      : write(write), state(state) {}

  /// True when all that leads to the written value may lie in its buffer.
  bool mayShareBuffer() {
    Value source = write.getSource();
    DenseSet<Value> before = getOrigins(source);
    return llvm::all_of(before,
                        [&](Value value) {
                          return value == source ||
                                 !hasUseAfter(
                                     value, [](OpOperand &) { return false; });
                        }) &&
           !hasUseAfter(source, [](OpOperand &use) {
             return isa<MaterializeInDestinationOp>(use.getOwner()) &&
                    use.getOperandNumber() == 0;
           });
  }

private:
  /// The values that `value` may have been made of in place, itself included.
  DenseSet<Value> getOrigins(Value value) {
    DenseSet<Value> seen;
    SmallVector<Value> rest{value};
    while (!rest.empty()) {
      Value next = rest.pop_back_val();
      if (seen.insert(next).second)
        for (AliasingOpOperand alias : state.getAliasingOpOperands(next))
          rest.push_back(alias.opOperand->get());
    }
    return seen;
  }

  /// True when the value, or one that may lie in its buffer, is used after the
  /// write by something else than is `allowed`.
  bool hasUseAfter(Value value, function_ref<bool(OpOperand &)> allowed) {
    DenseSet<Value> seen;
    SmallVector<Value> rest{value};
    while (!rest.empty()) {
      Value next = rest.pop_back_val();
      if (!seen.insert(next).second)
        continue;
      for (OpOperand &use : next.getUses()) {
        if (use.getOwner() == write || allowed(use))
          continue;
        Operation *place =
            write->getBlock()->findAncestorOpInBlock(*use.getOwner());
        if (!place || write->isBeforeInBlock(place))
          return true;
        for (AliasingValue alias : state.getAliasingValues(use))
          if (alias.value != write.getSource())
            rest.push_back(alias.value);
      }
    }
    return false;
  }

  MaterializeInDestinationOp write;
  const AnalysisState &state;
};

/// Computes values in the buffers that they are written to.
LogicalResult placeValues(func::FuncOp entry,
                          const OneShotBufferizationOptions &options,
                          IRRewriter &rewriter) {
  OneShotAnalysisState state(entry, options);
  if (failed(analyzeOp(entry, state)))
    return failure();
  auto place = [&](RewriterBase &rewriter, SubsetInsertionOpInterface op,
                   tensor::EmptyOp empty, Operation *user) -> Value {
    auto write = dyn_cast<MaterializeInDestinationOp>(op.getOperation());
    if (write && isa<BaseMemRefType>(write.getDest().getType()) &&
        !PlacedValues(write, state).mayShareBuffer())
      return {};
    return buildSubsetExtraction(rewriter, op, empty, user);
  };
  return eliminateEmptyTensors(rewriter, entry, state, place);
}

struct BufferizeEntry : onnx_aot::impl::BufferizeEntryBase<BufferizeEntry> {
  void runOnOperation() override {
    func::FuncOp entry = getEntry(getOperation());
    if (!entry)
      return;
    IRRewriter rewriter(&getContext());
    entry.walk([&](Operation *op) {
      if (auto loop = dyn_cast<scf::ForOp>(op))
        carryInPlace(loop.getBody()->getTerminator(), loop.getRegionIterArgs(),
                     rewriter);
      else if (auto loop = dyn_cast<scf::WhileOp>(op))
        carryInPlace(loop.getYieldOp(), loop.getAfterArguments(), rewriter);
    });
    separateEmptyTensors(entry, rewriter);
    insertIntoBuffers(entry, rewriter);
    OneShotBufferizationOptions options;
    options.allowReturnAllocsFromLoops = true;
    BufferizationState state;
    if (failed(placeValues(entry, options, rewriter)) ||
        failed(runOneShotBufferize(entry, options, state)))
      signalPassFailure();
  }
};

} // namespace

void onnx_aot::registerCodegenInterfaces(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, kernel::KernelDialect *) {
    kernel::LaunchOp::attachInterface<LaunchModel>(*context);
    kernel::CallOp::attachInterface<CallModel>(*context);
  });
}
