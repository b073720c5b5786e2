//===- ThreadMultiplier.cpp - products by the threads' own instructions ---===//

#include "Multiplier.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace onnx_aot::gpu_kernel {

namespace {

constexpr int64_t kDepth = 16; ///< of a slice
constexpr int64_t kSide = 16;  ///< threads along rows and along columns
constexpr int64_t kThreads = kThreadMultiplierThreads;
static_assert(kThreads == kSide * kSide);
constexpr int64_t kPerThread = kTile / kSide;
/// One more than a tile: threads that store along the depth hit other banks.
constexpr int64_t kPitch = kTile + 1;

class ThreadMultiplier final : public Multiplier {
public:
  ThreadMultiplier(KernelWriter &writer, const Product &product)
      : w(writer), product(product),
        x(w.rem(w.threadIndex(), w.constant(kSide))),
        y(w.div(w.threadIndex(), w.constant(kSide))) {}

  Slices::Form getForm() const override {
    return {kTile,
            kDepth,
            kThreads,
            /*lineStride=*/1,
            /*depthStride=*/kPitch,
            kDepth * kPitch};
  }
  SmallVector<Value> getRows() const override { return getLines(y); }
  SmallVector<Value> getColumns() const override { return getLines(x); }
  SmallVector<int64_t> getRowDistances() const override { return {1, 2, 4, 8}; }

  SmallVector<Value> multiply(ValueRange sums, Value rows,
                              Value columns) override {
    // Unrolled in part: the rest is left to LLVM.
    constexpr int64_t unroll = 4;
    return w.loop(w.constant(0), w.constant(kDepth), w.constant(unroll), sums,
                  [&](Value k0, ValueRange values) {
                    SmallVector<Value> next(values);
                    for (int64_t k = 0; k < unroll; ++k)
                      multiplyStep(w.add(k0, w.constant(k)), rows, columns,
                                   next);
                    return next;
                  });
  }

private:
  SmallVector<Value> getLines(Value first) const {
    SmallVector<Value> lines;
    for (int64_t i = 0; i < kPerThread; ++i)
      lines.push_back(w.add(first, w.constant(i * kSide)));
    return lines;
  }

  void multiplyStep(Value k, Value rows, Value columns,
                    SmallVector<Value> &sums) {
    Value line = w.mul(k, w.constant(kPitch));
    auto load = [&](const Side &side, Value slice, Value place) {
      SmallVector<Value> loaded;
      for (int64_t i = 0; i < kPerThread; ++i)
        loaded.push_back(
            w.loadShared(slice, side.value.getType(),
                         w.add(w.add(line, place), w.constant(i * kSide))));
      return loaded;
    };
    SmallVector<Value> a = load(product.rows, rows, y);
    SmallVector<Value> b = load(product.columns, columns, x);
    for (int64_t i = 0; i < kPerThread; ++i)
      for (int64_t j = 0; j < kPerThread; ++j) {
        Value &sum = sums[i * kPerThread + j];
        sum = multiplyAdd(a[i], b[j], sum);
      }
  }

  Value widen(Value value, Type type) {
    if (isa<FloatType>(type))
      return arith::ExtFOp::create(w.b(), type, value);
    if (product.isSigned)
      return arith::ExtSIOp::create(w.b(), type, value);
    return arith::ExtUIOp::create(w.b(), type, value);
  }

  Value multiplyAdd(Value a, Value b, Value sum) {
    if (product.narrow) {
      a = widen(a, sum.getType());
      b = widen(b, sum.getType());
    }
    if (isa<FloatType>(sum.getType()))
      return math::FmaOp::create(w.b(), a, b, sum);
    return arith::AddIOp::create(w.b(), sum,
                                 arith::MulIOp::create(w.b(), a, b));
  }

  KernelWriter &w;
  const Product &product;
  Value x, y;
};

} // namespace

std::unique_ptr<Multiplier> createThreadMultiplier(KernelWriter &writer,
                                                   const Product &product) {
  return std::make_unique<ThreadMultiplier>(writer, product);
}

} // namespace onnx_aot::gpu_kernel
