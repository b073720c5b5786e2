//===- CodegenResult.cpp - interface and weights for Emit -----------------===//

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Pipeline.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

/// The inputs or outputs as the module states them. The module may be a file's,
/// so nothing about its attributes is certain.
static LogicalResult readValues(ModuleOp module, StringRef attribute,
                                int64_t lowestDim,
                                std::vector<ValueInfo> &values) {
  auto entries = module->getAttrOfType<ArrayAttr>(attribute);
  if (!entries)
    return module.emitError("'") << attribute << "' is not a list";
  for (Attribute entry : entries) {
    FailureOr<ValueInfo> value = readValueInfo(entry);
    if (failed(value) ||
        llvm::any_of(value->dims, [&](int64_t dim) { return dim < lowestDim; }))
      return module.emitError("'")
             << attribute << "' holds " << entry
             << " (expected {name, type, dims} with a type of abi/Abi.h and "
                "dims from "
             << lowestDim << ")";
    auto info = cast<DictionaryAttr>(entry);
    value->isUpdated = info.contains(kUpdatedKey);
    if (auto part = info.getAs<IntegerAttr>(kPartKey))
      value->part = part.getValue().getSExtValue();
    values.push_back(std::move(*value));
  }
  return success();
}

/// The bytes of a weight; none when the attribute holds no numbers.
static std::optional<ArrayRef<char>> getBytes(Attribute value) {
  if (auto dense = dyn_cast<DenseIntOrFPElementsAttr>(value))
    return dense.getRawData();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      return blob->getData();
  return std::nullopt;
}

/// Appends the [offset, value] pairs to the image.
static LogicalResult readWeights(ModuleOp module, ArrayAttr weights,
                                 WeightImage &image) {
  for (Attribute entry : weights) {
    auto segment = dyn_cast<ArrayAttr>(entry);
    auto offset = segment && segment.size() == 2
                      ? dyn_cast<IntegerAttr>(segment[0])
                      : IntegerAttr();
    std::optional<ArrayRef<char>> bytes =
        offset && offset.getType().isInteger(64) ? getBytes(segment[1])
                                                 : std::nullopt;
    if (!bytes)
      return module.emitError("'")
             << kWeightsAttr << "' is not a list of [offset, tensor]";
    if (image.append(*bytes) != static_cast<uint64_t>(offset.getInt()))
      return module.emitError("weights do not lie where the code expects them");
  }
  return success();
}

/// What passes noted for a report; a file may say anything.
static MemoryUse readMemory(ModuleOp module) {
  MemoryUse memory;
  auto readNumber = [&](StringRef name) -> int64_t {
    auto number = module->getAttrOfType<IntegerAttr>(name);
    return number && number.getType().isInteger(64) ? number.getInt() : 0;
  };
  memory.naturalBytes = readNumber(kNaturalBytesAttr);
  memory.repeatedSteps = readNumber(kRepeatedAttr);
  if (auto steps = module->getAttrOfType<ArrayAttr>(kStepsAttr))
    for (Attribute step : steps)
      if (auto name = dyn_cast<StringAttr>(step))
        memory.steps.push_back(name.getValue().str());
  auto numbers = module->getAttrOfType<DenseI64ArrayAttr>(kBuffersAttr);
  if (!numbers)
    return memory;
  int64_t count = memory.steps.size();
  for (ArrayRef<int64_t> rest = numbers; rest.size() >= 4;
       rest = rest.drop_front(4))
    if (rest[0] >= 0 && rest[0] <= rest[1] && rest[1] < count)
      memory.buffers.push_back({rest[0], rest[1], rest[2], rest[3]});
  return memory;
}

FailureOr<CodegenResult> onnx_aot::getCodegenResult(ModuleOp module) {
  auto weights = module->getAttrOfType<ArrayAttr>(kWeightsAttr);
  if (!weights || !module->hasAttr(kInputsAttr))
    return module.emitError("module did not pass through code generation");
  CodegenResult result;
  if (std::optional<StringRef> name = module.getName())
    result.info.name = name->str();
  if (Attribute symbols = module->getAttr(kAbiSymbolsAttr)) {
    auto names = dyn_cast<ArrayAttr>(symbols);
    if (!names || !llvm::all_of(names, llvm::IsaPred<StringAttr>))
      return module.emitError("'")
             << kAbiSymbolsAttr << "' is not a list of names";
    for (auto symbol : names.getAsRange<StringAttr>())
      result.info.symbols.push_back(symbol.getValue().str());
  }
  int64_t lowest = -static_cast<int64_t>(result.info.symbols.size());
  if (failed(readValues(module, kInputsAttr, lowest, result.info.inputs)) ||
      failed(readValues(module, kOutputsAttr, -1, result.info.outputs)) ||
      failed(readWeights(module, weights, result.weights)))
    return failure();
  if (auto arena = module->getAttrOfType<IntegerAttr>(kArenaBytesAttr))
    if (arena.getType().isInteger(64))
      result.info.arenaBytes = arena.getInt();
  result.memory = readMemory(module);
  return result;
}
