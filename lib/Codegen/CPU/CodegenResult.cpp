//===- CodegenResult.cpp - interface and weights for Emit -------------------===//

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Pipeline.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

static std::vector<ValueInfo> readValues(ModuleOp module, StringRef attribute) {
  std::vector<ValueInfo> values;
  for (Attribute entry : module->getAttrOfType<ArrayAttr>(attribute)) {
    auto info = cast<DictionaryAttr>(entry);
    ValueInfo value;
    value.name = cast<StringAttr>(info.get("name")).getValue().str();
    value.type = static_cast<OnnxAotType>(
        cast<IntegerAttr>(info.get("type")).getInt());
    value.dims =
        SmallVector<int64_t>(cast<DenseI64ArrayAttr>(info.get("dims")).asArrayRef());
    if (auto part = dyn_cast_or_null<IntegerAttr>(info.get(kPartKey)))
      value.part = part.getInt();
    value.isUpdated = info.contains(kUpdatedKey);
    values.push_back(std::move(value));
  }
  return values;
}

FailureOr<CodegenResult> onnx_aot::getCodegenResult(ModuleOp module) {
  auto weights = module->getAttrOfType<ArrayAttr>(kWeightsAttr);
  if (!weights || !module->hasAttr(kInputsAttr))
    return module.emitError("module did not pass through code generation");
  CodegenResult result;
  if (std::optional<StringRef> name = module.getName())
    result.info.name = name->str();
  result.info.inputs = readValues(module, kInputsAttr);
  result.info.outputs = readValues(module, kOutputsAttr);
  if (auto symbols = module->getAttrOfType<ArrayAttr>(kAbiSymbolsAttr))
    for (auto symbol : symbols.getAsRange<StringAttr>())
      result.info.symbols.push_back(symbol.getValue().str());
  if (auto arena = module->getAttrOfType<IntegerAttr>(kArenaBytesAttr))
    result.info.arenaBytes = arena.getInt();
  for (auto segment : weights.getAsRange<ArrayAttr>()) {
    uint64_t offset = cast<IntegerAttr>(segment[0]).getInt();
    ArrayRef<char> bytes;
    if (auto dense = dyn_cast<DenseElementsAttr>(segment[1]))
      bytes = dense.getRawData();
    else if (auto resource = dyn_cast<DenseResourceElementsAttr>(segment[1]))
      if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
        bytes = blob->getData();
    if (result.weights.append(bytes) != offset)
      return module.emitError("weights do not lie where the code expects them");
  }
  return result;
}
