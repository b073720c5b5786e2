//===- Product.h - kernels that sum up products -----------------*- C++ -*-===//

#ifndef ONNX_AOT_CODEGEN_GPU_PRODUCT_H
#define ONNX_AOT_CODEGEN_GPU_PRODUCT_H

#include "SplitReduction.h"

#include "llvm/ADT/SmallSet.h"

namespace onnx_aot::gpu_kernel {

/// One operand of a product.
struct Side {
  /// Ops of the body that compute it, and the inputs they read.
  llvm::DenseSet<mlir::Operation *> ops;
  llvm::SmallVector<mlir::OpOperand *> inputs;
  mlir::Value value;
  /// Parallel dimensions that only it has: rows, or columns, of the result.
  llvm::SmallVector<unsigned> dims;
  llvm::SmallDenseSet<unsigned> used;
  /// Neighbours in memory are neighbours along the reduction.
  bool isDeepest = false;
};

/// A kernel as a matrix product: sums over `depth` of rows times columns, for
/// each point of `batch`. What lies side by side in the result is a column.
struct Product {
  mlir::linalg::GenericOp op;
  Side rows, columns;
  llvm::SmallVector<unsigned> batch, depth;
  /// Operands are of this type of 16 or 8 bits and are widened to f32 or i32
  /// before they are multiplied; the sides' values are what they are before.
  /// Null for other products.
  mlir::Type narrow;
  bool isSigned = false; ///< narrow integers are
};

/// The operands of a sum of products, the first of its factors as rows; their
/// dimensions are left to the caller.
std::optional<Product> findFactors(mlir::linalg::GenericOp op,
                                   const codegen::KernelDomain &domain);

/// Finds the product that a kernel is, pointwise ops after it aside.
std::optional<Product> findProduct(const KernelAnalysis &kernel);

/// Neither the rows, the columns nor the depth are known to be fewer than
/// `least`.
bool isLargeProduct(const KernelAnalysis &kernel, const Product &product,
                    int64_t least);

/// What a block computes of a product's result.
struct TileSize {
  int64_t rows, columns;
};

/// Emits the number of blocks for one tile of the result each.
mlir::Value emitTileBlocks(const HostSizes &host, const Product &product,
                           TileSize tile);

/// How sums that are computed by square tiles of the result may be cut.
Splitting getSplitting(const KernelAnalysis &kernel, const Product &product,
                       int64_t tile);

/// What a block sums up: a tile, and from where to where the reduction goes.
struct TilePart {
  mlir::Value row, column, first, end;
  mlir::Value part; ///< null where sums are not cut
};

/// Runs `body` for each tile of the block, or for each part of each tile.
/// `unit` divides where parts begin.
void forEachTile(
    KernelWriter &writer, const Product &product, int64_t tile, int64_t unit,
    bool isSplit,
    llvm::function_ref<void(const Point &, const TilePart &)> body);

/// What sums begin with.
mlir::Value getInitialSum(KernelWriter &writer, const Product &product,
                          bool isSplit);

/// The tiles of the result by number: rows and columns from which a tile goes.
struct TileGrid {
  TileSize tile;
  mlir::Value rowTiles, columnTiles, count;
  TileGrid(KernelWriter &writer, const Product &product, TileSize tile);
  /// Writes the batch indices of a tile and returns its first row and column.
  std::pair<mlir::Value, mlir::Value> place(KernelWriter &writer,
                                            const Product &product,
                                            mlir::Value number,
                                            Point &point) const;
};

/// Stores a result of the product, through the ops after it, if it is inside;
/// of a part, its sum.
void storeResult(KernelWriter &writer, const Product &product, const Point &at,
                 const TilePart &part, mlir::Value row, mlir::Value column,
                 mlir::Value sum);

} // namespace onnx_aot::gpu_kernel

#endif // ONNX_AOT_CODEGEN_GPU_PRODUCT_H
