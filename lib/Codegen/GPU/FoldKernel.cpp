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

struct FoldFamily final : ResultFamily {
  FoldFamily() : ResultFamily(/*threads=*/128) {}

  StringRef getName() const override { return "fold"; }
  bool matches(const KernelAnalysis &kernel) const override {
    return kernel.isFold();
  }

private:
  void emitResult(KernelWriter &w, Point &point) const override {
    const KernelAnalysis &kernel = w.analysis();
    linalg::GenericOp op = kernel.getOps().front();
    SmallVector<Value> initial;
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      initial.push_back(w.getInitial(op, i));
    SmallVector<Value> results =
        fold(w, op, kernel.getDomain().getReductionDims(), point, initial);
    for (auto [i, result] : llvm::enumerate(results)) {
      AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(i));
      w.store(result, kernel.getFirstOutput() + i,
              w.getIndices(map, op, point));
    }
  }

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
