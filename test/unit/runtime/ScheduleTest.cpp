//===- ScheduleTest.cpp - learning-rate schedules -------------------------===//
//
// The expected rates are PyTorch's recurrences (torch.optim.lr_scheduler's
// get_lr, each rate from the one before), stepped in double precision; the
// library computes closed forms.
//
//===----------------------------------------------------------------------===//
#include "Fixture.h"

#include "onnx-aot/runtime/Schedule.h"

#include <cmath>

using namespace onnx_aot::runtime;

namespace {

Schedule parsed(const std::string &text, double lr = 0.1, int64_t total = 0) {
  Expected<Schedule> schedule = Schedule::parse(text, lr, total);
  EXPECT_TRUE(schedule.ok()) << schedule.status().message();
  return schedule ? *schedule : Schedule();
}

void expectNear(double found, double expected, int64_t step) {
  EXPECT_NEAR(found, expected, 1e-12 * std::fabs(expected) + 1e-15)
      << "at step " << step;
}

TEST(Schedule, CosineFollowsTheRecurrence) {
  Schedule schedule = parsed("cosine:T_max=50,eta_min=0.001");
  double rate = 0.1, pi = std::acos(-1.0);
  for (int64_t t = 0; t <= 50; ++t) {
    if (t)
      rate = (1 + std::cos(pi * t / 50)) / (1 + std::cos(pi * (t - 1) / 50)) *
                 (rate - 0.001) +
             0.001;
    EXPECT_NEAR(schedule.at(t), rate, 1e-10) << t;
  }
  expectNear(schedule.at(0), 0.1, 0);
  expectNear(schedule.at(25), 0.0505, 25);
  expectNear(schedule.at(1000), 0.001, 1000); // stays at the end
}

TEST(Schedule, StepAndExponentialMultiply) {
  Schedule step = parsed("step:step_size=7,gamma=0.5");
  Schedule exponential = parsed("exponential:gamma=0.9");
  double stepRate = 0.1, exponentialRate = 0.1;
  for (int64_t t = 0; t < 60; ++t) {
    if (t && t % 7 == 0)
      stepRate *= 0.5;
    if (t)
      exponentialRate *= 0.9;
    expectNear(step.at(t), stepRate, t);
    expectNear(exponential.at(t), exponentialRate, t);
  }
}

TEST(Schedule, PolynomialFollowsTheRecurrence) {
  Schedule schedule = parsed("polynomial:total_iters=20,power=2");
  double rate = 0.1;
  for (int64_t t = 0; t < 30; ++t) {
    if (t && t <= 20)
      rate *= std::pow((1 - t / 20.0) / (1 - (t - 1) / 20.0), 2);
    expectNear(schedule.at(t), rate, t);
  }
}

TEST(Schedule, LinearWarmsUpThenDecays) {
  // ONNX Runtime's formula: training.md, LinearLR.
  Schedule schedule = parsed("linear:warmup_steps=10,total_steps=30", 2);
  for (int64_t t = 0; t < 40; ++t) {
    double factor = t < 10 ? t / 10.0 : std::fmax(0, (30.0 - t) / (30 - 10));
    expectNear(schedule.at(t), 2 * factor, t);
  }
  EXPECT_EQ(schedule.at(0), 0);
  EXPECT_EQ(parsed("linear:total_steps=30", 2).at(0), 2);
}

TEST(Schedule, OneCycleFollowsPyTorch) {
  // torch.optim.lr_scheduler.OneCycleLR(max_lr=1, total_steps=20): the phases
  // end at steps 0.3 * 20 - 1 = 5 and 19.
  Schedule schedule = parsed("one-cycle:max_lr=1,total_steps=20");
  auto cosine = [](double a, double b, double part) {
    return b + (a - b) / 2 * (std::cos(std::acos(-1.0) * part) + 1);
  };
  for (int64_t t = 0; t < 20; ++t)
    expectNear(schedule.at(t),
               t <= 5 ? cosine(1.0 / 25, 1, t / 5.0)
                      : cosine(1, 1.0 / 25 / 1e4, (t - 5.0) / 14),
               t);
  expectNear(schedule.at(0), 0.04, 0);
  expectNear(schedule.at(5), 1, 5);
  expectNear(schedule.at(19), 4e-6, 19);
  expectNear(schedule.at(100), 4e-6, 100);
  Schedule line =
      parsed("one-cycle:max_lr=1,total_steps=20,anneal_strategy=linear");
  expectNear(line.at(3), 0.04 + 0.96 * 3 / 5, 3);
}

TEST(Schedule, EveryKindWarmsUpFromZero) {
  for (const char *name : {"constant:", "linear:total=100,",
                           "cosine:total=100,", "step:step_size=3,",
                           "exponential:gamma=.5,", "polynomial:total=100,"}) {
    Schedule schedule = parsed(std::string(name) + "warmup_steps=4", 8);
    EXPECT_EQ(schedule.at(0), 0) << name;
    EXPECT_EQ(schedule.at(3), 6) << name;
    EXPECT_EQ(schedule.at(4), 8) << name;
  }
}

TEST(Schedule, TextRoundTrips) {
  for (const char *text :
       {"constant", "linear:total=9,end_factor=0.25", "cosine:T_max=7",
        "step:step_size=5", "exponential:gamma=0.3,warmup=3",
        "polynomial:total_iters=6,power=0.5",
        "one-cycle:total_steps=11,pct_start=0.1,anneal_strategy=linear"}) {
    Schedule schedule = parsed(text, 0.3);
    Schedule again = parsed(schedule.text(), 99);
    EXPECT_EQ(again.text(), schedule.text());
    for (int64_t t = 0; t < 15; ++t)
      EXPECT_EQ(again.at(t), schedule.at(t)) << text;
  }
  EXPECT_EQ(parsed("cosine", 1, 80).totalSteps, 80);
}

TEST(Schedule, ShortCyclesAreFinite) {
  for (int64_t total = 1; total < 8; ++total)
    for (const char *pct : {"0", "0.3", "1"})
      for (int64_t t = 0; t < 10; ++t)
        EXPECT_TRUE(std::isfinite(
            parsed(std::string("one-cycle:pct_start=") + pct, 1, total).at(t)));
  EXPECT_EQ(parsed("cosine:total=5,warmup=5", 1).at(5), 0);
}

TEST(Schedule, WrongTextIsRefused) {
  const std::pair<const char *, const char *> wrong[] = {
      {"", "there is no"},
      {"sine", "one-cycle"},
      {"cosine", "total_steps"},
      {"step", "step_size"},
      {"step:step_size=0", "step_size"},
      {"cosine:T_max=10,gamma=1", "'gamma=1'"},
      {"cosine:gamma=1", "total_steps or T_max or"},
      {"cosine:T_max=10,T_max=10", "'T_max=10'"},
      {"cosine:T_max=10,total=10", "'total=10'"},
      {"cosine:T_max", "'T_max'"},
      {"cosine:", "''"},
      {"cosine:T_max=-1", "'-1'"},
      {"cosine:T_max=1.5", "'1.5'"},
      {"cosine:T_max=10,eta_min=x", "'x'"},
      {"cosine:T_max=10,eta_min=nan", "'nan'"},
      {"cosine:T_max=10,eta_min=1e999", "'1e999'"},
      {"linear:total=3,warmup=4", "4 warm-up steps of 3"},
      {"one-cycle:total=3,pct_start=1.5", "pct_start"},
      {"one-cycle:total=3,div_factor=0", "by 0"},
      {"one-cycle:total=3,anneal_strategy=x", "'x'"},
      {"cosine:T_max=99999999999999999999", "'99999999999999999999'"}};
  for (auto [text, reason] : wrong)
    expectFailure(Schedule::parse(text, 0.1).status(),
                  ONNX_AOT_INVALID_ARGUMENT, {reason});
}

} // namespace
