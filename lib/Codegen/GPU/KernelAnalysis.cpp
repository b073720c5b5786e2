//===- KernelAnalysis.cpp - what a device kernel has to compute -----------===//

#include "KernelAnalysis.h"
#include "ExpandDeviceMath.h"

#include "onnx-aot/Codegen/Common/KernelChain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot::gpu_kernel {

bool isDeviceType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64();
}

bool isFoldable(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumReductionLoops() == 0)
    return false;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    if (!init.get().getDefiningOp<linalg::FillOp>() ||
        !map.isProjectedPermutation() ||
        map.getNumResults() != op.getNumParallelLoops())
      return false;
    for (AffineExpr expr : map.getResults())
      if (op.getIteratorTypesArray()[cast<AffineDimExpr>(expr).getPosition()] !=
          utils::IteratorType::parallel)
        return false;
  }
  return true;
}

bool isDeviceOp(Operation *op) {
  if (isa<linalg::IndexOp, tensor::ExtractOp>(op) ||
      op->hasTrait<OpTrait::ConstantLike>())
    return true;
  auto isAllowed = [](Type type) {
    return isDeviceType(type) || isa<IndexType>(type);
  };
  if (!llvm::all_of(op->getOperandTypes(), isAllowed) ||
      !llvm::all_of(op->getResultTypes(), isAllowed))
    return false;
  if (isa<arith::ArithDialect>(op->getDialect()))
    // The device library would be needed for floating remainders.
    return !isa<arith::RemFOp>(op);
  // Instructions of the device.
  if (isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::FloorOp,
          math::TruncOp, math::RoundEvenOp, math::SqrtOp, math::FmaOp,
          math::CopySignOp, math::IsNaNOp, math::IsInfOp, math::IsFiniteOp,
          math::CountLeadingZerosOp, math::CtPopOp>(op))
    return true;
  // Written as arithmetic when kernels are lowered; half precision as single.
  Type type = op->getResult(0).getType();
  if (isa<math::ExpOp, math::TanhOp, math::ErfOp, math::LogOp, math::Log1pOp,
          math::Log2Op, math::ExpM1Op, math::Atan2Op, math::RsqrtOp,
          math::RoundOp>(op) &&
      !type.isF64())
    return true;
  return isExpandedInDouble(op, type.isF16() || type.isBF16()
                                    ? Float32Type::get(op->getContext())
                                    : type);
}

unsigned KernelAnalysis::getFirstOutput() const {
  if (scatter)
    return types.size() - 1;
  return types.size() - linalg::GenericOp(ops.back()).getNumDpsInits();
}

std::optional<int64_t>
KernelAnalysis::getStaticProduct(ArrayRef<unsigned> dims) const {
  int64_t product = 1;
  for (unsigned dim : dims) {
    if (!sizes[dim].isConstant())
      return std::nullopt;
    product *= sizes[dim].constant;
  }
  return product;
}

LogicalResult KernelAnalysis::analyzeScatter(scf::ForOp loop) {
  scatter = ScatterLoops::find(loop);
  if (!scatter)
    return fail("its loops have an order");
  for (scf::ForOp inner : scatter->loops) {
    SizeSource source;
    if (std::optional<int64_t> size =
            getConstantIntValue(inner.getUpperBound()))
      source.constant = *size;
    else
      source.argument =
          cast<BlockArgument>(inner.getUpperBound()).getArgNumber();
    sizes.push_back(source);
  }
  return checkTypes();
}

