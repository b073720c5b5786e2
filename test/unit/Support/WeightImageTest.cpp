//===- WeightImageTest.cpp - the constant bytes of a module ---------------===//

#include "onnx-aot/Support/WeightImage.h"

#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <gtest/gtest.h>

using namespace onnx_aot;

static std::string write(const WeightImage &image) {
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  image.write(os);
  return bytes;
}

TEST(WeightImage, AlignsSegmentsAndFillsGapsWithZeros) {
  WeightImage image;
  EXPECT_TRUE(image.empty());
  EXPECT_EQ(image.add(std::vector<char>(3, 'a')), 0u);
  EXPECT_EQ(image.add(std::vector<char>(65, 'b')), 64u);
  EXPECT_EQ(image.add(std::vector<char>(1, 'c')), 192u);
  EXPECT_EQ(image.getSize(), 256u);
  std::string expected(256, '\0');
  expected.replace(0, 3, 3, 'a').replace(64, 65, 65, 'b').replace(192, 1, "c");
  EXPECT_EQ(write(image), expected);
}

TEST(WeightImage, StoresEqualSegmentsOnce) {
  WeightImage image;
  EXPECT_EQ(image.add(std::vector<char>{'x', 'y'}), 0u);
  EXPECT_EQ(image.add(std::vector<char>{'x', 'z'}), 64u);
  EXPECT_EQ(image.add(std::vector<char>{'x', 'y'}), 0u);
  EXPECT_EQ(image.getSegments().size(), 2u);
}

TEST(WeightImage, KeepsAnEmptySegmentApart) {
  WeightImage image;
  EXPECT_EQ(image.add(std::vector<char>()), 0u);
  EXPECT_EQ(image.add(std::vector<char>{'x'}), 64u);
  EXPECT_EQ(image.getSize(), 128u);
}

TEST(WeightImage, HashesWhatItWrites) {
  for (size_t size : {0, 1, 63, 64, 65, 1000, 100000}) {
    WeightImage image;
    image.add(std::vector<char>(size, 'x'));
    image.add(std::vector<char>(size + 1, 'y'));
    EXPECT_EQ(image.hash(), llvm::xxh3_64bits(write(image))) << size;
  }
}

TEST(WeightImage, KeepsOwnersAlive) {
  auto owner = std::make_shared<std::vector<char>>(10, 'x');
  std::weak_ptr<std::vector<char>> watch = owner;
  {
    WeightImage image;
    image.add(*owner, owner);
    owner.reset();
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}
