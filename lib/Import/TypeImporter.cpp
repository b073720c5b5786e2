//===- TypeImporter.cpp - ONNX types and MLIR types -----------------------===//

#include "TypeImporter.h"

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace onnx_aot::importer {

/// Sequences of optionals of sequences: real models have one level.
static constexpr unsigned kMaxTypeDepth = 8;

//===--- Names of types ---------------------------------------------------===//

/// Element types by data type number, as type strings spell them.
static constexpr llvm::StringLiteral kElementNames[] = {"",
                                                        "float",
                                                        "uint8",
                                                        "int8",
                                                        "uint16",
                                                        "int16",
                                                        "int32",
                                                        "int64",
                                                        "string",
                                                        "bool",
                                                        "float16",
                                                        "double",
                                                        "uint32",
                                                        "uint64",
                                                        "complex64",
                                                        "complex128",
                                                        "bfloat16",
                                                        "float8e4m3fn",
                                                        "float8e4m3fnuz",
                                                        "float8e5m2",
                                                        "float8e5m2fnuz",
                                                        "uint4",
                                                        "int4",
                                                        "float4e2m1",
                                                        "float8e8m0",
                                                        "uint2",
                                                        "int2"};

/// A sequence that has no entry yet knows their element type only.
static Type getEntryType(onnx::SequenceType sequence) {
  Type entry = sequence.getElementType();
  if (isa<TensorType, onnx::SequenceType, onnx::OptionalType>(entry))
    return entry;
  return UnrankedTensorType::get(entry);
}

std::string getTypeString(Type type) {
  if (auto sequence = dyn_cast<onnx::SequenceType>(type))
    return "seq(" + getTypeString(getEntryType(sequence)) + ")";
  if (auto optional = dyn_cast<onnx::OptionalType>(type))
    return "optional(" + getTypeString(optional.getElementType()) + ")";
  auto tensor = dyn_cast<TensorType>(type);
  int64_t code =
      tensor ? onnx::getDataTypeOf(tensor.getElementType()).value_or(0) : 0;
  if (code <= 0 || code >= static_cast<int64_t>(std::size(kElementNames)))
    return "";
  return ("tensor(" + kElementNames[code] + ")").str();
}

Type getTypeOfString(MLIRContext *context, StringRef text) {
  if (!text.consume_back(")"))
    return {};
  if (text.consume_front("seq(")) {
    Type element = getTypeOfString(context, text);
    return element ? onnx::SequenceType::get(context, element) : Type();
  }
  if (text.consume_front("optional(")) {
    Type element = getTypeOfString(context, text);
    return element ? onnx::OptionalType::get(context, element) : Type();
  }
  if (!text.consume_front("tensor("))
    return {};
  for (auto [code, name] : llvm::enumerate(kElementNames))
    if (code && name == text)
      if (Type element = onnx::getElementTypeOf(context, code))
        return UnrankedTensorType::get(element);
  return {};
}

//===--- Graph inputs -----------------------------------------------------===//

/// The name of a dimension. Paddle's exporter calls every size that it does not
/// know "?": that is no name, and two such sizes may well differ.
static StringRef getDimName(const ::onnx::TensorShapeProto::Dimension &dim) {
  StringRef name = dim.dim_param();
  return name == "?" ? StringRef() : name;
}

void declareInputSymbols(ImportContext &context,
                         const ::onnx::GraphProto &graph) {
  for (const ::onnx::ValueInfoProto &input : graph.input())
    for (const auto &dim : input.type().tensor_type().shape().dim())
      if (!getDimName(dim).empty())
        context.inputSymbols.insert(getDimName(dim).str());
}

/// A symbol for a dimension without a name. A model's own name is never taken:
/// that would claim two sizes to be equal.
static unsigned addFreshSymbol(ImportContext &context, const Twine &wanted) {
  std::string name = wanted.str();
  while (!context.inputSymbols.insert(name).second)
    name += "_";
  return onnx::getOrAddSymbol(context.module, name);
}

static FailureOr<Type> importTensorType(ImportContext &context,
                                        const ::onnx::TypeProto::Tensor &tensor,
                                        StringRef name, Location loc) {
  MLIRContext *mlirContext = context.mlirContext;
  Type element = onnx::getElementTypeOf(mlirContext, tensor.elem_type());
  if (!element)
    return context.refuse(
        loc, "input '" + name + "' has the element type number " +
                 Twine(tensor.elem_type()) + ", which ONNX does not define");
  if (!tensor.has_shape())
    return Type(UnrankedTensorType::get(element));
  if (static_cast<unsigned>(tensor.shape().dim_size()) >
      context.options.limits.rank)
    return context.refuse(loc, "input '" + name + "' has rank " +
                                   Twine(tensor.shape().dim_size()) +
                                   " (supported: up to " +
                                   Twine(context.options.limits.rank) + ")");
  onnx::Shape shape;
  // The element count must stay countable.
  int64_t elements = 1;
  for (auto [index, dim] : llvm::enumerate(tensor.shape().dim())) {
    int64_t size = dim.has_dim_value() ? dim.dim_value() : -1;
    std::string symbol = getDimName(dim).str();
    if (symbol.empty() && size < 0)
      symbol = (name + "_dim" + Twine(index)).str();
    for (const auto &[overridden, value] : context.options.dims)
      if (size < 0 && overridden == symbol) {
        size = value;
        context.overriddenDims.insert(symbol);
      }
    if (size < 0) {
      unsigned id = getDimName(dim).empty()
                        ? addFreshSymbol(context, symbol)
                        : onnx::getOrAddSymbol(context.module, symbol);
      shape.push_back(onnx::Dim(getAffineSymbolExpr(id, mlirContext)));
      continue;
    }
    shape.push_back(onnx::Dim::constant(mlirContext, size));
    if (llvm::MulOverflow(elements, std::max<int64_t>(size, 1), elements))
      return context.refuse(loc, "input '" + name +
                                     "' has more elements than 64 "
                                     "bits can count");
  }
  return Type(onnx::getTensorType(shape, element));
}

FailureOr<Type> importInputType(ImportContext &context,
                                const ::onnx::ValueInfoProto &input,
                                Location loc) {
  if (input.type().has_tensor_type())
    return importTensorType(context, input.type().tensor_type(), input.name(),
                            loc);
  if (Type type = importDeclaredType(context.mlirContext, input.type()))
    return type;
  return context.refuse(loc, "input '" + input.name() +
                                 "' has no type or one that is not supported "
                                 "(supported: tensor, sequence, optional)");
}

//===--- Declared types ---------------------------------------------------===//

static Type importDeclared(MLIRContext *context, const ::onnx::TypeProto &type,
                           unsigned depth, bool isEntry = false) {
  if (depth > kMaxTypeDepth)
    return {};
  if (type.has_sequence_type()) {
    Type element = importDeclared(context, type.sequence_type().elem_type(),
                                  depth + 1, true);
    return element ? onnx::SequenceType::get(context, element) : Type();
  }
  if (type.has_optional_type()) {
    Type element =
        importDeclared(context, type.optional_type().elem_type(), depth + 1);
    return element ? onnx::OptionalType::get(context, element) : Type();
  }
  Type element =
      onnx::getElementTypeOf(context, type.tensor_type().elem_type());
  if (!element)
    return {};
  // Entries differ in size, and what is declared of that is not relied on; nor
  // is that of rank 0, which exporters write for entries of any rank.
  int rank = type.tensor_type().shape().dim_size();
  if (depth > 0 && type.tensor_type().has_shape() && (rank > 0 || !isEntry))
    return onnx::getTensorType(onnx::Shape(rank, onnx::Dim::unknown()),
                               element);
  return UnrankedTensorType::get(element);
}

Type importDeclaredType(MLIRContext *context, const ::onnx::TypeProto &type) {
  return importDeclared(context, type, 0);
}

::onnx::TypeProto exportType(Type type) {
  ::onnx::TypeProto proto;
  if (auto sequence = dyn_cast<onnx::SequenceType>(type)) {
    *proto.mutable_sequence_type()->mutable_elem_type() =
        exportType(getEntryType(sequence));
  } else if (auto optional = dyn_cast<onnx::OptionalType>(type)) {
    *proto.mutable_optional_type()->mutable_elem_type() =
        exportType(optional.getElementType());
  } else if (auto tensor = dyn_cast<TensorType>(type)) {
    auto *target = proto.mutable_tensor_type();
    target->set_elem_type(
        onnx::getDataTypeOf(tensor.getElementType()).value_or(0));
    if (tensor.hasRank()) {
      target->mutable_shape();
      for (int64_t size : tensor.getShape()) {
        auto *dim = target->mutable_shape()->add_dim();
        if (!ShapedType::isDynamic(size))
          dim->set_dim_value(size);
      }
    }
  }
  return proto;
}

} // namespace onnx_aot::importer
