//===- ProductKernel.cpp - products of a tile through shared memory -------===//
//
// Sums of products: matrix products in any layout, batched or not, and
// convolutions, whose operands differ from those of matrix products in nothing
// but how an element's address follows from the dimensions. A block computes a
// tile of results; both operands pass through shared memory in slices of the
// reduction, each element evaluated once with the ops in front of the product.
//
//===----------------------------------------------------------------------===//

#include "Multiplier.h"

using namespace mlir;

namespace onnx_aot::gpu_kernel {

namespace {

/// What writes products by square tiles of the result has in common.
class ProductFamily : public KernelFamily {
public:
  /// `least`: with fewer rows or columns, tiles would be mostly empty.
  ProductFamily(StringRef name, bool isSplit, int64_t threads, int64_t least)
      : name(name), isSplit(isSplit), threads(threads), least(least) {}

  StringRef getName() const override { return name; }
  int64_t getThreads(const KernelAnalysis &) const override { return threads; }

  bool matches(const KernelAnalysis &kernel) const override {
    std::optional<Product> product = findProduct(kernel);
    return product && canMultiply(kernel, *product) &&
           isLargeProduct(kernel, *product, least) &&
           (!isSplit ||
            isWorthSplitting(kernel, getSplitting(kernel, *product, kTile)));
  }

  Value emitBlocks(const KernelAnalysis &kernel,
                   const HostSizes &host) const override {
    return emitTileBlocks(host, *findProduct(kernel), {kTile, kTile});
  }
  const KernelFamily *getSummation() const override {
    return isSplit ? &getSummationFamily() : nullptr;
  }
  SplitSizes emitSplit(const KernelAnalysis &kernel,
                       const HostSizes &host) const override {
    return emitSplitSizes(kernel, host,
                          getSplitting(kernel, *findProduct(kernel), kTile));
  }

  void emit(KernelWriter &w) const override {
    Product product = *findProduct(w.analysis());
    std::unique_ptr<Multiplier> multiplier = createMultiplier(w, product);
    Slices slices(w, product, multiplier->getForm());
    SmallVector<Value> rows = multiplier->getRows(),
                       columns = multiplier->getColumns();
    forEachTile(
        w, product, kTile, multiplier->getForm().depth, isSplit,
        [&](const Point &point, const TilePart &part) {
          SmallVector<Value> sums(rows.size() * columns.size(),
                                  getInitialSum(w, product, bool(part.part)));
          sums =
              slices.sumUp(point, part, sums,
                           [&](ValueRange sums, Value rows, Value columns) {
                             return multiplier->multiply(sums, rows, columns);
                           });
          for (auto [i, row] : llvm::enumerate(rows))
            for (auto [j, column] : llvm::enumerate(columns))
              storeResult(w, product, point, part, w.add(part.row, row),
                          w.add(part.column, column),
                          sums[i * columns.size() + j]);
        });
  }

private:
  virtual bool canMultiply(const KernelAnalysis &kernel,
                           const Product &product) const = 0;
  virtual std::unique_ptr<Multiplier>
  createMultiplier(KernelWriter &w, const Product &product) const = 0;

  StringRef name;
  bool isSplit; ///< sums are cut into parts
  int64_t threads, least;
};

struct ContractionFamily final : ProductFamily {
  explicit ContractionFamily(bool isSplit)
      : ProductFamily(isSplit ? "split_contraction" : "contraction", isSplit,
                      kThreadMultiplierThreads, /*least=*/8) {}

private:
  bool canMultiply(const KernelAnalysis &, const Product &) const override {
    return true;
  }
  std::unique_ptr<Multiplier>
  createMultiplier(KernelWriter &w, const Product &product) const override {
    return createThreadMultiplier(w, product);
  }
};

struct TensorCoreFamily final : ProductFamily {
  explicit TensorCoreFamily(bool isSplit)
      : ProductFamily(isSplit ? "split_tensor" : "tensor", isSplit,
                      kTensorCoreThreads, /*least=*/16) {}

private:
  bool canMultiply(const KernelAnalysis &kernel,
                   const Product &product) const override {
    return isForTensorCores(kernel, product);
  }
  std::unique_ptr<Multiplier>
  createMultiplier(KernelWriter &w, const Product &product) const override {
    return createTensorCoreMultiplier(w, product, Sharing::Square);
  }
};

} // namespace

const KernelFamily &getContractionFamily(bool isSplit) {
  static const ContractionFamily whole(false), split(true);
  return isSplit ? split : whole;
}

const KernelFamily &getTensorCoreFamily(bool isSplit) {
  static const TensorCoreFamily whole(false), split(true);
  return isSplit ? split : whole;
}

} // namespace onnx_aot::gpu_kernel
