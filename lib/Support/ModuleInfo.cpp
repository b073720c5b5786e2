//===- ModuleInfo.cpp - what a compiled module says of itself -------------===//

#include "onnx-aot/Support/ModuleInfo.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace onnx_aot;

//===--- Element types ----------------------------------------------------===//

std::optional<OnnxAotType> onnx_aot::getAbiType(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type)) {
    if (complex.getElementType().isF32())
      return ONNX_AOT_COMPLEX64;
    if (complex.getElementType().isF64())
      return ONNX_AOT_COMPLEX128;
    return std::nullopt;
  }
  if (type.isF32())
    return ONNX_AOT_FLOAT32;
  if (type.isF64())
    return ONNX_AOT_FLOAT64;
  if (type.isF16())
    return ONNX_AOT_FLOAT16;
  if (type.isBF16())
    return ONNX_AOT_BFLOAT16;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return ONNX_AOT_BOOL;
  case 8:
    return isUnsigned ? ONNX_AOT_UINT8 : ONNX_AOT_INT8;
  case 16:
    return isUnsigned ? ONNX_AOT_UINT16 : ONNX_AOT_INT16;
  case 32:
    return isUnsigned ? ONNX_AOT_UINT32 : ONNX_AOT_INT32;
  case 64:
    return isUnsigned ? ONNX_AOT_UINT64 : ONNX_AOT_INT64;
  default:
    return std::nullopt;
  }
}

/// Name and size of every type, indexed by its code.
static constexpr std::pair<llvm::StringLiteral, unsigned> types[] = {
    {"undefined", 0}, {"float32", 4},   {"uint8", 1},       {"int8", 1},
    {"uint16", 2},    {"int16", 2},     {"int32", 4},       {"int64", 8},
    {"string", 0},    {"bool", 1},      {"float16", 2},     {"float64", 8},
    {"uint32", 4},    {"uint64", 8},    {"complex64", 8},   {"complex128", 16},
    {"bfloat16", 2},
};
static_assert(std::size(types) == ONNX_AOT_BFLOAT16 + 1);

StringRef onnx_aot::getTypeName(OnnxAotType type) { return types[type].first; }

unsigned onnx_aot::getTypeBytes(OnnxAotType type) { return types[type].second; }

//===--- Attribute form ---------------------------------------------------===//

static Attribute toAttribute(Builder &b, ArrayRef<ValueInfo> values) {
  auto convert = [&](const ValueInfo &value) -> Attribute {
    return b.getDictionaryAttr({
        b.getNamedAttr("dims", b.getDenseI64ArrayAttr(value.dims)),
        b.getNamedAttr("name", b.getStringAttr(value.name)),
        b.getNamedAttr("type", b.getStringAttr(getTypeName(value.type))),
    });
  };
  return b.getArrayAttr(llvm::map_to_vector(values, convert));
}

DictionaryAttr ModuleInfo::toAttribute(MLIRContext *context) const {
  Builder b(context);
  SmallVector<StringRef> symbolNames(symbols.begin(), symbols.end());
  return b.getDictionaryAttr({
      b.getNamedAttr("arena_bytes", b.getI64IntegerAttr(arenaBytes)),
      b.getNamedAttr("inputs", ::toAttribute(b, inputs)),
      b.getNamedAttr("name", b.getStringAttr(name)),
      b.getNamedAttr("outputs", ::toAttribute(b, outputs)),
      b.getNamedAttr("plan", b.getStringAttr(planFunction)),
      b.getNamedAttr("run", b.getStringAttr(runFunction)),
      b.getNamedAttr("symbols", b.getStrArrayAttr(symbolNames)),
  });
}

/// Reads one element of `inputs` or `outputs`.
static std::optional<ValueInfo> readValue(Attribute attr) {
  auto dict = dyn_cast<DictionaryAttr>(attr);
  if (!dict)
    return std::nullopt;
  auto name = dict.getAs<StringAttr>("name");
  auto type = dict.getAs<StringAttr>("type");
  auto dims = dict.getAs<DenseI64ArrayAttr>("dims");
  if (!name || !type || !dims || dims.size() > ONNX_AOT_MAX_RANK)
    return std::nullopt;
  const auto *entry = llvm::find_if(llvm::drop_begin(types), [&](auto &e) {
    return e.first == type.getValue();
  });
  if (entry == std::end(types))
    return std::nullopt;
  return ValueInfo{name.str(), OnnxAotType(entry - std::begin(types)),
                   llvm::to_vector(dims.asArrayRef())};
}

FailureOr<ModuleInfo> ModuleInfo::fromAttribute(ModuleOp module) {
  auto error = [&](const Twine &what) {
    return module.emitError("attribute '")
           << getAttributeName() << "' " << what;
  };
  auto dict = module->getAttrOfType<DictionaryAttr>(getAttributeName());
  if (!dict)
    return error("is missing: the module does not say what its inputs and "
                 "outputs are");
  ModuleInfo info;
  for (auto [key, field] : {std::pair("name", &info.name),
                            {"run", &info.runFunction},
                            {"plan", &info.planFunction}}) {
    auto text = dict.getAs<StringAttr>(key);
    if (!text)
      return error(Twine("lacks the string '") + key + "'");
    *field = text.str();
  }
  for (auto [key, field] :
       {std::pair("inputs", &info.inputs), {"outputs", &info.outputs}}) {
    auto values = dict.getAs<ArrayAttr>(key);
    if (!values)
      return error(Twine("lacks the array '") + key + "'");
    for (Attribute attr : values) {
      std::optional<ValueInfo> value = readValue(attr);
      if (!value)
        return error(Twine("has an element in '") + key +
                     "' that is not {dims, name, type}");
      field->push_back(std::move(*value));
    }
  }
  if (auto symbols = dict.getAs<ArrayAttr>("symbols"))
    for (Attribute symbol : symbols) {
      if (!isa<StringAttr>(symbol))
        return error("has a symbol that is not a string");
      info.symbols.push_back(cast<StringAttr>(symbol).str());
    }
  auto arena = dict.getAs<IntegerAttr>("arena_bytes");
  if (!arena || !arena.getType().isInteger(64) || arena.getInt() < 0)
    return error("lacks 'arena_bytes'");
  info.arenaBytes = arena.getInt();
  for (const ValueInfo &input : info.inputs)
    for (int64_t dim : input.dims)
      if (dim < 0 && -(dim + 1) >= int64_t(info.symbols.size()))
        return error("has an input dimension without a symbol");
  return info;
}
