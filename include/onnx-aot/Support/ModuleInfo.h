//===- ModuleInfo.h - what a compiled module says of itself -----*- C++ -*-===//
//
// The contents of a module's descriptor (abi/Abi.h) while it is compiled: made
// by Codegen, written by Emit.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_SUPPORT_MODULEINFO_H
#define ONNX_AOT_SUPPORT_MODULEINFO_H

#include "onnx-aot/abi/Abi.h"

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Types.h"

#include <optional>
#include <string>
#include <vector>

namespace onnx_aot {

/// A graph input or output; the fields mean what OnnxAotValueInfo's mean.
struct ValueInfo {
  std::string name;
  OnnxAotType type = ONNX_AOT_FLOAT32;
  llvm::SmallVector<int64_t> dims;
  /// Which part of a sequence or an optional it is: an OnnxAotValueFlag, or 0.
  int32_t part = 0;
  /// An input that a run updates in place.
  bool isUpdated = false;
};

/// Everything the descriptor states besides the weights.
struct ModuleInfo {
  /// Graph name of the model.
  std::string name;
  std::vector<ValueInfo> inputs, outputs;
  /// Names of the symbolic dimensions, in the order of `symbols` in the ABI.
  std::vector<std::string> symbols;
  /// Exact when there are no symbols, otherwise `plan` answers.
  uint64_t arenaBytes = 0;
  /// Symbols of the two entry functions in the LLVM dialect module.
  std::string runFunction = "run", planFunction = "plan";
};

/// Reads what `abi.value` of EntryAttributes.h describes; fails on anything
/// else.
mlir::FailureOr<ValueInfo> readValueInfo(mlir::Attribute attribute);

/// The ABI's code of an element type, or none if the ABI has none.
std::optional<OnnxAotType> getAbiType(mlir::Type elementType);

/// "float32", "int64", ... as NumPy spells it.
llvm::StringRef getTypeName(OnnxAotType type);

/// Bytes of one element; 0 for strings.
unsigned getTypeBytes(OnnxAotType type);

} // namespace onnx_aot

#endif // ONNX_AOT_SUPPORT_MODULEINFO_H
