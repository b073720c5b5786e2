//===- Descriptor.cpp - OnnxAotModule as LLVM constants -------------------===//

#include "DescriptorBuilder.h"
#include "Stages.h"

using namespace onnx_aot;
using llvm::Constant;
using llvm::StringRef;

/// Declares the bytes that the weight object defines, and points to the
/// module's.
static Constant *declareWeights(llvm::Module &module,
                                const WeightPlace &place) {
  auto *byte = llvm::Type::getInt8Ty(module.getContext());
  auto *global = new llvm::GlobalVariable(
      module, llvm::ArrayType::get(byte, 0), /*isConstant=*/true,
      llvm::GlobalValue::ExternalLinkage, nullptr, place.symbol);
  global->setVisibility(llvm::GlobalValue::HiddenVisibility);
  global->setAlignment(llvm::Align(ONNX_AOT_ALIGNMENT));
  auto *offset = llvm::ConstantInt::get(
      llvm::Type::getInt64Ty(module.getContext()), place.offset);
  return llvm::ConstantExpr::getGetElementPtr(byte, global, offset);
}

void onnx_aot::addDescriptor(llvm::Module &module, const ModuleInfo &info,
                             const WeightImage &weights, llvm::Function *run,
                             llvm::Function *plan, StringRef target,
                             const ArtifactOptions &options,
                             const WeightPlace &place) {
  DescriptorBuilder b(module);
  llvm::SmallVector<Constant *> symbols;
  for (const std::string &symbol : info.symbols)
    symbols.push_back(b.string(symbol));
  bool isExternal = options.externalWeights && !weights.empty();
  bool isEmbedded = !options.externalWeights && !weights.empty();

  Constant *value = llvm::ConstantStruct::getAnon({
      b.i32(ONNX_AOT_ABI_VERSION),
      b.i32(sizeof(OnnxAotModule)),
      b.string(info.name),
      b.string(target),
      b.i32(info.inputs.size()),
      b.i32(info.outputs.size()),
      b.i32(info.symbols.size()),
      b.i32(0),
      b.values(info.inputs),
      b.values(info.outputs),
      b.array(symbols),
      b.i64(weights.getSize()),
      isEmbedded ? declareWeights(module, place) : b.null(),
      isExternal ? b.string(getWeightsFileName(options.path)) : b.null(),
      b.i64(weights.hash()),
      b.i64(info.arenaBytes),
      plan,
      run,
      b.device(options.device),
  });
  assert(module.getDataLayout().getTypeAllocSize(value->getType()) ==
             sizeof(OnnxAotModule) &&
         "the constant follows abi/Abi.h");
  new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, value,
                           options.prefix + "_module");
}
