//===- SplitReduction.cpp - reductions cut into parts ---------------------===//

#include "SplitReduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace onnx_aot::codegen;

namespace onnx_aot::gpu_kernel {

linalg::GenericOp getOnlyReduction(const KernelAnalysis &kernel) {
  linalg::GenericOp found;
  for (linalg::GenericOp op : kernel.getOps()) {
    if (isPointwise(op))
      continue;
    if (found)
      return {};
    found = op;
  }
  if (!found || kernel.isFold() || kernel.getDomain().isRowwise() ||
      !arith::getNeutralElement(getCombiner(found)->op))
    return {};
  return found;
}

bool isWorthSplitting(const KernelAnalysis &kernel,
                      const Splitting &splitting) {
  std::optional<int64_t> depth =
      kernel.getStaticProduct(kernel.getDomain().getReductionDims());
  const int64_t least = 2 * splitting.least;
  return splitting.tiles && *splitting.tiles > 0 &&
         *splitting.tiles <= splitting.wanted / 2 &&
         depth.value_or(least) >= least;
}

SplitSizes emitSplitSizes(const KernelAnalysis &kernel, const HostSizes &host,
                          const Splitting &splitting) {
  const KernelDomain &domain = kernel.getDomain();
  SplitSizes sizes;
  sizes.parts = host.minimum(
      host.ceilDiv(host.product(domain.getReductionDims()), splitting.least),
      llvm::divideCeil(splitting.wanted, *splitting.tiles));
  sizes.elements = *kernel.getStaticProduct(domain.getParallelDims());
  sizes.type =
      getElementTypeOrSelf(getOnlyReduction(kernel)->getResult(0).getType());
  return sizes;
}

Part getPart(KernelWriter &w, Value number, int64_t unit) {
  Value depth = w.product(w.analysis().getDomain().getReductionDims());
  Value more = w.sub(w.add(w.ceilDiv(depth, unit), w.parts()), w.constant(1));
  Value length = w.mul(w.div(more, w.parts()), w.constant(unit));
  Value first = w.mul(number, length);
  return {number, first, w.minimum(w.add(first, length), depth)};
}

Value getPlace(KernelWriter &w, const Point &point, Value part) {
  SmallVector<unsigned> dims = getResultOrder(w.analysis());
  return w.add(w.mul(part, w.product(dims)), w.linearize(dims, point));
}

namespace {

/// The parts' sum from `first` on, every `step`-th.
Value sumUp(KernelWriter &w, const Point &point, Value initial, Value first,
            Value step) {
  Combiner combiner = *getCombiner(getOnlyReduction(w.analysis()));
  return w
      .loop(first, w.parts(), step, initial,
            [&](Value part, ValueRange carried) {
              Value place = getPlace(w, point, part);
              return SmallVector<Value>{
                  w.combine(combiner, carried.front(),
                            w.loadScratch(initial.getType(), place))};
            })
      .front();
}

/// A thread for each result.
struct SummationFamily final : ResultFamily {
  SummationFamily() : ResultFamily(/*threads=*/256) {}

  StringRef getName() const override { return "summation"; }
  bool matches(const KernelAnalysis &) const override { return false; }

private:
  void emitResult(KernelWriter &w, Point &point) const override {
    linalg::GenericOp op = getOnlyReduction(w.analysis());
    w.define(op, point,
             sumUp(w, point, w.getInitial(op), w.constant(0), w.constant(1)));
    w.storeResults(point);
  }
};

/// A warp for each result, where those are too few for a thread each.
struct WarpSummationFamily final : KernelFamily {
  static constexpr int64_t kWarps = 4;

  StringRef getName() const override { return "summation"; }
  bool matches(const KernelAnalysis &) const override { return false; }
  int64_t getThreads(const KernelAnalysis &) const override {
    return kWarps * kWarp;
  }
  Value emitBlocks(const KernelAnalysis &kernel,
                   const HostSizes &host) const override {
    Value results = host.product(kernel.getDomain().getParallelDims());
    return host.minimum(host.ceilDiv(results, kWarps), kMaxBlocks);
  }

  void emit(KernelWriter &w) const override {
    linalg::GenericOp op = getOnlyReduction(w.analysis());
    Combiner combiner = *getCombiner(op);
    SmallVector<unsigned> order = getResultOrder(w.analysis());
    Value lane = w.rem(w.threadIndex(), w.constant(kWarp));
    Value first = w.add(w.mul(w.blockIndex(), w.constant(kWarps)),
                        w.div(w.threadIndex(), w.constant(kWarp)));
    Value step = w.mul(w.gridSize(), w.constant(kWarps));
    w.loop(first, w.product(order), step, {}, [&](Value number, ValueRange) {
      Point point(w.analysis().getDomain().getNumDims());
      w.delinearize(number, order, point);
      Value sum =
          sumUp(w, point, w.getNeutral(combiner), lane, w.constant(kWarp));
      sum = w.combineLanes(combiner, sum);
      w.when(w.isZero(lane), [&] {
        w.define(op, point, w.combine(combiner, w.getInitial(op), sum));
        w.storeResults(point);
      });
      return SmallVector<Value>();
    });
  }
};

} // namespace

const KernelFamily &getSummationFamily() {
  static const SummationFamily family;
  return family;
}

const KernelFamily &getWarpSummationFamily() {
  static const WarpSummationFamily family;
  return family;
}

} // namespace onnx_aot::gpu_kernel
