//===- TensorImporter.cpp - tensors as attributes -------------------------===//

#include "TensorImporter.h"

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace onnx_aot::importer {

/// Tensors up to this size are uniqued in the context, larger ones are blobs.
static constexpr size_t kMaxUniquedBytes = 64 * 1024;

/// Width of an element in the file.
static unsigned getFileBits(Type elementType) {
  if (auto complex = dyn_cast<ComplexType>(elementType))
    return 2 * getFileBits(complex.getElementType());
  if (elementType.isInteger(1))
    return 8;
  return elementType.getIntOrFloatBitWidth();
}

/// Multiplies; true when the product does not fit.
static bool multiplyOverflows(uint64_t &product, uint64_t factor) {
  bool overflow = false;
  product = llvm::SaturatingMultiply(product, factor, &overflow);
  return overflow;
}

//===--- Reading ----------------------------------------------------------===//

namespace {
/// Reads one tensor; the checks are the function's reason to exist.
class TensorReader {
public:
  TensorReader(ImportContext &context, const ::onnx::TensorProto &tensor,
               Location loc)
      : context(context), tensor(tensor), loc(loc) {}

  FailureOr<TensorData> read();

private:
  LogicalResult refuse(const Twine &reason) {
    return context.refuse(loc, "tensor '" + tensor.name() + "' " + reason);
  }
  LogicalResult readType();
  LogicalResult readStrings();
  LogicalResult readTypedFields();
  template <typename Field>
  LogicalResult readNumbers(const Field &field, StringRef fieldName);
  LogicalResult setFileBytes(ArrayRef<char> bytes);
  int getNumTypedElements() const {
    return tensor.float_data_size() + tensor.int32_data_size() +
           tensor.int64_data_size() + tensor.double_data_size() +
           tensor.uint64_data_size() + tensor.string_data_size();
  }

  ImportContext &context;
  const ::onnx::TensorProto &tensor;
  Location loc;
  TensorData data;
  uint64_t numElements = 1;
  uint64_t numFileBytes = 0;
};
} // namespace

LogicalResult TensorReader::readType() {
  Type element =
      onnx::getElementTypeOf(context.mlirContext, tensor.data_type());
  if (!element)
    return refuse("has the element type number " + Twine(tensor.data_type()) +
                  ", which ONNX does not define");
  if (tensor.has_segment())
    return refuse("is stored in segments, which is not supported");
  if (static_cast<unsigned>(tensor.dims_size()) > context.options.limits.rank)
    return refuse("has rank " + Twine(tensor.dims_size()) +
                  " (supported: up to " + Twine(context.options.limits.rank) +
                  ")");
  bool overflow = false, isEmpty = false;
  for (int64_t dim : tensor.dims()) {
    if (dim < 0)
      return refuse("has a negative dimension " + Twine(dim));
    isEmpty |= dim == 0;
    if (dim != 0)
      overflow |= multiplyOverflows(numElements, dim);
  }
  // 16 is the size of the largest element.
  if (overflow || numElements > INT64_MAX / 16)
    return refuse("has more elements than can be stored");
  if (isEmpty)
    numElements = 0;
  SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  data.type = RankedTensorType::get(shape, element);
  if (!isa<onnx::StringType>(element))
    numFileBytes = llvm::divideCeil(numElements * getFileBits(element), 8);
  return success();
}

FailureOr<TensorData> TensorReader::read() {
  if (failed(readType()))
    return failure();
  bool isString = isa<onnx::StringType>(data.type.getElementType());
  bool isExternal = tensor.data_location() == ::onnx::TensorProto::EXTERNAL;
  if (isExternal) {
    if (isString)
      return refuse("of strings cannot be stored as external data");
    if (tensor.has_raw_data() || getNumTypedElements() != 0)
      return refuse("has data in the model file and external data");
    FailureOr<ArrayRef<char>> bytes =
        readExternalData(context, tensor, numFileBytes, loc);
    if (failed(bytes) || failed(setFileBytes(*bytes)))
      return failure();
    return std::move(data);
  }
  if (tensor.has_raw_data() &&
      !(tensor.raw_data().empty() && getNumTypedElements())) {
    if (getNumTypedElements() != 0)
      return refuse("has its elements twice, as raw data and as numbers");
    if (isString)
      return refuse("of strings cannot be stored as raw data");
    const std::string &raw = tensor.raw_data();
    if (raw.size() != numFileBytes)
      return refuse("has " + Twine(static_cast<uint64_t>(raw.size())) +
                    " bytes of raw data, but its shape needs " +
                    Twine(numFileBytes));
    if (failed(setFileBytes(ArrayRef(raw.data(), raw.size()))))
      return failure();
    return std::move(data);
  }
  if (failed(isString ? readStrings() : readTypedFields()))
    return failure();
  return std::move(data);
}

LogicalResult TensorReader::readStrings() {
  if (static_cast<uint64_t>(tensor.string_data_size()) != numElements ||
      getNumTypedElements() != tensor.string_data_size())
    return refuse("has " + Twine(tensor.string_data_size()) +
                  " strings, but its shape needs " + Twine(numElements));
  data.strings.assign(tensor.string_data().begin(), tensor.string_data().end());
  return success();
}

/// Brings a tensor's bytes as they are in the file into the form MLIR stores.
LogicalResult TensorReader::setFileBytes(ArrayRef<char> bytes) {
  Type element = data.type.getElementType();
  unsigned bits = getFileBits(element);
  if (element.isInteger(1)) {
    if (llvm::all_of(bytes, [](char byte) { return byte == 0 || byte == 1; })) {
      data.bytes = bytes;
      return success();
    }
    for (char byte : bytes)
      data.owned.push_back(byte != 0);
  } else if (bits < 8) {
    unsigned perByte = 8 / bits;
    data.owned.reserve(numElements);
    for (uint64_t i = 0; i < numElements; ++i)
      data.owned.push_back(static_cast<unsigned char>(bytes[i / perByte]) >>
                               (i % perByte * bits) &
                           ((1u << bits) - 1));
  } else if (reinterpret_cast<uintptr_t>(bytes.data()) % 16 % (bits / 8) != 0) {
    data.owned.assign(bytes.begin(), bytes.end());
  } else {
    data.bytes = bytes;
    return success();
  }
  data.bytes = data.owned;
  return success();
}

/// Appends the low bytes of a number.
static void append(std::vector<char> &bytes, uint64_t bits, unsigned numBytes) {
  for (unsigned i = 0; i < numBytes; ++i)
    bytes.push_back(static_cast<char>(bits >> (8 * i)));
}

/// Elements that are given one by one as numbers of another type.
template <typename Field>
LogicalResult TensorReader::readNumbers(const Field &field,
                                        StringRef fieldName) {
  using Number = std::decay_t<decltype(field[0])>;
  Type element = data.type.getElementType();
  auto complex = dyn_cast<ComplexType>(element);
  Type part = complex ? complex.getElementType() : element;
  unsigned bits = getFileBits(part);
  // Numbers below a byte come packed.
  uint64_t wanted = bits < 8 ? numFileBytes : numElements * (complex ? 2 : 1);
  if (static_cast<uint64_t>(field.size()) != wanted ||
      getNumTypedElements() != field.size())
    return refuse("has " + Twine(getNumTypedElements()) +
                  " numbers, but its shape and element type need " +
                  Twine(wanted) + " in " + fieldName);
  // Floats that are given as integers are bit patterns.
  bool isSigned = !isa<FloatType>(part) && !part.isUnsignedInteger();
  unsigned numBytes = llvm::divideCeil(bits, 8);
  std::vector<char> bytes;
  bytes.reserve(wanted * numBytes);
  for (Number number : field) {
    uint64_t pattern = 0;
    if constexpr (std::is_integral_v<Number>) {
      bool fits = element.isInteger(1) || bits == 64 ||
                  (isSigned && bits >= 8
                       ? llvm::isIntN(bits, static_cast<int64_t>(number))
                       : static_cast<uint64_t>(number) <
                             (uint64_t(1) << std::max(bits, 8u)));
      if (!fits)
        return refuse("has the element " + Twine(number) +
                      " that its type cannot hold");
      pattern =
          element.isInteger(1) ? number != 0 : static_cast<uint64_t>(number);
    } else {
      memcpy(&pattern, &number, sizeof(number));
    }
    append(bytes, pattern, numBytes);
  }
  if (bits < 8)
    return setFileBytes(bytes);
  data.owned = std::move(bytes);
  data.bytes = data.owned;
  return success();
}

LogicalResult TensorReader::readTypedFields() {
  switch (tensor.data_type()) {
  case ::onnx::TensorProto::FLOAT:
  case ::onnx::TensorProto::COMPLEX64:
    return readNumbers(tensor.float_data(), "float_data");
  case ::onnx::TensorProto::DOUBLE:
  case ::onnx::TensorProto::COMPLEX128:
    return readNumbers(tensor.double_data(), "double_data");
  case ::onnx::TensorProto::INT64:
    return readNumbers(tensor.int64_data(), "int64_data");
  case ::onnx::TensorProto::UINT32:
  case ::onnx::TensorProto::UINT64:
    return readNumbers(tensor.uint64_data(), "uint64_data");
  default:
    return readNumbers(tensor.int32_data(), "int32_data");
  }
}

FailureOr<TensorData> readTensor(ImportContext &context,
                                 const ::onnx::TensorProto &tensor,
                                 Location loc) {
  return TensorReader(context, tensor, loc).read();
}

//===--- Attributes -------------------------------------------------------===//

ElementsAttr makeElements(ImportContext &context, TensorData data,
                          StringRef name) {
  RankedTensorType type = data.type;
  Type element = type.getElementType();
  if (isa<onnx::StringType>(element))
    return DenseElementsAttr::get(type, data.strings);
  if (data.bytes.size() <= kMaxUniquedBytes) {
    if (type.getNumElements() == 0)
      return DenseElementsAttr::get(type, ArrayRef<Attribute>());
    if (element.isInteger(1)) {
      SmallVector<bool> values(data.bytes.begin(), data.bytes.end());
      return DenseElementsAttr::get(type, values);
    }
    return DenseElementsAttr::getFromRawBuffer(type, data.bytes);
  }
  constexpr size_t alignment = 16;
  AsmResourceBlob blob;
  if (!data.owned.empty()) {
    blob =
        HeapAsmResourceBlob::allocateAndCopyWithAlign(data.bytes, alignment,
                                                      /*dataIsMutable=*/false);
  } else {
    auto keepAlive = [storage = context.storage](void *, size_t, size_t) {};
    size_t actual = reinterpret_cast<uintptr_t>(data.bytes.data()) % alignment;
    blob = AsmResourceBlob(data.bytes, actual ? actual & -actual : alignment,
                           std::move(keepAlive), /*dataIsMutable=*/false);
  }
  return DenseResourceElementsAttr::get(type, name, std::move(blob));
}

FailureOr<ElementsAttr> importTensor(ImportContext &context,
                                     const ::onnx::TensorProto &tensor,
                                     Location loc, StringRef name) {
  if (Attribute known = context.tensors.lookup(&tensor))
    return cast<ElementsAttr>(known);
  FailureOr<TensorData> data = readTensor(context, tensor, loc);
  if (failed(data))
    return failure();
  ElementsAttr elements = makeElements(context, std::move(*data), name);
  context.tensors[&tensor] = elements;
  return elements;
}

FailureOr<ElementsAttr>
importSparseTensor(ImportContext &context,
                   const ::onnx::SparseTensorProto &tensor, Location loc,
                   StringRef name) {
  auto refuse = [&](const Twine &reason) -> LogicalResult {
    return context.refuse(loc, "sparse tensor '" + name + "' " + reason);
  };
  FailureOr<TensorData> values = readTensor(context, tensor.values(), loc);
  FailureOr<TensorData> indices = readTensor(context, tensor.indices(), loc);
  if (failed(values) || failed(indices))
    return failure();
  Type element = values->type.getElementType();
  if (isa<onnx::StringType>(element))
    return refuse("of strings is not supported");
  int64_t numValues = values->type.getNumElements(), rank = tensor.dims_size();
  ArrayRef<int64_t> indexShape = indices->type.getShape();
  bool isLinear = indexShape.size() == 1 && indexShape[0] == numValues;
  bool isCoordinates = indexShape.size() == 2 && indexShape[0] == numValues &&
                       indexShape[1] == rank;
  if (!indices->type.getElementType().isInteger(64) ||
      !(isLinear || isCoordinates))
    return refuse("has indices that are neither one nor " + Twine(rank) +
                  " int64 numbers for each value");
  uint64_t numElements = 1,
           bytesPerElement = llvm::divideCeil(getFileBits(element), 8);
  bool overflow = false;
  for (int64_t dim : tensor.dims())
    overflow |=
        dim < 0 || multiplyOverflows(numElements, std::max<int64_t>(dim, 0));
  uint64_t left = context.options.limits.denseBytes - context.denseBytes;
  if (overflow || numElements > left / bytesPerElement)
    return refuse("makes the model's sparse tensors larger than " +
                  Twine(context.options.limits.denseBytes) +
                  " bytes when dense");
  context.denseBytes += numElements * bytesPerElement;

  TensorData dense;
  dense.type = RankedTensorType::get(
      SmallVector<int64_t>(tensor.dims().begin(), tensor.dims().end()),
      element);
  dense.owned.resize(numElements * bytesPerElement);
  int64_t previous = -1;
  for (int64_t i = 0; i < numValues; ++i) {
    int64_t position = 0;
    auto readIndex = [&](int64_t at) {
      int64_t index;
      memcpy(&index, indices->bytes.data() + at * sizeof(index), sizeof(index));
      return index;
    };
    if (isLinear) {
      position = readIndex(i);
    } else {
      for (int64_t d = 0; d < rank; ++d) {
        int64_t index = readIndex(i * rank + d);
        if (index < 0 || index >= tensor.dims(d))
          return refuse("has an index outside its shape");
        position = position * tensor.dims(d) + index;
      }
    }
    if (position < 0 || static_cast<uint64_t>(position) >= numElements)
      return refuse("has an index outside its shape");
    if (position <= previous)
      return refuse("has indices that do not ascend");
    previous = position;
    memcpy(dense.owned.data() + position * bytesPerElement,
           values->bytes.data() + i * bytesPerElement, bytesPerElement);
  }
  dense.bytes = dense.owned;
  return makeElements(context, std::move(dense), name);
}

} // namespace onnx_aot::importer
