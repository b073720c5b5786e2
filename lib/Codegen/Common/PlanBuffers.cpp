//===- PlanBuffers.cpp - one arena for the entry's temporaries ------------===//

#include "PlanFunction.h"

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_PLANBUFFERS
#include "onnx-aot/Codegen/Common/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// A temporary, alive from the first to the last top-level operation that
/// touches it or a view of it.
struct Buffer {
  memref::AllocOp alloc;
  int64_t first = INT64_MAX, last = -1;
  int64_t bytes = 0;  ///< where the size is a constant
  Value dynamicBytes; ///< where it is not
  int64_t offset = 0;

  bool overlaps(const Buffer &other) const {
    return first <= other.last && other.first <= last;
  }
};

/// Memory of run-time size shared by buffers that are never alive together.
struct Slot {
  SmallVector<Buffer *> buffers;
  Value bytes;
};

struct PlanBuffers : onnx_aot::impl::PlanBuffersBase<PlanBuffers> {
  using PlanBuffersBase::PlanBuffersBase;

  void runOnOperation() override {
    entry = getEntry(getOperation());
    if (!entry)
      return;
    resolveEntryDims(entry);
    builder.emplace(OpBuilder::atBlockBegin(&entry.getBody().front()));
    if (record)
      recordSteps();
    collectBuffers();
    int64_t staticBytes = placeStaticBuffers();
    if (record)
      recordBuffers();
    Value total = placeDynamicBuffers(staticBytes);
    buildPlanFunction(entry, total);
    if (std::optional<int64_t> bytes = getConstantIntValue(total))
      getOperation()->setAttr(kArenaBytesAttr,
                              Builder(&getContext()).getI64IntegerAttr(*bytes));
    auto terminator =
        cast<func::ReturnOp>(entry.getBody().front().getTerminator());
    terminator->setOperands({});
    entry.setType(
        FunctionType::get(&getContext(), entry.getArgumentTypes(), {}));
  }

private:
  Location loc() { return entry.getLoc(); }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(*builder, loc(), value);
  }

  /// The builder may stand before an allocation, where it is the first op.
  void eraseAlloc(memref::AllocOp alloc) {
    if (builder->getInsertionPoint() == Block::iterator(alloc))
      builder->setInsertionPointAfter(alloc);
    alloc.erase();
  }

  /// Copies the computation of a size to the function's beginning.
  Value hoist(Value value) {
    if (isa<BlockArgument>(value))
      return value;
    SetVector<Operation *> slice;
    (void)dependsOnSymbolsOnly(value, &slice);
    for (Operation *op : slice)
      if (!hoisted.contains(op->getResult(0)))
        builder->clone(*op, hoisted);
    return hoisted.lookup(value);
  }

  /// Whether a loop around the allocation carries the buffer on: each iteration
  /// then needs one of its own.
  bool outlivesIteration(memref::AllocOp alloc,
                         const BufferViewFlowAnalysis::ValueSetT &views) {
    for (Operation *op = alloc->getParentOp(); op && !isa<func::FuncOp>(op);
         op = op->getParentOp()) {
      if (!isa<LoopLikeOpInterface>(op))
        continue;
      auto isCarried = [&](Value view) {
        auto argument = dyn_cast<BlockArgument>(view);
        return argument ? argument.getOwner()->getParentOp() == op
                        : view.getDefiningOp() == op;
      };
      if (llvm::any_of(views, isCarried))
        return true;
    }
    return false;
  }

  /// The nodes of the steps, by position; what only makes views has none.
  void recordSteps() {
    SmallVector<Attribute> names;
    for (Operation &op : entry.getBody().front()) {
      StringRef name;
      if (!isMemoryEffectFree(&op) && !isa<memref::AllocOp>(op))
        op.getLoc()->walk([&](Location loc) {
          auto named = dyn_cast<NameLoc>(loc);
          if (!named)
            return WalkResult::advance();
          name = named.getName().getValue();
          return WalkResult::interrupt();
        });
      names.push_back(builder->getStringAttr(name));
    }
    getOperation()->setAttr(kStepsAttr, builder->getArrayAttr(names));
  }

  void recordBuffers() {
    SmallVector<int64_t> numbers;
    for (const Buffer &buffer : buffers)
      if (!buffer.dynamicBytes && buffer.last >= 0)
        numbers.append(
            {buffer.first, buffer.last, buffer.offset, buffer.bytes});
    getOperation()->setAttr(kBuffersAttr,
                            builder->getDenseI64ArrayAttr(numbers));
  }

  void collectBuffers() {
    BufferViewFlowAnalysis aliases(entry);
    DenseMap<Operation *, int64_t> order;
    Block &block = entry.getBody().front();
    for (auto [index, op] : llvm::enumerate(block))
      order[&op] = index;
    SmallVector<memref::AllocOp> allocs;
    entry.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
    for (memref::AllocOp alloc : allocs) {
      BufferViewFlowAnalysis::ValueSetT views = aliases.resolve(alloc);
      if (outlivesIteration(alloc, views) ||
          !llvm::all_of(alloc.getDynamicSizes(),
                        [](Value v) { return dependsOnSymbolsOnly(v); })) {
        allocateAtRunTime(alloc);
        continue;
      }
      Buffer buffer;
      buffer.alloc = alloc;
      for (Value alias : views)
        for (Operation *user : alias.getUsers()) {
          // What makes a view touches no memory; the view is an alias, too.
          if (isa<ViewLikeOpInterface>(user) && isMemoryEffectFree(user))
            continue;
          int64_t index = order.lookup(block.findAncestorOpInBlock(*user));
          buffer.first = std::min(buffer.first, index);
          buffer.last = std::max(buffer.last, index);
        }
      measure(buffer);
      buffers.push_back(buffer);
    }
  }

  void measure(Buffer &buffer) {
    MemRefType type = buffer.alloc.getType();
    // The layout also knows `index` and complex elements.
    int64_t bytes = DataLayout::closest(buffer.alloc)
                        .getTypeSize(type.getElementType())
                        .getFixedValue();
    for (int64_t size : type.getShape())
      bytes *= ShapedType::isDynamic(size) ? 1 : size;
    if (type.hasStaticShape()) {
      buffer.bytes = llvm::alignTo(bytes, kAlignment);
      return;
    }
    Value product = constant(bytes);
    // The plan refuses negative sizes, but for branches that may never run.
    bool always = buffer.alloc->getParentOp() == entry;
    for (Value size : buffer.alloc.getDynamicSizes()) {
      Value known = hoist(size);
      if (!always)
        known =
            builder->createOrFold<arith::MaxSIOp>(loc(), known, constant(0));
      product = builder->createOrFold<arith::MulIOp>(loc(), product, known);
    }
    // Round up to the alignment.
    product = builder->createOrFold<arith::AddIOp>(loc(), product,
                                                   constant(kAlignment - 1));
    buffer.dynamicBytes = builder->createOrFold<arith::AndIOp>(
        loc(), product, constant(-kAlignment));
  }

  /// Largest first, each at the lowest offset free during its life.
  int64_t placeStaticBuffers() {
    SmallVector<Buffer *> bySize;
    for (Buffer &buffer : buffers)
      if (!buffer.dynamicBytes)
        bySize.push_back(&buffer);
    llvm::stable_sort(bySize,
                      [](Buffer *a, Buffer *b) { return a->bytes > b->bytes; });
    int64_t total = 0;
    SmallVector<Buffer *> placed;
    for (Buffer *buffer : bySize) {
      SmallVector<std::pair<int64_t, int64_t>> taken;
      for (Buffer *other : placed)
        if (buffer->overlaps(*other))
          taken.push_back({other->offset, other->offset + other->bytes});
      llvm::sort(taken);
      int64_t offset = 0;
      for (auto [begin, end] : taken) {
        if (offset + buffer->bytes <= begin)
          break;
        offset = std::max(offset, end);
      }
      buffer->offset = offset;
      total = std::max(total, offset + buffer->bytes);
      placed.push_back(buffer);
      replaceByView(*buffer, constant(offset));
    }
    return total;
  }

  Value placeDynamicBuffers(int64_t staticBytes) {
    SmallVector<Slot> slots;
    for (Buffer &buffer : buffers) {
      if (!buffer.dynamicBytes)
        continue;
      Slot *free = nullptr;
      for (Slot &slot : slots) {
        if (llvm::any_of(slot.buffers,
                         [&](Buffer *b) { return b->overlaps(buffer); }))
          continue;
        // A slot of the very same size wastes nothing.
        if (!free || slot.bytes == buffer.dynamicBytes)
          free = &slot;
      }
      if (!free)
        free = &slots.emplace_back();
      free->buffers.push_back(&buffer);
      if (!free->bytes)
        free->bytes = buffer.dynamicBytes;
      else if (free->bytes != buffer.dynamicBytes)
        free->bytes = arith::MaxUIOp::create(*builder, loc(), free->bytes,
                                             buffer.dynamicBytes);
    }
    Value offset = constant(staticBytes);
    for (Slot &slot : slots) {
      for (Buffer *buffer : slot.buffers)
        replaceByView(*buffer, offset);
      offset = builder->createOrFold<arith::AddIOp>(loc(), offset, slot.bytes);
    }
    return offset;
  }

  void replaceByView(Buffer &buffer, Value offset) {
    SmallVector<Value> sizes;
    for (Value size : buffer.alloc.getDynamicSizes())
      sizes.push_back(hoist(size));
    OpBuilder here(buffer.alloc);
    Value view = memref::ViewOp::create(
        here, buffer.alloc.getLoc(), buffer.alloc.getType(),
        EntryArguments(entry).arena(), offset, sizes);
    buffer.alloc.replaceAllUsesWith(view);
    eraseAlloc(buffer.alloc);
  }

  void allocateAtRunTime(memref::AllocOp alloc) {
    std::string name = (kAllocate + "." + Twine(numRunTime++)).str();
    SmallVector<Value> operands{EntryArguments(entry).runtime()};
    llvm::append_range(operands, alloc.getDynamicSizes());
    auto function = func::FuncOp::create(
        alloc.getLoc(), name,
        FunctionType::get(&getContext(), ValueRange(operands).getTypes(),
                          Type(alloc.getType())));
    function.setPrivate();
    function->setAttr(kBufferAttr, TypeAttr::get(alloc.getType()));
    getOperation().push_back(function);
    OpBuilder here(alloc);
    auto call = func::CallOp::create(here, alloc.getLoc(), function, operands);
    alloc.replaceAllUsesWith(call.getResult(0));
    eraseAlloc(alloc);
  }

  func::FuncOp entry;
  std::optional<OpBuilder> builder;
  IRMapping hoisted;
  std::vector<Buffer> buffers;
  unsigned numRunTime = 0;
};

} // namespace
