//===- ValidRangesTest.cpp - where each byte has valid copies -------------===//
#include "cuda/ValidRanges.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

using onnx_aot::runtime::ValidRanges;

namespace {

/// Every stated part of a range, as text.
std::string show(const ValidRanges &ranges, uint64_t begin, uint64_t end) {
  std::string text;
  ranges.visit(
      begin, end, [&](uint64_t from, uint64_t to, ValidRanges::State state) {
        text += std::to_string(from) + "-" + std::to_string(to) +
                (state.host ? "h" : "") + (state.device ? "d" : "") + " ";
      });
  return text;
}

TEST(ValidRanges, splitsAndMerges) {
  ValidRanges ranges;
  EXPECT_EQ(show(ranges, 0, 100), "");
  ranges.set(10, 50, {true, false});
  ranges.set(20, 30, {false, true});
  EXPECT_EQ(show(ranges, 0, 100), "10-20h 20-30d 30-50h ");
  EXPECT_EQ(show(ranges, 25, 35), "25-30d 30-35h ");
  ranges.set(20, 30, {true, false});
  EXPECT_EQ(show(ranges, 0, 100), "10-50h ");
  ranges.set(50, 60, {true, false});
  EXPECT_EQ(show(ranges, 0, 100), "10-60h ");
}

TEST(ValidRanges, forgetsParts) {
  ValidRanges ranges;
  ranges.set(10, 50, {true, false});
  ranges.clear(20, 30);
  EXPECT_EQ(show(ranges, 0, 100), "10-20h 30-50h ");
  ranges.clear(0, 15);
  ranges.clear(45, 45);
  EXPECT_EQ(show(ranges, 0, 100), "15-20h 30-50h ");
}

TEST(ValidRanges, ignoresEmptyRanges) {
  ValidRanges ranges;
  ranges.set(10, 10, {true, true});
  EXPECT_EQ(show(ranges, 0, 100), "");
}

TEST(ValidRanges, agreesWithOneStatePerByte) {
  std::mt19937 random(1);
  ValidRanges ranges;
  std::vector<int> bytes(64, -1);
  for (int step = 0; step < 2000; ++step) {
    uint64_t begin = random() % 64, end = begin + random() % (65 - begin);
    int state = random() % 4;
    ranges.set(begin, end, {(state & 1) != 0, (state & 2) != 0});
    std::fill(bytes.begin() + begin, bytes.begin() + end, state);
    std::vector<int> seen(64, -1);
    ranges.visit(0, 64, [&](uint64_t from, uint64_t to, ValidRanges::State at) {
      for (uint64_t i = from; i < to; ++i)
        seen[i] = (at.host ? 1 : 0) + (at.device ? 2 : 0);
    });
    ASSERT_EQ(seen, bytes) << "after step " << step;
  }
}

} // namespace
