//===- TrainingCApiTest.cpp - the C interface of training -----------------===//
#include "CheckpointFixture.h"

extern "C" int trainFromC(const char *checkpoint);

using namespace onnx_aot::runtime;

TEST(TrainingCApi, TrainsFromC99) {
  Folder folder;
  EXPECT_EQ(trainFromC(folder.file("a.safetensors").c_str()), 0)
      << "the line of TrainingCApiC99.c";
}
