//===- ConstantData.cpp - constants as plain bytes ------------------------===//

#include "ConstantData.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace onnx_aot;

/// Larger constants go to resource blobs, which the context does not keep
/// hashed and uniqued.
static constexpr size_t kMaxDenseBytes = 64 * 1024;
/// Blobs are as aligned as the widest vector loads want.
static constexpr size_t kBlobAlignment = 64;

unsigned onnx_aot::getElementBytes(Type elementType) {
  if (elementType.isInteger(1))
    return 1;
  if (!elementType.isIntOrFloat())
    return 0;
  unsigned bits = elementType.getIntOrFloatBitWidth();
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? bits / 8 : 0;
}

//===--- Reading ----------------------------------------------------------===//

std::optional<ConstantData> ConstantData::get(Value value) {
  auto constant =
      value ? value.getDefiningOp<onnx::ConstantOp>() : onnx::ConstantOp();
  return constant ? get(constant.getValue()) : std::nullopt;
}

std::optional<ConstantData> ConstantData::get(ElementsAttr attr) {
  ConstantData constant;
  constant.type = dyn_cast<RankedTensorType>(attr.getShapedType());
  if (!constant.type)
    return std::nullopt;
  constant.elementBytes =
      ::onnx_aot::getElementBytes(constant.getElementType());
  if (constant.elementBytes == 0)
    return std::nullopt;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob ||
        blob->getData().size() !=
            static_cast<size_t>(constant.size()) * constant.elementBytes)
      return std::nullopt;
    constant.bytes = blob->getData();
    return constant;
  }
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  if (!dense)
    return std::nullopt;
  constant.splat = dense.isSplat();
  if (!constant.getElementType().isInteger(1)) {
    constant.bytes = dense.getRawData();
    return constant;
  }
  // The attribute packs bools into bits.
  constant.owned = std::make_shared<std::vector<char>>();
  if (constant.splat)
    constant.owned->push_back(dense.getSplatValue<bool>());
  else
    llvm::append_range(*constant.owned, dense.getValues<bool>());
  constant.bytes = *constant.owned;
  return constant;
}

double ConstantData::getFloat(int64_t index) const {
  const char *element = (*this)[index];
  if (getElementType().isF32()) {
    float number;
    memcpy(&number, element, sizeof(number));
    return number;
  }
  uint64_t bits = 0;
  memcpy(&bits, element, elementBytes);
  APFloat number(cast<FloatType>(getElementType()).getFloatSemantics(),
                 APInt(8 * elementBytes, bits));
  bool losesInfo;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToDouble();
}

int64_t ConstantData::getInteger(int64_t index) const {
  uint64_t bits = 0;
  memcpy(&bits, (*this)[index], elementBytes);
  if (getElementType().isUnsignedInteger() || getElementType().isInteger(1))
    return static_cast<int64_t>(bits);
  return APInt(8 * elementBytes, bits).getSExtValue();
}

//===--- Making -----------------------------------------------------------===//

ConstantBuilder::ConstantBuilder(RankedTensorType type)
    : type(type), elementBytes(getElementBytes(type.getElementType())) {
  size_t bytes = std::max<size_t>(1, type.getNumElements() * elementBytes);
  blob = HeapAsmResourceBlob::allocate(bytes, kBlobAlignment);
  data = blob.getMutableData().data();
}

void ConstantBuilder::setFloat(int64_t index, double value) {
  if (type.getElementType().isF32()) {
    auto number = static_cast<float>(value);
    return set(index, reinterpret_cast<const char *>(&number));
  }
  APFloat number(value);
  bool losesInfo;
  number.convert(cast<FloatType>(type.getElementType()).getFloatSemantics(),
                 APFloat::rmNearestTiesToEven, &losesInfo);
  uint64_t bits = number.bitcastToAPInt().getZExtValue();
  set(index, reinterpret_cast<const char *>(&bits));
}

void ConstantBuilder::setInteger(int64_t index, int64_t value) {
  if (type.getElementType().isInteger(1))
    value = value != 0;
  set(index, reinterpret_cast<const char *>(&value));
}

ElementsAttr ConstantBuilder::finish() {
  size_t bytes = size() * elementBytes;
  ArrayRef<char> elements(data, bytes);
  if (bytes > kMaxDenseBytes)
    return DenseResourceElementsAttr::get(type, "folded", std::move(blob));
  if (!type.getElementType().isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, elements);
  SmallVector<bool> bools(elements.begin(), elements.end());
  return DenseElementsAttr::get(type, bools);
}

ElementsAttr onnx_aot::reshapeConstant(ElementsAttr attr,
                                       ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, attr.getElementType());
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr))
    return DenseResourceElementsAttr::get(type, resource.getRawHandle());
  if (auto dense = dyn_cast<DenseElementsAttr>(attr))
    return dense.reshape(type);
  return {};
}

ElementsAttr onnx_aot::makeSplat(RankedTensorType type, const char *element) {
  if (type.getNumElements() == 0)
    return ConstantBuilder(type).finish();
  ConstantBuilder one(RankedTensorType::get({}, type.getElementType()));
  one.set(0, element);
  return cast<DenseElementsAttr>(one.finish()).resizeSplat(type);
}
