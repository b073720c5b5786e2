//===- Loss.h - what is minimised -------------------------------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_TRAINING_LOSS_H
#define ONNX_AOT_LIB_TRAINING_LOSS_H

#include "onnx-aot/Optimizer/OpMaker.h"
#include "onnx-aot/Support/Spec.h"
#include "onnx-aot/Training/Training.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <memory>

namespace onnx_aot {

/// The model's entry while the loss is added to it.
class LossEntry {
public:
  LossEntry(mlir::func::FuncOp function, LossReader readLoss,
            std::vector<std::string> &targets)
      : function(function), readLoss(readLoss), targets(targets) {}

  mlir::func::FuncOp function;
  LossReader readLoss;

  /// The output of a name, or the first if it is empty, which must be a tensor
  /// of floats.
  mlir::FailureOr<mlir::Value> findOutput(llvm::StringRef name) const;
  /// The argument or the result of a name; null if there is none.
  mlir::Value lookUpInput(llvm::StringRef name) const;
  mlir::Value lookUpOutput(llvm::StringRef name) const;
  llvm::SmallVector<llvm::StringRef> getOutputNames() const;

  /// The argument for a target: a new one or, of the same name and type, one
  /// that is there. A name that was not given by the user is numbered where it
  /// is taken.
  mlir::FailureOr<mlir::Value> addTarget(std::string name, bool isGiven,
                                         mlir::RankedTensorType type);

private:
  std::vector<std::string> &targets;
};

/// One term of a loss.
class LossTerm {
public:
  virtual ~LossTerm() = default;

  /// Adds the term to the entry and gives its value.
  virtual mlir::FailureOr<mlir::Value> append(OpMaker &maker,
                                              LossEntry &entry) const = 0;

  /// Factor of the term.
  double scale = 1;
};

/// A formula over an output of the model and a target.
class FormulaLoss : public LossTerm {
public:
  mlir::FailureOr<mlir::Value> append(OpMaker &maker,
                                      LossEntry &entry) const override;

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
};

/// The formula that a spec names; errors go to the spec, null then.
std::unique_ptr<FormulaLoss> createElementLoss(Spec &spec);
std::unique_ptr<FormulaLoss> createClassLoss(Spec &spec);
/// The ONNX file that a spec names.
std::unique_ptr<LossTerm> createGraphLoss(Spec &spec);
/// Names of the losses that the first two make.
llvm::ArrayRef<llvm::StringRef> getElementLossNames();
llvm::ArrayRef<llvm::StringRef> getClassLossNames();

/// A weighted sum of terms, or an output of the model.
class Loss {
public:
  static llvm::Expected<std::unique_ptr<Loss>>
  create(llvm::ArrayRef<std::string> specs);

  /// Makes the loss the entry's first result and gives the entry an argument
  /// for each target, whose names are appended to `targets`.
  llvm::LogicalResult append(mlir::func::FuncOp entry, LossReader readLoss,
                             std::vector<std::string> &targets) const;

  /// The terms with defaults filled in.
  const std::string &getText() const { return text; }

private:
  /// Empty: the output called `outputName`.
  std::vector<std::unique_ptr<LossTerm>> terms;
  std::string outputName, text;
};

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_TRAINING_LOSS_H
