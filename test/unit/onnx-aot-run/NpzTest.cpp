//===- NpzTest.cpp - .npz files, right and hostile ------------------------===//
#include "Npz.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace onnx_aot::run;
namespace fs = std::filesystem;

namespace {

class Npz : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::path(testing::TempDir()) / ("npz-" + std::to_string(getpid()));
    fs::create_directories(folder);
    path = (folder / "a.npz").string();
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string contents() {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  fs::path folder;
  std::string path;
};

Tensor numbers(std::vector<float> values) {
  return std::move(*Tensor::of(ONNX_AOT_FLOAT32,
                               {static_cast<int64_t>(values.size())}, values));
}

TEST_F(Npz, ReadsWhatItWrites) {
  // Names are the model's, whatever they are.
  std::vector<std::string> names = {
      "x",     "1/a:b.c", "",     "a b", "../up", "/root", "gr\xc3\xbc\xc3\x9f",
      "x.npy", "a=b\\c",  "empty"};
  std::vector<Tensor> tensors;
  std::vector<OnnxAotTensor> views;
  for (size_t i = 0; i < names.size(); ++i)
    tensors.push_back(numbers(std::vector<float>(names.size() - 1 - i, i)));
  for (Tensor &tensor : tensors)
    views.push_back(tensor.view());
  Status status = writeNpz(path, names, views);
  ASSERT_TRUE(status.ok()) << status.message();
  auto read = readNpz(path, {names.begin(), names.end()});
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), names.size());
  for (size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(read->at(names[i]).dims(), tensors[i].dims()) << names[i];
  EXPECT_EQ(readNpz(path, {"x"})->size(), 1u);
  // Written again, the same bytes.
  std::string before = contents();
  ASSERT_TRUE(writeNpz(path, names, views).ok());
  EXPECT_EQ(contents(), before);
}

// The only output may be an empty sequence.
TEST_F(Npz, WritesAnArchiveOfNothing) {
  Tensor tensor = numbers({1});
  for (bool replaces : {false, true}) {
    if (replaces)
      ASSERT_TRUE(writeNpz(path, {"x"}, {tensor.view()}).ok());
    ASSERT_TRUE(writeNpz(path, {}, {}).ok());
    auto read = readNpz(path, {"x"});
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_TRUE(read->empty());
  }
}

TEST_F(Npz, RefusesWhatIsNoArchive) {
  EXPECT_FALSE(readNpz(path, {"x"}).ok());
  std::ofstream(path) << "no archive";
  EXPECT_FALSE(readNpz(path, {"x"}).ok());
  EXPECT_FALSE(readNpz(folder.string(), {"x"}).ok());
  Tensor tensor = numbers({1});
  EXPECT_FALSE(writeNpz("/no/such/folder/a.npz", {"x"}, {tensor.view()}).ok());
}

// Whatever the damage: an answer, never wrong numbers (the checksum sees them).
TEST_F(Npz, SurvivesEveryTruncationAndByteFlip) {
  Tensor tensor = numbers({1, 2, 3});
  ASSERT_TRUE(writeNpz(path, {"x"}, {tensor.view()}).ok());
  std::string good = contents();
  auto check = [&](const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    auto read = readNpz(path, {"x"});
    if (read.ok() && read->count("x")) {
      EXPECT_EQ(read->at("x").dims(), std::vector<int64_t>{3});
      EXPECT_EQ(read->at("x").dataAs<float>()[2], 3);
    }
  };
  for (size_t length = 0; length < good.size(); ++length)
    check(good.substr(0, length));
  for (size_t at = 0; at < good.size(); ++at)
    for (int mask : {0x01, 0x80, 0xff}) {
      std::string changed = good;
      changed[at] ^= mask;
      check(changed);
    }
}

} // namespace
