//===- ContractionKernel.cpp - products of a tile through shared memory ---===//
//
// Sums of products: matrix products in any layout, batched or not, and
// convolutions, whose operands differ from those of matrix products in nothing
// but how an element's address follows from the dimensions. A block computes a
// tile of results; both operands pass through shared memory in slices of the
// reduction, each element evaluated once with the ops in front of the product.
//
//===----------------------------------------------------------------------===//

#include "KernelFamily.h"
#include "Slices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace onnx_aot::codegen;

namespace onnx_aot::gpu_kernel {

namespace {

constexpr int64_t kTile = 64;  ///< rows and columns of a block's results
constexpr int64_t kDepth = 16; ///< of a slice
constexpr int64_t kSide = 16;  ///< threads along rows and along columns
constexpr int64_t kThreads = kSide * kSide;
constexpr int64_t kPerThread = kTile / kSide;
/// One more than a tile: threads that store along the depth hit other banks.
constexpr int64_t kPitch = kTile + 1;
/// Below this a tile would be mostly empty.
constexpr int64_t kSmall = 8;

struct ContractionFamily final : ProductFamily {
  explicit ContractionFamily(bool isSplit) : ProductFamily(kTile, isSplit) {}

  StringRef getName() const override {
    return isSplit ? "split_contraction" : "contraction";
  }
  int64_t getThreads(const KernelAnalysis &) const override { return kThreads; }

  bool matches(const KernelAnalysis &kernel) const override {
    std::optional<Product> product = findProduct(kernel);
    if (!product)
      return false;
    return isLargeProduct(kernel, *product, kSmall) &&
           (!isSplit || isWorthSplitting(kernel, *product, kTile));
  }

  void emit(KernelWriter &w) const override {
    Product product = *findProduct(w.analysis());
    Slices slices(w, product,
                  {kTile, kDepth, kThreads, /*lineStride=*/1,
                   /*depthStride=*/kPitch, kDepth * kPitch});
    auto multiply = [&](ValueRange sums, Value rows, Value columns) {
      return multiplySlice(w, product, sums, rows, columns);
    };
    forEachTile(w, product, kTile, kDepth, isSplit,
                [&](const Point &point, const TilePart &part) {
                  SmallVector<Value> sums(
                      kPerThread * kPerThread,
                      getInitialSum(w, product, bool(part.part)));
                  store(w, product, point, part,
                        slices.sumUp(point, part, sums, multiply));
                });
  }

private:
  static SmallVector<Value> multiplySlice(KernelWriter &w,
                                          const Product &product,
                                          ValueRange carried, Value rows,
                                          Value columns) {
    SmallVector<Value> sums(carried);
    Value x = w.rem(w.threadIndex(), w.constant(kSide));
    Value y = w.div(w.threadIndex(), w.constant(kSide));
    // Unrolled in part: the rest is left to LLVM.
    constexpr int64_t unroll = 4;
    return w.loop(
        w.constant(0), w.constant(kDepth), w.constant(unroll), sums,
        [&](Value k0, ValueRange values) {
          SmallVector<Value> next(values);
          for (int64_t k = 0; k < unroll; ++k) {
            Value line = w.mul(w.add(k0, w.constant(k)), w.constant(kPitch));
            auto load = [&](const Side &side, Value slice, Value place) {
              SmallVector<Value> loaded;
              for (int64_t i = 0; i < kPerThread; ++i)
                loaded.push_back(w.loadShared(
                    slice, side.value.getType(),
                    w.add(w.add(line, place), w.constant(i * kSide))));
              return loaded;
            };
            SmallVector<Value> a = load(product.rows, rows, y);
            SmallVector<Value> b = load(product.columns, columns, x);
            for (int64_t i = 0; i < kPerThread; ++i)
              for (int64_t j = 0; j < kPerThread; ++j) {
                Value &sum = next[i * kPerThread + j];
                sum = multiplyAdd(w, product, a[i], b[j], sum);
              }
          }
          return next;
        });
  }

  static Value widen(KernelWriter &w, const Product &product, Value value,
                     Type type) {
    if (isa<FloatType>(type))
      return arith::ExtFOp::create(w.b(), type, value);
    if (product.isSigned)
      return arith::ExtSIOp::create(w.b(), type, value);
    return arith::ExtUIOp::create(w.b(), type, value);
  }

  static Value multiplyAdd(KernelWriter &w, const Product &product, Value a,
                           Value b, Value sum) {
    if (product.narrow) {
      a = widen(w, product, a, sum.getType());
      b = widen(w, product, b, sum.getType());
    }
    if (isa<FloatType>(sum.getType()))
      return math::FmaOp::create(w.b(), a, b, sum);
    return arith::AddIOp::create(w.b(), sum,
                                 arith::MulIOp::create(w.b(), a, b));
  }

  static void store(KernelWriter &w, const Product &product, const Point &at,
                    const TilePart &part, ArrayRef<Value> sums) {
    Value x = w.rem(w.threadIndex(), w.constant(kSide));
    Value y = w.div(w.threadIndex(), w.constant(kSide));
    for (int64_t i = 0; i < kPerThread; ++i)
      for (int64_t j = 0; j < kPerThread; ++j)
        storeResult(w, product, at, part,
                    w.add(part.row, w.add(y, w.constant(i * kSide))),
                    w.add(part.column, w.add(x, w.constant(j * kSide))),
                    sums[i * kPerThread + j]);
  }
};

} // namespace

const KernelFamily &getContractionFamily(bool isSplit) {
  static const ContractionFamily whole(false), split(true);
  return isSplit ? split : whole;
}

} // namespace onnx_aot::gpu_kernel
