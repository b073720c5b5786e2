//===- SelectTiling.cpp - tiles from registers and caches -----------------===//
//
// The reasons behind the numbers are in docs/RationaleCodegen.md.
//
//===----------------------------------------------------------------------===//

#include "Tiling.h"

#include "onnx-aot/Codegen/Common/StructuredOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::cpu;
using namespace onnx_aot::codegen;

namespace {

/// What a dimension counts as when its size is only known at run time.
constexpr int64_t kTypicalSize = 128;
/// Tasks beyond which a finer split balances nothing.
constexpr int64_t kMaxTasks = 64;
/// Multiply-adds that take the time of one point of other kernels, about: what
/// tasks over dimensions of unknown size have at least.
constexpr int64_t kProductsPerPoint = 8;
/// Rows that lie this many bytes apart fall into one set of a first-level cache
/// of eight ways; one way is left for the panel.
constexpr int64_t kSetStride = 4096, kSetRows = 7;
/// Side of a window whose taps are unrolled, as long as it has no more than two
/// such sides.
constexpr int64_t kMaxUnrolledSide = 5;
/// Steps of a reduction that pay for fetching and storing its sums, and tasks
/// that each read all of the operands.
constexpr int64_t kMinSteps = 256, kMaxStepTasks = 8;
/// Points up to which dimensions are unrolled.
constexpr int64_t kMaxUnrolled = 16;

class Selector {
public:
  Selector(const TilingInput &input, const Target &target)
      : ops(input.ops), domain(input.domain), sizes(input.sizes),
        wholeSums(input.wholeSums), target(target) {}

  Tiling select() {
    tiling.blocks.assign(domain.getNumDims(), 0);
    tiling.steps.assign(domain.getNumDims(), 0);
    for (linalg::GenericOp op : ops)
      if (!isPointwise(op) && !root)
        root = op;
    contraction = root && isContraction(root) && !isDepthwise();
    packed = root && root->hasAttr(kPackedAttr);
    tiling.laneDim = chooseLaneDim();
    tiling.lanes = std::max<int64_t>(1, target.vectorBytes / getElementBytes());
    if (contraction)
      tileContraction();
    else if (root)
      tileReduction();
    else
      tilePointwise();
    if (tiling.laneDim < 0)
      tiling.lanes = tiling.vectors = 1;
    chooseOrder();
    chooseBlocks();
    return tiling;
  }

private:
  static bool isDim(AffineExpr expr) { return isa<AffineDimExpr>(expr); }

  /// A sum of products without a reduced channel: every reduction loop is part
  /// of a window.
  bool isDepthwise() {
    for (OpOperand *operand : root.getDpsInputOperands()) {
      AffineMap map = root.getMatchingIndexingMap(operand);
      bool ownReduction = false;
      for (AffineExpr expr : map.getResults())
        if (auto loop = dyn_cast<AffineDimExpr>(expr))
          ownReduction |= root.getIteratorTypesArray()[loop.getPosition()] ==
                          utils::IteratorType::reduction;
      if (!ownReduction)
        return domain.hasWindows();
    }
    return false;
  }

  int dimOf(linalg::GenericOp op, AffineExpr expr) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    return loop ? (int)domain.getLoopDims(op)[loop.getPosition()] : -1;
  }

  int lastDim(linalg::GenericOp op, AffineMap map) {
    return map.getNumResults() == 0
               ? -1
               : dimOf(op, map.getResult(map.getNumResults() - 1));
  }

  int chooseLaneDim() {
    linalg::GenericOp last = ops.back();
    int output =
        lastDim(last, last.getMatchingIndexingMap(last.getDpsInitOperand(0)));
    if (!root)
      return output;
    // The reduction decides, also when its result is stored transposed: it
    // reads each input many times and stores each result once.
    if (contraction || domain.hasWindows())
      return lastDim(root,
                     root.getMatchingIndexingMap(root.getDpsInitOperand(0)));
    if (!arith::getNeutralElement(getCombiner(root)->op))
      return output >= 0 && !domain.isReductionDim(output) ? output : -1;
    // A reduction runs along what lies side by side in its largest input.
    int lane = -1;
    unsigned rank = 0;
    for (linalg::GenericOp op : ops)
      for (OpOperand *operand : op.getDpsInputOperands()) {
        AffineMap map = op.getMatchingIndexingMap(operand);
        int dim = lastDim(op, map);
        if (dim >= 0 && map.getNumResults() > rank) {
          rank = map.getNumResults();
          lane = dim;
        }
      }
    return lane;
  }

