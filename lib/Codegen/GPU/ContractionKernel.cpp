//===- ContractionKernel.cpp - products of a tile through shared memory
//-----===//
//
// Sums of products: matrix products in any layout, batched or not, and
// convolutions, whose operands differ from those of matrix products in nothing
// but how an element's address follows from the dimensions. A block computes a
// tile of results; both operands pass through shared memory in slices of the
// reduction, each element evaluated once with the ops in front of the product.
//
//===----------------------------------------------------------------------===//

#include "KernelFamily.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace onnx_aot::codegen;

namespace onnx_aot::gpu_kernel {

namespace {

constexpr int64_t kTile = 64;  ///< rows and columns of a block's results
constexpr int64_t kDepth = 16; ///< of a slice
constexpr int64_t kSide = 16;  ///< threads along rows and along columns
constexpr int64_t kThreads = kSide * kSide;
constexpr int64_t kPerThread = kTile / kSide;
/// One more than a tile: threads that store along the depth hit other banks.
constexpr int64_t kPitch = kTile + 1;
/// Below this a tile would be mostly empty.
constexpr int64_t kSmall = 8;

/// One operand of the product.
struct Side {
  /// Ops of the body that compute it, and the inputs they read.
  DenseSet<Operation *> ops;
  SmallVector<OpOperand *> inputs;
  Value value;
  /// Parallel dimensions that only it has: rows, or columns, of the tile.
  SmallVector<unsigned> dims;
  llvm::SmallDenseSet<unsigned> used;
  /// Neighbours in memory are neighbours along the reduction.
  bool isDeepest = false;
};

/// A kernel as a product of tiles.
struct Product {
  linalg::GenericOp op;
  Operation *multiply = nullptr;
  Side rows, columns;
  SmallVector<unsigned> batch, depth;
};

/// Collects what computes `side.value`; fails where that is not one element of
/// each input.
bool collect(Side &side, linalg::GenericOp op, const KernelDomain &domain) {
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
        side.isDeepest |= domain.isReductionDim(loops[last.getPosition()]);
  }
  return !side.inputs.empty();
}

std::optional<Product> findProduct(const KernelAnalysis &kernel) {
  const KernelDomain &domain = kernel.getDomain();
  Product product;
  product.op = kernel.getOps().front();
  std::optional<Combiner> combiner = getCombiner(product.op);
  if (!combiner || !isa<arith::AddFOp, arith::AddIOp>(combiner->op) ||
      domain.isRowwise())
    return std::nullopt;
  for (linalg::GenericOp op : kernel.getOps().drop_front())
    if (!isPointwise(op))
      return std::nullopt;
  Value term = combiner->op->getOperand(1 - combiner->accumulator);
  product.multiply = term.getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product.multiply) ||
      !term.hasOneUse() ||
      product.multiply->getBlock() != product.op.getBody() ||
      term.getType().isInteger(1))
    return std::nullopt;

  Side a, b;
  a.value = product.multiply->getOperand(0);
  b.value = product.multiply->getOperand(1);
  if (!collect(a, product.op, domain) || !collect(b, product.op, domain))
    return std::nullopt;
  SmallVector<unsigned> order = getResultOrder(kernel);
  for (unsigned dim : order) {
    if (a.used.contains(dim) == b.used.contains(dim))
      product.batch.push_back(dim);
    else
      (a.used.contains(dim) ? a : b).dims.push_back(dim);
  }
  for (unsigned dim : domain.getLoopDims(product.op))
    if (domain.isReductionDim(dim))
      product.depth.push_back(dim);
  // Columns are what lies side by side in the result.
  bool swap = !order.empty() && a.used.contains(order.back()) &&
              !b.used.contains(order.back());
  product.rows = swap ? b : a;
  product.columns = swap ? a : b;
  return product;
}

struct ContractionFamily final : KernelFamily {
  StringRef getName() const override { return "contraction"; }
  int64_t getThreads(const KernelAnalysis &) const override { return kThreads; }