LogicalResult KernelAnalysis::analyze() {
  auto loops = kernel.getBody().front().getOps<scf::ForOp>();
  if (!loops.empty())
    return analyzeScatter(*loops.begin());
  for (auto op : kernel.getBody().front().getOps<linalg::GenericOp>()) {
    ops.push_back(op);
    for (Value result : op->getResults())
      producers[result] = op;
  }
  if (ops.empty())
    return fail("it has no loops");
  if (failed(checkTypes()))
    return failure();
  for (linalg::GenericOp op : ops)
    if (failed(checkBody(op)))
      return failure();
  SmallVector<SmallVector<linalg::GenericOp>> stages = getStages(kernel);
  chain = !stages.empty();
  FailureOr<KernelDomain> analyzed =
      chain ? KernelDomain::analyzeStages(stages) : KernelDomain::analyze(ops);
  if (succeeded(analyzed)) {
    domain = *analyzed;
  } else {
    fold = !chain && ops.size() == 1 && isFoldable(ops.front());
    if (!fold)
      return fail("its loops do not share one space");
    domain = KernelDomain::ofOne(ops.front());
  }
  for (unsigned dim = 0; dim < domain->getNumDims(); ++dim)
    if (failed(findSize(dim)))
      return failure();
  return success();
}

LogicalResult KernelAnalysis::checkTypes() {
  for (Type type : types) {
    auto buffer = dyn_cast<MemRefType>(type);
    if (!buffer) {
      if (!isDeviceType(type) && !isa<IndexType>(type))
        return fail("it takes a scalar of another type");
      continue;
    }
    if (!isDeviceType(buffer.getElementType()))
      return fail("it has elements of a type that the device lacks");
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(buffer.getStridesAndOffset(strides, offset)))
      return fail("it has a buffer without strides");
    if (buffer.hasStaticShape() && buffer.getNumElements() > (int64_t(1) << 30))
      return fail("it has a buffer of more than 2^30 elements");
  }
  return success();
}

LogicalResult KernelAnalysis::checkBody(linalg::GenericOp op) {
  for (Operation &inner : op.getBody()->without_terminator())
    if (!isDeviceOp(&inner))
      return fail("the device has no code for '" +
                  inner.getName().getStringRef() + "' on " +
                  (inner.getNumResults() && inner.getResult(0).getType().isF64()
                       ? "float64"
                       : "these types"));
  for (auto extract : op.getBody()->getOps<tensor::ExtractOp>())
    if (!isa<BlockArgument>(extract.getTensor()))
      return fail("it gathers from a tensor of its own");
  for (Value operand : op->getOperands()) {
    auto tensor = dyn_cast<RankedTensorType>(operand.getType());
    Type type = tensor ? tensor.getElementType() : operand.getType();
    if (!isDeviceType(type) && !isa<IndexType>(type))
      return fail("it has elements of a type that the device lacks");
    if (Operation *definer = operand.getDefiningOp())
      if (tensor &&
          !isa<linalg::GenericOp, linalg::FillOp, tensor::EmptyOp>(definer))
        return fail("it uses a constant tensor");
  }
  return success();
}

LogicalResult KernelAnalysis::findSize(unsigned dim) {
  SizeSource source;
  std::optional<SizeSource> dynamic;
  for (linalg::GenericOp op : ops) {
    ArrayRef<unsigned> dims = domain->getLoopDims(op);
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    for (auto [loop, of] : llvm::enumerate(dims))
      if (of == dim && !ShapedType::isDynamic(ranges[loop]))
        source.constant = ranges[loop];
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      Value value = operand.get();
      if (auto fill = value.getDefiningOp<linalg::FillOp>())
        value = fill.getDpsInits()[0];
      for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
        auto loop = dyn_cast<AffineDimExpr>(expr);
        if (dynamic || !loop || dims[loop.getPosition()] != dim)
          continue;
        if (auto argument = dyn_cast<BlockArgument>(value)) {
          dynamic = SizeSource{ShapedType::kDynamic, argument.getArgNumber(),
                               (int64_t)axis};
          continue;
        }
        auto empty = value.getDefiningOp<tensor::EmptyOp>();
        if (!empty || !empty.getType().isDynamicDim(axis))
          continue;
        if (auto argument = dyn_cast<BlockArgument>(empty.getDynamicSize(axis)))
          dynamic =
              SizeSource{ShapedType::kDynamic, argument.getArgNumber(), -1};
      }
    }
  }
  if (!source.isConstant()) {
    if (!dynamic)
      return fail("a dimension has no size");
    source = *dynamic;
  }
  sizes.push_back(source);
  return success();
}

} // namespace onnx_aot::gpu_kernel
