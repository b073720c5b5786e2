//===- TensorTest.cpp - tensors and their sizes ---------------------------===//
#include "Fixture.h"
#include "Types.h"

using namespace onnx_aot::runtime;

// Under a sanitizer, too, an allocation that cannot be is a null.
extern "C" const char *__asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" const char *__tsan_default_options() {
  return "allocator_may_return_null=1";
}

namespace {

TEST(Tensor, IsZeroFilledAndAligned) {
  Expected<Tensor> tensor = Tensor::create(ONNX_AOT_FLOAT16, {3, 5});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->size(), 15);
  EXPECT_EQ(tensor->bytes(), 30u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data()) % ONNX_AOT_ALIGNMENT,
            0u);
  for (int i = 0; i < 15; ++i)
    EXPECT_EQ(tensor->dataAs<uint16_t>()[i], 0);
  EXPECT_EQ(tensor->view().dims[1], 5);
}

TEST(Tensor, MayBeScalarOrEmpty) {
  EXPECT_EQ(Tensor::create(ONNX_AOT_INT64, {})->size(), 1);
  EXPECT_EQ(Tensor::create(ONNX_AOT_INT64, {4, 0, INT64_MAX})->size(), 0);
}

TEST(Tensor, RefusesWhatCannotBe) {
  expectFailure(Tensor::create(static_cast<OnnxAotType>(0), {1}).status(),
                ONNX_AOT_INVALID_ARGUMENT, {"unknown"});
  expectFailure(Tensor::create(ONNX_AOT_INT8, {-1}).status(),
                ONNX_AOT_INVALID_ARGUMENT, {"[-1]", "negative"});
  expectFailure(
      Tensor::create(ONNX_AOT_INT8, {int64_t(1) << 32, int64_t(1) << 32})
          .status(),
      ONNX_AOT_INVALID_ARGUMENT, {"does not fit"});
  expectFailure(
      Tensor::create(ONNX_AOT_INT8, std::vector<int64_t>(17, 1)).status(),
      ONNX_AOT_INVALID_ARGUMENT, {"rank is 17"});
  expectFailure(Tensor::create(ONNX_AOT_INT8, {int64_t(1) << 60}).status(),
                ONNX_AOT_OUT_OF_MEMORY, {"1152921504606846976"});
  expectFailure(Tensor::of<float>(ONNX_AOT_FLOAT32, {3}, {1, 2}).status(),
                ONNX_AOT_INVALID_ARGUMENT, {"12 bytes", "8 bytes"});
}

TEST(Tensor, OwnsItsStrings) {
  std::vector<std::string> values{"a", "", std::string("b\0c", 3)};
  Expected<Tensor> tensor = Tensor::ofStrings({3}, values);
  ASSERT_TRUE(tensor.ok());
  for (std::string &value : values)
    value = "other";
  Expected<Tensor> copy =
      Tensor::copyOf(ONNX_AOT_STRING, {3}, tensor->data(), tensor->bytes());
  ASSERT_TRUE(copy.ok());
  *tensor = Tensor();
  const auto *strings = copy->dataAs<OnnxAotString>();
  EXPECT_EQ(std::string(strings[0].data, strings[0].size), "a");
  EXPECT_EQ(strings[1].size, 0u);
  EXPECT_EQ(std::string(strings[2].data, strings[2].size),
            std::string("b\0c", 3));
  EXPECT_EQ(Tensor::create(ONNX_AOT_STRING, {2})->dataAs<OnnxAotString>()->size,
            0u);
  OnnxAotString null{nullptr, 4};
  expectFailure(
      Tensor::copyOf(ONNX_AOT_STRING, {1}, &null, sizeof(null)).status(),
      ONNX_AOT_INVALID_ARGUMENT, {"null"});
}

TEST(Types, SizesAreChecked) {
  int64_t huge[] = {INT64_MAX, 2, 0};
  EXPECT_EQ(tensorBytes(8, huge, 2), std::nullopt);
  EXPECT_EQ(tensorBytes(8, huge, 3), 0u);
  EXPECT_EQ(tensorBytes(4, huge, 0), 4u);
  int64_t negative[] = {0, -1};
  EXPECT_EQ(tensorBytes(4, negative, 2), std::nullopt);
  EXPECT_EQ(typeInfo(0), nullptr);
  EXPECT_EQ(typeInfo(-5), nullptr);
  EXPECT_EQ(typeInfo(27), nullptr);
  EXPECT_EQ(typeInfo(ONNX_AOT_COMPLEX128)->bytes, 16u);
}

} // namespace
