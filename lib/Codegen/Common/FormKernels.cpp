//===- FormKernels.cpp - cut the graph into fused regions -----------------===//
//
// A kernel is a reduction with the pointwise ops that follow it, a row-wise
// chain (softmax, normalisation), or a pointwise op alone. What fits none of
// these stays in the entry and is lowered to plain loops there.
//
//===----------------------------------------------------------------------===//

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/KernelChain.h"
#include "onnx-aot/Codegen/Common/KernelDomain.h"
#include "onnx-aot/Codegen/Common/KernelExtremes.h"
#include "onnx-aot/Codegen/Common/Passes.h"
#include "onnx-aot/Codegen/Common/StructuredOps.h"
#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_FORMKERNELS
#include "onnx-aot/Codegen/Common/Passes.h.inc"
} // namespace onnx_aot

namespace {

using Group = SetVector<Operation *>;

SmallVector<linalg::GenericOp> inOrder(const Group &group) {
  SmallVector<linalg::GenericOp> ops;
  for (Operation *op : group)
    ops.push_back(cast<linalg::GenericOp>(op));
  llvm::sort(ops, [](linalg::GenericOp a, linalg::GenericOp b) {
    return a->isBeforeInBlock(b);
  });
  return ops;
}

struct FormKernels : onnx_aot::impl::FormKernelsBase<FormKernels> {
  using FormKernelsBase::FormKernelsBase;
  explicit FormKernels(StageFilter filter) : filter(std::move(filter)) {}

  void runOnOperation() override {
    entry = getEntry(getOperation());
    if (!entry)
      return;
    generalizeFills();
    SmallVector<linalg::GenericOp> generics;
    entry.walk([&](linalg::GenericOp op) {
      if (hasCleanInits(op))
        generics.push_back(op);
    });
    if (joinExtremes)
      findExtremes(generics);
    SmallVector<Group> groups;
    // Reductions first: they are what pointwise ops are fused into.
    for (linalg::GenericOp op : generics)
      if (!isPointwise(op) && !claimed.contains(op))
        claim(grow(op), groups);
    for (linalg::GenericOp op : generics)
      if (isPointwise(op) && !claimed.contains(op)) {
        Group single;
        single.insert(op);
        claim(single, groups);
      }
    if (chainBytes > 0 || filter)
      chainGroups(groups);
    joinAllExtremes(groups);
    for (const Group &group : groups)
      if (!group.empty() && (limit < 0 || numKernels < limit))
        outline(group, extremesOf.lookup(inOrder(group).back()));
    for (const auto &[key, ops] : apart)
      if (limit < 0 || numKernels < limit)
        outline({}, ops);
  }

private:
  /// A fill that is data, as round a padded tensor, is a pointwise op like
  /// others.
  void generalizeFills() {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::FillOp> fills;
    entry.walk([&](linalg::FillOp fill) {
      if (fill.hasPureTensorSemantics() &&
          llvm::none_of(fill->getUsers(), [](Operation *user) {
            return isa<linalg::LinalgOp>(user);
          }))
        fills.push_back(fill);
    });
    for (linalg::FillOp fill : fills) {
      rewriter.setInsertionPoint(fill);
      (void)linalg::generalizeNamedOp(rewriter, fill);
    }
  }

  /// Tensor semantics, and nothing is read from the outputs but the initial
  /// value of a reduction.
  static bool hasCleanInits(linalg::GenericOp op) {
    if (!op.hasPureTensorSemantics())
      return false;
    for (OpOperand &init : op.getDpsInitsMutable()) {
      if (!isPointwise(op)) {
        auto fill = init.get().getDefiningOp<linalg::FillOp>();
        if (!fill || !fill.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>())
          return false;
      } else if (op.payloadUsesValueFromOperand(&init) ||
                 !init.get().getDefiningOp<tensor::EmptyOp>()) {
        return false;
      }
    }
    return true;
  }

  void claim(const Group &group, SmallVector<Group> &groups) {
    if (group.empty() || failed(KernelDomain::analyze(inOrder(group))))
      return;
    for (Operation *op : group)
      claimed.insert(op);
    groups.push_back(group);
  }

  /// The generic that uses a value, if it may join a group of this block.
  linalg::GenericOp getCandidate(Operation *user, Block *block) {
    auto generic = dyn_cast<linalg::GenericOp>(user);
    if (!generic || generic->getBlock() != block || claimed.contains(generic) ||
        !hasCleanInits(generic) || generic->getNumResults() != 1)
      return {};
    return generic;
  }

  /// Values of the group that others use.
  SmallVector<Operation *> getExits(const Group &group) {
    SmallVector<Operation *> exits;
    for (Operation *op : group)
      if (llvm::any_of(op->getUsers(),
                       [&](Operation *user) { return !group.contains(user); }))
        exits.push_back(op);
    return exits;
  }

