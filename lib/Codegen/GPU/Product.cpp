//===- Product.cpp - kernels that sum up products -------------------------===//

#include "Product.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace onnx_aot::codegen;

namespace onnx_aot::gpu_kernel {

//===--- Analysis ---------------------------------------------------------===//

/// Notes the type of 16 or 8 bits that both factors are widened from in the
/// same way, if they are.
static void findNarrow(Product &product, Value a, Value b) {
  auto isWidening = [&](Operation *op) {
    if (!op || op->getBlock() != product.op.getBody())
      return false;
    Type wide = op->getResult(0).getType();
    if (isa<arith::ExtFOp>(op)) {
      Type type = op->getOperand(0).getType();
      return wide.isF32() && (type.isF16() || type.isBF16());
    }
    return isa<arith::ExtSIOp, arith::ExtUIOp>(op) && wide.isInteger(32) &&
           op->getOperand(0).getType().isInteger(8);
  };
  Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
  if (!isWidening(first) || !isWidening(second) ||
      first->getName() != second->getName() ||
      first->getOperand(0).getType() != second->getOperand(0).getType())
    return;
  product.narrow = first->getOperand(0).getType();
  product.isSigned = isa<arith::ExtSIOp>(first);
}

/// Collects what computes `side.value`; fails where that is not one element of
/// each input.
static bool collect(Side &side, linalg::GenericOp op,
                    const KernelDomain &domain) {
  ArrayRef<unsigned> loops = domain.getLoopDims(op);
  SmallVector<Value> work{side.value};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != op.getBody())
        continue;
      OpOperand *input = op.getMatchingOpOperand(argument);
      if (!op.isDpsInput(input))
        return false;
      if (!llvm::is_contained(side.inputs, input))
        side.inputs.push_back(input);
      continue;
    }
    Operation *definer = value.getDefiningOp();
    if (definer->getBlock() != op.getBody())
      continue;
    if (isa<tensor::ExtractOp>(definer))
      return false;
    if (!side.ops.insert(definer).second)
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(definer))
      side.used.insert(loops[index.getDim()]);
    llvm::append_range(work, definer->getOperands());
  }
  for (OpOperand *input : side.inputs) {
    AffineMap map = op.getMatchingIndexingMap(input);
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
      if (map.isFunctionOfDim(loop))
        side.used.insert(loops[loop]);
    if (map.getNumResults())
      if (auto last = dyn_cast<AffineDimExpr>(map.getResults().back()))
        side.isDeepest |= op.getIteratorTypesArray()[last.getPosition()] ==
                          utils::IteratorType::reduction;
  }
  return !side.inputs.empty();
}

std::optional<Product> findFactors(linalg::GenericOp op,
                                   const KernelDomain &domain) {
  Product product;
  product.op = op;
  std::optional<Combiner> combiner = getCombiner(op);
  if (!combiner || !isa<arith::AddFOp, arith::AddIOp>(combiner->op))
    return std::nullopt;
  Value term = combiner->op->getOperand(1 - combiner->accumulator);
  Operation *multiply = term.getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(multiply) ||
      !term.hasOneUse() || multiply->getBlock() != op.getBody() ||
      term.getType().isInteger(1))
    return std::nullopt;

  Side &a = product.rows, &b = product.columns;
  a.value = multiply->getOperand(0);
  b.value = multiply->getOperand(1);
  findNarrow(product, a.value, b.value);
  if (product.narrow)
    for (Side *side : {&a, &b})
      side->value = side->value.getDefiningOp()->getOperand(0);
  if (!collect(a, op, domain) || !collect(b, op, domain))
    return std::nullopt;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      product.depth.push_back(domain.getLoopDims(op)[loop]);
  return product;
}

std::optional<Product> findProduct(const KernelAnalysis &kernel) {
  if (kernel.getDomain().isRowwise() ||
      !llvm::all_of(kernel.getOps().drop_front(), isPointwise))
    return std::nullopt;
  std::optional<Product> found =
      findFactors(kernel.getOps().front(), kernel.getDomain());
  if (!found)
    return std::nullopt;
  Product product = *found;
  Side &a = product.rows, &b = product.columns;
  SmallVector<unsigned> order = getResultOrder(kernel);
  for (unsigned dim : order) {
    if (a.used.contains(dim) == b.used.contains(dim))
      product.batch.push_back(dim);
    else
      (a.used.contains(dim) ? a : b).dims.push_back(dim);
  }
  // Columns are what lies side by side in the result.
  if (!order.empty() && a.used.contains(order.back()) &&
      !b.used.contains(order.back()))
    std::swap(a, b);
  return product;
}

