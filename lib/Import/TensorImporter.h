//===- TensorImporter.h - tensors as attributes -----------------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_IMPORT_TENSORIMPORTER_H
#define ONNX_AOT_LIB_IMPORT_TENSORIMPORTER_H

#include "ImportContext.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace onnx_aot::importer {

/// A tensor's type and its elements as MLIR stores them: one or more whole
/// bytes each, bool as 0 or 1, 4- and 2-bit numbers zero-extended.
struct TensorData {
  mlir::RankedTensorType type;
  /// Points into the model's storage or at `owned`.
  llvm::ArrayRef<char> bytes;
  std::vector<char> owned;
  /// The elements of a tensor of strings instead.
  std::vector<llvm::StringRef> strings;
};

/// Reads and checks a tensor: its sizes are exactly those its shape asks for.
mlir::FailureOr<TensorData> readTensor(ImportContext &context,
                                       const ::onnx::TensorProto &tensor,
                                       mlir::Location loc);

/// The attribute of a tensor's data. Beyond 64 KiB it is a resource blob named
/// `name` that refers to the model's storage.
mlir::ElementsAttr makeElements(ImportContext &context, TensorData data,
                                llvm::StringRef name);

/// readTensor and makeElements; a tensor that was imported before is shared.
mlir::FailureOr<mlir::ElementsAttr>
importTensor(ImportContext &context, const ::onnx::TensorProto &tensor,
             mlir::Location loc, llvm::StringRef name);

/// The dense form of a sparse tensor.
mlir::FailureOr<mlir::ElementsAttr>
importSparseTensor(ImportContext &context,
                   const ::onnx::SparseTensorProto &tensor, mlir::Location loc,
                   llvm::StringRef name);

/// The bytes of a tensor that is stored outside the model file, of which there
/// must be `size`.
mlir::FailureOr<llvm::ArrayRef<char>>
readExternalData(ImportContext &context, const ::onnx::TensorProto &tensor,
                 uint64_t size, mlir::Location loc);

} // namespace onnx_aot::importer

#endif // ONNX_AOT_LIB_IMPORT_TENSORIMPORTER_H
