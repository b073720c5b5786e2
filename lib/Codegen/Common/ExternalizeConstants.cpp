//===- ExternalizeConstants.cpp - tensor constants to the weights buffer --===//

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_EXTERNALIZECONSTANTS
#include "onnx-aot/Codegen/Common/Passes.h.inc"
} // namespace onnx_aot

namespace {

struct ExternalizeConstants
    : onnx_aot::impl::ExternalizeConstantsBase<ExternalizeConstants> {
  using ExternalizeConstantsBase::ExternalizeConstantsBase;

  void runOnOperation() override {
    func::FuncOp entry = getEntry(getOperation());
    if (!entry)
      return;
    SmallVector<arith::ConstantOp> constants;
    entry.walk([&](arith::ConstantOp op) {
      auto type = dyn_cast<RankedTensorType>(op.getType());
      if (type && (type.getNumElements() > maxInline ||
                   isa<DenseResourceElementsAttr>(op.getValue())))
        constants.push_back(op);
    });
    for (arith::ConstantOp op : constants) {
      // What was packed is left behind without a use.
      if (op.use_empty())
        op.erase();
      else if (!replaceSplat(op))
        moveToWeights(op, EntryArguments(entry).weights());
    }
    Builder builder(&getContext());
    getOperation()->setAttr(kWeightsAttr, builder.getArrayAttr(segments));
    getOperation()->setAttr(kWeightBytesAttr, builder.getI64IntegerAttr(size));
  }

private:
  bool replaceSplat(arith::ConstantOp op) {
    auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!splat)
      return false;
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(op.getType());
    Value scalar = arith::ConstantOp::create(builder, op.getLoc(),
                                             splat.getSplatValue<TypedAttr>());
    Value empty = tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                          type.getElementType());
    Value filled = linalg::FillOp::create(builder, op.getLoc(), scalar, empty)
                       .getResult(0);
    op.replaceAllUsesWith(filled);
    op.erase();
    return true;
  }

  void moveToWeights(arith::ConstantOp op, Value weights) {
    auto type = cast<RankedTensorType>(op.getType());
    int64_t bytes =
        type.getNumElements() *
        llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
    Builder attributes(&getContext());
    auto [place, isNew] = places.try_emplace(op.getValue(), size);
    if (isNew) {
      segments.push_back(attributes.getArrayAttr(
          {attributes.getI64IntegerAttr(size), op.getValue()}));
      size = llvm::alignTo(size + std::max<int64_t>(bytes, 1), kAlignment);
    }
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Value offset = arith::ConstantIndexOp::create(builder, loc, place->second);
    auto bufferType = MemRefType::get(type.getShape(), type.getElementType());
    Value view = memref::ViewOp::create(builder, loc, bufferType, weights,
                                        offset, ValueRange{});
    Value tensor = bufferization::ToTensorOp::create(
        builder, loc, type, view, /*restrict=*/true, /*writable=*/false);
    op.replaceAllUsesWith(tensor);
    op.erase();
  }

  DenseMap<Attribute, int64_t> places;
  SmallVector<Attribute> segments;
  int64_t size = 0;
};

} // namespace
