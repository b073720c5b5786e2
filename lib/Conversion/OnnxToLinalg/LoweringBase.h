//===- LoweringBase.h - what every lowering pattern uses --------*- C++ -*-===//

#ifndef ONNX_AOT_CONVERSION_ONNXTOLINALG_LOWERINGBASE_H
#define ONNX_AOT_CONVERSION_ONNXTOLINALG_LOWERINGBASE_H

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"

namespace onnx_aot {

/// Where each symbol of the module gets its value: the first value in program
/// order with a dimension that is exactly this symbol.
struct LoweringContext {
  const mlir::TypeConverter *typeConverter = nullptr;
  llvm::DenseMap<unsigned, std::pair<mlir::Value, int64_t>> symbols;
};

/// Body of a pointwise operation: the scalars of the inputs to the result's.
using ScalarBody = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// Base of all lowerings. An op has exactly one, so `unsupported` reports once.
template <typename OpTy>
class OnnxLowering : public mlir::OpConversionPattern<OpTy> {
public:
  OnnxLowering(const LoweringContext &lowering, mlir::MLIRContext *context)
      : mlir::OpConversionPattern<OpTy>(*lowering.typeConverter, context),
        lowering(lowering) {}

protected:
  /// Refuses the op: what was found and what is supported.
  llvm::LogicalResult unsupported(OpTy op, const llvm::Twine &why) const {
    return op.emitOpError() << why;
  }

  const LoweringContext &lowering;
};

/// Type of an onnx value as it lies in memory: no encoding, `ui8`, `i1` and all
/// narrower types as `i8`, other unsigned integers signless. Null when it has
/// no memory form.
mlir::Type convertOnnxType(mlir::Type type);

/// The sizes of a value of an onnx type (`original`, before conversion), taken
/// from constants and from the values that introduced its symbols. Fails when a
/// symbol is introduced by `original` itself: the lowering of its op then knows
/// how to compute the size.
mlir::FailureOr<llvm::SmallVector<mlir::OpFoldResult>>
getSizes(mlir::ConversionPatternRewriter &rewriter, mlir::Location loc,
         const LoweringContext &lowering, mlir::Value original);

/// One size by the same rules; `original` is the value that has the dimension.
mlir::FailureOr<mlir::OpFoldResult>
getSize(mlir::ConversionPatternRewriter &rewriter, mlir::Location loc,
        const LoweringContext &lowering, onnx::Dim dim, mlir::Value original);

/// The sizes of a converted tensor, by tensor.dim where they are dynamic.
llvm::SmallVector<mlir::OpFoldResult> getRuntimeSizes(mlir::OpBuilder &builder,
                                                      mlir::Location loc,
                                                      mlir::Value tensor);

/// Sizes of operands broadcast against each other at run time (numpy rules).
llvm::SmallVector<mlir::OpFoldResult>
getBroadcastSizes(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::ValueRange convertedOperands);

/// tensor.empty of these sizes.
mlir::Value createEmpty(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::ArrayRef<mlir::OpFoldResult> sizes,
                        mlir::Type elementType);

/// tensor.empty filled with one scalar.
mlir::Value createFilled(mlir::OpBuilder &builder, mlir::Location loc,
                         llvm::ArrayRef<mlir::OpFoldResult> sizes,
                         mlir::Value scalar);

/// `value` written over all of `target`, which has the same sizes: what a loop
/// carries stays in one buffer.
mlir::Value overwrite(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, mlir::Value target);

/// An operand as an input of a linalg.generic over the result: the tensor and
/// its indexing map. Dimensions that may or may not be 1 at run time are
/// expanded explicitly, so that the map is always a broadcast or the identity.
struct BroadcastOperand {
  mlir::Value tensor;
  mlir::AffineMap map;
};
BroadcastOperand
broadcastOperand(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::Value converted, llvm::ArrayRef<onnx::Dim> shape,
                 llvm::ArrayRef<onnx::Dim> resultShape,
                 llvm::ArrayRef<mlir::OpFoldResult> resultSizes);

/// Lowers a pointwise op with broadcasting to one linalg.generic. `body` sees
/// bool inputs as i1 and gives i1 for a bool result; unsigned integers are
/// signless with the signedness left to the body. `operands` are those of the
/// op that the body reads, all of them unless given, before and after
/// conversion.
llvm::LogicalResult lowerPointwise(mlir::ConversionPatternRewriter &rewriter,
                                   const LoweringContext &lowering,
                                   mlir::Operation *op,
                                   mlir::ValueRange operands,
                                   mlir::ValueRange convertedOperands,
                                   ScalarBody body);
inline llvm::LogicalResult
lowerPointwise(mlir::ConversionPatternRewriter &rewriter,
               const LoweringContext &lowering, mlir::Operation *op,
               mlir::ValueRange convertedOperands, ScalarBody body) {
  return lowerPointwise(rewriter, lowering, op, op->getOperands(),
                        convertedOperands, body);
}

/// Scalar constant of an integer, index or float type.
mlir::Value createScalarConstant(mlir::OpBuilder &builder, mlir::Location loc,
                                 double value, mlir::Type type);

/// Ends the run with an error that names the node where `condition` (i1) is
/// false: for values that the model may not have and that only the run knows.
void createCheck(mlir::OpBuilder &builder, mlir::Operation *op,
                 mlir::Value condition, const llvm::Twine &message);
/// The same where only the node's location is at hand.
void createCheck(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::Value condition, const llvm::Twine &message);

/// The same where axis `axis` of `tensor` has another size than `size`. `what`
/// names the two in the message.
void checkSize(mlir::OpBuilder &builder, mlir::Operation *op,
               mlir::Value tensor, int64_t axis, mlir::OpFoldResult size,
               const llvm::Twine &what);

//===--- One function per category ----------------------------------------===//

#define ONNX_AOT_LOWERING_CATEGORY(NAME)                                       \
  void populateOnnxToLinalg##NAME##Patterns(                                   \
      const LoweringContext &lowering, mlir::RewritePatternSet &patterns);
#include "LoweringCategories.def"

} // namespace onnx_aot

#endif // ONNX_AOT_CONVERSION_ONNXTOLINALG_LOWERINGBASE_H
