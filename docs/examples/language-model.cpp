//===- language-model.cpp - trains a language model and lets it write -----===//
//
// Trains a module made by
//   onnx-aot-compile language-model.onnx --train --optimizer=adamw
//       --loss=cross-entropy:class_axis=-1 -o language-model.so
// on `tokens` and `labels` of a safetensors file for some steps and writes
// text:
//   language-model language-model.so train.safetensors alphabet.txt 300
//
//===----------------------------------------------------------------------===//
#include <onnx-aot/runtime/Trainer.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

using namespace onnx_aot::runtime;

namespace {

constexpr int64_t batch = 16;

void check(const Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

template <typename T>
T take(Expected<T> value) {
  check(value.status());
  return std::move(*value);
}

/// Rows of text as a tensor.
OnnxAotTensor rowsOf(const int64_t *data, int64_t rows, int64_t length) {
  OnnxAotTensor tensor = {};
  tensor.data = const_cast<int64_t *>(data);
  tensor.bytes = static_cast<uint64_t>(rows * length) * sizeof(int64_t);
  tensor.type = ONNX_AOT_INT64;
  tensor.rank = 2;
  tensor.dims[0] = rows;
  tensor.dims[1] = length;
  return tensor;
}

/// A character by the scores for it, likely ones more often.
int64_t choose(const float *scores, int64_t count, std::mt19937 &random) {
  float highest = *std::max_element(scores, scores + count);
  std::vector<double> weights;
  for (int64_t i = 0; i < count; ++i)
    weights.push_back(std::exp((scores[i] - highest) / 0.7));
  return std::discrete_distribution<int64_t>(weights.begin(),
                                             weights.end())(random);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 5)
    return std::fprintf(stderr, "usage: language-model NET.so TRAIN "
                                "ALPHABET.txt STEPS\n"),
           1;
  std::string net = argv[1];
  TrainingModule module = take(TrainingModule::load(net));
  Trainer trainer = take(Trainer::create(module));
  check(trainer.load(net.substr(0, net.rfind('.')) + ".safetensors"));
  Checkpoint data = take(Checkpoint::load(argv[2]));
  const CheckpointTensor *tokens = data.findParameter("tokens");
  const CheckpointTensor *labels = data.findParameter("labels");
  if (!tokens || !labels || tokens->dims.size() != 2)
    return std::fprintf(stderr, "%s has no tokens and labels\n", argv[2]), 1;
  int64_t rows = tokens->dims[0], length = tokens->dims[1];
  int steps = std::atoi(argv[4]);
  check(trainer.setLearningRate(0.002f));
  check(trainer.setSchedule("cosine:warmup_steps=20,total_steps=" +
                            std::to_string(std::max(steps, 20))));

  std::mt19937 random(1);
  for (int step = 1; step <= steps; ++step) {
    auto first = static_cast<int64_t>(random() % (rows - batch + 1));
    OnnxAotTensor inputs[2] = {
        rowsOf(static_cast<const int64_t *>(tokens->data) + first * length,
               batch, length),
        rowsOf(static_cast<const int64_t *>(labels->data) + first * length,
               batch, length)};
    OnnxAotTensor loss = {};
    check(trainer.step(inputs, 2, &loss, 1));
    check(trainer.schedulerStep());
    if (step % 50 == 0 || step == 1 || step == steps)
      std::printf("step %d: loss %.4f\n", step,
                  *static_cast<float *>(loss.data));
  }

  // The context slides over what was written; what the labels are is irrelevant
  // for the scores.
  std::ifstream stream(argv[3], std::ios::binary);
  std::string alphabet((std::istreambuf_iterator<char>(stream)), {});
  std::vector<int64_t> written(static_cast<const int64_t *>(tokens->data),
                               static_cast<const int64_t *>(tokens->data) +
                                   length);
  for (int i = 0; i < 300; ++i) {
    const int64_t *context = written.data() + written.size() - length;
    OnnxAotTensor inputs[2] = {rowsOf(context, 1, length),
                               rowsOf(context, 1, length)};
    OnnxAotTensor outputs[2] = {};
    check(trainer.evalStep(inputs, 2, outputs, 2));
    int64_t count = outputs[1].dims[2];
    const float *last =
        static_cast<const float *>(outputs[1].data) + (length - 1) * count;
    written.push_back(choose(last, count, random));
  }
  for (size_t i = static_cast<size_t>(length); i < written.size(); ++i)
    std::putchar(alphabet[static_cast<size_t>(written[i]) % alphabet.size()]);
  std::putchar('\n');
  return 0;
}
