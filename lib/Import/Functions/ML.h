//===- ML.h - what the models of ai.onnx.ml have in common ------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_IMPORT_FUNCTIONS_ML_H
#define ONNX_AOT_LIB_IMPORT_FUNCTIONS_ML_H

#include "Functions.h"

namespace onnx_aot::importer {

/// The type that an input is computed in: f64 for doubles, else f32.
mlir::Type getRealType(FunctionWriter &writer, unsigned index);
/// An input in that type.
Name addReal(FunctionWriter &writer, unsigned index);
/// An input as a matrix of f32: a list is one row.
Name addMatrix(FunctionWriter &writer, unsigned index);

/// What a classifier calls its classes.
struct ClassLabels {
  int64_t count = 0;
  /// Empty where the labels are strings.
  llvm::SmallVector<int64_t> numbers;
  std::vector<std::string> names;
};
/// The labels of a node, from `ints` or classlabels_strings.
mlir::FailureOr<ClassLabels> getClassLabels(FunctionWriter &writer,
                                            llvm::StringRef ints);
/// Output #0: the label of each row from the number of its class.
mlir::LogicalResult addLabels(FunctionWriter &writer, const ClassLabels &labels,
                              const Name &classes);

/// The first largest column of each row.
Name addArgMax(FunctionWriter &writer, const Name &scores);
/// 1 where the only column is above a limit, else 0.
Name addIsAbove(FunctionWriter &writer, const Name &column, const Name &limit);
/// Scores after the node's post_transform, or another one.
mlir::FailureOr<Name> addPostTransform(FunctionWriter &writer,
                                       const Name &scores,
                                       llvm::StringRef transform = "");
/// Two columns from one: a probability and what is left of 1, or a margin and
/// its opposite, as probabilities where post_transform says so.
Name addBinaryScores(FunctionWriter &writer, const Name &column,
                     bool isProbability);

} // namespace onnx_aot::importer

#endif // ONNX_AOT_LIB_IMPORT_FUNCTIONS_ML_H
