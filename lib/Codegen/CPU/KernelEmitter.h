//===- KernelEmitter.h - vector code for one kernel -------------*- C++ -*-===//
//
// Writes the loops of a kernel from its linalg body: for each tile of the
// parallel dimensions the reductions run with their accumulators in registers,
// and the values stored are evaluated backwards from the results, so that
// pointwise ops never go through memory. Loads that several points of a tile
// share are made once.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CODEGEN_CPU_KERNELEMITTER_H
#define ONNX_AOT_CODEGEN_CPU_KERNELEMITTER_H

#include "LinearIndex.h"
#include "Tiling.h"

#include "onnx-aot/Codegen/Common/StructuredOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace onnx_aot::cpu {

/// A point, or a vector of points, of the kernel's dimensions.
using Point = llvm::SmallVector<LinearIndex>;

/// A stretch of a dimension; `span` is its length where that is a constant.
struct Range {
  mlir::Value lower, upper;
  std::optional<int64_t> span;
};

/// A buffer that holds, of a tensor's last two axes, the rows from `rowBase` on
/// at one point of the axes before them: buffer[slot][row - rowBase][column].
struct BlockBuffer {
  mlir::Value buffer, slot, rowBase;
};

class KernelEmitter {
public:
  /// `kernel` is the tensor function; `arguments` are the values that stand for
  /// its arguments, with buffers in place of tensors.
  KernelEmitter(mlir::func::FuncOp kernel, mlir::ValueRange arguments,
                const Target &target);
  /// Some ops of a kernel: `buffers` says what stands for the values they read,
  /// `outputs` are the buffers their last op writes.
  KernelEmitter(mlir::func::FuncOp kernel,
                llvm::ArrayRef<mlir::linalg::GenericOp> ops,
                const llvm::DenseMap<mlir::Value, mlir::Value> &buffers,
                mlir::ValueRange outputs, const Target &target);

  /// Finds the domain and the tiling; fails when the kernel cannot be emitted.
  llvm::LogicalResult prepare();
  /// The same for blocks of `rows` rows of `tensor`, its last axis but one, at
  /// one point of the axes before them.
  llvm::LogicalResult prepareBlock(mlir::Value tensor, int64_t rows);

  /// Emits the size of an axis of a tensor that the kernel's ops share.
  mlir::OpFoldResult emitAxisSize(mlir::OpBuilder &builder, mlir::Location loc,
                                  mlir::Value tensor, unsigned axis);
  /// Emits the loops over a block: `axes` are the ranges of the axes of
  /// `tensor` but the last. What is in `held` lies in a buffer of the block
  /// alone.
  void emitBlock(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::Value tensor, llvm::ArrayRef<Range> axes,
                 BlockBuffer held);

  /// Emits the number of tasks, an index.
  mlir::Value emitTaskCount(mlir::OpBuilder &builder, mlir::Location loc);

  /// Emits the loop over the tasks `begin` to `end`.
  void emitTasks(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::Value begin, mlir::Value end);

private:
  /// Values computed for the tile under construction. Values of an outer loop
  /// are visible in inner ones.
  struct Scope {
    struct Load {
      mlir::Value source;
      llvm::SmallVector<LinearIndex> indices;
      mlir::Value mask, value;
    };
    std::vector<Load> loads;
    struct Result {
      mlir::Operation *op;
      Point point;
      llvm::SmallVector<mlir::Value> values;
    };
    std::vector<Result> results;
    std::vector<std::pair<LinearIndex, mlir::Value>> indices;
    std::vector<std::pair<mlir::Value, mlir::Value>> broadcasts;
    struct Quotient {
      LinearIndex index;
      int64_t divisor;
      bool remainder;
      mlir::Value value;
    };
    std::vector<Quotient> quotients;
    struct Mask {
      mlir::Value rest;
      int64_t offset;
      mlir::Value value;
    };
    std::vector<Mask> masks;
  };
  /// Part of a dimension that a tile covers.
  struct Extent {
    mlir::Value base;
    int64_t count = 1;      ///< points, or vectors along the lane dimension
    mlir::Value rest;       ///< lanes left from base on, where a mask is needed
    int64_t staticRest = 0; ///< the same as a constant
  };

