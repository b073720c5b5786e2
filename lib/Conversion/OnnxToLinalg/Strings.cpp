//===- Strings.cpp - lower ops on tensors of strings ----------------------===//
//
// A string is 16 bytes, its address and its size, so ops that move elements
// move strings like any other element. What looks at their bytes is a call: of
// code that Codegen writes (onnx_aot.strings, onnx_aot.equal), or of a function
// that the run's caller lends (OnnxAotRuntime::text).
//
//===----------------------------------------------------------------------===//

#include "Strings.h"
#include "Calls.h"
#include "PointwiseLowering.h"
#include "ReshapeUtils.h"
#include "ShapeScalars.h"

#include "onnx-aot/Dialect/Onnx/IR/Custom.h"
#include "onnx-aot/Dialect/Onnx/IR/Strings.h"
#include "onnx-aot/abi/CustomOp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace onnx_aot;

/// Ops that hand elements on as they are, and those that know strings.
static bool takesStrings(Operation *op) {
  if (auto scatter = dyn_cast<onnx::ScatterElementsOp>(op))
    return scatter.getReduction() == "none";
  if (auto scatter = dyn_cast<onnx::ScatterNDOp>(op))
    return scatter.getReduction() == "none";
  return isa<
      // clang-format off
      onnx::StringsConstantOp, onnx::StringConcatOp, onnx::StringSplitOp,
      onnx::StringNormalizerOp, onnx::EqualOp, onnx::CastOp, onnx::CastLikeOp,
      onnx::CustomCallOp,
      onnx::IdentityOp, onnx::ShapeOp, onnx::SizeOp, onnx::ReshapeOp,
      onnx::FlattenOp, onnx::SqueezeOp, onnx::UnsqueezeOp, onnx::TransposeOp,
      onnx::ExpandOp, onnx::TileOp, onnx::ConcatOp, onnx::SplitOp,
      onnx::SliceOp, onnx::PadOp, onnx::GatherOp, onnx::GatherElementsOp,
      onnx::GatherNDOp, onnx::WhereOp, onnx::CompressOp, onnx::OneHotOp,
      onnx::ReverseSequenceOp, onnx::DepthToSpaceOp, onnx::SpaceToDepthOp,
      onnx::ArrayFeatureExtractorOp,
      onnx::IfOp, onnx::LoopOp, onnx::ScanOp, onnx::YieldOp,
      onnx::SequenceConstructOp, onnx::SequenceEmptyOp, onnx::SequenceAtOp,
      onnx::SequenceInsertOp, onnx::SequenceEraseOp, onnx::SequenceLengthOp,
      onnx::SplitToSequenceOp, onnx::ConcatFromSequenceOp, onnx::OptionalOp,
      onnx::OptionalHasElementOp, onnx::OptionalGetElementOp,
      func::ReturnOp
      // clang-format on
      >(op);
}

LogicalResult onnx_aot::checkStrings(ModuleOp module) {
  bool bad = false;
  module.walk([&](Operation *op) {
    auto isString = [](Type type) { return onnx::holdsStrings(type); };
    if (isa<ModuleOp, func::FuncOp>(op) || takesStrings(op) ||
        llvm::none_of(op->getOperandTypes(), isString))
      return;
    op->emitOpError("of strings is not supported");
    bad = true;
  });
  return failure(bad);
}

namespace {

/// Name of a function that the caller lends.
std::string getTextCallee(OnnxAotTextFunction function) {
  return "onnx_aot.text." + std::to_string(function);
}

/// An operand with all elements that the result has.
Value expand(ConversionPatternRewriter &rewriter, Location loc, Value original,
             Value converted, ArrayRef<onnx::Dim> resultShape,
             ArrayRef<OpFoldResult> sizes) {
  std::optional<onnx::Shape> shape = onnx::getShape(original);
  BroadcastOperand operand =
      broadcastOperand(rewriter, loc, converted, *shape, resultShape, sizes);
  if (operand.map.isIdentity())
    return operand.tensor;
  int64_t rank = sizes.size();
  Value empty = createEmpty(rewriter, loc, sizes, rewriter.getIntegerType(128));
  SmallVector<AffineMap> maps{operand.map,
                              rewriter.getMultiDimIdentityMap(rank)};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             rewriter, loc, empty.getType(), operand.tensor, empty, maps,
             iterators,
             [](OpBuilder &b, Location l, ValueRange args) {
               linalg::YieldOp::create(b, l, args[0]);
             })
      .getResult(0);
}

