//===- FoldKernel.cpp - reductions by a body of their own -----------------===//
//
// Places of maxima, maxima with their places, and other reductions whose body
// is more than one operation of two numbers: the steps have an order, which a
// thread keeps for each result.
//
//===----------------------------------------------------------------------===//

#include "KernelFamily.h"

using namespace mlir;

namespace onnx_aot::gpu_kernel {

namespace {

struct FoldFamily final : KernelFamily {
  static constexpr int64_t kThreads = 128;

  StringRef getName() const override { return "fold"; }
  bool matches(const KernelAnalysis &kernel) const override {
    return kernel.isFold();
  }
  int64_t getThreads(const KernelAnalysis &) const override { return kThreads; }

  Value emitBlocks(const KernelAnalysis &kernel,
                   const HostSizes &host) const override {
    Value points = host.product(kernel.getDomain().getParallelDims());
    return host.minimum(host.ceilDiv(points, kThreads), kMaxBlocks);
  }

  void emit(KernelWriter &w) const override {
    const KernelAnalysis &kernel = w.analysis();
    linalg::GenericOp op = kernel.getOps().front();
    SmallVector<unsigned> order = getResultOrder(kernel);
    SmallVector<unsigned> reduced = kernel.getDomain().getReductionDims();
    Value first =
        w.add(w.mul(w.blockIndex(), w.constant(kThreads)), w.threadIndex());
    Value stride = w.mul(w.gridSize(), w.constant(kThreads));
    w.loop(first, w.product(order), stride, {}, [&](Value linear, ValueRange) {
      Point point(kernel.getDomain().getNumDims());
      w.delinearize(linear, order, point);
      SmallVector<Value> initial;
      for (unsigned i = 0; i < op->getNumResults(); ++i)
        initial.push_back(w.getInitial(op, i));
      SmallVector<Value> results = fold(w, op, reduced, point, initial);
      for (auto [i, result] : llvm::enumerate(results)) {
        AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(i));
        w.store(result, kernel.getFirstOutput() + i,
                w.getIndices(map, op, point));
      }
      return SmallVector<Value>();
    });
  }

private:
  static SmallVector<Value> fold(KernelWriter &w, linalg::GenericOp op,
                                 ArrayRef<unsigned> dims, Point point,
                                 ValueRange carried) {
    if (dims.empty())
      return w.step(op, point, carried);
    return w.loop(w.constant(0), w.size(dims.front()), w.constant(1), carried,
                  [&](Value index, ValueRange values) {
                    point[dims.front()] = index;
                    return fold(w, op, dims.drop_front(), point, values);
                  });
  }
};

} // namespace

const KernelFamily &getFoldFamily() {
  static const FoldFamily family;
  return family;
}

} // namespace onnx_aot::gpu_kernel
