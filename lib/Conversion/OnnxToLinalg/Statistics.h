//===- Statistics.h - statistics of normalizations --------------*- C++ -*-===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_STATISTICS_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_STATISTICS_H

#include "GenericBuilder.h"
#include "ScalarBuilder.h"

namespace onnx_aot {

/// Means along some dimensions of a float tensor, in a wider type, and maps
/// that use them. Means have the kept dimensions only.
class Statistics {
public:
  Statistics(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x,
             llvm::ArrayRef<bool> reducedDims, mlir::Type computeType)
      : builder(builder), loc(loc), x(x), reduced(reducedDims),
        computeType(computeType), sizes(getRuntimeSizes(builder, loc, x)),
        keptSizes(getKeptSizes(sizes, reduced)),
        keptMap(getKeptMap(builder.getContext(), reduced)) {}

  using Scalar =
      llvm::function_ref<mlir::Value(ScalarBuilder &, mlir::ValueRange)>;

  mlir::Value createMean();
  /// The mean of (x - mean) ^ 2; of x ^ 2 without a mean.
  mlir::Value createVariance(mlir::Value mean);
  /// 1 / sqrt(variance + epsilon).
  mlir::Value createInverseDeviation(mlir::Value variance, double epsilon);

  /// A tensor of the kept dimensions. All scalars are in the compute type.
  mlir::Value mapKept(llvm::ArrayRef<GenericInput> inputs,
                      mlir::Type elementType, Scalar function);
  /// A tensor like x; the function gets x first, then the inputs.
  mlir::Value mapAll(llvm::ArrayRef<GenericInput> inputs,
                     mlir::Type elementType, Scalar function);
  /// A tensor of the kept dimensions as an input of mapAll.
  GenericInput kept(mlir::Value tensor) const { return {tensor, keptMap}; }

  llvm::ArrayRef<mlir::OpFoldResult> getSizes() const { return sizes; }
  /// Gives a tensor of the kept dimensions the other ones back, with size 1.
  mlir::Value expand(mlir::Value tensor) {
    return expandReduced(builder, loc, tensor, sizes, reduced);
  }

private:
  /// The mean of element(x, inputs), where `inputs` have the kept dimensions.
  mlir::Value createMeanOf(mlir::ValueRange keptInputs, Scalar element);
  mlir::Value call(mlir::OpBuilder &b, mlir::Location l, mlir::ValueRange args,
                   Scalar function) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value x;
  llvm::SmallVector<bool> reduced;
  mlir::Type computeType;
  llvm::SmallVector<mlir::OpFoldResult> sizes, keptSizes;
  mlir::AffineMap keptMap;
};

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_STATISTICS_H