  int64_t getElementBytes() {
    unsigned bits = 8;
    for (linalg::GenericOp op : ops)
      for (Value operand : op->getOperands()) {
        Type type = getElementTypeOrSelf(operand.getType());
        if (type.isIntOrFloat())
          bits = std::max(bits, type.getIntOrFloatBitWidth());
      }
    return bits / 8;
  }

  int64_t sizeOf(int dim) {
    return ShapedType::isDynamic(sizes[dim]) ? kTypicalSize : sizes[dim];
  }

  /// At most `most` vectors, no more than the dimension fills.
  int64_t getVectors(int64_t most) {
    if (tiling.laneDim < 0)
      return 1;
    int64_t filled = llvm::divideCeil(sizeOf(tiling.laneDim), tiling.lanes);
    return std::clamp<int64_t>(filled, 1, most);
  }

  void tileContraction() {
    OpOperand *a = root.getDpsInputOperand(0), *b = root.getDpsInputOperand(1);
    auto has = [&](OpOperand *operand, int dim) {
      AffineMap map = root.getMatchingIndexingMap(operand);
      for (auto [loop, of] : llvm::enumerate(domain.getLoopDims(root)))
        if ((int)of == dim && map.isFunctionOfDim(loop))
          return true;
      return false;
    };
    if (tiling.laneDim >= 0 && has(a, tiling.laneDim))
      std::swap(a, b);
    for (unsigned dim : domain.getLoopDims(root))
      if (!domain.isReductionDim(dim) && (int)dim != tiling.laneDim &&
          has(a, dim) && !has(b, dim) && sizes[dim] != 1)
        tiling.rowDim = dim;
    for (unsigned dim : domain.getParallelDims())
      if ((int)dim != tiling.laneDim && has(b, dim))
        shared.push_back(dim);
    int64_t m = tiling.rowDim < 0 ? 1 : sizes[tiling.rowDim];
    int64_t n = tiling.laneDim < 0 ? 1 : sizes[tiling.laneDim];
    tiling.vectors =
        getPanelWidth(n, m, getElementBytes(), target) / tiling.lanes;
    // Accumulators, one panel row and one broadcast fill the registers.
    int64_t most =
        (target.vectorRegisters - tiling.vectors - 1) / tiling.vectors;
    most = std::clamp<int64_t>(most, 1,
                               rowsCollide(a)
                                   ? std::min(kSetRows, target.tuning.maxRows)
                                   : target.tuning.maxRows);
    left = a;
    tiling.rows = chooseRows(m, most);
    tiling.balanced = true;
    tiling.prefetchPanels =
        m != 1 && !packed &&
        llvm::any_of(root.getDpsInputOperands(), [&](OpOperand *operand) {
          return isPanelMap(root.getMatchingIndexingMap(operand));
        });
  }

