//===- NarrowTypes.h - element types of at most 8 bits ----------*- C++ -*-===//
//
// Floats of 8 and 4 bits and integers of 4 and 2 bits are codes, one a byte,
// that only conversions understand: no arithmetic is done in these types.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_NARROWTYPES_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_NARROWTYPES_H

#include "ScalarBuilder.h"

namespace onnx_aot {

/// Whether an onnx element type lies in memory as codes.
bool isNarrowType(mlir::Type onnxType);

/// The type and signedness of what a code stands for: f32, i8 or ui8.
mlir::Type getDecodedType(mlir::Type narrowType);

/// The constant that decoding reads, created outside of the body: the value of
/// each code. Null for integers.
mlir::Value createDecodeTable(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Type narrowType);

/// The value of a code, without its sign in the type.
mlir::Value createDecode(ScalarBuilder &scalars, mlir::Value code,
                         mlir::Type narrowType, mlir::Value table);

/// How values without a code are rounded; see ONNX's Cast.
struct EncodeOptions {
  bool saturate = true;
  /// For powers of two (float8e8m0) only: up, down or nearest.
  llvm::StringRef roundMode = "up";
};

/// The code of a float or of an integer, whose signedness `scalars` knows.
/// Floats round to nearest, ties to even; integers wrap.
mlir::Value createEncode(ScalarBuilder &scalars, mlir::Value value,
                         mlir::Type narrowType, EncodeOptions options);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_NARROWTYPES_H
