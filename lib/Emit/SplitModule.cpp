//===- SplitModule.cpp - cut a module for parallel compilation ------------===//

#include "Stages.h"

#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace onnx_aot;

/// Instructions after which a part is full. Large enough to make the copy
/// cheap beside the compilation, small enough to keep all cores busy.
static constexpr unsigned partInstructions = 4000;

/// Highest number of parts: each repeats the declarations it uses.
static constexpr unsigned maxParts = 64;

/// Assigns every function definition to a part. Scalar loops go apart, since
/// they want other passes; otherwise functions stay in their order.
static unsigned
assignParts(const llvm::Module &module,
            llvm::DenseMap<const llvm::GlobalValue *, unsigned> &parts) {
  uint64_t total = module.getInstructionCount();
  uint64_t limit = std::max<uint64_t>(partInstructions, total / maxParts + 1);
  unsigned count = 0;
  for (bool isScalar : {false, true}) {
    uint64_t filled = limit;
    for (const llvm::Function &function : module) {
      if (function.isDeclaration() ||
          function.hasFnAttribute(scalarLoopsFnAttr) != isScalar)
        continue;
      if (filled >= limit) {
        ++count;
        filled = 0;
      }
      parts[&function] = count - 1;
      filled += function.getInstructionCount();
    }
  }
  return count;
}

std::vector<llvm::SmallVector<char, 0>>
onnx_aot::splitModule(const llvm::Module &module) {
  llvm::DenseMap<const llvm::GlobalValue *, unsigned> parts;
  std::vector<llvm::SmallVector<char, 0>> result(assignParts(module, parts));
  for (auto [index, bitcode] : llvm::enumerate(result)) {
    auto isInPart = [&, index = index](const llvm::GlobalValue *value) {
      if (llvm::isa<llvm::Function>(value))
        return parts.lookup(value) == index;
      // Constants are copied wherever they may be used; the descriptor, which
      // is the only symbol that others see, exists once.
      return value->hasLocalLinkage() || index == 0;
    };
    llvm::ValueToValueMapTy map;
    std::unique_ptr<llvm::Module> part = CloneModule(module, map, isInPart);
    llvm::raw_svector_ostream os(bitcode);
    WriteBitcodeToFile(*part, os);
  }
  return result;
}