  bool isLegal(const Group &group) {
    FailureOr<KernelDomain> domain = KernelDomain::analyze(inOrder(group));
    return succeeded(domain) &&
           !(domain->isRowwise() && llvm::any_of(group, [](Operation *op) {
               return isContraction(cast<linalg::GenericOp>(op));
             }));
  }

  /// The largest legal group from a reduction on that has one result.
  Group grow(linalg::GenericOp root) {
    Group best, group;
    group.insert(root);
    if (root->getNumResults() != 1 || !isLegal(group))
      return {};
    best = group;
    // Add all users of the values in use, level by level, and remember the last
    // state in which only one value leaves the group.
    for (unsigned level = 0; level < 16; ++level) {
      Group next = group;
      for (Operation *exit : getExits(group))
        for (Operation *user : exit->getUsers())
          if (linalg::GenericOp candidate =
                  getCandidate(user, root->getBlock()))
            next.insert(candidate);
      addProducers(next, root);
      if (next.size() == group.size() || !isLegal(next))
        break;
      group = next;
      if (getExits(group).size() == 1 && isConvex(group))
        best = group;
    }
    return best;
  }

  /// Pointwise producers that only this group uses are computed inside it.
  void addProducers(Group &group, linalg::GenericOp root) {
    bool changed = true;
    while (changed && !isContraction(root)) {
      changed = false;
      for (Operation *op : SmallVector<Operation *>(group.begin(), group.end()))
        for (Value operand : cast<linalg::GenericOp>(op).getDpsInputs()) {
          Operation *producer = operand.getDefiningOp();
          if (!producer || group.contains(producer))
            continue;
          linalg::GenericOp candidate =
              getCandidate(producer, root->getBlock());
          if (!candidate || !isPointwise(candidate) ||
              !llvm::all_of(producer->getUsers(), [&](Operation *user) {
                return group.contains(user);
              }))
            continue;
          Group with = group;
          with.insert(producer);
          if (!isLegal(with))
            continue;
          group.insert(producer);
          changed = true;
        }
    }
  }

  /// No value leaves the group and comes back: the one exit is the last op.
  bool isConvex(const Group &group) {
    SmallVector<linalg::GenericOp> ops = inOrder(group);
    Operation *exit = getExits(group).front();
    return exit == ops.back().getOperation();
  }

  /// Joins products, a row-wise group on them and the products over its rows.
  void chainGroups(SmallVector<Group> &groups) {
    DenseMap<Operation *, Group *> groupOf;
    for (Group &group : groups)
      for (Operation *op : group)
        groupOf[op] = &group;
    auto startsWithContraction = [](ArrayRef<linalg::GenericOp> ops) {
      return isContraction(ops.front());
    };
    for (Group &rows : groups) {
      if (rows.empty() || isContraction(inOrder(rows).front()))
        continue;
      SmallVector<linalg::GenericOp> ops = inOrder(rows);
      Value result = ops.back()->getResult(0);
      Group *sums = result.hasOneUse()
                        ? groupOf.lookup(*result.getUsers().begin())
                        : nullptr;
      if (!sums || sums->empty() || !startsWithContraction(inOrder(*sums)))
        continue;
      for (Value input : SmallVector<Value>(getInputs(ops))) {
        Group *products = groupOf.lookup(input.getDefiningOp());
        if (!products || products == &rows || products->empty() ||
            !startsWithContraction(inOrder(*products)) ||
            !canChain(inOrder(*products), ops, inOrder(*sums)) ||
            (filter && !filter({inOrder(*products), ops, inOrder(*sums)})))
          continue;
        join({products, &rows, sums});
        break;
      }
    }
  }

  static SmallVector<Value> getInputs(ArrayRef<linalg::GenericOp> ops) {
    SmallVector<Value> inputs;
    for (linalg::GenericOp op : ops)
      for (Value input : op.getDpsInputs())
        if (input.getDefiningOp())
          inputs.push_back(input);
    return inputs;
  }

  /// Makes the groups the stages of the last one.
  void join(std::array<Group *, 3> stages) {
    Builder builder(&getContext());
    Group all;
    for (auto [number, stage] : llvm::enumerate(stages)) {
      for (Operation *op : *stage)
        op->setAttr(kStageAttr, builder.getI64IntegerAttr(number));
      all.insert(stage->begin(), stage->end());
      stage->clear();
    }
    *stages.back() = all;
  }

  /// Sets extremes apart, so that they become part of no group as other ops do.
  void findExtremes(ArrayRef<linalg::GenericOp> generics) {
    for (linalg::GenericOp op : generics)
      if (isExtreme(op)) {
        extremes[op.getDpsInputs().front()].push_back(op);
        claimed.insert(op);
      }
  }

