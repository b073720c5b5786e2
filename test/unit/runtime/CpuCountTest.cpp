//===- CpuCountTest.cpp - affinity and quotas -----------------------------===//
#include "CpuCount.h"
#include "Fixture.h"

#include <filesystem>
#include <fstream>
#include <sched.h>

using namespace onnx_aot::runtime;
namespace fs = std::filesystem;

namespace {

/// A made-up control group file system.
class CpuCount : public testing::Test {
protected:
  void SetUp() override {
    root =
        fs::path(testing::TempDir()) / ("cgroup-" + std::to_string(getpid()));
    fs::create_directories(root);
  }
  void TearDown() override { fs::remove_all(root); }

  void write(const std::string &name, const std::string &text) {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  }
  int cores(const std::string &membership) {
    write("membership", membership);
    return cgroupCores((root / "membership").string(), root.string());
  }

  fs::path root;
};

TEST_F(CpuCount, ReadsVersion2) {
  write("a/b/cpu.max", "250000 100000\n");
  EXPECT_EQ(cores("0::/a/b\n"), 3);
  write("a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(cores("0::/a/b\n"), 0);
  write("a/cpu.max", "50000 100000\n"); // the group above
  EXPECT_EQ(cores("0::/a/b\n"), 1);
}

TEST_F(CpuCount, ReadsVersion1) {
  write("cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
  write("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cores("5:memory:/x\n4:cpu,cpuacct:/a\n"), 4);
  write("cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cores("4:cpu,cpuacct:/a\n"), 0);
}

TEST_F(CpuCount, TakesNonsenseForNoLimit) {
  for (const char *text :
       {"", "0 0", "-5 100", "5 -100", "x y", "999999999999"})
    for (const char *line : {"0::/a\n", "::\n", ":", "", "0::\n"}) {
      write("a/cpu.max", text);
      EXPECT_EQ(cores(line), 0) << text << " | " << line;
    }
  EXPECT_EQ(cgroupCores("/no/such/file", "/no/such/folder"), 0);
}

TEST_F(CpuCount, IsWithinTheAffinity) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  EXPECT_GE(usableCores(), 1);
  EXPECT_LE(usableCores(), CPU_COUNT(&set));
}

} // namespace
