//===- Slices.h - operands of products in shared memory ---------*- C++ -*-===//
//
// A block sums up a tile of results slice by slice of the reduction. Where the
// device copies to shared memory by itself (sm_80) and an operand is memory as
// it lies, there are two slices of each: the next is copied while the one
// before is multiplied.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CODEGEN_GPU_SLICES_H
#define ONNX_AOT_CODEGEN_GPU_SLICES_H

#include "Product.h"

namespace onnx_aot::gpu_kernel {

class Slices {
public:
  /// What a slice of an operand holds: `lines` rows or columns by `depth` steps
  /// of the reduction. The element (line, k) lies `lineStride * line +
  /// depthStride * k` elements from the first of `elements`.
  struct Form {
    int64_t lines, depth, threads, lineStride, depthStride, elements;
  };
  /// The sums after a slice of rows and one of columns.
  using Multiply = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::ValueRange sums, mlir::Value rows, mlir::Value columns)>;

  Slices(KernelWriter &writer, const Product &product, const Form &form);
  /// With rows that are in shared memory already, all slices of a part one
  /// after the other. Columns pass through the memory of `others`, which are
  /// not summed up at the same time, where that holds such.
  Slices(KernelWriter &writer, const Product &product, const Form &form,
         mlir::Value allRows, const Slices &others);

  /// Sums up a part of a tile. All threads take part.
  llvm::SmallVector<mlir::Value> sumUp(const Point &point, const TilePart &part,
                                       llvm::SmallVector<mlir::Value> sums,
                                       Multiply multiply);

private:
  bool isCopied(const Side &side) const;
  bool isDoubled() const;
  /// Brings slices of both operands to the shared memory of a number.
  void load(const Point &point, const TilePart &part, mlir::Value first,
            mlir::Value stage);
  void load(const Side &side, const Point &point, mlir::Value begin,
            mlir::Value first, mlir::Value slice);
  int64_t countElements() const {
    return form.elements * (isDoubled() ? 2 : 1);
  }
  mlir::Value getSlice(const Side &side, mlir::Value memory, mlir::Value stage);
  mlir::Value getRows(const TilePart &part, mlir::Value first,
                      mlir::Value stage);

  KernelWriter &w;
  const Product &product;
  Form form;
  mlir::Value allRows;       ///< null where rows are loaded
  mlir::Value rows, columns; ///< shared memory
};

} // namespace onnx_aot::gpu_kernel

#endif // ONNX_AOT_CODEGEN_GPU_SLICES_H