//===--- Code -------------------------------------------------------------===//

TileGrid::TileGrid(KernelWriter &w, const Product &product, TileSize tile)
    : tile(tile), rowTiles(w.ceilDiv(w.product(product.rows.dims), tile.rows)),
      columnTiles(w.ceilDiv(w.product(product.columns.dims), tile.columns)) {
  count = w.mul(w.mul(rowTiles, columnTiles), w.product(product.batch));
}

std::pair<Value, Value> TileGrid::place(KernelWriter &w, const Product &product,
                                        Value number, Point &point) const {
  Value column = w.mul(w.rem(number, columnTiles), w.constant(tile.columns));
  Value rest = w.div(number, columnTiles);
  Value row = w.mul(w.rem(rest, rowTiles), w.constant(tile.rows));
  w.delinearize(w.div(rest, rowTiles), product.batch, point);
  return {row, column};
}

void forEachTile(KernelWriter &w, const Product &product, int64_t tile,
                 int64_t unit, bool isSplit,
                 function_ref<void(const Point &, const TilePart &)> body) {
  TileGrid grid(w, product, {tile, tile});
  Value count = isSplit ? w.mul(grid.count, w.parts()) : grid.count;
  w.loop(
      w.blockIndex(), count, w.gridSize(), {}, [&](Value number, ValueRange) {
        Point point(w.analysis().getDomain().getNumDims());
        TilePart part{{}, {}, w.constant(0), w.product(product.depth), {}};
        Value place = number;
        if (isSplit) {
          Part own = getPart(w, w.div(number, grid.count), unit);
          part.part = own.number;
          part.first = own.first;
          part.end = own.end;
          place = w.rem(number, grid.count);
        }
        std::tie(part.row, part.column) = grid.place(w, product, place, point);
        body(point, part);
        return SmallVector<Value>();
      });
}

Value getInitialSum(KernelWriter &w, const Product &product, bool isSplit) {
  return isSplit ? w.getNeutral(*getCombiner(product.op))
                 : w.getInitial(product.op);
}

void storeResult(KernelWriter &w, const Product &product, const Point &at,
                 const TilePart &part, Value row, Value column, Value sum) {
  Value isInside = w.both(w.less(row, w.product(product.rows.dims)),
                          w.less(column, w.product(product.columns.dims)));
  w.when(isInside, [&] {
    Point point = at;
    w.delinearize(row, product.rows.dims, point);
    w.delinearize(column, product.columns.dims, point);
    if (part.part)
      return w.storeScratch(sum, getPlace(w, point, part.part));
    w.define(product.op, point, sum);
    w.storeResults(point);
  });
}

bool isLargeProduct(const KernelAnalysis &kernel, const Product &product,
                    int64_t least) {
  auto isLarge = [&](ArrayRef<unsigned> dims) {
    return kernel.getStaticProduct(dims).value_or(least) >= least;
  };
  return isLarge(product.rows.dims) && isLarge(product.columns.dims) &&
         isLarge(product.depth);
}

Splitting getSplitting(const KernelAnalysis &kernel, const Product &product,
                       int64_t tile) {
  std::optional<int64_t> rows = kernel.getStaticProduct(product.rows.dims),
                         columns =
                             kernel.getStaticProduct(product.columns.dims),
                         batch = kernel.getStaticProduct(product.batch);
  Splitting splitting{std::nullopt, /*least=*/256, /*wanted=*/128};
  if (rows && columns && batch)
    splitting.tiles = llvm::divideCeil(*rows, tile) *
                      llvm::divideCeil(*columns, tile) * *batch;
  return splitting;
}

Value emitTileBlocks(const HostSizes &host, const Product &product,
                     TileSize tile) {
  Value tiles =
      host.mul(host.ceilDiv(host.product(product.rows.dims), tile.rows),
               host.ceilDiv(host.product(product.columns.dims), tile.columns));
  return host.minimum(host.mul(tiles, host.product(product.batch)), kMaxBlocks);
}

} // namespace onnx_aot::gpu_kernel
