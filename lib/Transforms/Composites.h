//===- Composites.h - sequences and optionals in parts ----------*- C++ -*-===//
//
// A sequence is a list of values while its length is known at compile time.
// Otherwise, and wherever it crosses a border (an input or output of the
// module, a branch, an iteration), it is two tensors: all elements one after
// the other (1-D), and a table with a row for each entry: its rank, then
// kMaxEntryRank sizes, 1 where the rank is smaller. An optional is a bool of
// rank 0 that tells whether the parts behind it mean anything.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_LIB_TRANSFORMS_COMPOSITES_H
#define ONNX_AOT_LIB_TRANSFORMS_COMPOSITES_H

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace onnx_aot {

/// Sizes that a row of a sequence's table has room for.
constexpr int64_t kMaxEntryRank = 8;

/// A value that is no tensor, taken apart.
struct Composite {
  /// A sequence of known length; then there are no parts.
  std::optional<llvm::SmallVector<mlir::Value>> list;
  llvm::SmallVector<mlir::Value> parts;
};

/// Whether a type is a sequence or an optional.
bool isComposite(mlir::Type type);

/// Types of the parts of a composite, their unknown sizes as fresh symbols of
/// the module. An error at `loc` where one cannot be taken apart.
mlir::FailureOr<llvm::SmallVector<mlir::Type>>
getPartTypes(mlir::Operation *module, mlir::Location loc, mlir::Type type);

/// Builds what happens to composites out of operators on tensors.
class CompositeBuilder {
public:
  CompositeBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// The parts, a list being joined. `type` is the composite's.
  llvm::SmallVector<mlir::Value> pack(const Composite &value, mlir::Type type);

  //===--- Sequences ------------------------------------------------------===//

  mlir::Value getLength(const Composite &sequence);
  /// The entry at a position; `type` is what is known of it.
  mlir::FailureOr<mlir::Value> getEntry(mlir::Operation *op,
                                        const Composite &sequence,
                                        mlir::Type sequenceType,
                                        mlir::Value position, mlir::Type type);
  /// With another entry before a position, or at the end where that is null.
  Composite insert(const Composite &sequence, mlir::Type sequenceType,
                   mlir::Value entry, mlir::Value position);
  /// Without the entry at a position, or the last where that is null.
  Composite erase(const Composite &sequence, mlir::Type sequenceType,
                  mlir::Value position);
  mlir::FailureOr<Composite> split(onnx::SplitToSequenceOp op);
  mlir::FailureOr<mlir::Value> concat(onnx::ConcatFromSequenceOp op,
                                      const Composite &sequence);

  //===--- Optionals ------------------------------------------------------===//

  mlir::Value getBool(bool value);
  /// Parts of a type that nobody may read.
  llvm::SmallVector<mlir::Value> getNothing(mlir::Type type);
  /// A part of an optional; ends the run where the optional is absent.
  mlir::Value getPresent(mlir::Value present, mlir::Value part);

private:
  mlir::Value integers(llvm::ArrayRef<int64_t> values);
  mlir::Value integer(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  mlir::Value concat(mlir::ValueRange values, int64_t axis = 0);
  mlir::Value slice(mlir::Value value, mlir::Value first, mlir::Value last,
                    int64_t axis = 0);
  mlir::Value gather(mlir::Value value, mlir::Value index, int64_t axis = 0);
  mlir::Value reshape(mlir::Value value, mlir::Value shape);
  mlir::Value flatten(mlir::Value value);
  mlir::Value toList(mlir::Value scalar);
  mlir::Value toScalar(mlir::Value list);
  mlir::Value sum(mlir::Value value, int64_t axis);
  mlir::Value product(mlir::Value list);
  mlir::Value shapeOf(mlir::Value value);
  mlir::Value unsqueeze(mlir::Value value, llvm::ArrayRef<int64_t> axes);
  mlir::Value range(mlir::Value limit);
  mlir::Value convert(mlir::Value value, mlir::Type element);
  mlir::Value minimum(mlir::Value a, mlir::Value b);
  /// The value; ends the run where `excess` (a scalar >= 0) is not 0.
  mlir::Value guard(mlir::Value value, mlir::Value excess);

  /// A position of any integer type and shape as a scalar >= 0. What is out of
  /// range stays so.
  mlir::Value normalize(mlir::Value position, mlir::Value length);
  /// Row of the table for a tensor.
  mlir::Value getRow(mlir::Value tensor);
  /// Number of elements of each entry.
  mlir::Value getCounts(mlir::Value table);
  /// Where each entry begins, and where the last one ends.
  mlir::Value getStarts(mlir::Value counts);
  /// For each position below the sum of `sizes` which entry it lies in.
  mlir::Value getEntryOf(mlir::Value positions, mlir::Value starts);
  /// The parts that `lengths` (1-D) cut a tensor into, along an axis.
  Composite cut(mlir::Value tensor, int64_t axis, mlir::Value lengths);
  /// All entries joined along `axis`, their table and rank being given.
  mlir::Value join(const Composite &sequence, int64_t rank, int64_t axis,
                   bool isNew);
  std::optional<int64_t> getKnownPosition(mlir::Value position, int64_t length);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_TRANSFORMS_COMPOSITES_H
