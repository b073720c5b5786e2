//===- CheckpointAttacksTest.cpp - checkpoints that are not to be trusted -===//
#include "CheckpointFixture.h"

using namespace onnx_aot::runtime;

namespace {

/// A safetensors file with this header and so many bytes of tensors.
std::vector<char> fileOf(const std::string &header, size_t bytes) {
  std::vector<char> file;
  for (int i = 0; i < 8; ++i)
    file.push_back(static_cast<char>(uint64_t(header.size()) >> 8 * i));
  file.insert(file.end(), header.begin(), header.end());
  file.resize(file.size() + bytes);
  return file;
}

/// Reads a copy whose last byte is the last of its memory, for sanitizers.
Expected<Checkpoint> readTight(const std::vector<char> &bytes,
                               std::unique_ptr<char[]> &memory) {
  memory.reset(new char[bytes.size() ? bytes.size() : 1]);
  std::copy(bytes.begin(), bytes.end(), memory.get());
  return Checkpoint::fromMemory(memory.get(), bytes.size());
}

Status readStatus(const std::vector<char> &bytes) {
  std::unique_ptr<char[]> memory;
  return readTight(bytes, memory).status();
}

TEST(CheckpointAttacks, EveryFlippedBitIsFound) {
  Sample sample;
  std::vector<char> bytes = *sample.checkpoint.toMemory();
  ASSERT_LT(bytes.size(), 4000u);
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<char>(bytes[i] ^ 1 << bit);
      EXPECT_FALSE(readStatus(bytes).ok()) << "byte " << i << " bit " << bit;
      bytes[i] = static_cast<char>(bytes[i] ^ 1 << bit);
    }
  EXPECT_TRUE(readStatus(bytes).ok());
}

TEST(CheckpointAttacks, EveryLengthIsFound) {
  Sample sample;
  std::vector<char> bytes = *sample.checkpoint.toMemory();
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(
        readStatus(std::vector<char>(bytes.begin(), bytes.begin() + length))
            .ok())
        << length;
  bytes.push_back(0);
  EXPECT_FALSE(readStatus(bytes).ok());
}

TEST(CheckpointAttacks, SwappedTensorsAreFound) {
  Sample sample;
  Expected<std::vector<char>> bytes = sample.checkpoint.toMemory();
  Expected<Checkpoint> read =
      Checkpoint::fromMemory(bytes->data(), bytes->size());
  auto *a = const_cast<char *>(
      static_cast<const char *>(read->findParameter("w")->data));
  auto *b = const_cast<char *>(static_cast<const char *>(read->slots[0].data));
  std::swap_ranges(a, a + 24, b);
  expectFailure(readStatus(*bytes), ONNX_AOT_INVALID_ARGUMENT,
                {"damaged", "hash"});
}

struct Attack {
  const char *header;
  size_t bytes;
  const char *reason;
};

// Each is wrong in one way only.
const Attack attacks[] = {
    {"[]", 0, "no safetensors"},
    {"{", 0, "no JSON"},
    {"{} x", 0, "no JSON"},
    {R"({"a":1})", 0, "a number at a wrong place"},
    {R"({"a":null})", 0, "null"},
    {R"({"a":[]})", 0, "a list at a wrong place"},
    {R"({"a":{"dtype":"F32","shape":[]}})", 0, "lacks"},
    {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, "lacks"},
    {R"({"a":{"shape":[],"data_offsets":[0,4]}})", 4, "lacks"},
    {R"({"a":{"dtype":"F8_E4M3","shape":[],"data_offsets":[0,1]}})", 1,
     "'F8_E4M3', which is not supported"},
    {R"({"a":{"dtype":"F32","dtype":"I32","shape":[],"data_offsets":[0,4]}})",
     4, "dtype of tensor 'a' twice"},
    {R"({"a":{"dtype":"F32","shape":[],"shape":[],"data_offsets":[0,4]}})", 4,
     "shape of tensor 'a' twice"},
    {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0]}})", 4,
     "not two numbers"},
    {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4,4]}})", 4,
     "wrong place"},
    {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4,
     "negative"},
    {R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4,
     "fraction"},
    {R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4,
     "wrong place"},
    {R"({"a":{"dtype":"F32","shape":[9223372036854775808],)"
     R"("data_offsets":[0,4]}})",
     4, "not supported"},
    {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],)"
     R"("data_offsets":[0,0]}})",
     0, "more than memory"},
    {R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],)"
     R"("data_offsets":[0,4]}})",
     4, "rank"},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "needs 8"},
    {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3,
     "bytes 0 to 4 of 3"},
    {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5,
     "has 5 bytes"},
    {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4,
     "bytes 4 to 0"},
    {R"({"a":{"dtype":"F32","shape":[1],)"
     R"("data_offsets":[18446744073709551612,18446744073709551616]}})",
     4, "fraction"},
    {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, "gap"},
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
     R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
     8, "overlaps"},
    {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
     R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
     8, "'a' twice"},
    {R"({"__metadata__":{"k":"1","k":"2"}})", 0, "'k' twice"},
    {R"({"__metadata__":{"k":1}})", 0, "a number"},
    {R"({"__metadata__":{"k":{}}})", 0, "an object"},
    {R"({"__metadata__":{},"__metadata__":{}})", 0, "twice"},
    {"{\"a\xff\":{}}", 0, "no JSON"},
    {R"({"__metadata__":{"onnx_aot.format":"1"}})", 0, "does not end with"},
    {R"({"onnx_aot/hash":{"dtype":"U8","shape":[16],"data_offsets":[0,16]}})",
     16, "hash is not that"},
    {R"({"onnx_aot/new":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1,
     "does not end with"},
};

TEST(CheckpointAttacks, MalformedHeadersAreRefused) {
  for (const Attack &attack : attacks) {
    SCOPED_TRACE(attack.header);
    expectFailure(readStatus(fileOf(attack.header, attack.bytes)),
                  ONNX_AOT_INVALID_ARGUMENT, {attack.reason});
  }
}

TEST(CheckpointAttacks, DeepNestingAndHugeLengthsAreRefused) {
  EXPECT_FALSE(
      readStatus(fileOf("{\"a\":" + std::string(1000000, '['), 0)).ok());
  std::string objects;
  for (int i = 0; i < 100000; ++i)
    objects += "{\"a\":";
  EXPECT_FALSE(readStatus(fileOf(objects, 0)).ok());
  for (uint64_t length :
       {UINT64_MAX, UINT64_MAX - 7, uint64_t(1) << 63, uint64_t(100000001)}) {
    std::vector<char> file(64, '{');
    std::memcpy(file.data(), &length, 8);
    expectFailure(readStatus(file), ONNX_AOT_INVALID_ARGUMENT,
                  {"header length"});
  }
}

TEST(CheckpointAttacks, PlainSafetensorsAreParameters) {
  std::vector<char> file =
      fileOf(R"({"__metadata__":{"format":"pt"},)"
             R"("b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
             R"("a":{"dtype":"F16","shape":[],"data_offsets":[8,10]}})",
             10);
  std::unique_ptr<char[]> memory;
  Expected<Checkpoint> read = readTight(file, memory);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->contents, Checkpoint::Parameters);
  EXPECT_EQ(read->fingerprint, "");
  EXPECT_EQ(read->findParameter("a")->type, ONNX_AOT_FLOAT16);
  EXPECT_EQ(read->findParameter("b")->bytes, 8u);
}

} // namespace
