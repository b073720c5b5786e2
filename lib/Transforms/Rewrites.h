//===- Rewrites.h - the sets of simplifying rewrites ------------*- C++ -*-===//
//
// Every rewrite here gives bit for bit what it replaces, unless its comment
// names the rounding. None undoes another or fires on its own result: each
// removes an op, or replaces one by an op that no rewrite of the set produces
// it from.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_LIB_TRANSFORMS_REWRITES_H
#define ONNX_AOT_LIB_TRANSFORMS_REWRITES_H

#include "TransformUtils.h"

#include "mlir/IR/PatternMatch.h"

namespace onnx_aot {

/// Neutral elements, double negations, casts, powers.
void populateElementwiseRewrites(mlir::RewritePatternSet &patterns);
/// Transposes, reshapes, slices and joins that cancel.
void populateShapeRewrites(mlir::RewritePatternSet &patterns);
/// Branches and loops that are decided, dropout.
void populateControlFlowRewrites(mlir::RewritePatternSet &patterns);
/// Padding taken into convolutions.
void populateConvolutionRewrites(mlir::RewritePatternSet &patterns);
/// Transposes taken into the attributes of a Gemm.
void populateMatMulRewrites(mlir::RewritePatternSet &patterns);

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_TRANSFORMS_REWRITES_H