/// Lets a function compute an op of two operands from all pairs of strings.
template <typename OpTy>
LogicalResult lowerPairs(OpTy op, typename OpTy::Adaptor adaptor,
                         ConversionPatternRewriter &rewriter,
                         const LoweringContext &lowering, StringRef callee) {
  Location loc = op.getLoc();
  std::optional<onnx::Shape> shape = onnx::getShape(op.getResult());
  if (!shape || !onnx::getShape(op.getA()) || !onnx::getShape(op.getB()))
    return op.emitOpError("operand of unknown rank");
  FailureOr<SmallVector<OpFoldResult>> sizes =
      getSizes(rewriter, loc, lowering, op.getResult());
  if (failed(sizes))
    sizes = getBroadcastSizes(rewriter, loc, adaptor.getOperands());
  SmallVector<Value> operands;
  for (auto [original, converted] :
       llvm::zip_equal(op->getOperands(), adaptor.getOperands()))
    operands.push_back(
        expand(rewriter, loc, original, converted, *shape, *sizes));
  SmallVector<int32_t> types(2, ONNX_AOT_STRING);
  FunctionCall call(op, types, operands, rewriter.getDictionaryAttr({}));
  Value result =
      call.compute(rewriter, callee, op.getResult().getType(), {*sizes})[0];
  rewriter.replaceOp(op, createCast(rewriter, loc, result,
                                    convertOnnxType(op.getResult().getType())));
  return success();
}

struct LowerEqual : OnnxLowering<onnx::EqualOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::EqualOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (onnx::holdsStrings(op.getA().getType()))
      return lowerPairs(op, adaptor, rewriter, lowering, "onnx_aot.equal");
    return lowerPointwise(rewriter, lowering, op, adaptor.getOperands(),
                          [&](OpBuilder &b, Location loc, ValueRange args) {
                            ScalarBuilder scalars(b, loc, /*isUnsigned=*/false);
                            return scalars.compare(
                                ScalarBuilder::Compare::Equal,
                                scalars.widen(args[0]), scalars.widen(args[1]));
                          });
  }
};

struct LowerStringConcat : OnnxLowering<onnx::StringConcatOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::StringConcatOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    return lowerPairs(op, adaptor, rewriter, lowering,
                      getTextCallee(ONNX_AOT_TEXT_CONCAT));
  }
};

struct LowerStringsConstant : OnnxLowering<onnx::StringsConstantOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::StringsConstantOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    SmallVector<int32_t> types{ONNX_AOT_INT8, ONNX_AOT_INT64};
    SmallVector<Value> operands{adaptor.getBytes(), adaptor.getOffsets()};
    FunctionCall call(op, types, operands, rewriter.getDictionaryAttr({}));
    Type flat =
        RankedTensorType::get(type.getNumElements(), type.getElementType());
    Value list = call.compute(rewriter, "onnx_aot.strings", flat,
                              {SmallVector<OpFoldResult>{rewriter.getIndexAttr(
                                  type.getNumElements())}})[0];
    rewriter.replaceOp(
        op, createReshape(rewriter, op.getLoc(), list, type.getShape()));
    return success();
  }
};

