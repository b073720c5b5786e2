//===- RowKernel.cpp - a warp or block for each row -----------------------===//
//
// Softmax, normalisations and reductions along what lies side by side in
// memory. The lanes run over the reduced elements; partial results meet by
// shuffles, and across warps in shared memory, always in the same order.
//
//===----------------------------------------------------------------------===//

#include "SplitReduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace onnx_aot::codegen;

namespace onnx_aot::gpu_kernel {

namespace {

/// Rows up to this length are done by one warp each.
constexpr int64_t kWarpRow = 1024;
/// A reduction this short is not worth a warp, unless its results are rows.
constexpr int64_t kShortRow = 64;

/// Elements that are reduced lie side by side in all inputs that have some.
bool readsRows(const KernelAnalysis &kernel) {
  const KernelDomain &domain = kernel.getDomain();
  for (linalg::GenericOp op : kernel.getOps()) {
    if (isPointwise(op))
      continue;
    for (OpOperand *input : op.getDpsInputOperands()) {
      AffineMap map = op.getMatchingIndexingMap(input);
      if (map.getNumResults() == 0)
        continue;
      auto isReduced = [&](unsigned loop) {
        return domain.isReductionDim(domain.getLoopDims(op)[loop]);
      };
      bool any = false;
      for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
        any |= isReduced(loop) && map.isFunctionOfDim(loop);
      auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
      if (any && !(last && isReduced(last.getPosition())))
        return false;
    }
  }
  return true;
}

/// Every thread adds up the warps' sums. `isAlone`: no other reduction of the
/// kernel has a barrier between the sums of one row and those of the next.
Value combineWarps(KernelWriter &w, const Combiner &combiner, Value sum,
                   int64_t warps, bool isAlone) {
  Type type = sum.getType();
  // A byte holds what is smaller than one.
  bool isBit = type.isInteger(1);
  if (isBit)
    sum = arith::ExtUIOp::create(w.b(), w.b().getI8Type(), sum);
  Value sums =
      w.shared(sum.getType(), warps, ("sums" + Twine(w.nextNumber())).str());
  if (isAlone)
    w.barrier();
  w.when(w.isZero(w.rem(w.threadIndex(), w.constant(kWarp))), [&] {
    w.storeShared(sum, sums, w.div(w.threadIndex(), w.constant(kWarp)));
  });
  w.barrier();
  Value total;
  for (int64_t i = 0; i < warps; ++i) {
    Value value = w.loadShared(sums, sum.getType(), w.constant(i));
    if (isBit)
      value = arith::TruncIOp::create(w.b(), type, value);
    total = total ? w.combine(combiner, total, value) : value;
  }
  return total;
}

struct RowFamily final : KernelFamily {
  StringRef getName() const override { return "row"; }
  bool canJoin() const override { return true; }

  bool matches(const KernelAnalysis &kernel) const override {
    const KernelDomain &domain = kernel.getDomain();
    SmallVector<unsigned> reduced = domain.getReductionDims();
    if (reduced.empty() || domain.hasWindows())
      return false;
    for (linalg::GenericOp op : kernel.getOps())
      if (!isPointwise(op) && !arith::getNeutralElement(getCombiner(op)->op))
        return false;
    if (domain.isRowwise())
      return true;
    std::optional<int64_t> length = kernel.getStaticProduct(reduced);
    return (!length || *length >= kShortRow) && readsRows(kernel);
  }

  int64_t getThreads(const KernelAnalysis &kernel) const override {
    return isWarpRow(kernel) ? 128 : 256;
  }

  Value emitBlocks(const KernelAnalysis &kernel,
                   const HostSizes &host) const override {
    Value rows = host.product(kernel.getDomain().getParallelDims());
    return host.minimum(host.ceilDiv(rows, getRowsPerBlock(kernel)),
                        kMaxBlocks);
  }

