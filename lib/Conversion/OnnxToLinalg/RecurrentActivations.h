//===- RecurrentActivations.h - activations of recurrent layers -*- C++ -*-===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_RECURRENTACTIVATIONS_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_RECURRENTACTIVATIONS_H

#include "ScalarBuilder.h"

namespace onnx_aot {

/// One of ONNX's activation functions with its parameters.
struct Activation {
  enum class Kind {
    Relu,
    Tanh,
    Sigmoid,
    Affine,
    LeakyRelu,
    ThresholdedRelu,
    ScaledTanh,
    HardSigmoid,
    Elu,
    Softsign,
    Softplus
  };
  Kind kind = Kind::Tanh;
  double alpha = 0, beta = 0;
  /// Inputs are clipped to [-clip, clip] where given.
  std::optional<double> clip;

  mlir::Value apply(ScalarBuilder &s, mlir::Value x) const;
};

/// The `count` activations that the op names, or `defaults` repeated; alpha and
/// beta are handed out to those that take them. An error names what is unknown.
mlir::FailureOr<llvm::SmallVector<Activation>>
getActivations(mlir::Operation *op, std::optional<mlir::ArrayAttr> names,
               std::optional<llvm::ArrayRef<float>> alpha,
               std::optional<llvm::ArrayRef<float>> beta,
               std::optional<double> clip, int64_t count,
               llvm::ArrayRef<Activation::Kind> defaults);

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_RECURRENTACTIVATIONS_H
