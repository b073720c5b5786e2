//===- Problems.h - diagnostics in a user's terms ---------------*- C++ -*-===//
#ifndef ONNX_AOT_LIB_DRIVER_PROBLEMS_H
#define ONNX_AOT_LIB_DRIVER_PROBLEMS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/JSON.h"

#include <mutex>

namespace onnx_aot {

/// One reason why a model cannot be compiled, or a warning.
struct Problem {
  mlir::DiagnosticSeverity severity = mlir::DiagnosticSeverity::Error;
  /// Name of the ONNX node or value; empty when none is known.
  std::string node;
  /// "file" or "file:line:column".
  std::string place;
  std::string message;
  std::vector<std::string> notes;
};

/// Collects MLIR's diagnostics instead of printing them, so that they can be
/// counted and printed together as text or as JSON.
class ProblemCollector {
public:
  explicit ProblemCollector(mlir::MLIRContext *context);

  /// Adds an error that MLIR does not know of.
  void add(const llvm::Twine &message);
  void add(llvm::Error error);

  unsigned getNumErrors() const;

  /// Prints every problem on lines of its own.
  void print(llvm::raw_ostream &os) const;

  /// The problems as an array of objects.
  llvm::json::Array toJSON() const;

private:
  mutable std::mutex mutex;
  std::vector<Problem> problems;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_DRIVER_PROBLEMS_H
