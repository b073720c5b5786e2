//===- Importer.h - from an ONNX file to the onnx dialect -------*- C++ -*-===//
//
// The one entry point of the room. Nothing of protobuf or of the onnx library
// is visible through it, and no exception leaves it.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_IMPORT_IMPORTER_H
#define ONNX_AOT_IMPORT_IMPORTER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"
#include <string>
#include <utility>

namespace onnx_aot {

/// Bounds on what a model file may ask for. A model beyond one is refused.
struct ImportLimits {
  /// Bytes of the model file without its external data; protobuf's own limit.
  uint64_t modelBytes = INT32_MAX;
  /// Nodes imported in all, inlined functions counted at every call.
  uint64_t nodes = 1000000;
  /// Model-local functions.
  unsigned functions = 10000;
  /// Functions that call each other.
  unsigned callDepth = 100;
  /// Graphs within graphs.
  unsigned subgraphDepth = 32;
  /// Bytes of one value's, node's or dimension's name.
  unsigned nameBytes = 1 << 16;
  /// Dimensions of one tensor.
  unsigned rank = 64;
  /// Bytes of all sparse tensors once made dense.
  uint64_t denseBytes = 1 << 28;
  /// Refusals that are listed.
  unsigned refusals = 1000;
};

/// An operator that C functions of the user's compute (docs/CustomOps.md).
struct CustomOp {
  /// The function that computes the outputs.
  std::string callee;
  /// The function that tells their sizes; empty for none.
  std::string shapeCallee;
};

/// What the user chooses about an import.
struct ImportOptions {
  /// Symbolic dimensions of the graph inputs to make static: name and size.
  llvm::SmallVector<std::pair<std::string, int64_t>> dims;
  /// Keep the initializers' names, as attribute `onnx.name` of their constants.
  bool nameInitializers = false;
  /// Operators of the user's by "domain::name".
  llvm::StringMap<CustomOp> customOps;
  /// Files that the caller will write: no tensor may lie in one.
  llvm::SmallVector<std::string> outputs;
  ImportLimits limits;
};

/// Reads an ONNX model and its external data as a module with one function
/// `@main`. Large tensors are not copied: their resource blobs keep the file's
/// memory alive. Returns null after reporting every reason for which the model
/// cannot be imported as an error at the node's location.
mlir::OwningOpRef<mlir::ModuleOp>
importOnnxModel(llvm::StringRef path, mlir::MLIRContext *context,
                const ImportOptions &options = {});

/// The bytes of a model file without the data of these initializers of its
/// graph, for which an export has other values; the data of all others is in
/// it, wherever it was. Nodes in training mode (BatchNormalization, Dropout)
/// are those of inference. Empty where that would be more than a file can hold.
mlir::FailureOr<std::string>
readModelWithout(llvm::StringRef path, mlir::MLIRContext *context,
                 llvm::ArrayRef<std::string> initializers);

} // namespace onnx_aot

#endif // ONNX_AOT_IMPORT_IMPORTER_H
