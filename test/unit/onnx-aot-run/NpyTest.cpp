//===- NpyTest.cpp - .npy files, right and hostile ------------------------===//
#include "Npy.h"
#include "Strings.h"

#include "gtest/gtest.h"

#include <cstring>
#include <fstream>
#include <unistd.h>

using namespace onnx_aot::run;

namespace {

Expected<Tensor> parse(const std::string &bytes) {
  size_t next = 0;
  ByteSource source{bytes.size(), [&](void *to, uint64_t count) {
                      if (count > bytes.size() - next)
                        return userError("read past the end");
                      std::memcpy(to, bytes.data() + next, count);
                      next += count;
                      return Status();
                    }};
  return readNpy(source, "'a'");
}

/// A file with this header text and these elements.
std::string file(const std::string &header, const std::string &elements,
                 char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes += static_cast<char>(header.size() >> 8 * i);
  return bytes + header + elements;
}

std::string described(const std::string &descr, const std::string &shape,
                      const char *order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order +
         ", 'shape': " + shape + ", }  \n";
}

void expectRefused(const std::string &bytes, const std::string &part) {
  Expected<Tensor> tensor = parse(bytes);
  ASSERT_FALSE(tensor.ok()) << part;
  EXPECT_NE(tensor.status().message().find(part), std::string::npos)
      << tensor.status().message();
}

TEST(Npy, ReadsEveryType) {
  struct {
    const char *descr;
    OnnxAotType type;
  } cases[] = {{"<f4", ONNX_AOT_FLOAT32},   {"<f8", ONNX_AOT_FLOAT64},
               {"<f2", ONNX_AOT_FLOAT16},   {"|b1", ONNX_AOT_BOOL},
               {"|i1", ONNX_AOT_INT8},      {"<i2", ONNX_AOT_INT16},
               {"<i4", ONNX_AOT_INT32},     {"<i8", ONNX_AOT_INT64},
               {"|u1", ONNX_AOT_UINT8},     {"<u2", ONNX_AOT_UINT16},
               {"<u4", ONNX_AOT_UINT32},    {"<u8", ONNX_AOT_UINT64},
               {"<c8", ONNX_AOT_COMPLEX64}, {"<c16", ONNX_AOT_COMPLEX128},
               {"|V2", ONNX_AOT_BFLOAT16},  {"|V1", ONNX_AOT_UINT8}};
  for (auto &c : cases) {
    std::string elements(3 * onnxAotTypeBytes(c.type), 'x');
    Expected<Tensor> tensor = parse(file(described(c.descr, "(3,)"), elements));
    ASSERT_TRUE(tensor.ok()) << c.descr << tensor.status().message();
    EXPECT_EQ(tensor->type(), c.type);
    EXPECT_EQ(tensor->dims(), std::vector<int64_t>{3});
    EXPECT_EQ(std::memcmp(tensor->data(), elements.data(), elements.size()), 0);
  }
}

TEST(Npy, ReadsItsOwnHeaders) {
  for (int32_t rank = 0; rank <= ONNX_AOT_MAX_RANK; ++rank) {
    std::vector<int64_t> dims(rank, 1);
    if (rank)
      dims[rank / 2] = 5;
    std::vector<float> values(rank ? 5 : 1, 2.5f);
    Expected<Tensor> tensor = Tensor::of(ONNX_AOT_FLOAT32, dims, values);
    ASSERT_TRUE(tensor.ok());
    std::string header = npyHeader(tensor->view());
    EXPECT_EQ(header.size() % 64, 0u);
    Expected<Tensor> read =
        parse(header + std::string(tensor->dataAs<char>(), tensor->bytes()));
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->dims(), dims);
    EXPECT_EQ(read->type(), ONNX_AOT_FLOAT32);
  }
}

TEST(Npy, ReadsVersionsAndSpellings) {
  for (char version : {1, 2, 3})
    EXPECT_TRUE(parse(file(described("<f4", "()"), "1234", version)).ok());
  EXPECT_TRUE(
      parse(file("{\"shape\":(2L , 1),'fortran_order':False,\"descr\":\"|u1\"}",
                 "12"))
          .ok());
  EXPECT_TRUE(
      parse(file(described("<f4", "(0, 9223372036854775807)"), "")).ok());
}

