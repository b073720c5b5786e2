//===- Spec.cpp - name:key=value,key=value --------------------------------===//

#include "onnx-aot/Support/Spec.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace onnx_aot;
using llvm::StringRef;
using llvm::Twine;

/// The shortest text that reads back as the number.
static std::string print(double number) {
  for (int digits = 1; digits <= 17; ++digits) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.*g", digits, number);
    double back = 0;
    if (!StringRef(text).getAsDouble(back) && back == number)
      return text;
  }
  return "nan";
}

Spec::Spec(StringRef what, StringRef text) : what(what) {
  auto [head, tail] = text.split(':');
  name = head.str();
  if (head.empty())
    refuse("it has no name");
  llvm::SmallVector<StringRef> parts;
  if (!tail.empty())
    tail.split(parts, ',');
  for (StringRef part : parts) {
    auto [key, value] = part.split('=');
    if (key.empty() || !part.contains('='))
      refuse("'" + part + "' is not of the form key=value");
    else if (has(key))
      refuse("'" + key + "' is given twice");
    else
      options.push_back({key.str(), value.str()});
  }
}

bool Spec::has(StringRef key) const {
  return llvm::any_of(options,
                      [&](const Option &option) { return option.key == key; });
}

const std::string *Spec::find(StringRef key) {
  for (Option &option : options)
    if (option.key == key) {
      option.isKnown = true;
      return &option.value;
    }
  return nullptr;
}

void Spec::note(StringRef key, const Twine &value) {
  asked.push_back({key.str(), value.str()});
}

void Spec::refuse(const Twine &problem) { problems.push_back(problem.str()); }

double Spec::parse(StringRef key, StringRef value, double byDefault,
                   double lowest, double highest) {
  double number = 0;
  if (value.getAsDouble(number) || !std::isfinite(number)) {
    refuse("'" + key + "' is '" + value + "', which is no number");
    return byDefault;
  }
  if (number < lowest || number > highest) {
    refuse("'" + key + "' is " + value + " (supported: " +
           (std::isinf(highest) ? print(lowest) + " and more"
                                : print(lowest) + " to " + print(highest)) +
           ")");
    return byDefault;
  }
  return number;
}

double Spec::number(StringRef key, double byDefault, double lowest,
                    double highest) {
  const std::string *value = find(key);
  double number =
      value ? parse(key, *value, byDefault, lowest, highest) : byDefault;
  note(key, print(number));
  return number;
}

int64_t Spec::integer(StringRef key, int64_t byDefault, int64_t lowest,
                      int64_t highest) {
  int64_t number = byDefault;
  if (const std::string *value = find(key)) {
    if (StringRef(*value).getAsInteger(10, number) || number < lowest ||
        number > highest) {
      refuse("'" + key + "' is '" + *value +
             "' (supported: whole numbers from " + Twine(lowest) + " to " +
             Twine(highest) + ")");
      number = byDefault;
    }
  }
  note(key, Twine(number));
  return number;
}

llvm::SmallVector<double> Spec::numbers(StringRef key,
                                        llvm::ArrayRef<double> byDefault,
                                        double lowest, double highest) {
  llvm::SmallVector<double> result(byDefault);
  if (const std::string *value = find(key)) {
    llvm::SmallVector<StringRef> parts;
    StringRef(*value).split(parts, '/');
    if (!byDefault.empty() && parts.size() != byDefault.size()) {
      refuse("'" + key + "' has " + Twine(parts.size()) + " numbers, not " +
             Twine(byDefault.size()) + " (they are separated by '/')");
    } else {
      result.clear();
      for (StringRef part : parts)
        result.push_back(parse(key, part, lowest, lowest, highest));
    }
  }
  if (!result.empty())
    note(key, llvm::join(llvm::map_range(result, print), "/"));
  return result;
}

bool Spec::flag(StringRef key, bool byDefault) {
  bool result = byDefault;
  if (const std::string *value = find(key)) {
    result = *value == "true" || *value == "True" || *value == "1";
    if (!result && *value != "false" && *value != "False" && *value != "0")
      refuse("'" + key + "' is '" + *value + "' (supported: true, false)");
  }
  note(key, result ? "true" : "false");
  return result;
}

std::string Spec::choice(StringRef key, llvm::ArrayRef<StringRef> choices) {
  std::string result = choices.front().str();
  if (const std::string *value = find(key)) {
    if (llvm::is_contained(choices, StringRef(*value)))
      result = *value;
    else
      refuse("'" + key + "' is '" + *value +
             "' (supported: " + llvm::join(choices, ", ") + ")");
  }
  note(key, result);
  return result;
}

std::string Spec::text(StringRef key, StringRef byDefault) {
  const std::string *value = find(key);
  std::string result = value ? *value : byDefault.str();
  if (!result.empty())
    note(key, result);
  return result;
}

llvm::Error Spec::finish() {
  std::string known = llvm::join(
      llvm::map_range(asked, [](auto &pair) { return pair.first; }), ", ");
  for (const Option &option : options)
    if (!option.isKnown)
      refuse("'" + option.key + "' is no option of it (supported: " + known +
             ")");
  if (problems.empty())
    return llvm::Error::success();
  return llvm::createStringError(what + " '" + name +
                                 "': " + llvm::join(problems, "; "));
}

std::string Spec::getText() const {
  std::string result = name;
  for (auto [index, pair] : llvm::enumerate(asked))
    result += (index ? "," : ":") + pair.first + "=" + pair.second;
  return result;
}
