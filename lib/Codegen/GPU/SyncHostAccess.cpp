//===- SyncHostAccess.cpp - announce what host code reads and writes ------===//

#include "DeviceCalls.h"

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/GPU/Passes.h"
#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"
#include "onnx-aot/abi/Device.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_SYNCHOSTACCESS
#include "onnx-aot/Codegen/GPU/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// Buffers that an operation accesses, with OnnxAotAccess bits.
using Accesses = llvm::MapVector<Value, int64_t>;

bool isDeviceCall(Operation *op) {
  auto call = dyn_cast<func::CallOp>(op);
  return call &&
         (call.getCallee() == kDeviceLaunch || call.getCallee() == kDeviceCopy);
}

bool usesDevice(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isDeviceCall(inner) ? WalkResult::interrupt()
                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Neither reads nor writes what a buffer holds.
bool isHarmless(Operation *op) {
  if (isa<ViewLikeOpInterface, memref::DimOp, memref::CastOp,
          memref::ExtractStridedMetadataOp,
          memref::ExtractAlignedPointerAsIndexOp, memref::AllocOp,
          memref::AllocaOp, memref::DeallocOp>(op))
    return true;
  if (auto call = dyn_cast<func::CallOp>(op))
    return call.getCallee().starts_with(kAllocate) ||
           call.getCallee().starts_with("onnx_aot.device_");
  return op->hasTrait<OpTrait::IsTerminator>();
}

bool isDense(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getLayout().isIdentity();
}

/// How an operation without regions accesses one of its operands.
int64_t getAccess(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (isHarmless(op))
    return 0;
  const int64_t whole =
      isDense(operand.get()) ? ONNX_AOT_WRITE : ONNX_AOT_READ | ONNX_AOT_WRITE;
  if (isa<memref::LoadOp>(op))
    return ONNX_AOT_READ;
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return operand.get() == copy.getTarget() &&
                   copy.getSource() != copy.getTarget()
               ? whole
               : ONNX_AOT_READ;
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return whole;
  if (auto launch = dyn_cast<kernel::LaunchOp>(op))
    return launch.isDpsInit(&operand) ? whole : ONNX_AOT_READ;
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    if (structured.isDpsInput(&operand))
      return ONNX_AOT_READ;
  return ONNX_AOT_READ | ONNX_AOT_WRITE;
}

/// What an operation, with all inside of it, accesses of the outside.
Accesses collectAccesses(Operation *op) {
  Accesses accesses;
  auto isOutside = [&](Value value) {
    return !op->isAncestor(value.getParentRegion()->getParentOp());
  };
  // Views made inside are views of something outside, or of memory of their
  // own.
  auto note = [&](Value value, int64_t access) {
    bool isView = false;
    while (!isOutside(value)) {
      auto view = dyn_cast_or_null<ViewLikeOpInterface>(value.getDefiningOp());
      if (!view)
        return;
      value = view.getViewSource();
      isView = true;
    }
    // A part may be less than all.
    if (isView && (access & ONNX_AOT_WRITE))
      access |= ONNX_AOT_READ;
    accesses[value] |= access;
  };
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands()) {
      if (!isa<MemRefType>(operand.get().getType()))
        continue;
      int64_t access = getAccess(operand);
      // What a loop or branch hands on may be read and written under any name.
      if (inner->getNumRegions() && !isa<linalg::LinalgOp>(inner))
        access = ONNX_AOT_READ | ONNX_AOT_WRITE;
      if (inner->hasTrait<OpTrait::IsTerminator>())
        access = ONNX_AOT_READ | ONNX_AOT_WRITE;
      // In a loop or branch it is not said that all is written.
      if (inner != op && (access & ONNX_AOT_WRITE))
        access |= ONNX_AOT_READ;
      if (access)
        note(operand.get(), access);
    }
  });
  return accesses;
}

struct SyncHostAccess : onnx_aot::impl::SyncHostAccessBase<SyncHostAccess> {
  using SyncHostAccessBase::SyncHostAccessBase;

  void runOnOperation() override {
    entry = getEntry(getOperation());
    if (!entry)
      return;
    calls.emplace(entry);
    visit(entry.getBody());
  }

private:
  void visit(Region &region) {
    for (Block &block : region)
      for (Operation &op : llvm::make_early_inc_range(block))
        visit(&op);
  }

  void visit(Operation *op) {
    if (usesDevice(op)) {
      // Host code around launches: each part is looked at for itself.
      if (!isDeviceCall(op))
        for (Region &region : op->getRegions())
          visit(region);
      return;
    }
    if (op->getNumRegions() == 0 && isHarmless(op))
      return;
    if (auto copy = dyn_cast<memref::CopyOp>(op))
      if (copyOnDevice(copy))
        return;
    Accesses accesses = collectAccesses(op);
    if (report && !accesses.empty() && op->getNumRegions())
      op->emitWarning("runs on the host");
    ImplicitLocOpBuilder builder(op->getLoc(), op);
    for (auto [buffer, access] : accesses) {
      HostRange range = calls->getRange(builder, buffer);
      Value mode = arith::ConstantIntOp::create(builder, access, 64);
      calls->call(builder, kDeviceAccess, {range.address, range.bytes, mode});
    }
  }

  /// Dense memory is copied where it is valid.
  bool copyOnDevice(memref::CopyOp copy) {
    if (!isDense(copy.getSource()) || !isDense(copy.getTarget()))
      return false;
    ImplicitLocOpBuilder builder(copy.getLoc(), copy);
    HostRange from = calls->getRange(builder, copy.getSource());
    HostRange to = calls->getRange(builder, copy.getTarget());
    calls->call(builder, kDeviceCopy, {to.address, from.address, from.bytes});
    copy.erase();
    return true;
  }

  func::FuncOp entry;
  std::optional<DeviceCalls> calls;
};

} // namespace
