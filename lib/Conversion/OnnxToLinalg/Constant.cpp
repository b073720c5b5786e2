//===- Constant.cpp - lower constants -------------------------------------===//

#include "LoweringBase.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

struct LowerConstant : OnnxLowering<onnx::ConstantOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::ConstantOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getType()));
    if (!type)
      return unsupported(op, "constant of an element type without memory form");
    ElementsAttr value = op.getValue();
    Attribute converted;
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
      converted = DenseResourceElementsAttr::get(type, resource.getRawHandle());
    else if (auto dense = dyn_cast<DenseIntOrFPElementsAttr>(value))
      converted = convertDense(dense, type);
    if (!converted)
      return unsupported(op, "constant attribute of an unknown kind");
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op,
                                                   cast<TypedAttr>(converted));
    return success();
  }

private:
  /// The same elements under the memory type; bools widen to bytes.
  static Attribute convertDense(DenseElementsAttr dense,
                                RankedTensorType type) {
    Type elementType = dense.getElementType();
    if (elementType.isInteger(1)) {
      SmallVector<int8_t> bytes;
      for (bool element : dense.getValues<bool>())
        bytes.push_back(element);
      return DenseElementsAttr::get(type, ArrayRef(bytes));
    }
    // The attribute keeps each element of less than a byte in one of its own.
    if (elementType == type.getElementType() ||
        elementType.getIntOrFloatBitWidth() < 8)
      return DenseElementsAttr::getFromRawBuffer(type, dense.getRawData());
    return dense.bitcast(type.getElementType()).reshape(type);
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgConstantPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerConstant>(lowering, patterns.getContext());
}
