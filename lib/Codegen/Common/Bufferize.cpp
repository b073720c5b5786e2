//===- Bufferize.cpp - the entry function from tensors to buffers -----------===//
//
// Kernels keep their tensor bodies, which say what they compute: only the entry
// is bufferised. A launch writes its outputs and reads its inputs.
//
//===----------------------------------------------------------------------===//

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/Passes.h"
#include "onnx-aot/Codegen/Common/RegisterInterfaces.h"
#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_BUFFERIZEENTRY
#include "onnx-aot/Codegen/Common/Passes.h.inc"
} // namespace onnx_aot

namespace {

struct LaunchModel
    : DstBufferizableOpInterfaceExternalModel<LaunchModel, kernel::LaunchOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<kernel::LaunchOp>(op).isDpsInit(&operand);
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

struct BufferizeEntry : onnx_aot::impl::BufferizeEntryBase<BufferizeEntry> {
  void runOnOperation() override {
    func::FuncOp entry = getEntry(getOperation());
    if (!entry)
      return;
    IRRewriter rewriter(&getContext());
    OneShotBufferizationOptions options;
    BufferizationState state;
    if (failed(eliminateEmptyTensors(rewriter, entry)) ||
        failed(runOneShotBufferize(entry, options, state)))
      signalPassFailure();
  }
};

} // namespace

void onnx_aot::registerCodegenInterfaces(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, kernel::KernelDialect *) {
    kernel::LaunchOp::attachInterface<LaunchModel>(*context);
  });
}
