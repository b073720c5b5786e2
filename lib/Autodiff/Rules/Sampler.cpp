//===- Sampler.cpp - images read at fractional positions ------------------===//

#include "Sampler.h"
#include "RuleUtils.h"
#include "Rules.h"

using namespace mlir;
using namespace onnx_aot::onnx;

namespace onnx_aot {

namespace {

/// One element that a position reads along one dimension: where (a whole number
/// inside the image) and how much of it.
struct Tap {
  Value index, weight;
};

class Sampler {
public:
  Sampler(GradientBuilder &b, const Sampling &sampling)
      : b(b), sampling(sampling) {}

  SmallVector<Tap> getTaps(Value position, Value size);

private:
  /// An element, inside the image, with its weight.
  Tap pad(Value index, Value weight, Value size);
  Value clamp(Value index, Value last) {
    return b.create<ClipOp>(index, b.scalar(0.0, index), last);
  }
  Value reflect(Value at, Value size);

  GradientBuilder &b;
  const Sampling &sampling;
};

Value Sampler::reflect(Value at, Value size) {
  double edge = sampling.alignCorners ? 0.0 : -0.5;
  Value range = sampling.alignCorners ? b.sub(size, b.scalar(1.0, size)) : size;
  // An image of one element has nothing to reflect into.
  Value isFlat = b.create<EqualOp>(range, b.scalar(0.0, range));
  Value safe = b.where(isFlat, b.scalar(1.0, range), range);
  Value distance = b.create<AbsOp>(b.add(at, -edge));
  Value turns = b.create<FloorOp>(b.div(distance, safe));
  Value rest = b.sub(distance, b.mul(turns, safe));
  Value isOdd = b.create<EqualOp>(
      b.sub(turns, b.mul(b.create<FloorOp>(b.mul(turns, 0.5)), 2.0)),
      b.scalar(1.0, turns));
  Value back = b.where(isOdd, b.sub(safe, rest), rest);
  return b.select(b.create<NotOp>(isFlat), b.add(back, edge));
}

Tap Sampler::pad(Value index, Value weight, Value size) {
  Value last = b.sub(size, b.scalar(1.0, size));
  if (sampling.padding == Sampling::Padding::Reflection)
    index = reflect(index, size);
  Value inside = clamp(index, last);
  if (sampling.padding == Sampling::Padding::Zeros)
    weight = b.select(b.create<EqualOp>(inside, index), weight);
  return {inside, weight};
}

SmallVector<Tap> Sampler::getTaps(Value at, Value size) {
  Value last = b.sub(size, b.scalar(1.0, size));
  if (sampling.mode == Sampling::Mode::Nearest) {
    // Rounding passes no gradient here.
    Value nearest = b.create<train::StopGradientOp>(b.create<RoundOp>(at));
    return {pad(nearest, b.onesLike(nearest), size)};
  }
  if (sampling.padding == Sampling::Padding::Reflection)
    at = reflect(at, size);
  if (sampling.padding == Sampling::Padding::Border &&
      sampling.mode != Sampling::Mode::Cubic)
    at = clamp(at, last);
  if (sampling.mode == Sampling::Mode::Linear) {
    Value first = b.create<FloorOp>(at), part = b.sub(at, first);
    return {pad(first, b.sub(1.0, part), size),
            pad(b.add(first, 1.0), part, size)};
  }
  // Keys' cubic with a = -0.75: near and far taps by their distance t.
  constexpr double a = -0.75;
  Value first = b.create<FloorOp>(at), part = b.sub(at, first);
  auto near = [&](Value t) {
    Value inner = b.add(b.mul(t, a + 2), -(a + 3));
    return b.add(b.mul(b.mul(inner, t), t), 1.0);
  };
  auto far = [&](Value t) {
    Value inner = b.add(b.mul(t, a), -5 * a);
    return b.add(b.mul(b.add(b.mul(inner, t), 8 * a), t), -4 * a);
  };
  return {pad(b.add(first, -1.0), far(b.add(part, 1.0)), size),
          pad(first, near(part), size),
          pad(b.add(first, 1.0), near(b.sub(1.0, part)), size),
          pad(b.add(first, 2.0), far(b.sub(2.0, part)), size)};
}

} // namespace

Value sampleImage(GradientBuilder &b, Value x, ArrayRef<Value> positions,
                  const Sampling &sampling) {
  Sampler sampler(b, sampling);
  Type i64 = b.getBuilder().getI64Type();
  int64_t rank = positions.size();
  // Every combination of one tap of each dimension; indices run row-major.
  SmallVector<Tap> taps;
  for (int64_t i = 0; i < rank; ++i) {
    Value length = b.sizeOf(x, i + 2), size = b.castLike(length, x);
    SmallVector<Tap> combined;
    for (const Tap &tap : sampler.getTaps(positions[i], size)) {
      Value index = b.cast(tap.index, i64);
      if (taps.empty())
        combined.push_back({index, tap.weight});
      for (const Tap &outer : taps)
        combined.push_back({b.add(b.mul(outer.index, length), index),
                            b.mul(outer.weight, tap.weight)});
    }
    taps = combined;
  }
  Value count = b.create<ReduceProdOp>(getSizes(b, x, 2), Value(), 1, 0);
  Value flat = b.reshape(x, b.concat({getSizes(b, x, 0, 2), count}));
  Value places = b.concat({getSizes(b, x, 0, 2), b.sizeOf(positions[0], 1)});
  SmallVector<Value> parts;
  for (const Tap &tap : taps) {
    Value at = b.create<ExpandOp>(b.unsqueeze(tap.index, {1}), places);
    Value read = b.create<GatherElementsOp>(flat, at, 2);
    parts.push_back(b.mul(read, b.unsqueeze(tap.weight, {1})));
  }
  return sampling.takesLargest ? b.create<MaxOp>(ValueRange(parts))
                               : b.create<SumOp>(ValueRange(parts));
}

} // namespace onnx_aot