  bool matches(const KernelAnalysis &kernel) const override {
    std::optional<Product> product = findProduct(kernel);
    if (!product)
      return false;
    auto isLarge = [&](ArrayRef<unsigned> dims) {
      return kernel.getStaticProduct(dims).value_or(kSmall) >= kSmall;
    };
    return isLarge(product->rows.dims) && isLarge(product->columns.dims) &&
           isLarge(product->depth);
  }

  Value emitBlocks(const KernelAnalysis &kernel,
                   const HostSizes &host) const override {
    Product product = *findProduct(kernel);
    Value tiles =
        host.mul(host.ceilDiv(host.product(product.rows.dims), kTile),
                 host.ceilDiv(host.product(product.columns.dims), kTile));
    return host.minimum(host.mul(tiles, host.product(product.batch)),
                        kMaxBlocks);
  }

  void emit(KernelWriter &w) const override {
    Product product = *findProduct(w.analysis());
    Value rowTiles = w.ceilDiv(w.product(product.rows.dims), kTile);
    Value columnTiles = w.ceilDiv(w.product(product.columns.dims), kTile);
    Value tiles = w.mul(w.mul(rowTiles, columnTiles), w.product(product.batch));
    Value rows =
        w.shared(product.rows.value.getType(), kDepth * kPitch, "rows");
    Value columns =
        w.shared(product.columns.value.getType(), kDepth * kPitch, "columns");
    w.loop(w.blockIndex(), tiles, w.gridSize(), {},
           [&](Value tile, ValueRange) {
             Point point(w.analysis().getDomain().getNumDims());
             Value column = w.mul(w.rem(tile, columnTiles), w.constant(kTile));
             Value rest = w.div(tile, columnTiles);
             Value row = w.mul(w.rem(rest, rowTiles), w.constant(kTile));
             w.delinearize(w.div(rest, rowTiles), product.batch, point);
             SmallVector<Value> sums =
                 sumUp(w, product, point, row, column, rows, columns);
             store(w, product, point, row, column, sums);
             return SmallVector<Value>();
           });
  }

private:
  static SmallVector<Value> sumUp(KernelWriter &w, const Product &product,
                                  const Point &point, Value row, Value column,
                                  Value rows, Value columns) {
    SmallVector<Value> sums(kPerThread * kPerThread, w.getInitial(product.op));
    Value depth = w.product(product.depth);
    return w.loop(w.constant(0), depth, w.constant(kDepth), sums,
                  [&](Value first, ValueRange carried) {
                    // Nobody reads the slice of before any longer.
                    w.barrier();
                    loadSlice(w, product, product.rows, point, row, first,
                              depth, rows);
                    loadSlice(w, product, product.columns, point, column, first,
                              depth, columns);
                    w.barrier();
                    return multiplySlice(w, product, carried, rows, columns);
                  });
  }

  /// Every thread brings a few elements of a slice; zeros stand outside.
  static void loadSlice(KernelWriter &w, const Product &product,
                        const Side &side, const Point &at, Value begin,
                        Value first, Value depth, Value slice) {
    Value count = w.product(side.dims);
    int64_t fast = side.isDeepest ? kDepth : kTile;
    for (int64_t i = 0; i < kTile * kDepth / kThreads; ++i) {
      Value fastIndex = w.rem(w.threadIndex(), w.constant(fast));
      Value slowIndex = w.add(w.div(w.threadIndex(), w.constant(fast)),
                              w.constant(i * kThreads / fast));
      Value k = side.isDeepest ? fastIndex : slowIndex;
      Value line = side.isDeepest ? slowIndex : fastIndex;
      Value lineIndex = w.add(begin, line), depthIndex = w.add(first, k);
      Value isInside =
          w.both(w.less(lineIndex, count), w.less(depthIndex, depth));
      Value zero = arith::ConstantOp::create(
          w.b(), cast<TypedAttr>(w.b().getZeroAttr(side.value.getType())));
      Value element = w.choose(isInside, zero, [&] {
        Point point = at;
        w.delinearize(lineIndex, side.dims, point);
        w.delinearize(depthIndex, product.depth, point);
        return evaluate(w, product, side, point);
      });
      w.storeShared(element, slice, w.add(w.mul(k, w.constant(kPitch)), line));
    }
  }