  void emit(KernelWriter &w) const override {
    const KernelAnalysis &kernel = w.analysis();
    const KernelDomain &domain = kernel.getDomain();
    bool isWarp = isWarpRow(kernel);
    bool isAlone = llvm::count_if(kernel.getOps(), [](linalg::GenericOp op) {
                     return !isPointwise(op);
                   }) == 1;
    Value lane =
        isWarp ? w.rem(w.threadIndex(), w.constant(kWarp)) : w.threadIndex();
    int64_t lanes = isWarp ? kWarp : getThreads(kernel);
    int64_t perBlock = getRowsPerBlock(kernel);
    Value first = w.mul(w.blockIndex(), w.constant(perBlock));
    if (isWarp)
      first = w.add(first, w.div(w.threadIndex(), w.constant(kWarp)));
    SmallVector<unsigned> rows = getResultOrder(kernel);
    SmallVector<unsigned> reduced = domain.getReductionDims();
    SmallVector<unsigned> stored = getStoredDims(kernel);
    Value step = w.mul(w.gridSize(), w.constant(perBlock));
    using Body = function_ref<SmallVector<Value>(const Point &, ValueRange)>;
    auto alongRow = [&](ArrayRef<unsigned> dims, Point point,
                        ValueRange carried, Body body) {
      return w.loop(lane, w.product(dims), w.constant(lanes), carried,
                    [&](Value linear, ValueRange values) {
                      w.delinearize(linear, dims, point);
                      return body(point, values);
                    });
    };

    w.loop(first, w.product(rows), step, {}, [&](Value row, ValueRange) {
      Point point(domain.getNumDims());
      w.delinearize(row, rows, point);
      for (linalg::GenericOp op : kernel.getOps()) {
        if (isPointwise(op))
          continue;
        Combiner combiner = *getCombiner(op);
        Value sum = alongRow(reduced, point, w.getNeutral(combiner),
                             [&](const Point &at, ValueRange sums) {
                               return SmallVector<Value>{
                                   w.accumulate(op, at, sums.front())};
                             })
                        .front();
        sum = w.combineLanes(combiner, sum);
        if (!isWarp)
          sum = combineWarps(w, combiner, sum, lanes / kWarp, isAlone);
        w.define(op, point, w.combine(combiner, w.getInitial(op), sum));
      }
      if (!stored.empty())
        alongRow(stored, point, {}, [&](const Point &at, ValueRange) {
          w.storeResults(at);
          return SmallVector<Value>();
        });
      else
        w.when(w.isZero(lane), [&] { w.storeResults(point); });
      return SmallVector<Value>();
    });
  }

private:
  static bool isWarpRow(const KernelAnalysis &kernel) {
    std::optional<int64_t> length =
        kernel.getStaticProduct(kernel.getDomain().getReductionDims());
    return length && *length <= kWarpRow;
  }
  int64_t getRowsPerBlock(const KernelAnalysis &kernel) const {
    return isWarpRow(kernel) ? getThreads(kernel) / kWarp : 1;
  }

  /// The reduced dimensions that results run over again.
  static SmallVector<unsigned> getStoredDims(const KernelAnalysis &kernel) {
    linalg::GenericOp last = kernel.getOps().back();
    SmallVector<unsigned> dims;
    if (isPointwise(last))
      for (unsigned dim : kernel.getDomain().getLoopDims(last))
        if (kernel.getDomain().isReductionDim(dim))
          dims.push_back(dim);
    return dims;
  }
};

/// Below 65536 elements a block takes less time than a second launch.
Splitting getSplitting(const KernelAnalysis &kernel) {
  return {kernel.getStaticProduct(kernel.getDomain().getParallelDims()),
          /*least=*/1 << 16, /*wanted=*/256};
}

/// A few long rows, such as the norm of a gradient or a mean over everything.
struct SplitRowFamily final : KernelFamily {
  static constexpr int64_t kThreads = 256;

  StringRef getName() const override { return "split_row"; }
  int64_t getThreads(const KernelAnalysis &) const override { return kThreads; }
  const KernelFamily *getSummation() const override {
    return &getWarpSummationFamily();
  }

  bool matches(const KernelAnalysis &kernel) const override {
    linalg::GenericOp op = getOnlyReduction(kernel);
    return op && !kernel.getDomain().hasWindows() && readsRows(kernel) &&
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
    SmallVector<unsigned> rows = getResultOrder(kernel),
                          reduced = kernel.getDomain().getReductionDims();
    linalg::GenericOp op = getOnlyReduction(kernel);
    Combiner combiner = *getCombiner(op);
    Value count = w.product(rows);
    w.loop(w.blockIndex(), w.mul(count, w.parts()), w.gridSize(), {},
           [&](Value number, ValueRange) {
             Part part = getPart(w, w.div(number, count), /*unit=*/1);
             Point point(kernel.getDomain().getNumDims());
             w.delinearize(w.rem(number, count), rows, point);
             Value sum = w.loop(w.add(part.first, w.threadIndex()), part.end,
                                w.constant(kThreads), w.getNeutral(combiner),
                                [&](Value step, ValueRange carried) {
                                  Point at = point;
                                  w.delinearize(step, reduced, at);
                                  return SmallVector<Value>{
                                      w.accumulate(op, at, carried.front())};
                                })
                             .front();
             sum = combineWarps(w, combiner, w.combineLanes(combiner, sum),
                                kThreads / kWarp, /*isAlone=*/true);
             w.when(w.isZero(w.threadIndex()), [&] {
               w.storeScratch(sum, getPlace(w, point, part.number));
             });
             return SmallVector<Value>();
           });
  }
};

} // namespace

const KernelFamily &getSplitRowFamily() {
  static const SplitRowFamily family;
  return family;
}

const KernelFamily &getRowFamily() {
  static const RowFamily family;
  return family;
}

} // namespace onnx_aot::gpu_kernel
