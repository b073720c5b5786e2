//===- Descriptor.cpp - OnnxAotModule as LLVM constants -------------------===//

#include "Stages.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"

using namespace onnx_aot;
using llvm::Constant;
using llvm::StringRef;

namespace {
/// Makes the private constants that the descriptor points to.
class DescriptorBuilder {
public:
  explicit DescriptorBuilder(llvm::Module &module)
      : module(module), context(module.getContext()),
        pointer(llvm::PointerType::get(context, 0)) {}

  Constant *null() { return llvm::ConstantPointerNull::get(pointer); }
  Constant *i32(int32_t value) {
    return llvm::ConstantInt::getSigned(llvm::Type::getInt32Ty(context), value);
  }
  Constant *i64(uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), value);
  }

  /// Pointer to a terminated string. Names with a NUL inside end there.
  Constant *string(StringRef text) {
    return privateConstant(llvm::ConstantDataArray::getString(context, text));
  }

  /// Pointer to an array of equally typed elements; null when there are none.
  Constant *array(llvm::ArrayRef<Constant *> elements) {
    if (elements.empty())
      return null();
    auto *type =
        llvm::ArrayType::get(elements.front()->getType(), elements.size());
    return privateConstant(llvm::ConstantArray::get(type, elements));
  }

  /// Pointer to the OnnxAotValueInfo of each value.
  Constant *values(llvm::ArrayRef<ValueInfo> infos) {
    llvm::SmallVector<Constant *> elements;
    for (const ValueInfo &info : infos) {
      llvm::SmallVector<Constant *> dims;
      for (int64_t dim : info.dims)
        dims.push_back(i64(dim));
      elements.push_back(
          llvm::ConstantStruct::getAnon({string(info.name), i32(info.type),
                                         i32(info.dims.size()), array(dims),
                                         i32(getFlags(info)), i32(0)}));
    }
    return array(elements);
  }

private:
  static int32_t getFlags(const ValueInfo &info) {
    return info.part | (info.isUpdated ? ONNX_AOT_VALUE_IN_OUT : 0);
  }

  Constant *privateConstant(Constant *value) {
    auto *global = new llvm::GlobalVariable(
        module, value->getType(), /*isConstant=*/true,
        llvm::GlobalValue::PrivateLinkage, value, "descriptor");
    global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return global;
  }

  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::PointerType *pointer;
};
} // namespace

/// Declares the bytes that the weight object defines.
static Constant *declareWeights(llvm::Module &module, StringRef prefix) {
  auto *byte = llvm::Type::getInt8Ty(module.getContext());
  auto *global = new llvm::GlobalVariable(
      module, llvm::ArrayType::get(byte, 0), /*isConstant=*/true,
      llvm::GlobalValue::ExternalLinkage, nullptr, getWeightsSymbol(prefix));
  global->setVisibility(llvm::GlobalValue::HiddenVisibility);
  global->setAlignment(llvm::Align(ONNX_AOT_ALIGNMENT));
  return global;
}

void onnx_aot::addDescriptor(llvm::Module &module, const ModuleInfo &info,
                             const WeightImage &weights, llvm::Function *run,
                             llvm::Function *plan, StringRef target,
                             const ArtifactOptions &options) {
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
      isEmbedded ? declareWeights(module, options.prefix) : b.null(),
      isExternal ? b.string(getWeightsFileName(options.path)) : b.null(),
      b.i64(weights.hash()),
      b.i64(info.arenaBytes),
      plan,
      run,
  });
  assert(module.getDataLayout().getTypeAllocSize(value->getType()) ==
             sizeof(OnnxAotModule) &&
         "the constant follows abi/Abi.h");
  new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, value,
                           options.prefix + "_module");
}
