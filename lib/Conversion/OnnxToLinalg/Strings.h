//===- Strings.h - ops on tensors of strings --------------------*- C++ -*-===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_STRINGS_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_STRINGS_H

#include "LoweringBase.h"

namespace onnx_aot {

/// Refuses every op on strings that would take them for numbers.
llvm::LogicalResult checkStrings(mlir::ModuleOp module);

/// Numbers as strings or strings as numbers, for Cast and CastLike: `x` is the
/// converted operand.
mlir::FailureOr<mlir::Value>
convertStrings(mlir::Operation *op, mlir::Value x,
               mlir::ConversionPatternRewriter &rewriter);

/// The ops that only strings have, and Equal.
void populateOnnxToLinalgStringsPatterns(const LoweringContext &lowering,
                                         mlir::RewritePatternSet &patterns);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_STRINGS_H
