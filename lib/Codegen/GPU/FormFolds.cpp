//===- FormFolds.cpp - make kernels of reductions by any body -------------===//

#include "KernelAnalysis.h"

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/GPU/Passes.h"
#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;
using namespace onnx_aot::gpu_kernel;

namespace onnx_aot {
#define GEN_PASS_DEF_FORMFOLDS
#include "onnx-aot/Codegen/GPU/Passes.h.inc"
} // namespace onnx_aot

namespace {

struct FormFolds : onnx_aot::impl::FormFoldsBase<FormFolds> {
  void runOnOperation() override {
    func::FuncOp entry = getEntry(getOperation());
    if (!entry)
      return;
    SmallVector<linalg::GenericOp> found;
    entry.walk([&](linalg::GenericOp op) {
      if (isWanted(op))
        found.push_back(op);
    });
    for (linalg::GenericOp op : found)
      outline(op);
  }

private:
  /// What FormKernels left and a thread can compute: a fold that starts from
  /// constants, of types that the device has.
  static bool isWanted(linalg::GenericOp op) {
    if (!isFoldable(op))
      return false;
    for (Value init : op.getDpsInits()) {
      auto fill = init.getDefiningOp<linalg::FillOp>();
      Operation *scalar = fill.getInputs()[0].getDefiningOp();
      if (!scalar || !scalar->hasTrait<OpTrait::ConstantLike>() ||
          !fill.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>())
        return false;
    }
    for (Operation &inner : op.getBody()->without_terminator())
      if (inner.getNumRegions() || !isDeviceOp(&inner))
        return false;
    return llvm::all_of(op->getOperandTypes(), [](Type type) {
      return isa<IndexType>(type) || isDeviceType(getElementTypeOrSelf(type));
    });
  }

  /// Values that the body uses from outside, constants apart.
  static SmallVector<Value> getCaptured(linalg::GenericOp op,
                                        SmallVector<Operation *> &constants) {
    SetVector<Value> captured;
    SetVector<Operation *> found;
    for (Operation &inner : *op.getBody())
      for (Value operand : inner.getOperands()) {
        if (operand.getParentBlock() == op.getBody())
          continue;
        Operation *definer = operand.getDefiningOp();
        if (definer && definer->hasTrait<OpTrait::ConstantLike>() &&
            !isa<TensorType>(operand.getType()))
          found.insert(definer);
        else
          captured.insert(operand);
      }
    constants = SmallVector<Operation *>(found.begin(), found.end());
    return SmallVector<Value>(captured.begin(), captured.end());
  }

  void outline(linalg::GenericOp op) {
    Location loc = op.getLoc();
    OpBuilder at(op);
    SmallVector<Operation *> constants;
    SmallVector<Value> inputs(op.getDpsInputs());
    llvm::append_range(inputs, getCaptured(op, constants));
    SmallVector<Value> outputs;
    for (Value init : op.getDpsInits()) {
      auto fill = init.getDefiningOp<linalg::FillOp>();
      outputs.push_back(
          at.clone(*fill.getDpsInits()[0].getDefiningOp())->getResult(0));
    }
    SmallVector<Type> types(ValueRange(inputs).getTypes());
    llvm::append_range(types, ValueRange(outputs).getTypes());
    auto function = func::FuncOp::create(
        loc, ("fold." + Twine(numFolds++)).str(),
        FunctionType::get(&getContext(), types, op->getResultTypes()));
    function.setPrivate();
    getOperation().push_back(function);
    OpBuilder b = OpBuilder::atBlockBegin(function.addEntryBlock());
    ValueRange arguments = function.getArguments();

    IRMapping mapping;
    for (Operation *constant : constants)
      b.clone(*constant, mapping);
    for (auto [input, argument] : llvm::zip(inputs, arguments))
      mapping.map(input, argument);
    for (auto [init, argument] : llvm::zip_equal(
             op.getDpsInits(), arguments.take_back(outputs.size()))) {
      auto fill = init.getDefiningOp<linalg::FillOp>();
      Value scalar =
          b.clone(*fill.getInputs()[0].getDefiningOp())->getResult(0);
      mapping.map(
          init, linalg::FillOp::create(b, loc, scalar, argument).getResult(0));
    }
    Operation *inside = b.clone(*op, mapping);
    func::ReturnOp::create(b, loc, inside->getResults());
    auto launch = kernel::LaunchOp::create(at, loc, op->getResultTypes(),
                                           FlatSymbolRefAttr::get(function),
                                           inputs, outputs);
    op->replaceAllUsesWith(launch->getResults());
    op->erase();
  }

  int64_t numFolds = 0;
};

} // namespace