  /// Gives extremes to the group that makes what they are of; the others of one
  /// value become a kernel of their own.
  void joinAllExtremes(ArrayRef<Group> groups) {
    DenseSet<Operation *> lasts;
    for (const Group &group : groups)
      if (!group.empty() && !group.front()->hasAttr(kStageAttr))
        lasts.insert(inOrder(group).back());
    for (auto &[source, ops] : extremes)
      for (linalg::GenericOp op : ops) {
        Operation *last = source.getDefiningOp();
        if (lasts.contains(last) && op->getBlock() == last->getBlock())
          extremesOf[last].push_back(op);
        else
          apart[{source.getAsOpaquePointer(), op->getBlock()}].push_back(op);
      }
  }

  /// Gives an extreme an initial value of its own, whose tensor is there before
  /// `last`, and returns that.
  static Value separateInitial(linalg::GenericOp op, linalg::GenericOp last) {
    auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
    OpBuilder builder(last);
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    Value empty = tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                          type.getElementType());
    builder.setInsertionPoint(op);
    auto own = linalg::FillOp::create(builder, op.getLoc(), fill.getInputs()[0],
                                      empty);
    op.getDpsInitsMutable()[0].set(own.getResult(0));
    if (fill->use_empty())
      fill->erase();
    return empty;
  }

  /// Memory for a few rows of what the stages of a group hand on, for each of
  /// the tasks that may run at once; null for a group without stages, and where
  /// blocks are kept elsewhere.
  Value createScratch(const Group &group, OpBuilder &builder) {
    constexpr int64_t kSlots = 32;
    if (chainBytes == 0)
      return {};
    linalg::GenericOp last;
    for (linalg::GenericOp op : inOrder(group)) {
      auto stage = op->getAttrOfType<IntegerAttr>(kStageAttr);
      if (!stage)
        return {};
      if (stage.getInt() == 0)
        last = op;
    }
    auto type = cast<RankedTensorType>(last->getResult(0).getType());
    int64_t rank = type.getRank();
    int64_t block = getBlockRows(
        type.getDimSize(rank - 2), type.getDimSize(rank - 1),
        llvm::divideCeil(type.getElementTypeBitWidth(), 8), chainBytes);
    Value init = last.getDpsInits()[0];
    if (auto fill = init.getDefiningOp<linalg::FillOp>())
      init = fill.getDpsInits()[0];
    OpFoldResult columns =
        init.getDefiningOp<tensor::EmptyOp>().getMixedSizes().back();
    SmallVector<OpFoldResult> sizes{builder.getIndexAttr(kSlots),
                                    builder.getIndexAttr(block), columns};
    return tensor::EmptyOp::create(builder, last.getLoc(), sizes,
                                   type.getElementType());
  }

  /// Gives each output of an op that starts from nothing a nothing of its own:
  /// they are different buffers, each of which may be placed where it is
  /// wanted.
  static void separateOutputs(linalg::GenericOp op) {
    OpBuilder builder(op);
    for (OpOperand &init : op.getDpsInitsMutable())
      if (auto empty = init.get().getDefiningOp<tensor::EmptyOp>())
        if (!empty->hasOneUse())
          init.set(builder.clone(*empty)->getResult(0));
  }

