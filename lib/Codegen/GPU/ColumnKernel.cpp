//===- ColumnKernel.cpp - reductions of columns, cut into parts -----------===//
//
// Reductions whose results lie side by side where their inputs do: gradients of
// biases, statistics of channels that come last. A block has 32 results and
// eight lines at a time; what the lines add up to meets in shared memory.
//
//===----------------------------------------------------------------------===//

#include "SplitReduction.h"

using namespace mlir;
using namespace onnx_aot::codegen;

namespace onnx_aot::gpu_kernel {

namespace {

constexpr int64_t kLines = 8, kThreads = kLines * kWarp;

Splitting getSplitting(const KernelAnalysis &kernel) {
  Splitting splitting{
      kernel.getStaticProduct(kernel.getDomain().getParallelDims()),
      /*least=*/64, /*wanted=*/512};
  if (splitting.tiles)
    splitting.tiles = llvm::divideCeil(*splitting.tiles, kWarp);
  return splitting;
}

struct ColumnFamily final : KernelFamily {
  StringRef getName() const override { return "split_column"; }
  int64_t getThreads(const KernelAnalysis &) const override { return kThreads; }
  const KernelFamily *getSummation() const override {
    return &getSummationFamily();
  }

  bool matches(const KernelAnalysis &kernel) const override {
    linalg::GenericOp op = getOnlyReduction(kernel);
    return op && !kernel.getDomain().hasWindows() &&
           !getElementTypeOrSelf(op->getResult(0).getType()).isInteger(1) &&
           isWorthSplitting(kernel, getSplitting(kernel));
  }
  SplitSizes emitSplit(const KernelAnalysis &kernel,
                       const HostSizes &host) const override {
    return emitSplitSizes(kernel, host, getSplitting(kernel));
  }
  Value emitBlocks(const KernelAnalysis &kernel,
                   const HostSizes &host) const override {
    return host.constant(*getSplitting(kernel).tiles);
  }

  void emit(KernelWriter &w) const override {
    const KernelAnalysis &kernel = w.analysis();
    SmallVector<unsigned> order = getResultOrder(kernel),
                          reduced = kernel.getDomain().getReductionDims();
    linalg::GenericOp op = getOnlyReduction(kernel);
    Combiner combiner = *getCombiner(op);
    Value lane = w.rem(w.threadIndex(), w.constant(kWarp));
    Value line = w.div(w.threadIndex(), w.constant(kWarp));
    Value neutral = w.getNeutral(combiner);
    Value sums = w.shared(neutral.getType(), kThreads, "sums");
    Value results = w.product(order), tiles = w.ceilDiv(results, kWarp);
    w.loop(w.blockIndex(), w.mul(tiles, w.parts()), w.gridSize(), {},
           [&](Value number, ValueRange) {
             Part part = getPart(w, w.div(number, tiles), /*unit=*/1);
             Value result =
                 w.add(w.mul(w.rem(number, tiles), w.constant(kWarp)), lane);
             Value isInside = w.less(result, results);
             Point point(kernel.getDomain().getNumDims());
             w.delinearize(result, order, point);
             Value sum = w.choose(isInside, neutral, [&] {
               return w
                   .loop(w.add(part.first, line), part.end, w.constant(kLines),
                         neutral,
                         [&](Value step, ValueRange carried) {
                           Point at = point;
                           w.delinearize(step, reduced, at);
                           return SmallVector<Value>{
                               w.accumulate(op, at, carried.front())};
                         })
                   .front();
             });
             // Nobody reads the sums of before any longer.
             w.barrier();
             w.storeShared(sum, sums, w.threadIndex());
             w.barrier();
             w.when(w.both(w.isZero(line), isInside), [&] {
               Value total = sum;
               for (int64_t i = 1; i < kLines; ++i)
                 total = w.combine(
                     combiner, total,
                     w.loadShared(sums, sum.getType(),
                                  w.add(lane, w.constant(i * kWarp))));
               w.storeScratch(total, getPlace(w, point, part.number));
             });
             return SmallVector<Value>();
           });
  }
};

} // namespace

const KernelFamily &getColumnFamily() {
  static const ColumnFamily family;
  return family;
}

} // namespace onnx_aot::gpu_kernel
