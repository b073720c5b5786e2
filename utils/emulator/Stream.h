//===- Stream.h - streams and recorded work ---------------------*- C++ -*-===//
#ifndef ONNX_AOT_EMULATOR_STREAM_H
#define ONNX_AOT_EMULATOR_STREAM_H

#include <functional>
#include <memory>
#include <vector>

namespace onnx_aot::emulator {

/// One launch or copy; answers with a result of the driver.
using Work = std::function<int()>;

/// Work in order: what a captured stream would have done.
using Graph = std::vector<Work>;

/// Work is done at once, but while a stream is captured.
struct Stream {
  std::unique_ptr<Graph> recorded;
};

/// How many graphs were made and run, told in the report of
/// ONNX_AOT_EMULATOR_REPORT.
struct GraphCounts {
  unsigned long long instantiated = 0, launched = 0;
};
extern GraphCounts graphCounts;

} // namespace onnx_aot::emulator

#endif // ONNX_AOT_EMULATOR_STREAM_H
