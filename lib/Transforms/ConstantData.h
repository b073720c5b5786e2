//===- ConstantData.h - constants as plain bytes ----------------*- C++ -*-===//
//
// Constants come as dense attributes (small), as splats, or as resource blobs
// (large). Passes that compute with them see plain elements here.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_LIB_TRANSFORMS_CONSTANTDATA_H
#define ONNX_AOT_LIB_TRANSFORMS_CONSTANTDATA_H

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#include "mlir/IR/AsmState.h"

#include <memory>

namespace onnx_aot {

/// The elements of a constant in row-major order, each a whole number of bytes
/// in the host's order; a bool takes one byte, 0 or 1. Refers to the
/// attribute's storage where it can.
class ConstantData {
public:
  /// Nothing for a value that is not an onnx.Constant, or whose elements are
  /// not numbers of whole bytes (strings, packed 4-bit types).
  static std::optional<ConstantData> get(mlir::Value value);
  static std::optional<ConstantData> get(mlir::ElementsAttr attr);

  mlir::RankedTensorType getType() const { return type; }
  mlir::Type getElementType() const { return type.getElementType(); }
  mlir::ArrayRef<int64_t> getShape() const { return type.getShape(); }
  int64_t size() const { return type.getNumElements(); }
  /// All elements are one and stored once.
  bool isSplat() const { return splat; }
  unsigned getElementBytes() const { return elementBytes; }
  /// The bytes of one element.
  const char *operator[](int64_t index) const {
    return bytes.data() + (splat ? 0 : index * elementBytes);
  }
  /// One element of a float type as a double; f64 and below are exact.
  double getFloat(int64_t index) const;
  /// One element of an integer type, sign- or zero-extended by its type.
  int64_t getInteger(int64_t index) const;

private:
  mlir::RankedTensorType type;
  mlir::ArrayRef<char> bytes;
  std::shared_ptr<std::vector<char>> owned;
  unsigned elementBytes = 0;
  bool splat = false;
};

/// Bytes of one element as ConstantData stores it; 0 where it does not.
unsigned getElementBytes(mlir::Type elementType);

/// Collects the elements of a new constant.
class ConstantBuilder {
public:
  /// The type must be static and of an element type ConstantData can hold.
  explicit ConstantBuilder(mlir::RankedTensorType type);

  char *operator[](int64_t index) { return data + index * elementBytes; }
  int64_t size() const { return type.getNumElements(); }
  void set(int64_t index, const char *element) {
    memcpy((*this)[index], element, elementBytes);
  }
  /// Rounds to the element type (to nearest, ties to even).
  void setFloat(int64_t index, double value);
  /// Wraps to the element type.
  void setInteger(int64_t index, int64_t value);

  /// The attribute: dense when small, else a resource blob. Call once.
  mlir::ElementsAttr finish();

private:
  mlir::RankedTensorType type;
  unsigned elementBytes;
  mlir::AsmResourceBlob blob;
  char *data;
};

/// The same elements under another shape of as many elements.
mlir::ElementsAttr reshapeConstant(mlir::ElementsAttr attr,
                                   mlir::ArrayRef<int64_t> shape);

/// A constant of equal elements, stored once.
mlir::ElementsAttr makeSplat(mlir::RankedTensorType type, const char *element);

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_TRANSFORMS_CONSTANTDATA_H
