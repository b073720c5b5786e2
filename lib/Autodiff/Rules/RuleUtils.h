//===- RuleUtils.h - what rules of several categories use -------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_AUTODIFF_RULES_RULEUTILS_H
#define ONNX_AOT_LIB_AUTODIFF_RULES_RULEUTILS_H

#include "onnx-aot/Autodiff/GradientBuilder.h"

namespace onnx_aot {

/// A tensor of one number, of the element type of `like` and a shape given by
/// its sizes.
mlir::Value createFilled(GradientBuilder &b, mlir::Value shape, double value,
                         mlir::Value like);

/// The sizes of dimensions first..last - 1 as a 1-D tensor; up to the last one
/// where no end is given.
mlir::Value getSizes(GradientBuilder &b, mlir::Value x, int64_t first,
                     std::optional<int64_t> last = std::nullopt);

/// 0, 1, ... count - 1 as int64; `count` is a tensor of one element.
mlir::Value createIota(GradientBuilder &b, mlir::Value count);

/// The sign of x as a constant of any further differentiation.
mlir::Value createSign(GradientBuilder &b, mlir::Value x);

/// An op as other ops: from its operands (null where one is left out) its
/// results, null for those that have no gradient.
using Decomposition =
    llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(
        llvm::ArrayRef<mlir::Value> operands)>;

/// The gradient of an op that is composed of others: those are made once more
/// and differentiated.
llvm::LogicalResult differentiateAs(mlir::Operation *op, GradientBuilder &b,
                                    llvm::ArrayRef<mlir::Value> operands,
                                    Decomposition decompose);

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_AUTODIFF_RULES_RULEUTILS_H
