//===- WeightsFileTest.cpp - weights files, right and hostile -------------===//
#include "Fixture.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

using namespace onnx_aot::runtime;
namespace fs = std::filesystem;

namespace {

const float right[] = {1, 2, 3, 4};

/// A folder with the external-weights fixture and a folder beside it.
class WeightsFile : public testing::Test {
protected:
  void SetUp() override {
    top =
        fs::path(testing::TempDir()) / ("weights-" + std::to_string(getpid()));
    fs::create_directories(top / "model");
    fs::create_directories(top / "outside");
    fs::copy_file(FIXTURES "fixture-external.so", top / "model/fixture.so",
                  fs::copy_options::overwrite_existing);
  }
  void TearDown() override { fs::remove_all(top); }

  void write(const fs::path &name, const void *data, size_t bytes) {
    std::ofstream(top / name, std::ios::binary)
        .write(static_cast<const char *>(data), bytes);
  }
  Status load() {
    return Module::load((top / "model/fixture.so").string()).status();
  }
  /// The linked fixture with its weights in a file called `name`.
  Status loadNamed(const char *name) {
    OnnxAotModule module = first_module;
    module.weights = nullptr;
    module.weights_file = name;
    return Module::fromLinked(module, (top / "model").string()).status();
  }

  fs::path top;
};

TEST_F(WeightsFile, IsMappedAlignedAndUsed) {
  write("model/fixture.weights", right, 16);
  Expected<Module> module = Module::load((top / "model/fixture.so").string());
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(module->weights()) % ONNX_AOT_ALIGNMENT,
            0u);
  Expected<Session> session = Session::create(*module);
  ASSERT_TRUE(session.ok());
  Call call(5);
  ASSERT_TRUE(call.run(*session).ok());
  call.expectResult();
}

TEST_F(WeightsFile, IsFoundBesideARelativePath) {
  write("model/fixture.weights", right, 16);
  fs::path before = fs::current_path();
  fs::current_path(top / "model");
  Status status = Module::load("fixture.so").status();
  fs::current_path(before);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(WeightsFile, MayBeMissing) {
  expectFailure(load(), ONNX_AOT_SYSTEM_ERROR,
                {"fixture.weights", "No such file"});
}

TEST_F(WeightsFile, NeedsAFolderWhenLinked) {
  OnnxAotModule module = first_module;
  module.weights = nullptr;
  module.weights_file = "fixture.weights";
  expectFailure(Module::fromLinked(module).status(), ONNX_AOT_INVALID_ARGUMENT,
                {"'fixture.weights'", "folder"});
  expectFailure(Module::fromLinked(module, "/no/such/folder").status(),
                ONNX_AOT_SYSTEM_ERROR, {"/no/such/folder"});
}

TEST_F(WeightsFile, IsRefusedAtEveryOtherLength) {
  float longer[5] = {1, 2, 3, 4, 5};
  for (size_t bytes = 0; bytes <= 20; ++bytes) {
    write("model/fixture.weights", longer, bytes);
    if (bytes == 16)
      EXPECT_TRUE(load().ok());
    else
      expectFailure(
          load(), ONNX_AOT_INVALID_MODULE,
          {"has " + std::to_string(bytes) + " bytes", "compiled with 16"});
  }
}

TEST_F(WeightsFile, IsRefusedWithAnyBitFlipped) {
  for (int bit = 0; bit < 128; ++bit) {
    unsigned char bytes[16];
    std::memcpy(bytes, right, 16);
    bytes[bit / 8] ^= 1 << bit % 8;
    write("model/fixture.weights", bytes, 16);
    expectFailure(load(), ONNX_AOT_INVALID_MODULE,
                  {"has hash", "a82f522ec4510db4"});
  }
}

TEST_F(WeightsFile, StaysInTheModulesFolder) {
  write("outside/w", right, 16);
  fs::create_directories(top / "model/sub");
  write("model/sub/w", right, 16);
  std::string absolute = (top / "outside/w").string();
  for (const char *name :
       {"../outside/w", "..", ".", "", "sub/w", "./sub/w", "/etc/passwd",
        absolute.c_str(), "sub/../../outside/w"})
    expectFailure(loadNamed(name), ONNX_AOT_INVALID_MODULE,
                  {"not a plain file name"});
}

TEST_F(WeightsFile, MayNotBeALinkThatLeavesTheFolder) {
  write("outside/w", right, 16);
  fs::path link = top / "model/fixture.weights";
  for (const fs::path &target :
       {top / "outside/w", fs::path("../outside/w"),
        fs::path("../model/../outside/w"), fs::path("/proc/self/exe"),
        fs::path("fixture.weights")}) {
    fs::create_symlink(target, link);
    expectFailure(load(), ONNX_AOT_INVALID_MODULE,
                  {"link", "leaves the module's folder"});
    fs::remove(link);
  }
}

TEST_F(WeightsFile, MayBeALinkInsideTheFolder) {
  write("model/real", right, 16);
  fs::create_symlink("real", top / "model/fixture.weights");
  Status status = load();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(WeightsFile, MustBeARegularFile) {
  fs::create_directories(top / "model/fixture.weights");
  expectFailure(load(), ONNX_AOT_INVALID_MODULE, {"not a regular file"});
  fs::remove(top / "model/fixture.weights");
  // Opening a FIFO for reading would wait for a writer.
  ASSERT_EQ(mkfifo((top / "model/fixture.weights").c_str(), 0600), 0);
  expectFailure(load(), ONNX_AOT_INVALID_MODULE, {"not a regular file"});
}

} // namespace
