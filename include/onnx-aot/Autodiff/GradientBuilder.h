//===- GradientBuilder.h - what gradient rules are written with -*- C++ -*-===//

#ifndef ONNX_AOT_AUTODIFF_GRADIENTBUILDER_H
#define ONNX_AOT_AUTODIFF_GRADIENTBUILDER_H

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

namespace onnx_aot {

/// Whether values of the type carry gradients by themselves: tensors of f16,
/// bf16, f32, f64, and sequences and optionals of such. Integers, bools,
/// strings and narrower floats stop them.
bool isDifferentiable(mlir::Type type);

/// The state of one differentiation as a rule sees it. Gradients always have
/// the type of the value that they belong to.
class GradientBuilder {
public:
  GradientBuilder(mlir::OpBuilder &builder, mlir::Location loc,
                  llvm::DenseSet<mlir::Value> active)
      : builder(builder), loc(loc), active(std::move(active)) {}

  //===--- The differentiation --------------------------------------------===//

  /// Whether a gradient is wanted for the operand. Asking saves work; handing a
  /// gradient over that nobody wants does no harm.
  bool isActive(mlir::Value operand) const { return active.contains(operand); }

  /// The gradient of a result. Null when nothing that is differentiated depends
  /// on it, which the result of an op of one result never is in a rule.
  mlir::Value getGradient(mlir::Value result) const {
    return gradients.lookup(result);
  }
  /// The same, with zeros instead of null.
  mlir::Value getGradientOrZeros(mlir::Value result);

  /// Adds to the gradient of an operand a tensor of the operand's shape.
  void accumulate(mlir::Value operand, mlir::Value gradient);
  /// The same for an operand that the op broadcast: sums the dimensions that
  /// were expanded, also those that only the run tells.
  void accumulateBroadcast(mlir::Value operand, mlir::Value gradient);

  /// Refuses an op: what was found and what is supported. All refusals of a
  /// differentiation are reported together.
  llvm::LogicalResult unsupported(mlir::Operation *op, const llvm::Twine &why);

  //===--- Making ops -----------------------------------------------------===//

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }

  /// An op of one result, whose type is inferred.
  template <typename OpTy, typename... Args>
  mlir::Value create(Args &&...args) {
    return onnx::createInferred<OpTy>(builder, loc, std::forward<Args>(args)...)
        ->getResult(0);
  }
  /// An op of several results, whose types are inferred.
  template <typename OpTy, typename... Args>
  OpTy createMulti(unsigned numResults, Args &&...args) {
    llvm::SmallVector<mlir::Type> types(
        numResults, mlir::UnrankedTensorType::get(builder.getF32Type()));
    auto op = OpTy::create(builder, loc, mlir::TypeRange(types),
                           std::forward<Args>(args)...);
    (void)onnx::inferAndSetResultTypes(op);
    return op;
  }

  //===--- Arithmetic, with broadcasting ----------------------------------===//

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value neg(mlir::Value a);
  mlir::Value where(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// A scalar of the element type of `like`.
  mlir::Value scalar(double value, mlir::Value like);
  /// x + number, x * number, number - x, x * x.
  mlir::Value add(mlir::Value x, double number);
  mlir::Value mul(mlir::Value x, double number);
  mlir::Value sub(double number, mlir::Value x);
  mlir::Value square(mlir::Value x);
  /// x where a bool tensor holds, else 0.
  mlir::Value select(mlir::Value condition, mlir::Value x);
  /// Conversion to another element type; to that of `like`.
  mlir::Value cast(mlir::Value x, mlir::Type elementType);
  mlir::Value castLike(mlir::Value x, mlir::Value like);

  //===--- Shapes ---------------------------------------------------------===//

  int64_t getRank(mlir::Value x) { return *onnx::getRank(x); }
  /// Constants of int64: a scalar axis or a list.
  mlir::Value integer(int64_t value);
  mlir::Value integers(llvm::ArrayRef<int64_t> values);
  /// Tensors of the shape and element type of `like`.
  mlir::Value zerosLike(mlir::Value like);
  mlir::Value onesLike(mlir::Value like);
  /// The sizes of x as a 1-D tensor; one of them as a tensor of one element.
  mlir::Value shapeOf(mlir::Value x);
  mlir::Value sizeOf(mlir::Value x, int64_t axis);
  /// 1-D tensors joined.
  mlir::Value concat(mlir::ValueRange parts);
  mlir::Value reshape(mlir::Value x, mlir::Value shape);
  mlir::Value reshapeLike(mlir::Value x, mlir::Value like);
  /// Broadcasts x to the shape of `like`.
  mlir::Value expandLike(mlir::Value x, mlir::Value like);
  /// The adjoint of expandLike: sums x to the shape of `like`.
  mlir::Value sumLike(mlir::Value x, mlir::Value like);
  /// Sum over axes, which keep size 1 or go.
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepDims);
  mlir::Value unsqueeze(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  mlir::Value squeeze(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);

  //===--- For the driver -------------------------------------------------===//

  void setLoc(mlir::Location forward) { loc = forward; }
  /// Ops that were refused, and why, in the order of the refusals.
  llvm::ArrayRef<std::pair<mlir::Operation *, std::string>>
  getProblems() const {
    return problems;
  }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
  llvm::SmallVector<std::pair<mlir::Operation *, std::string>> problems;
};

} // namespace onnx_aot

#include "onnx-aot/Autodiff/GradientInterface.h.inc"

#endif // ONNX_AOT_AUTODIFF_GRADIENTBUILDER_H
