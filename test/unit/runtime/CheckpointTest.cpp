//===- CheckpointTest.cpp - checkpoints that are as they should be --------===//
#include "CheckpointFixture.h"

#include <cmath>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

using namespace onnx_aot::runtime;

namespace {

TEST(Checkpoint, KeepsEverything) {
  Sample sample;
  Folder folder;
  std::string path = folder.file("a.safetensors");
  ASSERT_EQ(sample.checkpoint.save(path).message(), "");
  Expected<Checkpoint> read = Checkpoint::load(path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  sample.expectSame(*read);
}

TEST(Checkpoint, IsTheSameInMemory) {
  Sample sample;
  Folder folder;
  std::string path = folder.file("a.safetensors");
  ASSERT_TRUE(sample.checkpoint.save(path).ok());
  Expected<std::vector<char>> bytes = sample.checkpoint.toMemory();
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, readFile(path));
  Expected<Checkpoint> read =
      Checkpoint::fromMemory(bytes->data(), bytes->size());
  ASSERT_TRUE(read.ok()) << read.status().message();
  sample.expectSame(*read);
  EXPECT_EQ(bytes->size() % ONNX_AOT_ALIGNMENT, (3 * 24 + 8 + 3 + 16) % 64u);
}

TEST(Checkpoint, NumbersAreExact) {
  for (float number : {0.1f, 1e-38f, 1e-45f, 3.4e38f, -0.0f, 16777217.0f,
                       std::numeric_limits<float>::infinity()}) {
    Checkpoint checkpoint;
    checkpoint.contents = Checkpoint::Training;
    checkpoint.progress.learningRate = number;
    checkpoint.properties["f"] = -number;
    checkpoint.properties["i"] = INT64_MIN;
    checkpoint.progress.seed = INT64_MAX;
    Expected<std::vector<char>> bytes = checkpoint.toMemory();
    ASSERT_TRUE(bytes.ok());
    Expected<Checkpoint> read =
        Checkpoint::fromMemory(bytes->data(), bytes->size());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->progress.learningRate, number);
    EXPECT_EQ(std::signbit(read->progress.learningRate), std::signbit(number));
    EXPECT_EQ(read->properties["f"], Property(-number));
    EXPECT_EQ(read->properties["i"], Property(INT64_MIN));
    EXPECT_EQ(read->progress.seed, INT64_MAX);
  }
}

TEST(Checkpoint, NamesMayBeAnything) {
  float value = 7;
  Checkpoint checkpoint;
  for (const char *name : {"", "__metadata__", "onnx_aot/hash",
                           "onnx_aot/slot/m/w", "onnx_aot/parameter/w", "\"}\\",
                           "\xc3\xa9\xe2\x82\xac", "a/b c", "line\nbreak"}) {
    CheckpointTensor tensor;
    tensor.name = name;
    tensor.type = ONNX_AOT_FLOAT32;
    tensor.data = &value;
    tensor.bytes = 4;
    checkpoint.parameters.push_back(tensor);
    checkpoint.properties[name] = std::string(name);
  }
  Expected<std::vector<char>> bytes = checkpoint.toMemory();
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  Expected<Checkpoint> read =
      Checkpoint::fromMemory(bytes->data(), bytes->size());
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->parameters.size(), checkpoint.parameters.size());
  for (const CheckpointTensor &tensor : checkpoint.parameters)
    EXPECT_NE(read->findParameter(tensor.name), nullptr) << tensor.name;
  EXPECT_EQ(read->properties, checkpoint.properties);
  EXPECT_TRUE(read->slots.empty());

  checkpoint.parameters[0].name = "\xff";
  expectFailure(checkpoint.toMemory().status(), ONNX_AOT_INVALID_ARGUMENT,
                {"name of tensor", "not UTF-8"});
  checkpoint.parameters[0].name = "fine";
  checkpoint.properties["broken"] = std::string("\xff");
  expectFailure(checkpoint.toMemory().status(), ONNX_AOT_INVALID_ARGUMENT,
                {"metadata", "broken", "not UTF-8"});
  checkpoint.properties.erase("broken");
  checkpoint.parameters[0].name = "a/b c";
  expectFailure(checkpoint.toMemory().status(), ONNX_AOT_INVALID_ARGUMENT,
                {"'a/b c'", "twice"});
}

TEST(Checkpoint, NominalHasShapesAndNoValues) {
  Sample sample;
  sample.checkpoint.contents = Checkpoint::Nominal;
  Expected<std::vector<char>> bytes = sample.checkpoint.toMemory();
  ASSERT_TRUE(bytes.ok());
  Expected<Checkpoint> read =
      Checkpoint::fromMemory(bytes->data(), bytes->size());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->contents, Checkpoint::Nominal);
  ASSERT_EQ(read->parameters.size(), 3u);
  EXPECT_EQ(read->findParameter("w")->dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(read->findParameter("w")->type, ONNX_AOT_FLOAT32);
  EXPECT_EQ(read->findParameter("w")->data, nullptr);
  EXPECT_TRUE(read->slots.empty());
}

TEST(Checkpoint, KeepsModeAndLinks) {
  Sample sample;
  Folder folder;
  std::string path = folder.file("real"), link = folder.file("link");
  ASSERT_TRUE(sample.checkpoint.save(path).ok());
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  ASSERT_EQ(symlink("real", link.c_str()), 0);
  sample.checkpoint.progress.updates = 1000;
  ASSERT_TRUE(sample.checkpoint.save(link).ok());
  struct stat info;
  ASSERT_EQ(lstat(link.c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
  EXPECT_EQ(Checkpoint::load(path)->progress.updates, 1000);
}

TEST(Checkpoint, RefusesBadPlaces) {
  Sample sample;
  Folder folder;
  expectFailure(sample.checkpoint.save(folder.file("no/such/folder")),
                ONNX_AOT_SYSTEM_ERROR, {"no/such/folder"});
  expectFailure(sample.checkpoint.save(folder.path), ONNX_AOT_SYSTEM_ERROR,
                {folder.path, "directory"});
  expectFailure(Checkpoint::load(folder.path).status(),
                ONNX_AOT_INVALID_ARGUMENT, {"not a regular file"});
  expectFailure(Checkpoint::load(folder.file("none")).status(),
                ONNX_AOT_SYSTEM_ERROR, {"cannot open", "none"});
  std::string fifo = folder.file("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  expectFailure(Checkpoint::load(fifo).status(), ONNX_AOT_INVALID_ARGUMENT,
                {"not a regular file"});
  EXPECT_FALSE(sample.checkpoint.save(fifo).ok());
}

TEST(Checkpoint, RefusesTensorsOfAnotherSize) {
  Sample sample;
  sample.checkpoint.parameters[0].bytes -= 1;
  expectFailure(sample.checkpoint.toMemory().status(),
                ONNX_AOT_INVALID_ARGUMENT, {"'w'", "not its size"});
}

} // namespace
