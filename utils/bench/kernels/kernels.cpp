//===- kernels.cpp - how fast are modules of one operator -----------------===//
//
// usage: onnx-aot-kernel-bench CASES.txt [--benchmark_...]
//
// Each line of CASES.txt is "NAME MODULE FLOPS BYTES": what one run of the
// module computes and moves. Runs are on one thread, on random numbers;
// kernels.py makes the modules and reads the answer.
//
//===----------------------------------------------------------------------===//

#include "onnx-aot/runtime/Session.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <fstream>
#include <random>

using namespace onnx_aot::runtime;

namespace {

struct Case {
  std::string name, module;
  double flops = 0, bytes = 0;
};

/// Random values of a type: floats, or bytes of any kind.
Expected<Tensor> makeInput(const OnnxAotValueInfo &info,
                           std::mt19937 &generator) {
  std::vector<int64_t> dims(info.dims, info.dims + info.rank);
  Expected<Tensor> tensor =
      Tensor::create(static_cast<OnnxAotType>(info.type), dims);
  if (!tensor)
    return tensor;
  if (info.type == ONNX_AOT_FLOAT32) {
    std::uniform_real_distribution<float> uniform(0.01f, 1);
    for (int64_t i = 0; i < tensor->size(); ++i)
      tensor->dataAs<float>()[i] = uniform(generator);
  } else {
    for (uint64_t i = 0; i < tensor->bytes(); ++i)
      tensor->dataAs<uint8_t>()[i] = static_cast<uint8_t>(generator());
  }
  return tensor;
}

void measure(benchmark::State &state, const Case &what) {
  Expected<Module> module = Module::load(what.module);
  if (!module)
    return state.SkipWithError(module.status().message().c_str());
  SessionOptions options;
  options.threads = 1;
  Expected<Session> session = Session::create(*module, options);
  if (!session)
    return state.SkipWithError(session.status().message().c_str());
  std::mt19937 generator(1);
  std::vector<Tensor> inputs;
  for (int32_t i = 0; i < (*module)->num_inputs; ++i) {
    Expected<Tensor> input = makeInput((*module)->inputs[i], generator);
    if (!input)
      return state.SkipWithError(input.status().message().c_str());
    inputs.push_back(std::move(*input));
  }
  std::vector<OnnxAotTensor> in, out((*module)->num_outputs);
  for (const Tensor &input : inputs)
    in.push_back(input.view());
  for (auto _ : state) {
    Status status = session->run(in.data(), in.size(), out.data(), out.size());
    if (!status.ok())
      return state.SkipWithError(status.message().c_str());
  }
  using benchmark::Counter;
  state.counters["flops"] =
      Counter(what.flops, Counter::kIsIterationInvariantRate);
  state.counters["bytes"] =
      Counter(what.bytes, Counter::kIsIterationInvariantRate);
}

} // namespace

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  std::ifstream file(argc == 2 ? argv[1] : "");
  std::vector<Case> cases;
  for (Case what; file >> what.name >> what.module >> what.flops >> what.bytes;)
    cases.push_back(what);
  if (cases.empty()) {
    std::fprintf(stderr, "usage: %s CASES.txt [--benchmark_...]\n", argv[0]);
    return 2;
  }
  for (const Case &what : cases)
    benchmark::RegisterBenchmark(
        what.name.c_str(),
        [&](benchmark::State &state) { measure(state, what); })
        ->Unit(benchmark::kMicrosecond);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
