//===- Tuning.h - what measuring decides about code -------------*- C++ -*-===//
//
// The numbers of the cost model that a machine may want otherwise. The defaults
// are those of docs/RationaleCodegen.md; `onnx-aot-compile --tune=FILE` reads
// others, which utils/tune.py finds by measuring.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_SUPPORT_TUNING_H
#define ONNX_AOT_SUPPORT_TUNING_H

#include "llvm/Support/Error.h"

#include <cstdint>

namespace onnx_aot {

/// The numbers that may be measured.
struct Tuning {
  /// Vectors of a panel of the right-hand side of products; 0 for as many as
  /// suit the registers and the columns.
  int64_t panelVectors = 0;
  /// Rows of a tile of products at most.
  int64_t maxRows = 14;
  /// Bytes of the left-hand side that stay in cache while panels go by.
  int64_t cachedBytes = 256 << 10;
  /// Points a task should have at least.
  int64_t taskPoints = 16 << 10;
  /// Bytes of a block of attention's scores.
  int64_t blockBytes = 128 << 10;
  /// Use Winograd's convolutions where they pay.
  bool winograd = true;
};

/// Reads a JSON object that names some of the numbers as above, in snake case.
/// An unknown name or a value out of range is an error.
llvm::Expected<Tuning> readTuning(llvm::StringRef path);

} // namespace onnx_aot

#endif // ONNX_AOT_SUPPORT_TUNING_H
