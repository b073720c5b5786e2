//===- DatasetTest.cpp - the order of samples, and the rows of metrics ----===//
#include "Dataset.h"
#include "Metrics.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <unistd.h>

using namespace onnx_aot::run;

namespace {

TEST(Dataset, OrdersArePermutations) {
  for (int64_t count : {0, 1, 2, 7, 1000}) {
    std::vector<int64_t> order = shuffledOrder(count, 3, 4);
    EXPECT_EQ(order, shuffledOrder(count, 3, 4));
    std::sort(order.begin(), order.end());
    ASSERT_EQ(static_cast<int64_t>(order.size()), count);
    for (int64_t i = 0; i < count; ++i)
      EXPECT_EQ(order[static_cast<size_t>(i)], i);
  }
  EXPECT_NE(shuffledOrder(100, 0, 0), shuffledOrder(100, 0, 1));
  EXPECT_NE(shuffledOrder(100, 0, 1), shuffledOrder(100, 1, 0));
}

TEST(Dataset, OrdersAreEquallyLikely) {
  // Each of 4 samples at each of 4 places, a quarter of 20,000 times.
  int counts[4][4] = {};
  for (uint64_t epoch = 0; epoch < 20000; ++epoch) {
    std::vector<int64_t> order = shuffledOrder(4, 11, epoch);
    for (int place = 0; place < 4; ++place)
      ++counts[order[static_cast<size_t>(place)]][place];
  }
  for (auto &row : counts)
    for (int count : row)
      EXPECT_NEAR(count, 5000, 300); // five standard deviations
}

std::string read(const std::string &path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Metrics, AreContinuedWhereATrainingIs) {
  char path[] = "/tmp/onnx-aot-metrics-XXXXXX";
  int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  close(fd);
  {
    auto metrics = Metrics::open(path, false, 0);
    ASSERT_TRUE(metrics.ok());
    for (int64_t step = 1; step <= 3; ++step)
      ASSERT_TRUE(
          metrics->add({step, 1, 0.1 * double(step), 0.5, NAN, 2}).ok());
  }
  EXPECT_EQ(read(path), "step,epoch,loss,lr,grad_norm,ms\n"
                        "1,1,0.1,0.5,,2.000\n2,1,0.2,0.5,,2.000\n"
                        "3,1,0.3,0.5,,2.000\n");
  std::ofstream(path, std::ios::app) << "4,1,0.4,0."; // cut off by a kill
  {
    auto metrics = Metrics::open(path, true, 2);
    ASSERT_TRUE(metrics.ok());
    EXPECT_EQ(metrics->rows().size(), 2u);
    ASSERT_TRUE(metrics->add({3, 1, 7, 0.5, 1, 2}).ok());
  }
  EXPECT_EQ(read(path), "step,epoch,loss,lr,grad_norm,ms\n"
                        "1,1,0.1,0.5,,2.000\n2,1,0.2,0.5,,2.000\n"
                        "3,1,7,0.5,1,2.000\n");
  std::ofstream(path) << "something else\n";
  EXPECT_FALSE(Metrics::open(path, true, 2).ok());
  EXPECT_EQ(read(path), "something else\n");
  EXPECT_FALSE(Metrics::open("/no/such/folder", false, 0).ok());
  unlink(path);
}

TEST(Metrics, ArePlottedWhateverTheyAre) {
  char path[] = "/tmp/onnx-aot-plot-XXXXXX";
  int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  close(fd);
  for (size_t count : {0, 1, 2, 5000}) {
    std::vector<MetricsRow> rows(count);
    for (size_t i = 0; i < count; ++i) {
      rows[i].step = static_cast<int64_t>(i);
      rows[i].loss = i == 3 ? NAN : i == 4 ? INFINITY : 1 / double(i + 1);
    }
    ASSERT_TRUE(plotLoss(path, rows, "a < b & c").ok());
    std::string svg = read(path);
    EXPECT_EQ(svg.find("nan"), svg.npos) << count;
    EXPECT_EQ(svg.find("inf"), svg.npos) << count;
    EXPECT_NE(svg.find("a &lt; b &amp; c"), svg.npos);
    EXPECT_LT(svg.size(), 60000u); // thinned out
  }
  unlink(path);
}

} // namespace
