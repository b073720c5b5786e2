//===- Shape.h - symbolic dimensions of onnx tensors ------------*- C++ -*-===//
//
// Dimensions are affine expressions of the module's symbols. A tensor type
// keeps them in its encoding: tensor<?x768xf32, affine_map<()[s0] -> (s0,
// 768)>>. Two dimensions whose expressions are equal are equal at run time;
// nothing is known of two that differ.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_SHAPE_H
#define ONNX_AOT_DIALECT_ONNX_IR_SHAPE_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace onnx_aot::onnx {

/// The size of one dimension: a constant, an expression of symbols, or unknown.
/// Arithmetic on an unknown size is unknown; it saturates to unknown as well
/// where constants would overflow 64 bits.
class Dim {
public:
  /// A size that depends on tensor values or on run-time broadcasting.
  static Dim unknown() { return Dim(mlir::AffineExpr()); }
  static Dim constant(mlir::MLIRContext *context, int64_t size);
  explicit Dim(mlir::AffineExpr expr) : expr(expr) {}

  bool isKnown() const { return static_cast<bool>(expr); }
  bool isStatic() const;
  bool isStatic(int64_t size) const;
  /// The constant size; only where isStatic().
  int64_t getStatic() const;
  /// Null where unknown.
  mlir::AffineExpr getExpr() const { return expr; }

  Dim operator+(Dim other) const;
  Dim operator-(Dim other) const;
  Dim operator*(Dim other) const;
  Dim operator+(int64_t other) const;
  Dim operator-(int64_t other) const { return *this + -other; }
  Dim operator*(int64_t other) const;
  /// Quotients rounded down and up; the divisor must be positive.
  Dim floorDiv(int64_t divisor) const;
  Dim ceilDiv(int64_t divisor) const;

  /// Provably equal. Unknown equals nothing, not even itself.
  bool operator==(Dim other) const { return expr && expr == other.expr; }
  bool operator!=(Dim other) const { return !(*this == other); }

private:
  mlir::AffineExpr expr;
};

/// The sizes of a tensor, outermost first.
using Shape = llvm::SmallVector<Dim>;

/// The dimensions of a ranked tensor type; nothing for any other type.
std::optional<Shape> getShape(mlir::Type type);
inline std::optional<Shape> getShape(mlir::Value value) {
  return getShape(value.getType());
}

/// The rank of a ranked tensor; nothing for any other type.
std::optional<int64_t> getRank(mlir::Value value);

/// Ranked tensor type of these dimensions, with an encoding only where needed.
mlir::RankedTensorType getTensorType(llvm::ArrayRef<Dim> shape,
                                     mlir::Type elementType);
mlir::RankedTensorType getTensorType(mlir::MLIRContext *context,
                                     llvm::ArrayRef<int64_t> shape,
                                     mlir::Type elementType);

/// The element type of a tensor value.
mlir::Type getElementType(mlir::Value value);

/// One step of numpy broadcasting of two dimensions; nothing when they are
/// constants that do not fit.
std::optional<Dim> broadcastDims(Dim a, Dim b);

/// Numpy broadcasting of shapes; fails when they cannot fit.
mlir::FailureOr<Shape> broadcastShapes(llvm::ArrayRef<Shape> shapes);

/// The integer elements of a small 1-D or rank-0 tensor as far as they are
/// known at compile time, as expressions: looks through Constant, Shape, Size,
/// Gather, Slice, Concat, Squeeze/Unsqueeze, Reshape, Cast and + - * /. Nothing
/// when even their number is unknown; single unknown elements are
/// Dim::unknown(). Elements may be negative (for instance Reshape's -1).
std::optional<llvm::SmallVector<Dim>> getShapeValue(mlir::Value value);

/// The integer elements of a constant tensor; nothing when not constant.
std::optional<llvm::SmallVector<int64_t>>
getConstantIntegers(mlir::Value value);

/// Axis in [0, rank) from one that may be negative; fails when out of range.
mlir::FailureOr<int64_t> normalizeAxis(int64_t axis, int64_t rank);

/// Shape function of ops that broadcast all operands. The element type is that
/// of the first operand unless one is given.
llvm::LogicalResult inferBroadcast(mlir::Operation *op,
                                   llvm::SmallVectorImpl<mlir::Type> &types,
                                   mlir::Type elementType = {});

/// Runs the op's shape function and sets its result types. A result dimension
/// that is unknown keeps the symbol it had, or gets a fresh symbol of the
/// enclosing module (`onnx.symbols`), so that equal sizes stay recognisable.
llvm::LogicalResult inferAndSetResultTypes(mlir::Operation *op);

/// The id of a symbol in the module, added when new. An empty name makes a
/// fresh symbol that no input has.
unsigned getOrAddSymbol(mlir::Operation *module, llvm::StringRef name);

} // namespace onnx_aot::onnx

#endif // ONNX_AOT_DIALECT_ONNX_IR_SHAPE_H