TEST(Npy, ConvertsByteAndElementOrder) {
  Expected<Tensor> swapped =
      parse(file(described(">i2", "(2,)"), std::string("\0\1\1\0", 4)));
  ASSERT_TRUE(swapped.ok());
  EXPECT_EQ(swapped->dataAs<int16_t>()[0], 1);
  EXPECT_EQ(swapped->dataAs<int16_t>()[1], 256);
  Expected<Tensor> columns =
      parse(file(described("|u1", "(2, 3)", "True"), "adbecf"));
  ASSERT_TRUE(columns.ok());
  EXPECT_EQ(std::string(columns->dataAs<char>(), 6), "abcdef");
}

TEST(Npy, ReadsStrings) {
  std::u32string points(6, U'\0');
  points[0] = U'a';
  points[3] = U'\u00e9';
  points[4] = U'\U0001F600';
  std::string bytes(reinterpret_cast<const char *>(points.data()), 24);
  Expected<Tensor> tensor = parse(file(described("<U3", "(2,)"), bytes));
  ASSERT_TRUE(tensor.ok()) << tensor.status().message();
  EXPECT_EQ(stringAt(tensor->view(), 0), "a");
  EXPECT_EQ(stringAt(tensor->view(), 1), "\u00e9\U0001F600");
  uint64_t width = 0;
  Expected<std::string> back = encodeStrings(tensor->view(), "it", width);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(width, 2u);
  EXPECT_NE(npyHeader(tensor->view(), width).find("'<U2'"), std::string::npos);
  expectRefused(file(described("<U1", "(1,)"), std::string("\0\xd8\0\0", 4)),
                "not Unicode");
  for (const char *bad :
       {"\x80", "\xc0\x80", "\xed\xa0\x80", "\xe2\x82", "\xff"})
    EXPECT_FALSE(fromUtf8(bad)) << bad;
}

TEST(Npy, RefusesHostileHeaders) {
  struct {
    std::string header, elements, message;
  } cases[] = {
      {described("<f4", "(2,)"), "1234567", "has 7 bytes"},
      {described("<f4", "(2,)"), "123456789", "has 9 bytes"},
      {described("<f4", "(4611686018427387904, 4)"), "", "more than"},
      {described("<f4", "(99999999999999999999,)"), "", "cannot be read"},
      {described("<f4", "(-1,)"), "", "cannot be read"},
      {described("<f4", "(1,,)"), "1234", "cannot be read"},
      {described("<f4", "(1"), "1234", "cannot be read"},
      {described("<f4", "1"), "1234", "cannot be read"},
      {described("<f4",
                 "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"),
       "1234", "cannot be read"},
      {described("<f3", "(1,)"), "123", "'<f3'"},
      {described("|O", "(1,)"), "12345678", "'|O'"},
      {described("<S4", "(1,)"), "1234567890123456", "'<S4'"},
      {described("f4", "(1,)"), "1234", "'f4'"},
      {described("", "(1,)"), "1234", "''"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
       "1234", "cannot be read"},
      {"{'descr': '<f4', 'shape': (1,), }", "1234", "cannot be read"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': "
       "(1,), }",
       "1234", "cannot be read"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", "1234",
       "cannot be read"},
      {described("<f4", "(1,)") + "x", "1234", "cannot be read"},
      {"", "", "cannot be read"},
      {"{", "", "cannot be read"},
      {"{'", "", "cannot be read"},
      {std::string("\0\0\0\0", 4), "", "cannot be read"},
  };
  for (auto &c : cases) {
    SCOPED_TRACE(c.header);
    expectRefused(file(c.header, c.elements), c.message);
  }
  expectRefused("PK\3\4 something else", "not a .npy file");
  expectRefused(file(described("<f4", "()"), "1234", 9), "version 9");
  expectRefused(std::string("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14),
                "4294967295");
}

// Any answer will do as long as there is one: run under the sanitizers.
TEST(Npy, SurvivesEveryTruncationAndBitFlip) {
  std::string good = file(described("<f4", "(2, 1)", "True"), "12345678");
  ASSERT_TRUE(parse(good).ok());
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(parse(good.substr(0, length)).ok()) << length;
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string changed = good;
    changed[bit / 8] ^= 1 << bit % 8;
    Expected<Tensor> tensor = parse(changed);
    if (tensor.ok()) {
      EXPECT_EQ(tensor->bytes(), 8u);
    }
  }
}

TEST(Npy, RefusesOtherPaths) {
  EXPECT_FALSE(readNpyFile("/no/such/file.npy").ok());
  EXPECT_FALSE(readNpyFile("/").ok());
  EXPECT_FALSE(readNpyFile("").ok());
}

} // namespace