  /// Neighbouring rows of the left-hand side share a set of the first-level
  /// cache, or may do so where their distance is not known.
  bool rowsCollide(OpOperand *operand) {
    auto type = cast<RankedTensorType>(operand->get().getType());
    AffineMap map = root.getMatchingIndexingMap(operand);
    int64_t stride = getElementBytes();
    for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
      if (reads(map, axis, tiling.rowDim))
        return stride % kSetStride == 0;
      if (type.isDynamicDim(axis))
        return true;
      stride *= type.getDimSize(axis);
    }
    return false;
  }

  /// The root's map uses dimension `dim` for `axis`.
  bool reads(AffineMap map, int64_t axis, int dim) {
    for (auto [loop, of] : llvm::enumerate(domain.getLoopDims(root)))
      if ((int)of == dim && map.getResult(axis).isFunctionOfDim(loop))
        return true;
    return false;
  }

  /// Cuts the dimensions inside the panels' loop so that what they read of the
  /// left-hand side stays in cache from panel to panel. Returns the pieces.
  int64_t blockForCache() {
    if (!left || tiling.laneDim < 0 || tiling.rowDim < 0 ||
        sizeOf(tiling.laneDim) < 4 * tiling.vectors * tiling.lanes)
      return 1;
    int64_t bytes = getElementBytes();
    AffineMap map = root.getMatchingIndexingMap(left);
    for (unsigned dim : domain.getReductionDims())
      for (int64_t axis = 0; axis < (int64_t)map.getNumResults(); ++axis)
        if (dimOf(root, map.getResult(axis)) == (int)dim)
          bytes *= sizeOf(dim);
    // From the innermost dimension out: all of it while it fits, then a part.
    int64_t pieces = 1;
    for (unsigned dim : llvm::reverse(tiling.order)) {
      if ((int)dim == tiling.laneDim)
        break;
      int64_t unit = (int)dim == tiling.rowDim ? tiling.rows : 1;
      int64_t fitting =
          std::max<int64_t>(target.tuning.cachedBytes / bytes / unit, 1) * unit;
      bytes *= std::min(fitting, sizeOf(dim));
      if (fitting >= sizeOf(dim))
        continue;
      int64_t count = llvm::divideCeil(sizeOf(dim), fitting);
      tiling.blocks[dim] =
          llvm::alignTo(llvm::divideCeil(sizeOf(dim), count), unit);
      if (!ShapedType::isDynamic(sizes[dim]))
        pieces *= llvm::divideCeil(sizeOf(dim), tiling.blocks[dim]);
    }
    return pieces;
  }

  /// Cuts a long reduction whose rows lie side by side, as those of a product
  /// with a transposed left-hand side: one tile uses a part of each cache line,
  /// so all tiles go over a stretch that stays in cache before the next one.
  bool chooseSteps() {
    if (!left || wholeSums || ops.size() != 1 || tiling.rowDim < 0 ||
        tiling.laneDim < 0 ||
        lastDim(root, root.getMatchingIndexingMap(left)) != tiling.rowDim ||
        !isa<FloatType>(getElementTypeOrSelf(root.getResult(0).getType())) ||
        ShapedType::isDynamic(sizes[tiling.rowDim]))
      return false;
    int64_t perStep = getElementBytes() *
                      (sizes[tiling.rowDim] + tiling.vectors * tiling.lanes);
    int64_t fitting = std::max(target.tuning.cachedBytes / perStep, kMinSteps);
    SmallVector<int64_t> steps(sizes.size(), 0);
    bool isCut = false;
    for (unsigned dim : llvm::reverse(domain.getLoopDims(root))) {
      if (!domain.isReductionDim(dim))
        continue;
      if (ShapedType::isDynamic(sizes[dim]))
        return false;
      if (isCut || sizes[dim] > fitting) {
        steps[dim] =
            isCut ? 1
                  : llvm::divideCeil(sizes[dim],
                                     llvm::divideCeil(sizes[dim], fitting));
        isCut = true;
      }
      fitting = std::max<int64_t>(fitting / sizes[dim], 1);
    }
    if (isCut)
      tiling.steps = steps;
    return isCut;
  }

  static int64_t chooseRows(int64_t m, int64_t most) {
    if (ShapedType::isDynamic(m))
      return most;
    if (m <= most)
      return std::max<int64_t>(m, 1);
    // A divisor leaves no rest; otherwise tiles of nearly equal height.
    for (int64_t rows = most; rows * 3 >= most * 2; --rows)
      if (m % rows == 0)
        return rows;
    return llvm::divideCeil(m, llvm::divideCeil(m, most));
  }

  void tileReduction() {
    bool reducesLanes =
        tiling.laneDim >= 0 && domain.isReductionDim(tiling.laneDim);
    if (!domain.hasWindows()) {
      tiling.vectors = getVectors(4);
      return;
    }
    tiling.vectors = getVectors(2);
    int64_t taps = 1;
    for (unsigned dim : domain.getReductionDims())
      if (sizeOf(dim) <= kMaxUnrolledSide)
        taps *= sizeOf(dim);
    if (taps <= kMaxUnrolledSide * kMaxUnrolledSide)
      tiling.unrollReduction = kMaxUnrolledSide;
    if (reducesLanes)
      return;
    // Neighbouring windows share inputs and weights.
    AffineMap map = root.getMatchingIndexingMap(root.getDpsInitOperand(0));
    for (AffineExpr expr : map.getResults()) {
      int dim = dimOf(root, expr);
      if (dim >= 0 && dim != tiling.laneDim && sizes[dim] != 1)
        tiling.rowDim = dim;
    }
    if (tiling.rowDim >= 0)
      tiling.rows = chooseRows(sizes[tiling.rowDim],
                               target.vectorRegisters >= 32 ? 7 : 4);
  }

  /// Short dimensions on which no input depends are unrolled: each value loaded
  /// serves all their points, and conditions on them become constants.
  void tilePointwise() {
    int64_t points = 1;
    for (unsigned dim : domain.getParallelDims()) {
      if ((int)dim == tiling.laneDim || ShapedType::isDynamic(sizes[dim]) ||
          sizes[dim] <= 1 || points * sizes[dim] > kMaxUnrolled || isRead(dim))
        continue;
      points *= sizes[dim];
      tiling.unrolled.push_back(dim);
    }
    tiling.vectors = getVectors(points > 2 ? 1 : 2);
  }

  bool isRead(unsigned dim) {
    return llvm::any_of(ops, [&](linalg::GenericOp op) {
      ArrayRef<unsigned> loops = domain.getLoopDims(op);
      if (op.getNumDpsInputs() == 0)
        return true; // nothing to share
      auto *at = llvm::find(loops, dim);
      return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
        return at != loops.end() &&
               op.getMatchingIndexingMap(operand).isFunctionOfDim(
                   at - loops.begin());
      });
    });
  }

  void chooseOrder() {
    linalg::GenericOp last =
        root && (contraction || domain.hasWindows()) ? root : ops.back();
    AffineMap map = last.getMatchingIndexingMap(last.getDpsInitOperand(0));
    SmallVector<unsigned> natural;
    for (AffineExpr expr : map.getResults()) {
      int dim = dimOf(last, expr);
      if (dim >= 0 && !domain.isReductionDim(dim))
        natural.push_back(dim);
    }
    if (!contraction) {
      tiling.order = natural;
      return;
    }
    // A panel of the right-hand side stays in cache while the rows go by.
    for (unsigned dim : natural)
      if (llvm::is_contained(shared, dim))
        tiling.order.push_back(dim);
    if (tiling.laneDim >= 0)
      tiling.order.push_back(tiling.laneDim);
    for (unsigned dim : natural)
      if (!llvm::is_contained(tiling.order, dim) && (int)dim != tiling.rowDim)
        tiling.order.push_back(dim);
    if (tiling.rowDim >= 0)
      tiling.order.push_back(tiling.rowDim);
  }

  /// Points of a dimension that register tiles take at once.
  int64_t unitOf(int dim) {
    if (dim == tiling.laneDim)
      return tiling.vectors * tiling.lanes;
    if (dim == tiling.rowDim)
      return tiling.rows;
    return llvm::is_contained(tiling.unrolled, dim) ? sizes[dim] : 1;
  }

  /// Cuts dimensions of constant size into tasks, then those that only the run
  /// knows: these may be 1, and nothing that is free to be long may stay whole.
  void chooseBlocks() {
    // Nothing is to be done.
    if (llvm::is_contained(sizes, 0))
      return;
    int64_t points = 1;
    for (unsigned dim = 0; dim < domain.getNumDims(); ++dim)
      if (domain.isReductionDim(dim) || !ShapedType::isDynamic(sizes[dim]))
        points = llvm::SaturatingMultiply<uint64_t>(points, sizeOf(dim));
    int64_t wanted =
        std::clamp<int64_t>(points / target.tuning.taskPoints, 1, kMaxTasks);
    if (chooseSteps())
      wanted = std::min(wanted, kMaxStepTasks);
    else
      wanted = llvm::divideCeil(wanted, blockForCache());
    for (unsigned dim : tiling.order)
      if (!ShapedType::isDynamic(sizes[dim]) && !tiling.blocks[dim])
        wanted = llvm::divideCeil(wanted, cutInto(dim, wanted));
    // What a task of one point of each remaining dimension has.
    int64_t inTask = 1;
    for (unsigned dim = 0; dim < domain.getNumDims(); ++dim)
      if (domain.isReductionDim(dim))
        inTask = llvm::SaturatingMultiply<uint64_t>(inTask, sizeOf(dim));
      else if (tiling.blocks[dim] || !ShapedType::isDynamic(sizes[dim]))
        inTask = llvm::SaturatingMultiply<uint64_t>(
            inTask, tiling.blocks[dim] ? tiling.blocks[dim] : sizes[dim]);
    int64_t least = target.tuning.taskPoints;
    if (contraction)
      least *= kProductsPerPoint;
    for (unsigned dim : llvm::reverse(tiling.order)) {
      if (!ShapedType::isDynamic(sizes[dim]) || tiling.blocks[dim])
        continue;
      int64_t unit = unitOf(dim);
      inTask = llvm::SaturatingMultiply<uint64_t>(inTask, unit);
      int64_t units = llvm::divideCeil(least, std::max<int64_t>(inTask, 1));
      if (packed && (int)dim == tiling.rowDim)
        units = std::max<int64_t>(units, llvm::divideCeil(kUnpackedRows, unit));
      tiling.blocks[dim] = units * unit;
      inTask = llvm::SaturatingMultiply<uint64_t>(inTask, units);
    }
  }

  /// Cuts a dimension of constant size; returns the number of blocks.
  int64_t cutInto(int dim, int64_t wanted) {
    int64_t unit = unitOf(dim), units = llvm::divideCeil(sizes[dim], unit);
    int64_t pieces = std::min(units, wanted);
    if (pieces <= 1)
      return 1;
    int64_t perPiece = llvm::divideCeil(units, pieces);
    // A block that divides the size keeps all tiles constant.
    for (int64_t more = perPiece; more < 2 * perPiece; ++more)
      if (sizes[dim] % (more * unit) == 0) {
        perPiece = more;
        break;
      }
    tiling.blocks[dim] = perPiece * unit;
    return llvm::divideCeil(units, perPiece);
  }

  ArrayRef<linalg::GenericOp> ops;
  const KernelDomain &domain;
  ArrayRef<int64_t> sizes;
  bool wholeSums;
  const Target &target;
  linalg::GenericOp root;
  bool contraction = false, packed = false;
  OpOperand *left = nullptr; ///< of a contraction: what has the rows
  SmallVector<unsigned> shared;
  Tiling tiling;
};

} // namespace

