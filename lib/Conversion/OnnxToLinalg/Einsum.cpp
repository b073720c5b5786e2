//===- Einsum.cpp - lower Einsum to contractions --------------------------===//

#include "Contraction.h"

#include "onnx-aot/Dialect/Onnx/IR/Einsum.h"

#include <map>

using namespace mlir;
using namespace onnx_aot;

namespace {

/// A factor of the product still to be taken.
struct Term {
  Value tensor;
  onnx::EinsumLabels labels;
  /// Dimensions of size 1 whose label is larger elsewhere.
  SmallVector<bool> isBroadcast;
  bool isUnsigned;
};

/// What is known of every label.
struct LabelSizes {
  std::map<int, onnx::Dim> dims;
  std::map<int, OpFoldResult> sizes;
};

struct LowerEinsum : OnnxLowering<onnx::EinsumOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::EinsumOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<int64_t> ranks;
    for (Value input : op.getInputs()) {
      if (!onnx::getRank(input))
        return unsupported(op, "input of unknown rank");
      ranks.push_back(*onnx::getRank(input));
    }
    FailureOr<onnx::EinsumEquation> equation =
        onnx::parseEinsum(op, op.getEquation(), ranks);
    auto type =
        dyn_cast_or_null<RankedTensorType>(convertOnnxType(op.getType()));
    if (failed(equation) || !type)
      return failure();

    LabelSizes labels;
    if (failed(
            collectSizes(rewriter, op, adaptor.getInputs(), *equation, labels)))
      return failure();
    SmallVector<Term> terms;
    for (auto [original, tensor, own] : llvm::zip_equal(
             op.getInputs(), adaptor.getInputs(), equation->inputs)) {
      Term term{tensor, own, {}, isUnsignedTensor(original)};
      for (auto [label, dim] : llvm::zip_equal(own, *onnx::getShape(original)))
        term.isBroadcast.push_back(
            dim.isStatic(1) && !labels.dims.find(label)->second.isStatic(1));
      terms.push_back(term);
    }

    // Pairs from the left; a label lives as long as something still needs it.
    Type accumulator = getAccumulatorType(type.getElementType());
    Term result = terms.front();
    for (size_t next = 1; next <= terms.size(); ++next) {
      bool isLast = next + 1 >= terms.size();
      SmallVector<Term> factors{result};
      if (next < terms.size())
        factors.push_back(terms[next]);
      onnx::EinsumLabels kept =
          isLast ? equation->output
                 : getLiveLabels(factors, ArrayRef(terms).drop_front(next + 1),
                                 equation->output);
      result = contract(rewriter, loc, factors, kept, labels, accumulator);
      if (isLast)
        break;
    }
    Value y =
        convertFloats(rewriter, loc, result.tensor, type.getElementType());
    rewriter.replaceOp(op, castTensor(rewriter, loc, y, type));
    return success();
  }

private:
  /// The size of each label, from an operand in which it is not a broadcast 1.
  static LogicalResult collectSizes(OpBuilder &builder, onnx::EinsumOp op,
                                    ValueRange tensors,
                                    const onnx::EinsumEquation &equation,
                                    LabelSizes &labels) {
    for (auto [original, tensor, own] :
         llvm::zip_equal(op.getInputs(), tensors, equation.inputs)) {
      SmallVector<OpFoldResult> sizes =
          getRuntimeSizes(builder, op.getLoc(), tensor);
      for (auto [label, dim, size] :
           llvm::zip_equal(own, *onnx::getShape(original), sizes)) {
        auto [known, isNew] = labels.dims.try_emplace(label, dim);
        if (isNew) {
          labels.sizes[label] = size;
          continue;
        }
        if (known->second == dim || dim.isStatic(1))
          continue;
        if (!onnx::broadcastDims(known->second, dim))
          return op.emitOpError("sizes of one label differ");
        if (known->second.isStatic(1) || !known->second.isStatic()) {
          known->second = dim;
          labels.sizes[label] = size;
        }
      }
    }
    return success();
  }

  /// Labels of the factors that the output or a later term has, first come
  /// first.
  static onnx::EinsumLabels getLiveLabels(ArrayRef<Term> factors,
                                          ArrayRef<Term> later,
                                          const onnx::EinsumLabels &output) {
    onnx::EinsumLabels live;
    for (const Term &factor : factors)
      for (int label : factor.labels) {
        bool needed = llvm::is_contained(output, label);
        for (const Term &term : later)
          needed |= llvm::is_contained(term.labels, label);
        if (needed && !llvm::is_contained(live, label))
          live.push_back(label);
      }
    return live;
  }

  /// kept[...] = sum over all other labels of the factors' product.
  static Term contract(OpBuilder &builder, Location loc, ArrayRef<Term> factors,
                       const onnx::EinsumLabels &kept, const LabelSizes &labels,
                       Type accumulator) {
    std::map<int, int64_t> positions;
    SmallVector<OpFoldResult> sizes;
    for (int label : kept) {
      positions.try_emplace(label, positions.size());
      sizes.push_back(labels.sizes.find(label)->second);
    }
    for (const Term &factor : factors)
      for (int label : factor.labels)
        positions.try_emplace(label, positions.size());
    int64_t numLoops = positions.size(), numKept = kept.size();
    SmallVector<IndexedOperand> operands;
    // A label all of whose factors here broadcast has no operand that sizes it.
    SmallVector<bool> isSized(numLoops, false);
    for (const Term &factor : factors) {
      SmallVector<AffineExpr> exprs;
      for (auto [label, isBroadcast] :
           llvm::zip_equal(factor.labels, factor.isBroadcast)) {
        int64_t position = positions[label];
        isSized[position] = isSized[position] || !isBroadcast;
        exprs.push_back(isBroadcast ? builder.getAffineConstantExpr(0)
                                    : builder.getAffineDimExpr(position));
      }
      operands.push_back(
          {factor.tensor,
           AffineMap::get(numLoops, 0, exprs, builder.getContext()),
           factor.isUnsigned});
    }
    Term result{{}, kept, SmallVector<bool>(numKept, false), false};
    if (numLoops == numKept) {
      result.tensor = createPointwise(
          builder, loc, operands, sizes, accumulator,
          [&](OpBuilder &b, Location l, ValueRange args) {
            Value product;
            for (auto [arg, operand] : llvm::zip_equal(args, operands)) {
              Value factor =
                  convertScalar(b, l, arg, accumulator, operand.isUnsigned);
              product = product ? createMul(b, l, product, factor) : factor;
            }
            return product;
          });
      return result;
    }
    // Sum such a label of size 1 by dropping its loop.
    SmallVector<AffineExpr> replacements, resultExprs;
    int64_t used = 0;
    SmallVector<utils::IteratorType> iterators;
    for (int64_t i = 0; i < numLoops; ++i) {
      if (i >= numKept && !isSized[i]) {
        replacements.push_back(builder.getAffineConstantExpr(0));
        continue;
      }
      replacements.push_back(builder.getAffineDimExpr(used++));
      iterators.push_back(i < numKept ? utils::IteratorType::parallel
                                      : utils::IteratorType::reduction);
      if (i < numKept)
        resultExprs.push_back(replacements.back());
    }
    for (IndexedOperand &operand : operands)
      operand.map =
          operand.map.replaceDimsAndSymbols(replacements, {}, used, 0);
    result.tensor = createContraction(
        builder, loc, operands,
        AffineMap::get(used, 0, resultExprs, builder.getContext()), iterators,
        sizes, accumulator);
    return result;
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgEinsumPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerEinsum>(lowering, patterns.getContext());
}
