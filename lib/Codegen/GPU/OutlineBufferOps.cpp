//===- OutlineBufferOps.cpp - kernels from copies and loops on buffers ----===//

#include "KernelAnalysis.h"

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/KernelDomain.h"
#include "onnx-aot/Codegen/Common/StructuredOps.h"
#include "onnx-aot/Codegen/GPU/Passes.h"
#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_OUTLINEBUFFEROPS
#include "onnx-aot/Codegen/GPU/Passes.h.inc"
} // namespace onnx_aot

namespace {

RankedTensorType getTensorType(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

bool isDense(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getLayout().isIdentity();
}

struct OutlineBufferOps
    : onnx_aot::impl::OutlineBufferOpsBase<OutlineBufferOps> {
  void runOnOperation() override {
    func::FuncOp entry = getEntry(getOperation());
    if (!entry)
      return;
    SmallVector<Operation *> found;
    collect(entry.getBody(), found);
    for (Operation *op : found) {
      if (auto copy = dyn_cast<memref::CopyOp>(op))
        outline(copy, copy.getSource(), copy.getTarget(), "copy");
      else if (auto fill = dyn_cast<linalg::FillOp>(op))
        outline(fill, fill.getInputs()[0], fill.getOutputs()[0], "fill");
      else
        outline(cast<linalg::GenericOp>(op));
    }
  }

private:
  /// Loops without a launch are host code as a whole.
  void collect(Region &region, SmallVector<Operation *> &found) {
    for (Block &block : region)
      for (Operation &op : block) {
        if (isWanted(&op)) {
          found.push_back(&op);
          continue;
        }
        bool launches = op.walk([](kernel::LaunchOp) {
                            return WalkResult::interrupt();
                          }).wasInterrupted();
        if (launches)
          for (Region &inner : op.getRegions())
            collect(inner, found);
      }
  }

  static bool isOnDevice(Type type) {
    return gpu_kernel::isDeviceType(getElementTypeOrSelf(type));
  }

  static bool isWanted(Operation *op) {
    if (auto copy = dyn_cast<memref::CopyOp>(op))
      return isa<MemRefType>(copy.getSource().getType()) &&
             isa<MemRefType>(copy.getTarget().getType()) &&
             !(isDense(copy.getSource()) && isDense(copy.getTarget())) &&
             isOnDevice(copy.getTarget().getType());
    if (auto fill = dyn_cast<linalg::FillOp>(op))
      return fill.hasPureBufferSemantics() &&
             isOnDevice(fill.getOutputs()[0].getType());
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || !generic.hasPureBufferSemantics() ||
        !isPointwise(generic) || !hasVectorizableBody(generic) ||
        !llvm::all_of(generic->getOperandTypes(), isOnDevice) ||
        !llvm::all_of(
            generic.getBody()->without_terminator(),
            [](Operation &inner) { return gpu_kernel::isDeviceOp(&inner); }))
      return false;
    return llvm::none_of(generic.getDpsInitsMutable(), [&](OpOperand &init) {
      return generic.payloadUsesValueFromOperand(&init);
    });
  }

  func::FuncOp createFunction(Location loc, StringRef stem, TypeRange operands,
                              TypeRange results) {
    std::string name = (stem + "." + Twine(numKernels++)).str();
    auto function = func::FuncOp::create(
        loc, name, FunctionType::get(&getContext(), operands, results));
    function.setPrivate();
    getOperation().push_back(function);
    function.addEntryBlock();
    return function;
  }

  /// A copy, or a fill where `source` is a scalar.
  void outline(Operation *op, Value source, Value target, StringRef stem) {
    Location loc = op->getLoc();
    RankedTensorType result = getTensorType(target);
    bool isScalar = !isa<MemRefType>(source.getType());
    Type input = isScalar ? source.getType() : Type(getTensorType(source));
    func::FuncOp function =
        createFunction(loc, stem, {input, result}, {result});
    OpBuilder b = OpBuilder::atBlockBegin(&function.getBody().front());
    unsigned rank = result.getRank();
    AffineMap identity = b.getMultiDimIdentityMap(rank);
    AffineMap scalar = AffineMap::get(rank, 0, &getContext());
    auto generic = linalg::GenericOp::create(
        b, loc, result, function.getArgument(0), function.getArgument(1),
        ArrayRef<AffineMap>{isScalar ? scalar : identity, identity},
        SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
        [](OpBuilder &inner, Location loc, ValueRange arguments) {
          linalg::YieldOp::create(inner, loc, arguments[0]);
        });
    func::ReturnOp::create(b, loc, generic.getResults());
    OpBuilder at(op);
    kernel::LaunchOp::create(at, loc, TypeRange{},
                             FlatSymbolRefAttr::get(function), source, target);
    op->erase();
  }

  /// A pointwise op, with the scalars and buffers that its body uses.
  void outline(linalg::GenericOp op) {
    Location loc = op.getLoc();
    SetVector<Value> captured;
    op.getBody()->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
          captured.insert(operand);
    });
    // Bodies on buffers load from buffers that they name; that stays as it is.
    if (llvm::any_of(captured,
                     [](Value v) { return isa<MemRefType>(v.getType()); }))
      return;
    SmallVector<Value> inputs(op.getDpsInputs());
    llvm::append_range(inputs, captured);
    SmallVector<Type> types, results;
    for (Value input : inputs)
      types.push_back(isa<MemRefType>(input.getType())
                          ? Type(getTensorType(input))
                          : input.getType());
    for (Value output : op.getDpsInits()) {
      types.push_back(getTensorType(output));
      results.push_back(types.back());
    }
    func::FuncOp function = createFunction(loc, "loops", types, results);
    OpBuilder b = OpBuilder::atBlockBegin(&function.getBody().front());
    ValueRange arguments = function.getArguments();
    IRMapping mapping;
    for (auto [value, argument] :
         llvm::zip(captured, arguments.drop_front(op.getNumDpsInputs())))
      mapping.map(value, argument);
    auto generic = linalg::GenericOp::create(
        b, loc, results, arguments.take_front(op.getNumDpsInputs()),
        arguments.take_back(op.getNumDpsInits()), op.getIndexingMapsArray(),
        op.getIteratorTypesArray());
    op.getRegion().cloneInto(&generic.getRegion(), mapping);
    func::ReturnOp::create(b, loc, generic.getResults());
    OpBuilder at(op);
    kernel::LaunchOp::create(at, loc, TypeRange{},
                             FlatSymbolRefAttr::get(function), inputs,
                             SmallVector<Value>(op.getDpsInits()));
    op->erase();
  }

  int64_t numKernels = 0;
};

} // namespace