  /// Moves the group and extremes of its result, or extremes alone, into a
  /// function and launches it at the last op's place.
  void outline(const Group &group, ArrayRef<linalg::GenericOp> found) {
    SmallVector<linalg::GenericOp> ops = inOrder(group);
    linalg::GenericOp last = ops.empty() ? found.front() : ops.back();
    Location loc = last.getLoc();
    separateOutputs(last);
    SmallVector<Value> outputs;
    for (linalg::GenericOp op : found) {
      op->setAttr(kExtremeAttr, UnitAttr::get(&getContext()));
      outputs.push_back(separateInitial(op, last));
    }
    bool isStored =
        found.empty() ||
        (!ops.empty() && llvm::any_of(last->getUsers(), [&](Operation *user) {
          return !llvm::is_contained(found, user);
        }));

    // Initial values of reductions are part of the kernel; so are the shapes of
    // what it keeps to itself. What it hands on it writes to the outputs.
    SetVector<Operation *> body;
    SmallVector<linalg::GenericOp> all(ops);
    llvm::append_range(all, found);
    for (linalg::GenericOp op : all) {
      bool isKept = !op->hasAttr(kExtremeAttr) && (op != last || !isStored);
      for (Value init : op.getDpsInits()) {
        auto fill = init.getDefiningOp<linalg::FillOp>();
        Value empty = fill ? fill.getDpsInits()[0] : init;
        if (isKept)
          body.insert(empty.getDefiningOp());
        if (fill)
          body.insert(fill);
      }
      body.insert(op);
    }
    SetVector<Value> inputs;
    collectInputs(body, inputs);

    OpBuilder builder(last);
    SmallVector<Value> written;
    if (isStored)
      for (Value init : last.getDpsInits()) {
        auto fill = init.getDefiningOp<linalg::FillOp>();
        written.push_back(fill ? fill.getDpsInits()[0] : init);
      }
    outputs.insert(outputs.begin(), written.begin(), written.end());
    Value scratch = ops.empty() ? Value() : createScratch(group, builder);
    if (scratch)
      outputs.push_back(scratch);
    SmallVector<Type> resultTypes(ValueRange(outputs).getTypes());
    SmallVector<Value> operands(inputs.begin(), inputs.end());
    llvm::append_range(operands, outputs);

    std::string name = ("kernel." + Twine(numKernels++)).str();
    auto function = func::FuncOp::create(
        loc, name,
        FunctionType::get(&getContext(), ValueRange(operands).getTypes(),
                          resultTypes));
    function.setPrivate();
    getOperation().push_back(function);
    Block *block = function.addEntryBlock();
    OpBuilder inside = OpBuilder::atBlockBegin(block);
    IRMapping mapping;
    for (auto [outer, inner] : llvm::zip_equal(operands, block->getArguments()))
      if (!mapping.contains(outer))
        mapping.map(outer, inner);
    for (Operation *op : body) {
      cloneConstants(op, inside, mapping);
      inside.clone(*op, mapping);
    }
    SmallVector<Value> made;
    if (isStored)
      llvm::append_range(made, last->getResults());
    for (linalg::GenericOp op : found)
      made.push_back(op.getResult(0));
    SmallVector<Value> results;
    for (Value result : made)
      results.push_back(mapping.lookup(result));
    if (scratch)
      results.push_back(block->getArguments().back());
    func::ReturnOp::create(inside, loc, results);

    auto launch = kernel::LaunchOp::create(builder, loc, resultTypes,
                                           FlatSymbolRefAttr::get(function),
                                           inputs.getArrayRef(), outputs);
    for (auto [value, result] :
         llvm::zip(made, launch.getResults().take_front(made.size())))
      value.replaceAllUsesWith(result);
    for (linalg::GenericOp op : llvm::reverse(all))
      eraseWithInitials(op);
  }

  static void eraseWithInitials(linalg::GenericOp op) {
    SmallVector<Value> inits(op.getDpsInits());
    op.erase();
    // What is left of an initial value would still be written to memory.
    for (Value init : inits)
      if (Operation *definer = init.getDefiningOp())
        if (isa<linalg::FillOp>(definer) && definer->use_empty())
          definer->erase();
  }

  static bool isScalarConstant(Value value) {
    Operation *op = value.getDefiningOp();
    return op && op->hasTrait<OpTrait::ConstantLike>() &&
           value.getType().isIntOrIndexOrFloat();
  }

  void collectInputs(const SetVector<Operation *> &body,
                     SetVector<Value> &inputs) {
    for (Operation *op : body)
      op->walk([&](Operation *inner) {
        for (OpOperand &operand : inner->getOpOperands()) {
          Value value = operand.get();
          Operation *definer = value.getDefiningOp();
          if (definer && body.contains(definer))
            continue;
          // Defined inside the op's own body.
          if (op->isAncestor(value.getParentRegion()->getParentOp()))
            continue;
          if (isScalarConstant(value))
            continue;
          // Destinations are outputs, not inputs.
          bool isInit = false;
          if (auto structured = dyn_cast<DestinationStyleOpInterface>(inner))
            isInit = structured.isDpsInit(&operand);
          if (!isInit)
            inputs.insert(value);
        }
      });
  }

  void cloneConstants(Operation *op, OpBuilder &builder, IRMapping &mapping) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (isScalarConstant(operand) && !mapping.contains(operand) &&
            !op->isProperAncestor(operand.getDefiningOp()))
          builder.clone(*operand.getDefiningOp(), mapping);
    });
  }

  StageFilter filter;
  func::FuncOp entry;
  DenseSet<Operation *> claimed;
  llvm::MapVector<Value, SmallVector<linalg::GenericOp>> extremes;
  /// Those that the group of this last op finds.
  DenseMap<Operation *, SmallVector<linalg::GenericOp>> extremesOf;
  /// Those that no group finds, by value and block.
  llvm::MapVector<std::pair<const void *, Block *>,
                  SmallVector<linalg::GenericOp>>
      apart;
  int64_t numKernels = 0;
};

} // namespace

std::unique_ptr<Pass> onnx_aot::createFormKernels(StageFilter canChain) {
  return std::make_unique<FormKernels>(std::move(canChain));
}
