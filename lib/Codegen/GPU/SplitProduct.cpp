//===- SplitProduct.cpp - sums cut into parts -----------------------------===//
//
// Weight gradients are small and their sums are long: a tile for each block
// would leave most of the device idle. Blocks sum up parts of the reduction;
// then a thread for each result adds its parts, in their order.
//
//===----------------------------------------------------------------------===//

#include "Product.h"

using namespace mlir;
using namespace onnx_aot::codegen;

namespace onnx_aot::gpu_kernel {

namespace {

/// Blocks that keep a device busy.
constexpr int64_t kBlocks = 128;
/// The least that a part sums up.
constexpr int64_t kLeastDepth = 256;

/// The tiles of all results; nothing where that depends on the run.
std::optional<int64_t> countTiles(const KernelAnalysis &kernel,
                                  const Product &product, int64_t tile) {
  std::optional<int64_t> rows = kernel.getStaticProduct(product.rows.dims),
                         columns =
                             kernel.getStaticProduct(product.columns.dims),
                         batch = kernel.getStaticProduct(product.batch);
  if (!rows || !columns || !batch)
    return std::nullopt;
  return llvm::divideCeil(*rows, tile) * llvm::divideCeil(*columns, tile) *
         *batch;
}

struct SummationFamily final : ResultFamily {
  SummationFamily() : ResultFamily(/*threads=*/256) {}

  StringRef getName() const override { return "summation"; }
  bool matches(const KernelAnalysis &) const override { return false; }

private:
  void emitResult(KernelWriter &w, Point &point) const override {
    Product product = *findProduct(w.analysis());
    Combiner combiner = *getCombiner(product.op);
    Value initial = w.getInitial(product.op);
    Value sum = w.loop(w.constant(0), w.parts(), w.constant(1), initial,
                       [&](Value part, ValueRange carried) {
                         Value place = getPlace(w, product, point, part);
                         return SmallVector<Value>{w.combine(
                             combiner, carried.front(),
                             w.loadScratch(initial.getType(), place))};
                       })
                    .front();
    w.define(product.op, point, sum);
    w.storeResults(point);
  }
};

} // namespace

bool isWorthSplitting(const KernelAnalysis &kernel, const Product &product,
                      int64_t tile) {
  std::optional<int64_t> tiles = countTiles(kernel, product, tile),
                         depth = kernel.getStaticProduct(product.depth);
  return tiles && *tiles > 0 && *tiles <= kBlocks / 2 &&
         depth.value_or(2 * kLeastDepth) >= 2 * kLeastDepth;
}

SplitSizes emitSplitSizes(const KernelAnalysis &kernel, const HostSizes &host,
                          int64_t tile) {
  Product product = *findProduct(kernel);
  SplitSizes sizes;
  int64_t most = llvm::divideCeil(kBlocks, *countTiles(kernel, product, tile));
  sizes.parts = host.minimum(
      host.ceilDiv(host.product(product.depth), kLeastDepth), most);
  sizes.elements = *kernel.getStaticProduct(product.batch) *
                   *kernel.getStaticProduct(product.rows.dims) *
                   *kernel.getStaticProduct(product.columns.dims);
  sizes.type = getElementTypeOrSelf(product.op->getResult(0).getType());
  return sizes;
}

const KernelFamily &getSummationFamily() {
  static const SummationFamily family;
  return family;
}

} // namespace onnx_aot::gpu_kernel
