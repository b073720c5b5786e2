//===- Entry.cpp - the entry function between the codegen passes ----------===//

#include "onnx-aot/Codegen/Common/Entry.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace onnx_aot::codegen {

EntryArguments::EntryArguments(func::FuncOp entry) : entry(entry) {
  auto module = entry->getParentOfType<ModuleOp>();
  if (auto symbols = module->getAttrOfType<ArrayAttr>(kAbiSymbolsAttr))
    numSymbols = symbols.size();
  inputs = module->getAttrOfType<ArrayAttr>(kInputsAttr);
  numInputs = inputs ? inputs.size() : 0;
}

Value EntryArguments::inputDim(unsigned index, int64_t dim) const {
  auto info = cast<DictionaryAttr>(inputs[index]);
  int64_t size = cast<DenseI64ArrayAttr>(info.get("dims"))[dim];
  return size < 0 ? Value(symbol(-size - 1)) : Value();
}

func::FuncOp getEntry(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>(kEntryName);
}

/// The entry argument a value is a view of without change of shape.
static BlockArgument getEntryArgument(Value value) {
  while (true) {
    if (auto toTensor = value.getDefiningOp<bufferization::ToTensorOp>())
      value = toTensor.getBuffer();
    else if (auto toBuffer = value.getDefiningOp<bufferization::ToBufferOp>())
      value = toBuffer.getTensor();
    else if (auto cast = value.getDefiningOp<memref::CastOp>())
      value = cast.getSource();
    else
      return dyn_cast<BlockArgument>(value);
  }
}

Value getEntryDim(func::FuncOp entry, Value value, int64_t dim) {
  EntryArguments arguments(entry);
  BlockArgument argument = getEntryArgument(value);
  if (arguments.getNumInputs() == 0 || !argument ||
      argument.getOwner() != &entry.getBody().front())
    return {};
  unsigned first = arguments.input(0).getArgNumber();
  unsigned number = argument.getArgNumber();
  if (number < first || number >= first + arguments.getNumInputs())
    return {};
  return arguments.inputDim(number - first, dim);
}

void resolveEntryDims(func::FuncOp entry) {
  auto resolve = [&](Operation *op, Value source, std::optional<int64_t> dim) {
    if (Value size = dim ? getEntryDim(entry, source, *dim) : Value())
      op->getResult(0).replaceAllUsesWith(size);
  };
  entry.walk([&](Operation *op) {
    if (auto dim = dyn_cast<tensor::DimOp>(op))
      resolve(op, dim.getSource(), dim.getConstantIndex());
    else if (auto dim = dyn_cast<memref::DimOp>(op))
      resolve(op, dim.getSource(), dim.getConstantIndex());
  });
}

void resolveTensorDims(func::FuncOp entry) {
  MLIRContext *context = entry.getContext();
  resolveEntryDims(entry);
  RewritePatternSet patterns(context);
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  memref::populateResolveShapedTypeResultDimsPatterns(patterns);
  // A loop that hands a tensor on keeps its sizes.
  scf::populateSCFForLoopCanonicalizationPatterns(patterns);
  for (Dialect *dialect : context->getLoadedDialects())
    dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (isa<tensor::TensorDialect, affine::AffineDialect>(op.getDialect()))
      op.getCanonicalizationPatterns(patterns, context);
  (void)applyPatternsGreedily(entry, std::move(patterns));
  resolveEntryDims(entry);
}

static bool collectSymbolSlice(Value value, SetVector<Operation *> &slice) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<IndexType>(value.getType()) &&
           isa<func::FuncOp>(argument.getOwner()->getParentOp());
  Operation *op = value.getDefiningOp();
  if (slice.contains(op))
    return true;
  if (op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
      !llvm::all_of(op->getResultTypes(),
                    [](Type type) { return type.isIntOrIndexOrFloat(); }))
    return false;
  for (Value operand : op->getOperands())
    if (!collectSymbolSlice(operand, slice))
      return false;
  slice.insert(op);
  return true;
}

bool dependsOnSymbolsOnly(Value value, SetVector<Operation *> *slice) {
  // Sizes use one another many times over, so each is followed once only.
  SetVector<Operation *> own;
  return collectSymbolSlice(value, slice ? *slice : own);
}

} // namespace onnx_aot::codegen
