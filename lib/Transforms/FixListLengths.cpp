//===- FixListLengths.cpp - lengths of lists that a rank tells ------------===//

#include "TransformUtils.h"

#include "onnx-aot/Support/EntryAttributes.h"
#include "onnx-aot/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

namespace onnx_aot {
#define GEN_PASS_DEF_FIXLISTLENGTHS
#include "onnx-aot/Transforms/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// Calls `require(list, length)` for the operands whose number of elements
/// follows from the ranks of the others.
void visitLists(Operation *op, function_ref<void(Value, int64_t)> require) {
  auto axesOrRank = [&](Value axes, Value data, int64_t each, Value list) {
    std::optional<int64_t> rank = getRank(data);
    std::optional<Shape> known = axes ? getShape(axes) : std::nullopt;
    if (axes && known && known->size() == 1 && (*known)[0].isStatic())
      require(list, (*known)[0].getStatic() * each);
    else if (!axes && rank)
      require(list, *rank * each);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<PadOp>([&](PadOp pad) {
        axesOrRank(pad.getAxes(), pad.getData(), 2, pad.getPads());
      })
      .Case<TileOp>([&](TileOp tile) {
        axesOrRank(Value(), tile.getInput(), 1, tile.getRepeats());
      })
      .Case<CenterCropPadOp>([&](CenterCropPadOp crop) {
        if (crop.getAxes())
          require(crop.getShape(), crop.getAxes()->size());
        else
          axesOrRank(Value(), crop.getInputData(), 1, crop.getShape());
      })
      .Case<SplitOp>([&](SplitOp split) {
        if (split.getSplit())
          require(split.getSplit(), split.getNumResults());
      })
      .Case<ScatterNDOp>([&](ScatterNDOp scatter) {
        std::optional<int64_t> data = getRank(scatter.getData()),
                               indices = getRank(scatter.getIndices()),
                               updates = getRank(scatter.getUpdates());
        if (data && indices && updates)
          require(scatter.getIndices(), *indices - 1 + *data - *updates);
      });
}

/// The same where the rank of the result was declared.
void visitLists(Operation *op, int64_t rank,
                function_ref<void(Value, int64_t)> require) {
  auto difference = [&](Value data, Value axes, bool grows) {
    std::optional<int64_t> own = getRank(data);
    if (own && axes)
      require(axes, grows ? rank - *own : *own - rank);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<ReshapeOp>([&](ReshapeOp view) { require(view.getShape(), rank); })
      .Case<ExpandOp>([&](ExpandOp expand) {
        // A list that is shorter than the input's rank leaves it as it is.
        if (std::optional<int64_t> own = getRank(expand.getInput());
            own && *own < rank)
          require(expand.getShape(), rank);
      })
      .Case<ConstantOfShapeOp>(
          [&](ConstantOfShapeOp fill) { require(fill.getInput(), rank); })
      .Case<AffineGridOp>(
          [&](AffineGridOp grid) { require(grid.getSize(), rank); })
      .Case<Col2ImOp>([&](Col2ImOp fold) {
        require(fold.getImageShape(), rank - 2);
        require(fold.getBlockShape(), rank - 2);
      })
      .Case<UnsqueezeOp>([&](UnsqueezeOp view) {
        difference(view.getData(), view.getAxes(), /*grows=*/true);
      })
      .Case<SqueezeOp>([&](SqueezeOp view) {
        difference(view.getData(), view.getAxes(), /*grows=*/false);
      })
      .Case<GatherNDOp>([&](GatherNDOp gather) {
        std::optional<int64_t> data = getRank(gather.getData()),
                               indices = getRank(gather.getIndices());
        int64_t batch = gather.getBatchDims();
        if (data && indices)
          require(gather.getIndices(), *indices + *data - 1 - batch - rank);
      })
      .Case<ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp, ReduceProdOp,
            ReduceL1Op, ReduceL2Op, ReduceLogSumOp, ReduceLogSumExpOp,
            ReduceSumSquareOp>([&](auto reduce) {
        if (reduce.getKeepdims() == 0)
          difference(reduce.getData(), reduce.getAxes(), /*grows=*/false);
      });
}

struct FixListLengths : onnx_aot::impl::FixListLengthsBase<FixListLengths> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto entry = module.lookupSymbol<func::FuncOp>("main");
    if (!entry || entry.isExternal())
      return;
    collectInputSymbols(entry);
    if (inputSymbols.empty())
      return;
    // What one length decides may show the next.
    while (findLengths(entry)) {
      replaceSymbols();
      // Contradictions are told by who infers types next.
      ScopedDiagnosticHandler quiet(&getContext(),
                                    [](Diagnostic &) { return success(); });
      (void)inferAllTypes(module);
    }
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      entry.removeResultAttr(i, StringAttr::get(&getContext(), kRankAttr));
  }

private:
  void collectInputSymbols(func::FuncOp entry) {
    for (Type type : entry.getArgumentTypes())
      if (std::optional<Shape> shape = getShape(type))
        for (Dim dim : *shape)
          if (isa_and_nonnull<AffineSymbolExpr>(dim.getExpr()))
            inputSymbols.insert(dim.getExpr());
  }

  /// Whether there is a symbol of an input that must have one size.
  bool findLengths(func::FuncOp entry) {
    lengths.clear();
    auto require = [&](Value list, int64_t length) {
      std::optional<Shape> shape = getShape(list);
      if (!shape || shape->empty() || length < 0)
        return;
      AffineExpr last = shape->back().getExpr();
      if (inputSymbols.contains(last) && !fixed.contains(last))
        lengths.try_emplace(last, getAffineConstantExpr(length, &getContext()));
    };
    entry.walk([&](Operation *op) { visitLists(op, require); });
    Operation *terminator = entry.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
      if (auto rank = entry.getResultAttrOfType<IntegerAttr>(i, kRankAttr))
        requireRank(value, rank.getInt(), require);
    for (auto [symbol, size] : lengths)
      fixed.insert(symbol);
    return !lengths.empty();
  }

  /// Follows ops that keep the rank to the one that decides it.
  void requireRank(Value value, int64_t rank,
                   function_ref<void(Value, int64_t)> require) {
    while (Operation *op = value.getDefiningOp()) {
      if (getRank(value))
        return;
      visitLists(op, rank, require);
      if (op->getNumOperands() != 1 || op->getNumResults() != 1 ||
          getRank(op->getOperand(0)))
        return;
      value = op->getOperand(0);
    }
  }

  void replaceSymbols() {
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](RankedTensorType type) -> std::optional<Type> {
      if (!type.getEncoding())
        return std::nullopt;
      Shape shape = *getShape(type);
      for (Dim &dim : shape)
        if (dim.isKnown())
          dim = Dim(dim.getExpr().replace(lengths));
      return getTensorType(shape, type.getElementType());
    });
    replacer.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
  }

  DenseSet<AffineExpr> inputSymbols, fixed;
  DenseMap<AffineExpr, AffineExpr> lengths;
};

} // namespace
