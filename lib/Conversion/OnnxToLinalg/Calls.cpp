//===- Calls.cpp - lower ops to calls of C functions ----------------------===//

#include "Calls.h"
#include "ShapeScalars.h"

#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"
#include "onnx-aot/Dialect/Onnx/IR/Custom.h"
#include "onnx-aot/Support/ModuleInfo.h"

using namespace mlir;
using namespace onnx_aot;

SmallVector<int32_t> onnx_aot::getCallTypes(TypeRange types) {
  SmallVector<int32_t> result;
  for (Type type : types) {
    Type element = getElementTypeOrSelf(type);
    std::optional<OnnxAotType> code =
        isa<onnx::StringType>(element) ? ONNX_AOT_STRING : getAbiType(element);
    result.push_back(code ? static_cast<int32_t>(*code) : 0);
  }
  return result;
}

/// Why a run ends: the node and the function.
static std::string getMessage(Operation *op, StringRef callee) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto name = dyn_cast<NameLoc>(op->getLoc()))
    stream << "node " << name.getName().getValue() << ": ";
  stream << "the function '" << callee << "' returned an error";
  return text;
}

SmallVector<Value> FunctionCall::askSizes(OpBuilder &builder, StringRef callee,
                                          TypeRange outputs) const {
  Location loc = op->getLoc();
  SmallVector<int32_t> ranks;
  int64_t count = 0;
  for (Type type : outputs) {
    ranks.push_back(cast<RankedTensorType>(type).getRank());
    count += ranks.back();
  }
  Value empty = createEmpty(builder, loc, {builder.getIndexAttr(count)},
                            builder.getI64Type());
  auto call = kernel::CallOp::create(
      builder, loc, empty.getType(), builder.getStringAttr(callee),
      builder.getStringAttr(getMessage(op, callee)),
      builder.getDenseI32ArrayAttr(types),
      builder.getDenseI32ArrayAttr(getCallTypes(outputs)),
      builder.getDenseI32ArrayAttr(ranks), attributes, inputs, empty);
  return getElements(builder, loc, call.getResult(0));
}

SmallVector<Value>
FunctionCall::compute(OpBuilder &builder, StringRef callee, TypeRange outputs,
                      ArrayRef<SmallVector<OpFoldResult>> sizes) const {
  Location loc = op->getLoc();
  SmallVector<Value> empties;
  for (auto [type, own] : llvm::zip_equal(outputs, sizes))
    empties.push_back(createEmpty(builder, loc, own,
                                  getElementTypeOrSelf(convertOnnxType(type))));
  auto call = kernel::CallOp::create(
      builder, loc, ValueRange(empties).getTypes(),
      builder.getStringAttr(callee),
      builder.getStringAttr(getMessage(op, callee)),
      builder.getDenseI32ArrayAttr(types),
      builder.getDenseI32ArrayAttr(getCallTypes(outputs)), DenseI32ArrayAttr(),
      attributes, inputs, empties);
  return llvm::to_vector_of<Value>(call.getResults());
}

namespace {

struct LowerCustomCall : OnnxLowering<onnx::CustomCallOp> {
  using OnnxLowering::OnnxLowering;

  LogicalResult
  matchAndRewrite(onnx::CustomCallOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<int32_t> types;
    ValueRange rest = op.getInputs();
    for (bool isThere : op.getPresent()) {
      types.push_back(0);
      if (!isThere)
        continue;
      types.back() = getCallTypes(rest.front().getType()).front();
      rest = rest.drop_front();
      if (types.back() == 0)
        return unsupported(op, "an input's type has no form in the ABI");
    }
    for (Type type : op.getResultTypes())
      if (!isa_and_nonnull<RankedTensorType>(convertOnnxType(type)) ||
          getCallTypes(type).front() == 0)
        return unsupported(op, "an output's type has no form in the ABI");
    FunctionCall call(op, types, adaptor.getInputs(), op.getNodeAttributes());
    SmallVector<SmallVector<OpFoldResult>> sizes;
    if (failed(findSizes(op, call, rewriter, sizes)))
      return failure();
    SmallVector<Value> results =
        call.compute(rewriter, op.getCallee(), op.getResultTypes(), sizes);
    for (auto [result, type] : llvm::zip_equal(results, op.getResultTypes())) {
      Type converted = convertOnnxType(type);
      if (result.getType() != converted)
        result = tensor::CastOp::create(rewriter, loc, converted, result);
    }
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  /// Sizes that the model declares, and what the shape function tells of
  /// others.
  LogicalResult
  findSizes(onnx::CustomCallOp op, const FunctionCall &call,
            ConversionPatternRewriter &rewriter,
            SmallVectorImpl<SmallVector<OpFoldResult>> &sizes) const {
    SmallVector<Value> told;
    if (!op.getShapeCallee().empty())
      told = call.askSizes(rewriter, op.getShapeCallee(), op.getResultTypes());
    IndexBuilder b(rewriter, op.getLoc());
    size_t next = 0;
    for (auto [result, type] :
         llvm::zip_equal(op.getResults(),
                         op.getOutputTypes().getAsValueRange<TypeAttr>())) {
      SmallVector<OpFoldResult> &own = sizes.emplace_back();
      onnx::Shape shape = *onnx::getShape(type);
      for (onnx::Dim dim : shape) {
        Value size;
        if (!told.empty())
          size = b.fromInteger(told[next++]);
        if (!dim.isKnown()) {
          createCheck(rewriter, op,
                      b.compare(arith::CmpIPredicate::sge, size, b.constant(0)),
                      "the function '" + op.getShapeCallee() +
                          "' has not told a size of an output");
          own.push_back(size);
          continue;
        }
        FailureOr<OpFoldResult> declared =
            getSize(rewriter, op.getLoc(), lowering, dim, result);
        if (failed(declared))
          return unsupported(op, "a declared size is not known here");
        if (size)
          createCheck(
              rewriter, op,
              b.compare(arith::CmpIPredicate::eq, size, b.get(*declared)),
              "the function '" + op.getShapeCallee() +
                  "' tells another size than the model declares");
        own.push_back(*declared);
      }
    }
    return success();
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgCallsPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerCustomCall>(lowering, patterns.getContext());
}
