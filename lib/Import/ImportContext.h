//===- ImportContext.h - what one import knows and reports ------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_IMPORT_IMPORTCONTEXT_H
#define ONNX_AOT_LIB_IMPORT_IMPORTCONTEXT_H

#include "ModelStorage.h"

#include "onnx-aot/Import/Importer.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace onnx_aot::importer {

/// The newest operator set of the standard domain that the dialect mirrors.
constexpr int64_t kNewestOpset = 28;
/// The newest operator set whose schemas the onnx library has. Operators of
/// later ones may allow more types than those say.
constexpr int64_t kNewestSchemaOpset = 27;
/// The newest file format version.
constexpr int64_t kNewestIrVersion = 14;

/// The domain's name as opset imports and schemas spell it.
inline llvm::StringRef normalizeDomain(llvm::StringRef domain) {
  return domain == "ai.onnx" ? "" : domain;
}

/// State shared by all parts of one import.
struct ImportContext {
  ImportContext(mlir::MLIRContext *mlirContext, llvm::StringRef file,
                const ImportOptions &options)
      : mlirContext(mlirContext), file(file), options(options),
        storage(std::make_shared<ModelStorage>()) {}

  mlir::MLIRContext *mlirContext;
  std::string file;
  const ImportOptions &options;
  std::shared_ptr<ModelStorage> storage;
  mlir::ModuleOp module;
  uint64_t nodesImported = 0;
  /// Bytes of the sparse tensors that were made dense.
  uint64_t denseBytes = 0;
  /// Tensors read before, so that one that is imported twice is stored once.
  llvm::DenseMap<const ::onnx::TensorProto *, mlir::Attribute> tensors;
  /// Names of symbolic dimensions that the inputs have or were given.
  llvm::StringSet<> inputSymbols;
  /// The dimension overrides that applied.
  llvm::StringSet<> overriddenDims;

  /// `name` at the index-th node, initializer or input of the file.
  mlir::Location getLocation(llvm::StringRef name, unsigned index) const;
  /// The model as a whole.
  mlir::Location getFileLocation() const {
    return mlir::FileLineColLoc::get(mlirContext, file, 0, 0);
  }

  /// Reports one reason why the model cannot be imported; import goes on.
  mlir::LogicalResult refuse(mlir::Location loc, const llvm::Twine &reason);
  bool hasRefused() const { return numRefusals != 0; }

private:
  unsigned numRefusals = 0;
};

/// Reads the model file into the context's storage and checks what concerns it
/// as a whole.
mlir::LogicalResult readModel(ImportContext &context);

} // namespace onnx_aot::importer

#endif // ONNX_AOT_LIB_IMPORT_IMPORTCONTEXT_H
