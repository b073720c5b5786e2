//===- Trees.h - the walk through decision trees ----------------*- C++ -*-===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_TREES_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_TREES_H

#include "LoweringBase.h"

namespace onnx_aot {

/// The lowering of ml.TreeLeaves.
void populateOnnxToLinalgTreesPatterns(const LoweringContext &lowering,
                                       mlir::RewritePatternSet &patterns);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_TREES_H