  mlir::Value getSizeValue(unsigned dim);
  int64_t getStaticSize(unsigned dim);
  mlir::Value getArgument(mlir::Value kernelValue);

  llvm::LogicalResult analyze();
  void emitLoops(unsigned level, llvm::ArrayRef<Range> ranges);
  void emitSteps(unsigned dim, mlir::Value lower, mlir::Value upper,
                 std::optional<int64_t> staticSpan,
                 llvm::function_ref<void(Extent)> body);
  void emitBalanced(
      mlir::Value lower, mlir::Value upper, int64_t most,
      llvm::function_ref<void(mlir::Value, mlir::Value, int64_t)> loopOver);
  /// Runs `body` for each stretch of the reductions that tiles make together.
  void emitStretches(llvm::ArrayRef<unsigned> dims,
                     llvm::function_ref<void()> body);
  void emitTile();
  /// The sums of a tile so far, which the output holds from the second stretch
  /// of a reduction on.
  llvm::SmallVector<mlir::Value> resumeSums(mlir::linalg::GenericOp op,
                                            llvm::ArrayRef<Point> points,
                                            mlir::Value initial);
  void emitReduction(mlir::linalg::GenericOp op);
  void emitReductionLoops(llvm::ArrayRef<unsigned> dims, Point point,
                          llvm::SmallVector<mlir::Value> &accumulators,
                          mlir::linalg::GenericOp op,
                          const codegen::Combiner &combiner);
  void prefetchPanel(mlir::linalg::GenericOp op, Point point);
  void accumulate(mlir::linalg::GenericOp op, const codegen::Combiner &combiner,
                  Point point, llvm::SmallVector<mlir::Value> &accumulators);
  /// The dimension of an integer contraction whose two points, or four of
  /// bytes, are multiplied at once; nothing for other ops and layouts.
  std::optional<unsigned> getPairLoop(mlir::linalg::GenericOp op);
  /// Neighbouring groups of `count` numbers, or one group for all lanes.
  mlir::Value loadGroups(mlir::Value source,
                         llvm::ArrayRef<LinearIndex> indices, int64_t count);
  void accumulatePairs(mlir::linalg::GenericOp op, Point at,
                       llvm::SmallVector<mlir::Value> &accumulators);
  /// Products with packed weights. Their words' blocks are a dimension.
  void findPacked();
  unsigned getBlockDim();
  mlir::Value evaluateWeight(const Point &point);
  void accumulatePacked(Point at, llvm::SmallVector<mlir::Value> &accumulators);
  /// Makes floats of the blocks `from` to `to` of the current panel.
  void emitUnpacking(mlir::Value from, mlir::Value to);
  mlir::Value createOnStack(llvm::ArrayRef<int64_t> shape);
  void emitPackedRows(const Range &range);
  void emitUnpackedRows(
      const Range &range,
      llvm::function_ref<void(mlir::Value, mlir::Value, std::optional<int64_t>)>
          overTiles);
  /// Where the sum at a point, the tile's #index, waits for the next stretch.
  llvm::SmallVector<mlir::Value> getWaitingPlace(const Point &point,
                                                 int64_t index);
  /// Stores the results, or the sums where their reduction goes on.
  void storeOrWait(llvm::ArrayRef<mlir::Value> sums);
  void storeResults(mlir::linalg::GenericOp op);
  void storeAt(mlir::linalg::GenericOp op, const Point &point);
  /// Extremes of what is stored: `buffers` are their outputs. Each call for
  /// some tasks starts anew, and combines what it found with the outputs.
  void findExtremes(mlir::ValueRange buffers);
  void startExtremes();
  void noteExtremes(mlir::ValueRange values);
  void finishExtremes();

  /// All points of the tile: rows times vectors.
  llvm::SmallVector<Point> getTilePoints();

