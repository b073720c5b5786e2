//===- TypeImporter.h - ONNX types and MLIR types ---------------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_IMPORT_TYPEIMPORTER_H
#define ONNX_AOT_LIB_IMPORT_TYPEIMPORTER_H

#include "ImportContext.h"

#include "mlir/IR/BuiltinTypes.h"

namespace onnx_aot::importer {

/// The type of a graph input. A dimension without a name gets the symbol
/// `<input>_dim<i>`; overridden dimensions become static.
mlir::FailureOr<mlir::Type> importInputType(ImportContext &context,
                                            const ::onnx::ValueInfoProto &input,
                                            mlir::Location loc);

/// The type an attribute or a subgraph's input declares: the element type and
/// the rank; sizes are declared, not checked, so they stay unknown. Null when
/// the type is incomplete.
mlir::Type importDeclaredType(mlir::MLIRContext *context,
                              const ::onnx::TypeProto &type);

/// How ONNX schemas spell a type: `tensor(float)`, `seq(tensor(int64))`. Empty
/// for types that ONNX does not have.
std::string getTypeString(mlir::Type type);

/// The type of a schema's spelling, of unknown rank; null when not supported.
mlir::Type getTypeOfString(mlir::MLIRContext *context, llvm::StringRef text);

/// The message ONNX has for a type, for schema functions that look at it.
::onnx::TypeProto exportType(mlir::Type type);

/// Remembers the names of the symbolic dimensions that the graph's inputs have.
/// To be called before the inputs are imported: made-up names avoid these.
void declareInputSymbols(ImportContext &context,
                         const ::onnx::GraphProto &graph);

} // namespace onnx_aot::importer

#endif // ONNX_AOT_LIB_IMPORT_TYPEIMPORTER_H
