//===- Tuning.cpp - what measuring decides about code ---------------------===//

#include "onnx-aot/Support/Tuning.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace onnx_aot;

namespace {
/// A number and what it may be.
struct Field {
  StringLiteral name;
  int64_t Tuning::*member;
  int64_t least, most;
};
} // namespace

static constexpr Field kFields[] = {
    {"panel_vectors", &Tuning::panelVectors, 0, 8},
    {"max_rows", &Tuning::maxRows, 1, 30},
    {"cached_bytes", &Tuning::cachedBytes, 1 << 12, 1 << 30},
    {"task_points", &Tuning::taskPoints, 1, int64_t(1) << 40},
    {"block_bytes", &Tuning::blockBytes, 1, 1 << 30},
};

static Error setField(Tuning &tuning, StringRef name,
                      const json::Value &value) {
  if (name == "winograd") {
    std::optional<bool> on = value.getAsBoolean();
    if (!on)
      return createStringError("'winograd' is neither true nor false");
    tuning.winograd = *on;
    return Error::success();
  }
  const auto *field =
      find_if(kFields, [&](const Field &field) { return field.name == name; });
  if (field == std::end(kFields))
    return createStringError("there is nothing to tune by the name '" + name +
                             "'");
  std::optional<int64_t> number = value.getAsInteger();
  if (!number || *number < field->least || *number > field->most)
    return createStringError("'" + name + "' is no integer between " +
                             Twine(field->least) + " and " +
                             Twine(field->most));
  tuning.*field->member = *number;
  return Error::success();
}

Expected<Tuning> onnx_aot::readTuning(StringRef path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return createStringError(file.getError(), "cannot read '" + path + "': " +
                                                  file.getError().message());
  Expected<json::Value> parsed = json::parse((*file)->getBuffer());
  if (!parsed)
    return createStringError("'" + path +
                             "' is no JSON: " + toString(parsed.takeError()));
  const json::Object *object = parsed->getAsObject();
  if (!object)
    return createStringError("'" + path + "' holds no JSON object");
  Tuning tuning;
  for (const auto &[name, value] : *object)
    if (Error error = setField(tuning, name, value))
      return createStringError("'" + path + "': " + toString(std::move(error)));
  return tuning;
}
