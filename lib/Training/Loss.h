//===- Loss.h - what is minimised -------------------------------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_TRAINING_LOSS_H
#define ONNX_AOT_LIB_TRAINING_LOSS_H

#include "onnx-aot/Optimizer/OpMaker.h"
#include "onnx-aot/Support/Spec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <memory>

namespace onnx_aot {

/// One term of a loss: a formula over an output of the model and a target.
class LossTerm {
public:
  virtual ~LossTerm() = default;

  /// Type of the target for an output's value; null after an error at `loc`.
  virtual mlir::RankedTensorType getTargetType(mlir::Location loc,
                                               mlir::Value output) const = 0;
  /// The reduced loss; null after an error.
  virtual mlir::Value build(OpMaker &maker, mlir::Value output,
                            mlir::Value target) const = 0;

  /// Names of the output (empty: the first) and of the target.
  std::string outputName, targetName;
  /// The target's name was given, so that terms may share it.
  bool isTargetGiven = false;
  /// Factor of the term.
  double scale = 1;
};

/// The term that a spec names; errors go to the spec, null then.
std::unique_ptr<LossTerm> createElementLoss(Spec &spec);
std::unique_ptr<LossTerm> createClassLoss(Spec &spec);
/// Names of the losses that these make.
llvm::ArrayRef<llvm::StringRef> getElementLossNames();
llvm::ArrayRef<llvm::StringRef> getClassLossNames();

/// A weighted sum of terms, or an output of the model.
class Loss {
public:
  static llvm::Expected<std::unique_ptr<Loss>>
  create(llvm::ArrayRef<std::string> specs);

  /// Makes the loss the entry's first result and gives the entry an argument
  /// for each target, whose names are appended to `targets`.
  llvm::LogicalResult append(mlir::func::FuncOp entry,
                             std::vector<std::string> &targets) const;

  /// The terms with defaults filled in.
  const std::string &getText() const { return text; }

private:
  mlir::FailureOr<mlir::Value> findOutput(mlir::func::FuncOp entry,
                                          llvm::StringRef name) const;

  /// Empty: the output called `outputName`.
  std::vector<std::unique_ptr<LossTerm>> terms;
  std::string outputName, text;
};

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_TRAINING_LOSS_H
