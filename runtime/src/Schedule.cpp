//===- Schedule.cpp - learning rate as a function of the step -------------===//
#include "onnx-aot/runtime/Schedule.h"

#include "CheckpointText.h"
#include "Text.h"

#include <algorithm>
#include <cmath>

namespace onnx_aot::runtime {

namespace {

constexpr int64_t maxSteps = int64_t(1) << 53; // exact as a double
const double pi = std::acos(-1.0);

struct KindName {
  const char *name;
  /// Keys that the schedule knows, and which of them must be there.
  std::vector<const char *> keys;
};

const KindName &kindName(int kind) {
  static const KindName names[] = {
      {"constant", {"lr", "warmup_steps"}},
      {"linear", {"lr", "warmup_steps", "total_steps", "end_factor"}},
      {"cosine", {"lr", "warmup_steps", "total_steps", "eta_min"}},
      {"step", {"lr", "warmup_steps", "step_size", "gamma"}},
      {"exponential", {"lr", "warmup_steps", "gamma"}},
      {"polynomial", {"lr", "warmup_steps", "total_steps", "power"}},
      {"one-cycle",
       {"lr", "total_steps", "pct_start", "div_factor", "final_div_factor",
        "anneal_strategy"}}};
  return names[kind];
}
constexpr int numKinds = Schedule::OneCycle + 1;

/// Other names for keys: PyTorch's differ from schedule to schedule.
constexpr std::pair<const char *, const char *> synonyms[] = {
    {"T_max", "total_steps"},
    {"total_iters", "total_steps"},
    {"total", "total_steps"},
    {"warmup", "warmup_steps"},
    {"max_lr", "lr"}};

std::string canonicalKey(const std::string &key) {
  for (const auto &[other, name] : synonyms)
    if (key == other)
      return name;
  return key;
}

/// Where the value of a key goes to: one of the two is not null.
struct Field {
  double *real = nullptr;
  int64_t *integer = nullptr;
};

Field fieldOf(Schedule &schedule, const std::string &key) {
  Field field;
  if (key == "lr")
    field.real = &schedule.lr;
  else if (key == "warmup_steps")
    field.integer = &schedule.warmupSteps;
  else if (key == "total_steps")
    field.integer = &schedule.totalSteps;
  else if (key == "step_size")
    field.integer = &schedule.stepSize;
  else if (key == "end_factor")
    field.real = &schedule.endFactor;
  else if (key == "eta_min")
    field.real = &schedule.etaMin;
  else if (key == "gamma")
    field.real = &schedule.gamma;
  else if (key == "power")
    field.real = &schedule.power;
  else if (key == "pct_start")
    field.real = &schedule.pctStart;
  else if (key == "div_factor")
    field.real = &schedule.divFactor;
  else if (key == "final_div_factor")
    field.real = &schedule.finalDivFactor;
  return field;
}

Status setValue(Schedule &schedule, const std::string &key,
                const std::string &value) {
  Status wrong = invalidArgument("learning-rate schedule: ", quoted(key),
                                 " cannot be ", quoted(value));
  if (key == "anneal_strategy") {
    schedule.annealLinear = value == "linear";
    return value == "linear" || value == "cos" ? Status() : wrong;
  }
  Field field = fieldOf(schedule, key);
  if (field.integer)
    return parseNumber(value, *field.integer) && *field.integer >= 0 &&
                   *field.integer <= maxSteps
               ? Status()
               : wrong;
  return parseNumber(value, *field.real) && std::isfinite(*field.real) &&
                 *field.real >= 0
             ? Status()
             : wrong;
}

std::string listOfKinds() {
  std::string list;
  for (int kind = 0; kind < numKinds; ++kind)
    list += concat(kind ? ", " : "", kindName(kind).name);
  return list;
}

/// Checks what only all values together show.
Status checkSchedule(const Schedule &schedule) {
  const KindName &kind = kindName(schedule.kind);
  std::string who = concat("learning-rate schedule ", quoted(kind.name));
  for (const char *key : kind.keys)
    if (key == std::string("total_steps") && !schedule.totalSteps)
      return invalidArgument(who, " needs its length: total_steps=N");
  if (schedule.kind == Schedule::Step && !schedule.stepSize)
    return invalidArgument(who, " needs step_size=N");
  if (schedule.totalSteps && schedule.warmupSteps > schedule.totalSteps)
    return invalidArgument(who, " has ", schedule.warmupSteps,
                           " warm-up steps of ", schedule.totalSteps);
  if (schedule.pctStart > 1)
    return invalidArgument(who, ": pct_start is a part of 1");
  if (!schedule.divFactor || !schedule.finalDivFactor)
    return invalidArgument(who, " divides by 0");
  return Status();
}

double between(double from, double to, double part, bool linear) {
  part = std::min(std::max(part, 0.0), 1.0);
  return linear ? from + (to - from) * part
                : to + (from - to) / 2 * (1 + std::cos(pi * part));
}

double oneCycleAt(const Schedule &schedule, int64_t step) {
  double first = schedule.lr / schedule.divFactor;
  double last = first / schedule.finalDivFactor;
  auto length = static_cast<double>(schedule.totalSteps);
  double top = schedule.pctStart * length - 1, end = length - 1;
  auto t = static_cast<double>(step);
  if (t <= top)
    return between(first, schedule.lr, top > 0 ? t / top : 1,
                   schedule.annealLinear);
  return between(schedule.lr, last, end > top ? (t - top) / (end - top) : 1,
                 schedule.annealLinear);
}

} // namespace

Expected<Schedule> Schedule::parse(const std::string &text, double lr,
                                   int64_t totalSteps) {
  Schedule schedule;
  schedule.lr = lr;
  size_t colon = text.find(':');
  std::string name = text.substr(0, colon);
  int kind = 0;
  while (kind < numKinds && name != kindName(kind).name)
    ++kind;
  if (kind == numKinds)
    return invalidArgument("there is no learning-rate schedule ", quoted(name),
                           " (there are ", listOfKinds(), ")");
  schedule.kind = static_cast<Kind>(kind);
  const auto &keys = kindName(kind).keys;
  for (const char *key : keys)
    if (key == std::string("total_steps"))
      schedule.totalSteps = totalSteps;
  std::vector<std::string> seen;
  for (size_t begin = colon; begin != text.npos;) {
    size_t end = text.find(',', ++begin);
    std::string pair = text.substr(begin, end == text.npos ? end : end - begin);
    size_t equals = pair.find('=');
    std::string key = canonicalKey(pair.substr(0, equals));
    bool known = std::find(keys.begin(), keys.end(), key) != keys.end();
    if (equals == pair.npos || !known ||
        std::find(seen.begin(), seen.end(), key) != seen.end()) {
      std::string list;
      for (const char *each : keys) {
        list += concat(list.empty() ? "" : ", ", each);
        for (const auto &[other, name] : synonyms)
          if (name == std::string(each))
            list += concat(" or ", other);
      }
      return invalidArgument("learning-rate schedule ", quoted(name),
                             " does not take ", quoted(pair), " (it takes ",
                             list, ", each once, as key=value)");
    }
    seen.push_back(key);
    if (Status status = setValue(schedule, key, pair.substr(equals + 1));
        !status.ok())
      return status;
    begin = end;
  }
  if (Status status = checkSchedule(schedule); !status.ok())
    return status;
  return schedule;
}

std::string Schedule::text() const {
  std::string text = kindName(kind).name;
  Schedule copy = *this;
  for (const char *key : kindName(kind).keys) {
    Field field = fieldOf(copy, key);
    text += concat(text.find(':') == text.npos ? ":" : ",", key, "=",
                   field.real      ? numberText(*field.real)
                   : field.integer ? numberText(*field.integer)
                   : annealLinear  ? "linear"
                                   : "cos");
  }
  return text;
}

double Schedule::at(int64_t step) const {
  if (kind == OneCycle)
    return oneCycleAt(*this, step);
  if (step < warmupSteps)
    return lr * static_cast<double>(step) / static_cast<double>(warmupSteps);
  auto t = static_cast<double>(step - warmupSteps);
  auto length = static_cast<double>(totalSteps - warmupSteps);
  double part = length > 0 ? std::min(t / length, 1.0) : 1;
  switch (kind) {
  case Linear:
    return lr * (1 + (endFactor - 1) * part);
  case Cosine:
    return etaMin + (lr - etaMin) * (1 + std::cos(pi * part)) / 2;
  case Step:
    return lr * std::pow(gamma, std::floor(t / static_cast<double>(stepSize)));
  case Exponential:
    return lr * std::pow(gamma, t);
  case Polynomial:
    return lr * std::pow(1 - part, power);
  default:
    return lr;
  }
}

} // namespace onnx_aot::runtime