/// Results whose last dimension a function tells.
template <typename OpTy>
LogicalResult
lowerToLists(OpTy op, Value x, ConversionPatternRewriter &rewriter,
             OnnxAotTextFunction shape, OnnxAotTextFunction compute,
             DictionaryAttr attributes, bool isNewDim) {
  Location loc = op.getLoc();
  SmallVector<int32_t> types{ONNX_AOT_STRING};
  FunctionCall call(op, types, x, attributes);
  SmallVector<Value> told =
      call.askSizes(rewriter, getTextCallee(shape), op->getResultTypes());
  int64_t rank = cast<RankedTensorType>(op.getY().getType()).getRank();
  IndexBuilder b(rewriter, loc);
  Value count = b.fromInteger(told[rank - 1]);
  createCheck(rewriter, op,
              b.compare(arith::CmpIPredicate::sge, count, b.constant(0)),
              "its size was not told");
  SmallVector<OpFoldResult> own = getRuntimeSizes(rewriter, loc, x), list = own;
  if (!isNewDim)
    list.pop_back();
  list.push_back(count);
  SmallVector<SmallVector<OpFoldResult>> sizes{list};
  if (op->getNumResults() > 1)
    sizes.push_back(own);
  SmallVector<Value> results = call.compute(rewriter, getTextCallee(compute),
                                            op->getResultTypes(), sizes);
  for (auto [result, type] : llvm::zip_equal(results, op->getResultTypes()))
    result = createCast(rewriter, loc, result, convertOnnxType(type));
  rewriter.replaceOp(op, results);
  return success();
}

struct LowerStringSplit : OnnxLowering<onnx::StringSplitOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::StringSplitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NamedAttrList attributes;
    if (op.getDelimiterAttr())
      attributes.set("delimiter", op.getDelimiterAttr());
    if (op.getMaxsplitAttr())
      attributes.set("maxsplit", op.getMaxsplitAttr());
    return lowerToLists(op, adaptor.getX(), rewriter, ONNX_AOT_TEXT_SPLIT_SHAPE,
                        ONNX_AOT_TEXT_SPLIT,
                        attributes.getDictionary(op.getContext()),
                        /*isNewDim=*/true);
  }
};

struct LowerStringNormalizer : OnnxLowering<onnx::StringNormalizerOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::StringNormalizerOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (cast<RankedTensorType>(adaptor.getX().getType()).getRank() == 2)
      checkSize(rewriter, op, adaptor.getX(), 0, rewriter.getIndexAttr(1),
                "x and its one row");
    NamedAttrList attributes;
    attributes.set("case_change_action", op.getCaseChangeActionAttr());
    attributes.set("is_case_sensitive", op.getIsCaseSensitiveAttr());
    if (op.getStopwordsAttr())
      attributes.set("stopwords", op.getStopwordsAttr());
    return lowerToLists(op, adaptor.getX(), rewriter,
                        ONNX_AOT_TEXT_NORMALIZE_SHAPE, ONNX_AOT_TEXT_NORMALIZE,
                        attributes.getDictionary(op.getContext()),
                        /*isNewDim=*/false);
  }
};

} // namespace

FailureOr<Value> onnx_aot::convertStrings(Operation *op, Value x,
                                          ConversionPatternRewriter &rewriter) {
  Type from = getElementTypeOrSelf(op->getOperand(0).getType());
  Type to = getElementTypeOrSelf(op->getResult(0).getType());
  if (from == to)
    return x;
  bool parses = isa<onnx::StringType>(from);
  Type number = parses ? to : from;
  auto integer = dyn_cast<IntegerType>(number);
  if (!number.isF32() && !number.isF64() &&
      !(integer && (integer.getWidth() == 1 || integer.getWidth() >= 8)))
    return op->emitOpError("between strings and ")
           << number << " is not supported";
  SmallVector<int32_t> types = getCallTypes(op->getOperand(0).getType());
  FunctionCall call(op, types, x, rewriter.getDictionaryAttr({}));
  Value result = call.compute(
      rewriter,
      getTextCallee(parses ? ONNX_AOT_TEXT_PARSE : ONNX_AOT_TEXT_FORMAT),
      op->getResult(0).getType(),
      {getRuntimeSizes(rewriter, op->getLoc(), x)})[0];
  return createCast(rewriter, op->getLoc(), result,
                    convertOnnxType(op->getResult(0).getType()));
}

void onnx_aot::populateOnnxToLinalgStringsPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerEqual, LowerStringConcat, LowerStringsConstant,
               LowerStringSplit, LowerStringNormalizer>(lowering,
                                                        patterns.getContext());
}