Tiling onnx_aot::cpu::selectTiling(const TilingInput &input,
                                   const Target &target) {
  return Selector(input, target).select();
}

bool onnx_aot::cpu::isPanelMap(AffineMap map) {
  return llvm::any_of(map.getResults(), [](AffineExpr expr) {
    return expr.getKind() == AffineExprKind::FloorDiv;
  });
}

/// Of 16 registers, 4 rows by 3 vectors use as many as 6 by 2 and load less,
/// unless the last of the wider panels is mostly padding.
static bool isWidePanelFull(int64_t n, int64_t lanes, const Target &target) {
  if (target.vectorRegisters >= 32 || ShapedType::isDynamic(n))
    return false;
  int64_t padding = llvm::alignTo(n, 3 * lanes) - n;
  return padding * 32 <= n;
}

int64_t onnx_aot::cpu::getPanelWidth(int64_t n, int64_t m,
                                     unsigned elementBytes,
                                     const Target &target) {
  int64_t lanes = std::max<int64_t>(1, target.vectorBytes / elementBytes);
  // One row has no reuse: more vectors hide the latency of the additions.
  int64_t vectors = m == 1 ? 4 : target.tuning.panelVectors;
  if (vectors == 0)
    vectors = isWidePanelFull(n, lanes, target) ? 3 : 2;
  if (!ShapedType::isDynamic(n))
    vectors = std::clamp<int64_t>(llvm::divideCeil(n, lanes), 1, vectors);
  return vectors * lanes;
}
