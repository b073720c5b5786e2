//===- DescriptorBuilder.h - descriptors as LLVM constants ------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_EMIT_DESCRIPTORBUILDER_H
#define ONNX_AOT_LIB_EMIT_DESCRIPTORBUILDER_H

#include "onnx-aot/Emit/DeviceCode.h"
#include "onnx-aot/Support/ModuleInfo.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Module.h"

namespace onnx_aot {

/// Makes the private constants that the descriptor points to.
class DescriptorBuilder {
public:
  explicit DescriptorBuilder(llvm::Module &module)
      : module(module), context(module.getContext()),
        pointer(llvm::PointerType::get(context, 0)) {}

  llvm::Constant *null() { return llvm::ConstantPointerNull::get(pointer); }
  llvm::Constant *i32(int32_t value) {
    return llvm::ConstantInt::getSigned(llvm::Type::getInt32Ty(context), value);
  }
  llvm::Constant *i64(uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), value);
  }

  llvm::Constant *f64(double value) {
    return llvm::ConstantFP::get(llvm::Type::getDoubleTy(context), value);
  }

  /// Pointer to a terminated string. Names with a NUL inside end there.
  llvm::Constant *string(llvm::StringRef text) {
    return privateConstant(llvm::ConstantDataArray::getString(context, text));
  }

  /// Pointer to bytes; null when there are none.
  llvm::Constant *bytes(llvm::StringRef data) {
    if (data.empty())
      return null();
    return privateConstant(
        llvm::ConstantDataArray::getString(context, data, /*AddNull=*/false));
  }

  /// Pointer to an array of equally typed elements; null when there are none.
  llvm::Constant *array(llvm::ArrayRef<llvm::Constant *> elements) {
    if (elements.empty())
      return null();
    auto *type =
        llvm::ArrayType::get(elements.front()->getType(), elements.size());
    return privateConstant(llvm::ConstantArray::get(type, elements));
  }

  /// Pointer to the OnnxAotValueInfo of each value.
  llvm::Constant *values(llvm::ArrayRef<ValueInfo> infos) {
    llvm::SmallVector<llvm::Constant *> elements;
    for (const ValueInfo &info : infos) {
      llvm::SmallVector<llvm::Constant *> dims;
      for (int64_t dim : info.dims)
        dims.push_back(i64(dim));
      elements.push_back(llvm::ConstantStruct::getAnon(
          {string(info.name), i32(info.type), i32(info.dims.size()),
           array(dims), i32(getFlags(info)), i32(0)}));
    }
    return array(elements);
  }

  /// Pointer to the OnnxAotDeviceCode; null when there is none.
  llvm::Constant *device(const DeviceCode *code) {
    if (!code)
      return null();
    llvm::SmallVector<llvm::Constant *> images, kernels;
    for (const DeviceImage &image : code->images) {
      auto *bytes = llvm::cast<llvm::GlobalVariable>(
          privateConstant(llvm::ConstantDataArray::getString(
              context, image.bytes, /*AddNull=*/false)));
      bytes->setAlignment(llvm::Align(ONNX_AOT_ALIGNMENT));
      images.push_back(llvm::ConstantStruct::getAnon(
          {i32(image.kind), i32(image.architecture), i64(image.bytes.size()),
           bytes}));
    }
    for (const DeviceKernel &kernel : code->kernels)
      kernels.push_back(llvm::ConstantStruct::getAnon(
          {string(kernel.name), i32(kernel.threads), i32(kernel.sharedBytes)}));
    return privateConstant(
        llvm::ConstantStruct::getAnon({i32(images.size()), i32(kernels.size()),
                                       array(images), array(kernels)}));
  }

private:
  static int32_t getFlags(const ValueInfo &info) {
    return info.part | (info.isUpdated ? ONNX_AOT_VALUE_IN_OUT : 0);
  }

  llvm::Constant *privateConstant(llvm::Constant *value) {
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

} // namespace onnx_aot

#endif // ONNX_AOT_LIB_EMIT_DESCRIPTORBUILDER_H