  static Value evaluate(KernelWriter &w, const Product &product,
                        const Side &side, const Point &point) {
    IRMapping mapping;
    w.bindInputs(product.op, point, mapping, [&](OpOperand &input) {
      return llvm::is_contained(side.inputs, &input);
    });
    w.evaluateBody(product.op, point, mapping,
                   [&](Operation *op) { return !side.ops.contains(op); });
    return w.lookup(mapping, side.value);
  }

  static SmallVector<Value> multiplySlice(KernelWriter &w,
                                          const Product &product,
                                          ValueRange carried, Value rows,
                                          Value columns) {
    SmallVector<Value> sums(carried);
    Value x = w.rem(w.threadIndex(), w.constant(kSide));
    Value y = w.div(w.threadIndex(), w.constant(kSide));
    // Unrolled in part: the rest is left to LLVM.
    constexpr int64_t unroll = 4;
    return w.loop(
        w.constant(0), w.constant(kDepth), w.constant(unroll), sums,
        [&](Value k0, ValueRange values) {
          SmallVector<Value> next(values);
          for (int64_t k = 0; k < unroll; ++k) {
            Value line = w.mul(w.add(k0, w.constant(k)), w.constant(kPitch));
            auto load = [&](const Side &side, Value slice, Value place) {
              SmallVector<Value> loaded;
              for (int64_t i = 0; i < kPerThread; ++i)
                loaded.push_back(w.loadShared(
                    slice, side.value.getType(),
                    w.add(w.add(line, place), w.constant(i * kSide))));
              return loaded;
            };
            SmallVector<Value> a = load(product.rows, rows, y);
            SmallVector<Value> b = load(product.columns, columns, x);
            for (int64_t i = 0; i < kPerThread; ++i)
              for (int64_t j = 0; j < kPerThread; ++j) {
                Value &sum = next[i * kPerThread + j];
                sum = multiplyAdd(w, a[i], b[j], sum);
              }
          }
          return next;
        });
  }

  static Value multiplyAdd(KernelWriter &w, Value a, Value b, Value sum) {
    if (isa<FloatType>(sum.getType()))
      return math::FmaOp::create(w.b(), a, b, sum);
    return arith::AddIOp::create(w.b(), sum,
                                 arith::MulIOp::create(w.b(), a, b));
  }

  static void store(KernelWriter &w, const Product &product, const Point &at,
                    Value row, Value column, ArrayRef<Value> sums) {
    Value rowCount = w.product(product.rows.dims);
    Value columnCount = w.product(product.columns.dims);
    Value x = w.rem(w.threadIndex(), w.constant(kSide));
    Value y = w.div(w.threadIndex(), w.constant(kSide));
    for (int64_t i = 0; i < kPerThread; ++i)
      for (int64_t j = 0; j < kPerThread; ++j) {
        Value r = w.add(row, w.add(y, w.constant(i * kSide)));
        Value c = w.add(column, w.add(x, w.constant(j * kSide)));
        w.when(w.both(w.less(r, rowCount), w.less(c, columnCount)), [&] {
          Point point = at;
          w.delinearize(r, product.rows.dims, point);
          w.delinearize(c, product.columns.dims, point);
          w.define(product.op, point, sums[i * kPerThread + j]);
          w.storeResults(point);
        });
      }
  }
};

} // namespace

const KernelFamily &getContractionFamily() {
  static const ContractionFamily family;
  return family;
}

} // namespace onnx_aot::gpu_kernel
