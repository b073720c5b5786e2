//===- OrtCheckpointTest.cpp - checkpoints of ONNX Runtime Training -------===//
//
// The file is made by Inputs/make-ort-checkpoint.py with the flatbuffers
// package.
//
//===----------------------------------------------------------------------===//
#include "CheckpointFixture.h"

using namespace onnx_aot::runtime;

namespace {

const char *const sampleFile = INPUTS "ort-adamw.checkpoint";

TEST(OrtCheckpoint, IsRead) {
  Expected<Checkpoint> read = Checkpoint::load(sampleFile);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->contents, Checkpoint::Training);
  ASSERT_EQ(read->parameters.size(), 3u);
  const CheckpointTensor *w = read->findParameter("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->dims, (std::vector<int64_t>{2, 3}));
  float last;
  std::memcpy(&last, static_cast<const char *>(w->data) + 20, 4);
  EXPECT_EQ(last, 6);
  int64_t frozen;
  std::memcpy(&frozen, read->findParameter("f")->data, 8);
  EXPECT_EQ(frozen, 9);
  EXPECT_EQ(read->optimizer, "adamw");
  ASSERT_EQ(read->slots.size(), 4u);
  EXPECT_EQ(read->slots[3].name, "w");
  EXPECT_EQ(read->slots[3].slot, "exp_avg_sq");
  std::memcpy(&last, static_cast<const char *>(read->slots[3].data) + 20, 4);
  EXPECT_EQ(last, 36);
  EXPECT_EQ(read->progress.updates, 7);
  EXPECT_EQ(read->progress.learningRate, 0.25f);
  EXPECT_EQ(read->properties,
            (std::map<std::string, Property>{{"epoch", int64_t(4)},
                                             {"loss", 0.5f},
                                             {"who", std::string("me")}}));
}

TEST(OrtCheckpoint, DamagedFilesAreRefusedOrRead) {
  // There is no hash: what matters is that nothing outside is touched.
  std::vector<char> bytes = readFile(sampleFile);
  ASSERT_GT(bytes.size(), 100u);
  size_t refused = 0;
  auto readTight = [&](size_t length) {
    std::unique_ptr<char[]> tight(new char[length + 1]);
    std::copy(bytes.begin(), bytes.begin() + length, tight.get());
    refused += !Checkpoint::fromMemory(tight.get(), length).ok();
  };
  for (size_t length = 0; length < bytes.size(); ++length)
    readTight(length);
  EXPECT_GT(refused, bytes.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    char old = bytes[i];
    for (int value : {0, 1, 0x7f, 0x80, 0xff}) {
      bytes[i] = static_cast<char>(value);
      readTight(bytes.size());
    }
    bytes[i] = old;
  }
}

TEST(OrtCheckpoint, UnsupportedKindsAreNamed) {
  expectFailure(Checkpoint::load(INPUTS "ort-version-3.checkpoint").status(),
                ONNX_AOT_INVALID_ARGUMENT, {"version 3", "1 and 2"});
  expectFailure(Checkpoint::load(INPUTS "ort-external.checkpoint").status(),
                ONNX_AOT_INVALID_ARGUMENT, {"second file"});
}

} // namespace
