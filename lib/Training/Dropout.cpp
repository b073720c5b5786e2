//===- Dropout.cpp - dropout from the seed of a step ----------------------===//
//
// An element is dropped by a hash of the seed, the step, the node's number and
// the element's position: the order of evaluation and the number of threads do
// not matter. All of it is pointwise, so it is computed inside the kernel that
// uses the result; no mask is kept unless the backward pass wants it.
//
//===----------------------------------------------------------------------===//

#include "Dropout.h"

#include "onnx-aot/Optimizer/OpMaker.h"

using namespace mlir;
using namespace onnx_aot;

/// Odd constants of splitmix64: its increment and the two of its finalizer.
static constexpr uint64_t kIncrement = 0x9E3779B97F4A7C15,
                          kFirst = 0xBF58476D1CE4E5B9,
                          kSecond = 0x94D049BB133111EB;

static bool isTraining(onnx::DropoutOp op) {
  if (!op.getTrainingMode())
    return false;
  auto mode = onnx::getConstantIntegers(op.getTrainingMode());
  return mode && mode->size() == 1 && mode->front() != 0;
}

namespace {
/// Arithmetic on 64 bits that wraps.
class Hash {
public:
  explicit Hash(OpMaker &maker)
      : m(maker), type(IntegerType::get(maker.getBuilder().getContext(), 64,
                                        IntegerType::Unsigned)) {}

  Value constant(uint64_t value) {
    return onnx::createConstant(
        m.getBuilder(), m.getLoc(),
        DenseElementsAttr::get(RankedTensorType::get({}, type),
                               APInt(64, value)));
  }
  Value convert(Value x) { return m.cast(x, type); }
  Value multiply(Value x, uint64_t factor) {
    return m.mul(x, constant(factor));
  }
  Value shift(Value x, uint64_t by) {
    return m.create<onnx::BitShiftOp>(x, constant(by),
                                      m.getBuilder().getStringAttr("RIGHT"));
  }
  Value fold(Value x, uint64_t by) {
    return m.create<onnx::BitwiseXorOp>(x, shift(x, by));
  }
  /// splitmix64's finalizer.
  Value mix(Value x) {
    x = multiply(fold(x, 30), kFirst);
    return fold(multiply(fold(x, 27), kSecond), 31);
  }

private:
  OpMaker &m;
  Type type;
};
} // namespace

/// The elements' numbers in row-major order.
static Value getPositions(OpMaker &m, Hash &hash, Value x) {
  OpBuilder &builder = m.getBuilder();
  Location loc = m.getLoc();
  Type i64 = builder.getI64Type();
  int64_t rank = *onnx::getRank(x);
  Value one = onnx::createScalar(builder, loc, 1, i64),
        zero = onnx::createScalar(builder, loc, 0, i64);
  if (rank == 0)
    return hash.convert(zero);
  Value shape = m.create<onnx::ShapeOp>(x, IntegerAttr(), /*start=*/0);
  Value stride = one, sum;
  for (int64_t axis = rank - 1; axis >= 0; --axis) {
    Value index = onnx::createScalar(builder, loc, axis, i64);
    Value size = m.create<onnx::GatherOp>(shape, index, /*axis=*/0);
    Value steps = m.create<onnx::RangeOp>(zero, size, one);
    SmallVector<int64_t> added;
    for (int64_t other = 1; other < rank - axis; ++other)
      added.push_back(other);
    Value offsets = m.mul(steps, stride);
    if (!added.empty())
      offsets = m.create<onnx::UnsqueezeOp>(
          offsets, onnx::createIntegers(builder, loc, added));
    sum = sum ? m.add(sum, offsets) : offsets;
    stride = m.mul(stride, size);
  }
  return hash.convert(sum);
}

static void expand(onnx::DropoutOp op, Value seed, uint64_t number) {
  OpBuilder builder(op);
  OpMaker m(builder, op.getLoc());
  Hash hash(m);
  auto part = [&](int64_t index) {
    Value at =
        onnx::createScalar(builder, op.getLoc(), index, builder.getI64Type());
    return hash.convert(m.create<onnx::GatherOp>(seed, at, /*axis=*/0));
  };
  // Each of the three goes through the finalizer of its own.
  Value key = hash.mix(m.add(hash.multiply(part(0), kIncrement),
                             hash.constant(number * kSecond + 1)));
  key = hash.mix(m.add(key, hash.multiply(part(1), kIncrement)));
  Value positions = getPositions(m, hash, op.getData());
  Value bits = hash.mix(m.add(hash.multiply(positions, kIncrement), key));
  // 24 bits are exact as a float, and fit a signed integer on the way.
  Value fraction =
      m.mul(m.cast(m.cast(hash.shift(bits, 40), builder.getI32Type()),
                   builder.getF32Type()),
            0x1p-24);
  Value ratio = op.getRatio() ? m.cast(op.getRatio(), builder.getF32Type())
                              : onnx::createScalar(builder, op.getLoc(), 0.5,
                                                   builder.getF32Type());
  Value kept = m.create<onnx::GreaterOrEqualOp>(fraction, ratio);
  Value scale = m.cast(m.div(m.scalar(1, ratio), m.sub(1.0, ratio)),
                       onnx::getElementType(op.getData()));
  Value zero = m.scalar(0, op.getData());
  // With everything dropped the scale is infinite, and meets no element.
  Value output = m.mul(m.where(kept, op.getData(), zero),
                       m.where(kept, scale, m.scalar(1, scale)));
  op.getOutput().replaceAllUsesWith(output);
  op.getMask().replaceAllUsesWith(kept);
  op.erase();
}

bool onnx_aot::hasTrainingDropout(func::FuncOp entry) {
  return entry
      .walk([](onnx::DropoutOp op) {
        return isTraining(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void onnx_aot::expandTrainingDropout(func::FuncOp entry, Value seed) {
  SmallVector<onnx::DropoutOp> ops;
  entry.walk([&](onnx::DropoutOp op) {
    if (isTraining(op))
      ops.push_back(op);
  });
  for (auto [number, op] : llvm::enumerate(ops))
    expand(op, seed, number);
}
