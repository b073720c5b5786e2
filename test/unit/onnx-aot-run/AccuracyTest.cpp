//===- AccuracyTest.cpp - how often a classifier is right -----------------===//
#include "Accuracy.h"

#include "gtest/gtest.h"

using namespace onnx_aot::run;

namespace {

OnnxAotTraining lossOf(const char *loss) {
  OnnxAotTraining training = {};
  training.loss = loss;
  training.num_targets = 1;
  return training;
}

template <typename T>
OnnxAotTensor tensorOf(int32_t type, std::vector<int64_t> dims,
                       std::vector<T> &values) {
  OnnxAotTensor tensor = {};
  tensor.data = values.data();
  tensor.bytes = values.size() * sizeof(T);
  tensor.type = type;
  tensor.rank = static_cast<int32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), tensor.dims);
  return tensor;
}

TEST(Accuracy, CountsAlongTheClassAxis) {
  // Two samples, three classes, two places each: the highest are 2, 0; 1, 1.
  std::vector<float> loss{0}, second{0, 9, 1, 2, 5, 3, 0, 0, 2, 7, 1, 1},
      last{0, 1, 5, 9, 2, 3, 0, 2, 1, 0, 7, 1};
  std::vector<int64_t> labels{2, 0, 1, 0};
  OnnxAotTensor truth = tensorOf(ONNX_AOT_INT64, {2, 2}, labels);
  OnnxAotTensor mean = tensorOf(ONNX_AOT_FLOAT32, {}, loss);
  Accuracy second1(lossOf("cross-entropy"));
  second1.add({mean, tensorOf(ONNX_AOT_FLOAT32, {2, 3, 2}, second)}, truth);
  EXPECT_EQ(second1.labels(), 4);
  EXPECT_EQ(second1.value(), 0.75);
  Accuracy minus(lossOf("cross-entropy:label_smoothing=0.1,class_axis=-1"));
  minus.add({mean, tensorOf(ONNX_AOT_FLOAT32, {2, 2, 3}, last)}, truth);
  EXPECT_EQ(minus.value(), 0.75);
}

TEST(Accuracy, LeavesIgnoredLabelsOut) {
  std::vector<float> loss{0}, scores{1, 0, 0, 1, 1, 0};
  std::vector<int32_t> labels{0, -100, 1};
  OnnxAotTensor truth = tensorOf(ONNX_AOT_INT32, {3}, labels);
  Accuracy accuracy(lossOf("nll:ignore_index=-100"));
  EXPECT_EQ(accuracy.countLabels(truth), 2);
  accuracy.add({tensorOf(ONNX_AOT_FLOAT32, {}, loss),
                tensorOf(ONNX_AOT_FLOAT32, {3, 2}, scores)},
               truth);
  EXPECT_EQ(accuracy.labels(), 2);
  EXPECT_EQ(accuracy.value(), 0.5);
}

TEST(Accuracy, OtherLossesHaveNone) {
  std::vector<float> loss{0}, values{1, 2};
  std::vector<int64_t> labels{0, 1};
  OnnxAotTensor output = tensorOf(ONNX_AOT_FLOAT32, {2}, values);
  OnnxAotTensor truth = tensorOf(ONNX_AOT_INT64, {2}, labels);
  for (const char *name : {"mse", "cross-entropy"}) {
    Accuracy accuracy(lossOf(name));
    accuracy.add({tensorOf(ONNX_AOT_FLOAT32, {}, loss), output}, truth);
    EXPECT_EQ(accuracy.value(), std::nullopt); // no output fits
  }
  EXPECT_EQ(Accuracy(lossOf("mse")).countLabels(truth), std::nullopt);
}

TEST(Accuracy, MeansAreOverAllElements) {
  std::vector<double> values{1, 2, 6};
  EXPECT_EQ(meanOf(tensorOf(ONNX_AOT_FLOAT64, {3}, values)), 3);
  EXPECT_EQ(meanOf(tensorOf(ONNX_AOT_FLOAT64, {}, values)), 1);
}

} // namespace
