//===- TargetMachineTest.cpp - LLVM's view of the target ------------------===//

#include "onnx-aot/Emit/TargetMachine.h"
#include "onnx-aot/Emit/Artifact.h"

#include "llvm/Target/TargetMachine.h"

#include <gtest/gtest.h>

using namespace onnx_aot;

static TargetInfo describe(const TargetOptions &options) {
  auto machine = createTargetMachine(options);
  if (machine)
    return getTargetInfo(**machine, options);
  ADD_FAILURE() << llvm::toString(machine.takeError());
  return {};
}

static std::string refuse(const TargetOptions &options) {
  auto machine = createTargetMachine(options);
  return machine ? "" : llvm::toString(machine.takeError());
}

TEST(TargetMachine, KnowsVectorRegisters) {
  TargetInfo baseline = describe({"x86_64-linux-gnu", "x86-64", ""});
  EXPECT_EQ(baseline.vectorBytes, 16u);
  EXPECT_EQ(baseline.vectorRegisters, 16u);
  EXPECT_FALSE(baseline.hasFma);
  EXPECT_FALSE(baseline.hasMaskedMemory);

  TargetInfo avx2 = describe({"x86_64-linux-gnu", "haswell", ""});
  EXPECT_EQ(avx2.vectorBytes, 32u);
  EXPECT_EQ(avx2.vectorRegisters, 16u);
  EXPECT_EQ(avx2.lanes(4), 8u);
  EXPECT_TRUE(avx2.hasFma);
  EXPECT_TRUE(avx2.hasF16Conversion);
  EXPECT_FALSE(avx2.hasInt8Dot);

  TargetInfo avx512 = describe({"x86_64-linux-gnu", "znver5", ""});
  EXPECT_EQ(avx512.vectorBytes, 64u);
  EXPECT_EQ(avx512.vectorRegisters, 32u);
  EXPECT_TRUE(avx512.hasInt8Dot);
  EXPECT_TRUE(avx512.hasMaskedMemory);

  // LLVM would use half of these registers.
  TargetInfo server = describe({"x86_64-linux-gnu", "sapphirerapids", ""});
  EXPECT_EQ(server.vectorBytes, 64u);
  EXPECT_EQ(describe({"x86_64-linux-gnu", "sapphirerapids", "+prefer-256-bit"})
                .vectorBytes,
            32u);

  TargetInfo arm = describe({"aarch64-linux-gnu", "", ""});
  EXPECT_EQ(arm.vectorBytes, 16u);
  EXPECT_EQ(arm.vectorRegisters, 32u);
  EXPECT_TRUE(arm.hasFma);

  TargetInfo riscv = describe({"riscv64-linux-gnu", "", ""});
  EXPECT_EQ(riscv.vectorBytes, 16u);
  EXPECT_GE(riscv.vectorRegisters, 4u);
  EXPECT_FALSE(riscv.hasScalableVectors);
}

TEST(TargetMachine, TakesFeaturesOneByOne) {
  EXPECT_EQ(describe({"x86_64-linux-gnu", "x86-64", "+avx2,+fma"}).vectorBytes,
            32u);
  EXPECT_FALSE(describe({"x86_64-linux-gnu", "haswell", "-fma"}).hasFma);
}

TEST(TargetMachine, DescribesThisMachine) {
  TargetInfo info = describe({});
  EXPECT_FALSE(info.cpu.empty());
  EXPECT_GE(info.vectorBytes, 16u);
  EXPECT_GT(info.l1, 0u);
  EXPECT_FALSE(info.dataLayout.empty());
}

TEST(TargetMachine, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(refuse({"wasm32-wasi", "", ""}).find("supported: x86_64"),
            std::string::npos);
  EXPECT_NE(refuse({"x86_64-linux-gnu", "haswel", ""}).find("haswell"),
            std::string::npos);
  EXPECT_NE(refuse({"x86_64-linux-gnu", "", "avx2"}).find("+name or -name"),
            std::string::npos);
  EXPECT_NE(refuse({"x86_64-linux-gnu", "", "-sse2"}).find("lacks 'sse2'"),
            std::string::npos);
  EXPECT_NE(refuse({"riscv64-linux-gnu", "native", ""}).find("'native'"),
            std::string::npos);
}

TEST(Identifier, IsValidWhateverTheText) {
  EXPECT_EQ(makeIdentifier("resnet50-v1.5"), "resnet50_v1_5");
  EXPECT_EQ(makeIdentifier("9lives"), "m9lives");
  EXPECT_EQ(makeIdentifier("__init__"), "m__init__");
  EXPECT_EQ(makeIdentifier(""), "m");
  EXPECT_EQ(makeIdentifier("caf\xc3\xa9"), "caf__");
}
