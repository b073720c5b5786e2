//===- Phases.cpp - the stretches of a compilation ------------------------===//

#include "onnx-aot/Driver/Phases.h"

using namespace onnx_aot;

static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> texts[] = {
    {"import", "reading the model"},     {"optimize", "optimizing the graph"},
    {"linalg", "lowering to loops"},     {"codegen", "generating code"},
    {"llvm", "translating to LLVM IR"},  {"device", "compiling kernels"},
    {"object", "compiling and linking"},
};
static_assert(std::size(texts) == numPhases);

llvm::StringRef onnx_aot::getPhaseName(Phase phase) {
  return texts[unsigned(phase)].first;
}

llvm::StringRef onnx_aot::getPhaseDescription(Phase phase) {
  return texts[unsigned(phase)].second;
}
