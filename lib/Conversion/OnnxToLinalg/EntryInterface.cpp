//===- EntryInterface.cpp - keep what the entry's onnx types say ----------===//

#include "EntryInterface.h"

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Support/EntryAttributes.h"
#include "onnx-aot/Support/ModuleInfo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace onnx_aot;

/// The dictionary of one value, or an error at the function.
static FailureOr<DictionaryAttr>
describe(func::FuncOp entry, Type type, DictionaryAttr attributes,
         StringRef role, function_ref<int64_t(onnx::Dim)> size) {
  std::optional<onnx::Shape> shape = onnx::getShape(type);
  std::optional<OnnxAotType> abiType;
  if (shape && isa<onnx::StringType>(getElementTypeOrSelf(type)))
    abiType = ONNX_AOT_STRING;
  else if (shape)
    abiType = getAbiType(getElementTypeOrSelf(type));
  auto get = [&](StringRef key) {
    return attributes ? attributes.get(key) : Attribute();
  };
  auto nameAttr = dyn_cast_or_null<StringAttr>(get(onnx::kNameAttr));
  Builder builder(entry.getContext());
  if (!abiType)
    return entry.emitError("graph ")
           << role << " '" << (nameAttr ? nameAttr.getValue() : "")
           << "' of type " << type
           << " is not supported at the module's border (supported: "
           << "ranked tensors of numbers, bool and strings)";
  if (shape->size() > ONNX_AOT_MAX_RANK)
    return entry.emitError("graph ")
           << role << " '" << (nameAttr ? nameAttr.getValue() : "")
           << "' has rank " << shape->size() << " (supported: up to "
           << ONNX_AOT_MAX_RANK << ")";
  SmallVector<int64_t> dims;
  for (onnx::Dim dim : *shape)
    dims.push_back(dim.isStatic() ? dim.getStatic() : size(dim));
  NamedAttrList list;
  list.set("name", nameAttr ? nameAttr : builder.getStringAttr(""));
  list.set("type", builder.getI32IntegerAttr(*abiType));
  list.set("dims", builder.getDenseI64ArrayAttr(dims));
  if (auto part = dyn_cast_or_null<IntegerAttr>(get(kPartAttr)))
    list.set(kPartKey, part);
  return list.getDictionary(entry.getContext());
}

LogicalResult onnx_aot::describeEntry(ModuleOp module) {
  auto entry = module.lookupSymbol<func::FuncOp>("main");
  if (!entry)
    return success();
  Builder builder(module.getContext());
  auto names = module->getAttrOfType<ArrayAttr>(onnx::kSymbolsAttr);
  SmallVector<Attribute> symbols;
  DenseMap<AffineExpr, int64_t> numbers;
  auto number = [&](onnx::Dim dim) -> int64_t {
    auto symbol = dyn_cast_or_null<AffineSymbolExpr>(dim.getExpr());
    // Only the importer makes entry arguments, and it gives each a symbol.
    auto [place, isNew] = numbers.try_emplace(dim.getExpr(), symbols.size());
    if (isNew) {
      StringRef name;
      if (names && symbol && symbol.getPosition() < names.size())
        if (auto attr = dyn_cast<StringAttr>(names[symbol.getPosition()]))
          name = attr.getValue();
      symbols.push_back(builder.getStringAttr(
          name.empty() ? "dim" + Twine(symbols.size()) : Twine(name)));
    }
    return -1 - place->second;
  };
  bool bad = false;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    FailureOr<DictionaryAttr> info =
        describe(entry, entry.getArgument(i).getType(), entry.getArgAttrDict(i),
                 "input", number);
    bad |= failed(info);
    if (succeeded(info))
      entry.setArgAttr(i, kAbiValueAttr, *info);
  }
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    FailureOr<DictionaryAttr> info =
        describe(entry, entry.getResultTypes()[i], entry.getResultAttrDict(i),
                 "output", [](onnx::Dim) -> int64_t { return -1; });
    bad |= failed(info);
    if (succeeded(info))
      entry.setResultAttr(i, kAbiValueAttr, *info);
  }
  module->setAttr(kAbiSymbolsAttr, builder.getArrayAttr(symbols));
  return failure(bad);
}
