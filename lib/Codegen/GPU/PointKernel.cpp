//===- PointKernel.cpp - a thread for each result -------------------------===//
//
// Pointwise ops, transpositions, gathers, pooling, and every reduction that no
// other family takes: a thread runs over the reduction dimensions itself, so
// neighbouring threads read neighbouring elements where results do.
//
//===----------------------------------------------------------------------===//

#include "KernelFamily.h"

using namespace mlir;
using namespace onnx_aot::codegen;

namespace onnx_aot::gpu_kernel {

namespace {

struct PointFamily final : ResultFamily {
  PointFamily() : ResultFamily(/*threads=*/256) {}

  StringRef getName() const override { return "point"; }
  bool matches(const KernelAnalysis &) const override { return true; }

private:
  /// The reductions in order, then what is stored.
  void emitResult(KernelWriter &w, Point &point) const override {
    const KernelAnalysis &kernel = w.analysis();
    for (linalg::GenericOp op : kernel.getOps())
      if (!isPointwise(op)) {
        Value sum = reduce(w, op, getReductionDims(kernel, op), point,
                           w.getInitial(op));
        w.define(op, point, sum);
      }
    SmallVector<unsigned> inner;
    linalg::GenericOp last = kernel.getOps().back();
    if (isPointwise(last))
      inner = getReductionDims(kernel, last);
    store(w, inner, point);
  }

  static SmallVector<unsigned> getReductionDims(const KernelAnalysis &kernel,
                                                linalg::GenericOp op) {
    SmallVector<unsigned> dims;
    for (unsigned dim : kernel.getDomain().getLoopDims(op))
      if (kernel.getDomain().isReductionDim(dim))
        dims.push_back(dim);
    return dims;
  }

  static Value reduce(KernelWriter &w, linalg::GenericOp op,
                      ArrayRef<unsigned> dims, Point point, Value sum) {
    if (dims.empty())
      return w.accumulate(op, point, sum);
    return w
        .loop(w.constant(0), w.size(dims.front()), w.constant(1), sum,
              [&](Value index, ValueRange carried) {
                point[dims.front()] = index;
                return SmallVector<Value>{
                    reduce(w, op, dims.drop_front(), point, carried.front())};
              })
        .front();
  }

  /// Results that run over the reduced dimensions again.
  static void store(KernelWriter &w, ArrayRef<unsigned> dims, Point point) {
    if (dims.empty())
      return w.storeResults(point);
    w.loop(w.constant(0), w.size(dims.front()), w.constant(1), {},
           [&](Value index, ValueRange) {
             point[dims.front()] = index;
             store(w, dims.drop_front(), point);
             return SmallVector<Value>();
           });
  }
};

} // namespace

const KernelFamily &getPointFamily() {
  static const PointFamily family;
  return family;
}

} // namespace onnx_aot::gpu_kernel
