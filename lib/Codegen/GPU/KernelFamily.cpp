//===- KernelFamily.cpp - which generator writes a kernel -----------------===//

#include "KernelFamily.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace onnx_aot::gpu_kernel {

const KernelFamily &selectFamily(const KernelAnalysis &kernel) {
  if (kernel.getScatter())
    return getScatterFamily();
  if (kernel.isFold())
    return getFoldFamily();
  if (kernel.isChain())
    return getAttentionFamily();
  for (const KernelFamily *family :
       {&getTensorCoreFamily(true), &getTensorCoreFamily(false),
        &getContractionFamily(true), &getContractionFamily(false),
        &getSplitRowFamily(), &getRowFamily(), &getColumnFamily(),
        &getTransposeFamily()})
    if (family->matches(kernel))
      return *family;
  return getPointFamily();
}

SmallVector<unsigned> getResultOrder(const KernelAnalysis &kernel) {
  linalg::GenericOp last = kernel.getOps().back();
  AffineMap map = last.getMatchingIndexingMap(last.getDpsInitOperand(0));
  SmallVector<unsigned> order;
  for (AffineExpr expr : map.getResults())
    if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
      unsigned dim = kernel.getDomain().getLoopDims(last)[loop.getPosition()];
      if (!kernel.getDomain().isReductionDim(dim) &&
          !llvm::is_contained(order, dim))
        order.push_back(dim);
    }
  SmallVector<unsigned> rest;
  for (unsigned dim : kernel.getDomain().getParallelDims())
    if (!llvm::is_contained(order, dim))
      rest.push_back(dim);
  rest.append(order);
  return rest;
}

Value ResultFamily::emitBlocks(const KernelAnalysis &kernel,
                               const HostSizes &host) const {
  Value points = host.product(kernel.getDomain().getParallelDims());
  return host.minimum(host.ceilDiv(points, threads), kMaxBlocks);
}

void ResultFamily::emit(KernelWriter &w) const {
  const KernelAnalysis &kernel = w.analysis();
  SmallVector<unsigned> order = getResultOrder(kernel);
  Value first =
      w.add(w.mul(w.blockIndex(), w.constant(threads)), w.threadIndex());
  Value stride = w.mul(w.gridSize(), w.constant(threads));
  w.loop(first, w.product(order), stride, {}, [&](Value linear, ValueRange) {
    Point point(kernel.getDomain().getNumDims());
    w.delinearize(linear, order, point);
    emitResult(w, point);
    return SmallVector<Value>();
  });
}

Value HostSizes::constant(int64_t value) const {
  return arith::ConstantIndexOp::create(builder, value);
}

Value HostSizes::mul(Value a, Value b) const {
  return builder.createOrFold<arith::MulIOp>(a, b);
}

Value HostSizes::product(ArrayRef<unsigned> dims) const {
  Value result = constant(1);
  for (unsigned dim : dims)
    result = mul(result, size(dim));
  return result;
}

Value HostSizes::ceilDiv(Value value, int64_t divisor) const {
  Value padded =
      builder.createOrFold<arith::AddIOp>(value, constant(divisor - 1));
  return builder.createOrFold<arith::DivUIOp>(padded, constant(divisor));
}

Value HostSizes::minimum(Value a, int64_t limit) const {
  return builder.createOrFold<arith::MinUIOp>(a, constant(limit));
}

} // namespace onnx_aot::gpu_kernel
