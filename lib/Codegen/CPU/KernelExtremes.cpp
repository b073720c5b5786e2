//===- KernelExtremes.cpp - extremes of what a kernel stores --------------===//

#include "KernelEmitter.h"

#include "onnx-aot/Codegen/Common/KernelExtremes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::cpu;
using namespace onnx_aot::codegen;

static arith::AtomicRMWKind getAtomicKind(Operation *combiner) {
  return llvm::TypeSwitch<Operation *, arith::AtomicRMWKind>(combiner)
      .Case([](arith::MaximumFOp) { return arith::AtomicRMWKind::maximumf; })
      .Case([](arith::MinimumFOp) { return arith::AtomicRMWKind::minimumf; })
      .Case([](arith::MaxNumFOp) { return arith::AtomicRMWKind::maxnumf; })
      .Case([](arith::MinNumFOp) { return arith::AtomicRMWKind::minnumf; })
      .Case([](arith::MaxSIOp) { return arith::AtomicRMWKind::maxs; })
      .Case([](arith::MinSIOp) { return arith::AtomicRMWKind::mins; })
      .Case([](arith::MaxUIOp) { return arith::AtomicRMWKind::maxu; })
      .Case([](arith::MinUIOp) { return arith::AtomicRMWKind::minu; });
}

void KernelEmitter::findExtremes(ValueRange buffers) {
  for (auto [op, output] : llvm::zip_equal(getExtremes(kernel), buffers)) {
    unsigned result =
        cast<OpResult>(op.getDpsInputs().front()).getResultNumber();
    extremes.push_back({op, *getCombiner(op), result, output, {}});
  }
}

void KernelEmitter::startExtremes() {
  for (Extreme &extreme : extremes) {
    Type type = getElementTypeOrSelf(extreme.op.getResult(0).getType());
    // LLVM keeps it in a register.
    extreme.soFar = memref::AllocaOp::create(
        builder, loc, MemRefType::get({tiling.lanes}, type));
    Value initial = vector::BroadcastOp::create(
        builder, loc, VectorType::get({tiling.lanes}, type),
        getArgument(getInitialScalar(extreme.op)));
    vector::StoreOp::create(builder, loc, initial, extreme.soFar, constant(0));
  }
}

void KernelEmitter::noteExtremes(ValueRange values) {
  for (Extreme &extreme : extremes) {
    Value value = values[extreme.result];
    auto type = VectorType::get({tiling.lanes}, getElementTypeOrSelf(value));
    Value old =
        vector::LoadOp::create(builder, loc, type, extreme.soFar, constant(0));
    Value next = combine(extreme.combiner, old, toVector(value));
    if (currentMask)
      next = arith::SelectOp::create(builder, loc, currentMask, next, old);
    vector::StoreOp::create(builder, loc, next, extreme.soFar, constant(0));
  }
}

void KernelEmitter::finishExtremes() {
  for (Extreme &extreme : extremes) {
    Type type = getElementTypeOrSelf(extreme.op.getResult(0).getType());
    Value lanes = vector::LoadOp::create(builder, loc,
                                         VectorType::get({tiling.lanes}, type),
                                         extreme.soFar, constant(0));
    Value value = reduceLanes(extreme.combiner, lanes,
                              getArgument(getInitialScalar(extreme.op)));
    memref::AtomicRMWOp::create(builder, loc, type,
                                getAtomicKind(extreme.combiner.op), value,
                                extreme.output, ValueRange{});
  }
}
