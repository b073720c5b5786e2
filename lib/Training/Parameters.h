//===- Parameters.h - which initializers are trained ------------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_TRAINING_PARAMETERS_H
#define ONNX_AOT_LIB_TRAINING_PARAMETERS_H

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Training/Training.h"

#include "llvm/Support/GlobPattern.h"

#include <optional>

namespace onnx_aot {

/// Patterns of names.
class NameFilter {
public:
  static llvm::Expected<NameFilter> create(llvm::ArrayRef<std::string> globs);

  /// One name more, which is no pattern.
  void add(llvm::StringRef name) {
    patterns.push_back({name.str(), std::nullopt});
  }

  bool empty() const { return patterns.empty(); }
  bool matches(llvm::StringRef name) const;
  /// The first pattern that matches none of the names; empty when all do.
  llvm::StringRef findUnused(llvm::ArrayRef<llvm::StringRef> names) const;

private:
  std::vector<std::pair<std::string, std::optional<llvm::GlobPattern>>>
      patterns;
};

/// An initializer of floats in the entry.
struct Initializer {
  onnx::ConstantOp op;
  std::string name;
};

/// The initializers of floats that the entry holds, in their order.
std::vector<Initializer> findInitializers(mlir::ModuleOp model);

/// The name of an adapter's matrix, "A" or "B".
inline std::string getAdapterName(const AdapterInfo &adapter,
                                  llvm::StringRef matrix) {
  return (adapter.weight + ".lora_" + matrix).str();
}

/// The initializers to train and the running statistics that training updates,
/// with their values. With adapters, their matrices are trained and the weights
/// below them are not. Fails with an error at every node that has no gradient.
mlir::FailureOr<std::vector<std::pair<Initializer, OnnxAotParameterKind>>>
chooseParameters(mlir::ModuleOp model, const TrainingOptions &options,
                 llvm::ArrayRef<AdapterInfo> adapters);

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_TRAINING_PARAMETERS_H
