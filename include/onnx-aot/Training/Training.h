//===- Training.h - from a model to the programs that train it --*- C++ -*-===//
//
// A model becomes up to four programs over the same state: train (forward,
// loss, backward), eval, optimizer, and fused (all of train and optimizer at
// once). Each is an ordinary module whose entry takes the state as arguments;
// results with `abi.updates` are the new state.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_TRAINING_TRAINING_H
#define ONNX_AOT_TRAINING_TRAINING_H

#include "onnx-aot/Support/TrainingInfo.h"

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

namespace onnx_aot {

/// What a user chooses about training.
struct TrainingOptions {
  /// Terms of the loss: "mse", "cross-entropy:label_smoothing=0.1", ...; the
  /// path of an ONNX file that computes it; "none" means that an output of the
  /// model is the loss.
  std::vector<std::string> losses;
  /// "adamw:weight_decay=0.01"; "none" for no optimizer program.
  std::string optimizer = "none";
  /// Globs of the names of initializers. Without `trainable` all of floats are
  /// trained that the loss depends on; `frozen` wins.
  std::vector<std::string> trainable, frozen;
  /// "8:alpha=16,targets=GLOB+GLOB": low-rank updates of the weights of MatMul
  /// and Gemm are trained, and else only what `trainable` says. Empty for none.
  std::string lowRank;
  /// Globs of the parameters without weight decay.
  std::vector<std::string> noDecay;
  /// Highest norm of all gradients together, and highest absolute element.
  std::optional<double> clipNorm, clipValue;
  /// Compute in float64, for gradients that are to be verified.
  bool widensFloats = false;
  /// Keep the model's file in the module, for exports.
  bool keepModel = true;

  /// The paths among the losses.
  std::vector<std::string> getLossFiles() const;
};

/// Gives the module of a loss that is a file, in the model's context; null
/// after an error.
using LossReader =
    llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(llvm::StringRef path)>;

/// One program before code is generated for it.
struct TrainingProgram {
  ProgramInfo info;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

class Loss;
class LowRankUpdate;
class OptimizerRule;

/// Makes the programs of a model, in two steps: the caller simplifies the graph
/// in between.
class TrainingBuilder {
public:
  /// Finds what is wrong with the options, before there is a model.
  static llvm::Expected<std::unique_ptr<TrainingBuilder>>
  create(const TrainingOptions &options);
  ~TrainingBuilder();

  /// Adds the loss to the entry and turns the initializers that are parameters
  /// into arguments. The module comes from the importer with inferred types and
  /// named initializers. Fails with an error at every node that has no
  /// gradient.
  llvm::LogicalResult prepare(mlir::ModuleOp model, LossReader readLoss);

  /// Makes the programs from the prepared model.
  mlir::FailureOr<std::vector<TrainingProgram>>
  makePrograms(mlir::ModuleOp model);

  /// Complete after `prepare`.
  const TrainingInfo &getInfo() const { return info; }
  /// The parameters' values in the model.
  llvm::ArrayRef<mlir::ElementsAttr> getInitialValues() const {
    return initialValues;
  }

private:
  class Program;
  friend class Program;
  TrainingBuilder();

  llvm::LogicalResult addLoss(mlir::ModuleOp model, LossReader readLoss);
  llvm::LogicalResult addLowRank(mlir::ModuleOp model);
  llvm::LogicalResult chooseParameters(mlir::ModuleOp model);
  void moveParameters(mlir::ModuleOp model);
  void describeModel(mlir::ModuleOp model);

  TrainingOptions options;
  std::unique_ptr<Loss> loss;
  std::unique_ptr<OptimizerRule> rule;
  std::unique_ptr<LowRankUpdate> lowRank;
  TrainingInfo info;
  std::vector<mlir::ElementsAttr> initialValues;
  /// Arguments of the prepared entry that the caller of a step gives.
  unsigned numInputs = 0;
};

} // namespace onnx_aot

#endif // ONNX_AOT_TRAINING_TRAINING_H
