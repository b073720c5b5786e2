//===- train-classifier.cpp - trains a classifier from C++ ----------------===//
//
// Trains a module made by
//   onnx-aot-compile lenet.onnx --train --loss=cross-entropy --optimizer=adamw
//   -o lenet.so
// on arrays `x` and `labels` of two safetensors files, evaluates after each
// epoch and saves the state:
//   train-classifier lenet.so train.safetensors test.safetensors 5
//   out.safetensors
//
//===----------------------------------------------------------------------===//
#include <onnx-aot/runtime/Trainer.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

using namespace onnx_aot::runtime;

namespace {

constexpr int64_t batch = 64;

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

/// The arrays of a file, from which batches are gathered.
class Samples {
public:
  explicit Samples(const char *path) : file(take(Checkpoint::load(path))) {
    for (const char *name : {"x", "labels"}) {
      const CheckpointTensor *array = file.findParameter(name);
      if (!array || array->dims.empty() || !array->dims[0]) {
        std::fprintf(stderr, "%s has no samples '%s'\n", path, name);
        std::exit(1);
      }
      arrays.push_back(array);
    }
    order.resize(static_cast<size_t>(arrays[0]->dims[0]));
    std::iota(order.begin(), order.end(), 0);
  }

  int64_t size() const { return static_cast<int64_t>(order.size()); }
  void shuffle(std::mt19937 &random) {
    std::shuffle(order.begin(), order.end(), random);
  }

  /// Samples begin, begin + 1, ... of the current order.
  const OnnxAotTensor *gather(int64_t begin, int64_t rows) {
    for (size_t i = 0; i < arrays.size(); ++i) {
      size_t rowBytes = arrays[i]->bytes / order.size();
      memory[i].resize(rowBytes * static_cast<size_t>(rows));
      for (int64_t row = 0; row < rows; ++row)
        std::memcpy(&memory[i][rowBytes * static_cast<size_t>(row)],
                    static_cast<const char *>(arrays[i]->data) +
                        rowBytes * order[static_cast<size_t>(begin + row)],
                    rowBytes);
      OnnxAotTensor &tensor = tensors[i];
      tensor.data = memory[i].data();
      tensor.bytes = memory[i].size();
      tensor.type = arrays[i]->type;
      tensor.rank = static_cast<int32_t>(arrays[i]->dims.size());
      std::copy(arrays[i]->dims.begin(), arrays[i]->dims.end(), tensor.dims);
      tensor.dims[0] = rows;
    }
    return tensors;
  }

private:
  Checkpoint file;
  std::vector<const CheckpointTensor *> arrays;
  std::vector<size_t> order;
  std::vector<char> memory[2];
  OnnxAotTensor tensors[2] = {};
};

/// The part of the samples that the model gets right.
double accuracy(Trainer &trainer, Samples &samples) {
  int64_t right = 0;
  OnnxAotTensor outputs[2] = {}; // the loss, the scores
  for (int64_t begin = 0; begin < samples.size(); begin += batch) {
    int64_t rows = std::min(batch, samples.size() - begin);
    const OnnxAotTensor *inputs = samples.gather(begin, rows);
    check(trainer.evalStep(inputs, 2, outputs, 2));
    int64_t classes = outputs[1].dims[1];
    for (int64_t row = 0; row < rows; ++row) {
      auto *scores =
          static_cast<const float *>(outputs[1].data) + row * classes;
      right += std::max_element(scores, scores + classes) - scores ==
               static_cast<const int64_t *>(inputs[1].data)[row];
    }
  }
  return static_cast<double>(right) / static_cast<double>(samples.size());
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 6)
    return std::fprintf(stderr, "usage: train-classifier NET.so TRAIN TEST "
                                "EPOCHS OUT.safetensors\n"),
           1;
  std::string net = argv[1];
  TrainingModule module = take(TrainingModule::load(net));
  Trainer trainer = take(Trainer::create(module));
  check(trainer.load(net.substr(0, net.rfind('.')) + ".safetensors"));
  Samples train(argv[2]), test(argv[3]);
  int epochs = std::atoi(argv[4]);
  int64_t steps = epochs * ((train.size() + batch - 1) / batch);
  check(trainer.setLearningRate(0.001f));
  check(trainer.setSchedule("cosine:T_max=" + std::to_string(steps)));

  std::mt19937 random(1);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    train.shuffle(random);
    double sum = 0;
    OnnxAotTensor loss = {};
    for (int64_t begin = 0; begin < train.size(); begin += batch) {
      int64_t rows = std::min(batch, train.size() - begin);
      check(trainer.step(train.gather(begin, rows), 2, &loss, 1));
      check(trainer.schedulerStep());
      sum += *static_cast<float *>(loss.data) * static_cast<double>(rows);
    }
    double right = accuracy(trainer, test);
    std::printf("epoch %d: loss %.4f, accuracy %.4f\n", epoch,
                sum / static_cast<double>(train.size()), right);
    trainer.properties()["accuracy"] = static_cast<float>(right);
  }
  check(trainer.save(argv[5]));
  return 0;
}
