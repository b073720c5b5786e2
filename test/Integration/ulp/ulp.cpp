//===- ulp.cpp - errors of elementary functions in units in the last place ===//
//
// usage: onnx-aot-ulp FUNCTION MODULE STRIDE THREADS
//
// Runs the module, y = FUNCTION(x) on float32 vectors of any length, on every
// STRIDE-th of all 2^32 floats (1: all of them), and prints as JSON the largest
// distance from the value that 64-bit floats give, in units in the last place
// of that value, and where it is. What 64-bit functions are off by is less than
// a millionth of such a unit. Infinities and NaN must come out exactly.
// `pow` has two inputs: bases are all floats, the exponent is drawn for each.
//
//===----------------------------------------------------------------------===//

#include "onnx-aot/runtime/Session.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace onnx_aot::runtime;

namespace {

using Wide = double;
using Function = Wide (*)(Wide x, Wide y);

// Formulas are chosen so that nothing cancels.
const std::map<std::string, Function> kFunctions = {
    {"exp", [](Wide x, Wide) { return std::exp(x); }},
    {"log", [](Wide x, Wide) { return std::log(x); }},
    {"tanh", [](Wide x, Wide) { return std::tanh(x); }},
    {"erf", [](Wide x, Wide) { return std::erf(x); }},
    {"sin", [](Wide x, Wide) { return std::sin(x); }},
    {"cos", [](Wide x, Wide) { return std::cos(x); }},
    {"pow", [](Wide x, Wide y) { return std::pow(x, y); }},
    {"sigmoid",
     [](Wide x, Wide) {
       return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
     }},
    {"gelu", [](Wide x, Wide) { return x / 2 * std::erfc(-x * M_SQRT1_2); }},
};

float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// The unit in the last place of a 32-bit float nearest to `want`, which is
/// finite.
double getUnit(Wide want) {
  uint64_t bits;
  std::memcpy(&bits, &want, sizeof bits);
  int64_t exponent = static_cast<int64_t>(bits >> 52 & 2047) - 1023;
  exponent = std::clamp<int64_t>(exponent, -126, 127);
  bits = static_cast<uint64_t>(exponent - 23 + 1023) << 52;
  double unit;
  std::memcpy(&unit, &bits, sizeof unit);
  return unit;
}

/// Distance in units in the last place of `want`; infinite where only equality
/// will do and there is none. Infinity counts as the number after the largest.
double getError(float got, Wide want) {
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) && std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(want))
    return got == want ? 0 : INFINITY;
  constexpr Wide kEnd = 0x1p128;
  Wide value = got;
  if (std::isinf(got))
    value = std::copysign(kEnd, value);
  if (std::fabs(want) > kEnd)
    want = std::copysign(kEnd, want);
  return std::fabs(value - want) / getUnit(want);
}

struct Worst {
  double error = 0;
  float x = 0, y = 0, got = 0;
  uint64_t count = 0;
};

/// A generator that gives each base its exponent, on any machine the same.
uint32_t mix(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

/// An exponent that often leaves the power finite.
float drawExponent(uint32_t bits) {
  uint32_t random = mix(bits);
  float magnitude = std::exp2(static_cast<float>(random % 4096) / 256 - 10);
  return random & 4096 ? -magnitude : magnitude;
}

bool check(const Module &module, const std::string &name, Function function,
           uint64_t begin, uint64_t end, uint64_t stride, Worst &worst) {
  SessionOptions options;
  options.threads = 1;
  Expected<Session> session = Session::create(module, options);
  if (!session) {
    std::fprintf(stderr, "%s\n", session.status().message().c_str());
    return false;
  }
  constexpr size_t kBlock = 1 << 14;
  std::vector<float> x, y, got;
  for (uint64_t at = begin; at < end;) {
    x.clear();
    y.clear();
    for (; at < end && x.size() < kBlock; at += stride) {
      x.push_back(fromBits(static_cast<uint32_t>(at)));
      y.push_back(name == "pow" ? drawExponent(static_cast<uint32_t>(at)) : 0);
    }
    got.assign(x.size(), 0);
    int64_t dims[] = {static_cast<int64_t>(x.size())};
    OnnxAotTensor in[2] = {}, out[1] = {};
    auto describe = [&](OnnxAotTensor &tensor, std::vector<float> &values) {
      tensor.data = values.data();
      tensor.bytes = values.size() * sizeof(float);
      tensor.type = ONNX_AOT_FLOAT32;
      tensor.rank = 1;
      tensor.dims[0] = dims[0];
    };
    describe(in[0], x);
    describe(in[1], y);
    describe(out[0], got);
    size_t count = name == "pow" ? 2 : 1;
    Status status = session->run(in, count, out, 1);
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      return false;
    }
    for (size_t i = 0; i < x.size(); ++i) {
      double error = getError(got[i], function(x[i], y[i]));
      if (error > worst.error)
        worst = {error, x[i], y[i], got[i], worst.count};
    }
    worst.count += x.size();
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  auto function = argc == 5 ? kFunctions.find(argv[1]) : kFunctions.end();
  uint64_t stride = argc == 5 ? std::strtoull(argv[3], nullptr, 10) : 0;
  uint64_t threads = argc == 5 ? std::strtoull(argv[4], nullptr, 10) : 0;
  if (function == kFunctions.end() || stride == 0 || threads == 0) {
    std::fprintf(stderr, "usage: %s FUNCTION MODULE STRIDE THREADS\n", argv[0]);
    return 2;
  }
  Expected<Module> module = Module::load(argv[2]);
  if (!module) {
    std::fprintf(stderr, "%s\n", module.status().message().c_str());
    return 1;
  }
  std::vector<Worst> worst(threads);
  std::vector<char> fine(threads, 0);
  std::vector<std::thread> workers;
  uint64_t points = ((uint64_t(1) << 32) + stride - 1) / stride;
  for (uint64_t i = 0; i < threads; ++i)
    workers.emplace_back([&, i] {
      fine[i] = check(*module, function->first, function->second,
                      points * i / threads * stride,
                      points * (i + 1) / threads * stride, stride, worst[i]);
    });
  for (std::thread &worker : workers)
    worker.join();
  Worst all;
  for (const Worst &one : worst) {
    uint64_t count = all.count + one.count;
    if (one.error > all.error)
      all = one;
    all.count = count;
  }
  if (std::count(fine.begin(), fine.end(), 0))
    return 1;
  std::printf("{\"values\": %llu, \"ulp\": \"%.4f\", \"x\": \"%a\", \"y\": "
              "\"%a\", \"got\": \"%a\"}\n",
              static_cast<unsigned long long>(all.count), all.error, all.x,
              all.y, all.got);
  return 0;
}