  /// The op's results at a point, vectors when the point has lanes that matter.
  llvm::SmallVector<mlir::Value> evaluateOp(mlir::linalg::GenericOp op,
                                            const Point &point);
  /// Values of the body's arguments at a point.
  void bindInputs(mlir::linalg::GenericOp op, const Point &point,
                  mlir::IRMapping &mapping);
  void evaluateBody(mlir::linalg::GenericOp op, const Point &point,
                    mlir::IRMapping &mapping,
                    llvm::function_ref<bool(mlir::Operation *)> skip);
  mlir::Value emitExtract(mlir::tensor::ExtractOp op, const Point &point,
                          mlir::linalg::GenericOp parent,
                          mlir::IRMapping &mapping);
  llvm::SmallVector<LinearIndex> getIndices(mlir::AffineMap map,
                                            mlir::linalg::GenericOp op,
                                            const Point &point);
  mlir::Value load(mlir::Value source, llvm::ArrayRef<LinearIndex> indices);
  mlir::Value emitLoad(mlir::Value source, llvm::ArrayRef<LinearIndex> indices,
                       mlir::Value mask);
  mlir::Value loadSpaced(mlir::Value source, llvm::ArrayRef<mlir::Value> start,
                         int64_t spacing, mlir::VectorType type,
                         mlir::Value mask);
  void store(mlir::Value value, mlir::Value target,
             llvm::ArrayRef<LinearIndex> indices);
  /// Indices into a buffer from those into the tensor it stands for.
  llvm::SmallVector<LinearIndex> toBuffer(mlir::Value buffer,
                                          llvm::ArrayRef<LinearIndex> indices);
  /// Notes the op, if any, whose values a sum leaves in the output for the last
  /// op.
  void chooseKept();

  mlir::Value constant(int64_t value);
  mlir::Value materialize(const LinearIndex &index);
  mlir::Value toVector(mlir::Value scalar);
  mlir::Value combine(const codegen::Combiner &combiner,
                      mlir::Value accumulator, mlir::Value value);
  mlir::Value reduceLanes(const codegen::Combiner &combiner, mlir::Value vector,
                          mlir::Value initial);
  mlir::Value getMask(const LinearIndex &laneIndex);
  /// The number of lanes under a mask, where that is a constant; else 0.
  int64_t countActive(mlir::Value mask);
  LinearIndex divide(const LinearIndex &index, int64_t divisor, bool remainder);

  mlir::func::FuncOp kernel;
  llvm::DenseMap<mlir::Value, mlir::Value> arguments;
  const Target &target;
  llvm::SmallVector<mlir::linalg::GenericOp> ops;
  llvm::SmallVector<mlir::Value> outputs; ///< buffers the last op writes
  /// One number to find of a result of the last op.
  struct Extreme {
    mlir::linalg::GenericOp op;
    codegen::Combiner combiner;
    unsigned result;
    mlir::Value output, soFar;
  };
  llvm::SmallVector<Extreme> extremes;
  mlir::linalg::GenericOp packed; ///< the product with packed weights, if any
  /// Weights of a panel as floats, a stretch of the reduction, where there are
  /// such.
  struct {
    mlir::Value buffer, from, to;
  } unpacked;
  /// Sums of a panel's rows between the stretches of a reduction.
  struct {
    mlir::Value buffer, from, isLast;
  } waiting;
  BlockBuffer held;
  /// Elementary functions take longer than memory: what `keeper` computes of
  /// `kept` on its way is stored where the last op finds it.
  mlir::linalg::GenericOp kept, keeper;
  enum { NotKept, Keeping, Kept } keeping = NotKept;
  std::optional<codegen::KernelDomain> domain;
  llvm::DenseMap<mlir::Value, mlir::linalg::GenericOp> producers;
  Tiling tiling;

  mlir::OpBuilder builder;
  mlir::Location loc;
  std::vector<Scope> scopes;
  llvm::DenseMap<unsigned, Range>
      stretches;                     ///< of cut reductions, by dimension
  mlir::Value isFirstStretch;        ///< null where no reduction is cut
  llvm::SmallVector<Extent> extents; ///< per dimension, of the current tile
  Extent laneExtent;
  mlir::Value currentMask; ///< of the point being evaluated; null for all lanes
  bool guarded = false;    ///< loads may lie past the end along the lanes
};

} // namespace onnx_aot::cpu

#endif // ONNX_AOT_CODEGEN_CPU_KERNELEMITTER_H
