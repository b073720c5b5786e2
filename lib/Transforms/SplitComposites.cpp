//===- SplitComposites.cpp - sequences and optionals become tensors -------===//

#include "Composites.h"
#include "TransformUtils.h"

#include "onnx-aot/Support/EntryAttributes.h"
#include "onnx-aot/Support/ModuleInfo.h"
#include "onnx-aot/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

namespace onnx_aot {
#define GEN_PASS_DEF_SPLITCOMPOSITES
#include "onnx-aot/Transforms/Passes.h.inc"
} // namespace onnx_aot

namespace {

bool hasComposite(TypeRange types) { return llvm::any_of(types, isComposite); }

struct SplitComposites : onnx_aot::impl::SplitCompositesBase<SplitComposites> {
  void runOnOperation() override {
    auto entry = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!entry || entry.isExternal() || !usesComposites(entry))
      return;
    Block &block = entry.getBody().front();
    if (failed(splitInputs(entry, block)) || failed(splitBlock(block)))
      return signalPassFailure();
    splitOutputs(entry, block);
    for (Operation *op : llvm::reverse(dead))
      op->erase();
    if (failed(eraseArguments(entry, block)) ||
        failed(inferAllTypes(getOperation())))
      signalPassFailure();
  }

private:
  static bool usesComposites(func::FuncOp entry) {
    bool found = hasComposite(entry.getArgumentTypes());
    entry.walk([&](Operation *op) {
      found |= hasComposite(op->getResultTypes()) ||
               isa<OptionalHasElementOp>(op) || isa<OptionalGetElementOp>(op);
    });
    return found;
  }

  FailureOr<SmallVector<Type>> getParts(Location loc, Type type) {
    if (!isComposite(type))
      return SmallVector<Type>{type};
    return getPartTypes(getOperation(), loc, type);
  }

  //===--- The module's border --------------------------------------------===//

  /// How the parts of a value at the border are called, and what they are.
  static SmallVector<std::pair<std::string, int64_t>>
  getPartNames(Type type, StringRef name) {
    SmallVector<std::pair<std::string, int64_t>> names;
    if (auto optional = dyn_cast<OptionalType>(type)) {
      names.push_back({(name + ".present").str(), ONNX_AOT_VALUE_PRESENT});
      type = optional.getElementType();
    }
    if (isa<SequenceType>(type)) {
      names.push_back({name.str(), ONNX_AOT_VALUE_ELEMENTS});
      names.push_back({(name + ".shapes").str(), ONNX_AOT_VALUE_SHAPES});
    } else {
      names.push_back({name.str(), 0});
    }
    return names;
  }

  static StringRef getName(Attribute attribute) {
    auto name = dyn_cast_or_null<StringAttr>(attribute);
    return name ? name.getValue() : "";
  }

  LogicalResult splitInputs(func::FuncOp entry, Block &block) {
    Builder builder(&getContext());
    unsigned count = block.getNumArguments();
    for (unsigned i = 0; i < count; ++i) {
      BlockArgument argument = block.getArgument(i);
      DictionaryAttr own = entry.getArgAttrDict(i);
      if (!isComposite(argument.getType())) {
        arguments.push_back(own ? own : builder.getDictionaryAttr({}));
        kept.push_back({argument, block.addArgument(argument.getType(),
                                                    argument.getLoc())});
        continue;
      }
      FailureOr<SmallVector<Type>> types =
          getPartTypes(getOperation(), argument.getLoc(), argument.getType());
      if (failed(types))
        return failure();
      StringRef name = getName(entry.getArgAttr(i, kNameAttr));
      Composite &value = values[argument];
      for (auto [type, part] :
           llvm::zip_equal(*types, getPartNames(argument.getType(), name))) {
        value.parts.push_back(block.addArgument(type, argument.getLoc()));
        arguments.push_back(getPartAttributes(builder, part));
      }
    }
    for (auto [before, after] : kept)
      before.replaceAllUsesWith(after);
    numOldArguments = count;
    return success();
  }

  static DictionaryAttr
  getPartAttributes(Builder &builder,
                    const std::pair<std::string, int64_t> &part) {
    NamedAttrList list;
    list.set(kNameAttr, builder.getStringAttr(part.first));
    if (part.second)
      list.set(kPartAttr, builder.getI64IntegerAttr(part.second));
    return list.getDictionary(builder.getContext());
  }

  void splitOutputs(func::FuncOp entry, Block &block) {
    Builder builder(&getContext());
    Operation *terminator = block.getTerminator();
    SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(terminator->getOperands())) {
      if (!isComposite(operand.getType())) {
        operands.push_back(operand);
        DictionaryAttr own = entry.getResultAttrDict(i);
        results.push_back(own ? own : builder.getDictionaryAttr({}));
        continue;
      }
      StringRef name = getName(entry.getResultAttr(i, kNameAttr));
      OpBuilder inner(terminator);
      SmallVector<Value> parts = pack(inner, operand);
      for (auto [value, part] :
           llvm::zip_equal(parts, getPartNames(operand.getType(), name))) {
        operands.push_back(value);
        results.push_back(getPartAttributes(builder, part));
      }
    }
    terminator->setOperands(operands);
  }

  LogicalResult eraseArguments(func::FuncOp entry, Block &block) {
    entry.removeArgAttrsAttr();
    entry.removeResAttrsAttr();
    block.eraseArguments(0, numOldArguments);
    entry.setType(FunctionType::get(&getContext(), block.getArgumentTypes(),
                                    block.getTerminator()->getOperandTypes()));
    entry.setAllArgAttrs(arguments);
    entry.setAllResultAttrs(results);
    return success();
  }

  //===--- Operations -----------------------------------------------------===//

  SmallVector<Value> pack(OpBuilder &builder, Value value) {
    CompositeBuilder b(builder, value.getLoc());
    return b.pack(values.at(value), value.getType());
  }

  LogicalResult splitBlock(Block &block) {
    bool bad = false;
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      ops.push_back(&op);
    for (Operation *op : ops) {
      // What comes of a value that was refused has been told.
      if (llvm::any_of(op->getOperands(), [&](Value operand) {
            return isComposite(operand.getType()) && !values.count(operand);
          })) {
        bad = true;
        continue;
      }
      bad |= failed(split(op));
    }
    return failure(bad);
  }

  LogicalResult split(Operation *op) {
    if (op->getNumRegions())
      return splitRegions(op);
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<SequenceConstructOp, SequenceEmptyOp, SequenceAtOp,
              SequenceInsertOp, SequenceEraseOp, SequenceLengthOp,
              SplitToSequenceOp, ConcatFromSequenceOp, OptionalOp,
              OptionalHasElementOp, OptionalGetElementOp, IdentityOp>(
            [&](auto typed) {
              OpBuilder builder(op);
              CompositeBuilder b(builder, op->getLoc());
              return lower(typed, b);
            })
        .Default([&](Operation *other) -> LogicalResult {
          if (hasComposite(other->getResultTypes()))
            return other->emitOpError(
                "with a sequence or an optional is not supported");
          return success();
        });
  }

  LogicalResult define(Operation *op, Composite value) {
    values[op->getResult(0)] = std::move(value);
    dead.push_back(op);
    return success();
  }

  LogicalResult replace(Operation *op, FailureOr<Value> value) {
    if (failed(value))
      return failure();
    op->getResult(0).replaceAllUsesWith(*value);
    dead.push_back(op);
    return success();
  }

  LogicalResult checkEntry(Operation *op, Value entry) {
    std::optional<int64_t> rank = getRank(entry);
    if (rank && *rank <= kMaxEntryRank)
      return success();
    return op->emitOpError("an entry of type ")
           << entry.getType() << " is not supported (supported: tensors "
           << "of a known rank up to " << kMaxEntryRank << ")";
  }

  LogicalResult lower(SequenceConstructOp op, CompositeBuilder &) {
    for (Value input : op.getInputs())
      if (failed(checkEntry(op, input)))
        return failure();
    return define(op, {SmallVector<Value>(op.getInputs()), {}});
  }
  LogicalResult lower(SequenceEmptyOp op, CompositeBuilder &) {
    return define(op, {SmallVector<Value>(), {}});
  }
  LogicalResult lower(SequenceAtOp op, CompositeBuilder &b) {
    Value sequence = op.getInputSequence();
    return replace(op, b.getEntry(op, values.at(sequence), sequence.getType(),
                                  op.getPosition(), op.getResult().getType()));
  }
  LogicalResult lower(SequenceInsertOp op, CompositeBuilder &b) {
    Value sequence = op.getInputSequence();
    if (failed(checkEntry(op, op.getTensor())))
      return failure();
    return define(op, b.insert(values.at(sequence), op.getResult().getType(),
                               op.getTensor(), op.getPosition()));
  }
  LogicalResult lower(SequenceEraseOp op, CompositeBuilder &b) {
    Value sequence = op.getInputSequence();
    return define(
        op, b.erase(values.at(sequence), sequence.getType(), op.getPosition()));
  }
  LogicalResult lower(SequenceLengthOp op, CompositeBuilder &b) {
    return replace(op, b.getLength(values.at(op.getInputSequence())));
  }
  LogicalResult lower(SplitToSequenceOp op, CompositeBuilder &b) {
    FailureOr<Composite> parts = b.split(op);
    return failed(parts) ? failure() : define(op, *parts);
  }
  LogicalResult lower(ConcatFromSequenceOp op, CompositeBuilder &b) {
    return replace(op, b.concat(op, values.at(op.getInputSequence())));
  }
  LogicalResult lower(IdentityOp op, CompositeBuilder &) {
    if (!isComposite(op.getInput().getType()))
      return success();
    return define(op, Composite(values.at(op.getInput())));
  }

  LogicalResult lower(OptionalOp op, CompositeBuilder &b) {
    Composite value;
    Type inner = cast<OptionalType>(op.getResult().getType()).getElementType();
    value.parts.push_back(b.getBool(static_cast<bool>(op.getInput())));
    if (failed(getParts(op.getLoc(), op.getResult().getType())))
      return failure();
    if (!op.getInput())
      llvm::append_range(value.parts, b.getNothing(inner));
    else if (isComposite(inner))
      llvm::append_range(value.parts, b.pack(values.at(op.getInput()), inner));
    else
      value.parts.push_back(op.getInput());
    return define(op, std::move(value));
  }
  LogicalResult lower(OptionalHasElementOp op, CompositeBuilder &b) {
    Value input = op.getInput();
    if (input && isa<OptionalType>(input.getType()))
      return replace(op, values.at(input).parts.front());
    return replace(op, b.getBool(static_cast<bool>(input)));
  }
  LogicalResult lower(OptionalGetElementOp op, CompositeBuilder &b) {
    Value input = op.getInput();
    if (!isa<OptionalType>(input.getType())) {
      if (isComposite(input.getType()))
        return define(op, Composite(values.at(input)));
      return replace(op, input);
    }
    const Composite &value = values.at(input);
    Composite inner;
    for (Value part : ArrayRef(value.parts).drop_front())
      inner.parts.push_back(b.getPresent(value.parts.front(), part));
    if (isComposite(op.getResult().getType()))
      return define(op, std::move(inner));
    return replace(op, inner.parts.front());
  }

  //===--- Bodies ---------------------------------------------------------===//

  /// The parts of values in place of the values.
  SmallVector<Value> expand(OpBuilder &builder, ValueRange operands) {
    SmallVector<Value> expanded;
    for (Value operand : operands) {
      if (isComposite(operand.getType()))
        llvm::append_range(expanded, pack(builder, operand));
      else
        expanded.push_back(operand);
    }
    return expanded;
  }

  LogicalResult splitBody(Region &region) {
    Block &block = region.front();
    unsigned count = block.getNumArguments();
    SmallVector<std::pair<BlockArgument, BlockArgument>> same;
    for (unsigned i = 0; i < count; ++i) {
      BlockArgument argument = block.getArgument(i);
      FailureOr<SmallVector<Type>> types =
          getParts(argument.getLoc(), argument.getType());
      if (failed(types))
        return failure();
      if (!isComposite(argument.getType())) {
        same.push_back({argument, block.addArgument(argument.getType(),
                                                    argument.getLoc())});
        continue;
      }
      for (Type type : *types)
        values[argument].parts.push_back(
            block.addArgument(type, argument.getLoc()));
    }
    for (auto [before, after] : same)
      before.replaceAllUsesWith(after);
    if (failed(splitBlock(block)))
      return failure();
    Operation *terminator = block.getTerminator();
    OpBuilder builder(terminator);
    terminator->setOperands(expand(builder, terminator->getOperands()));
    // The old arguments go with the ops that use them.
    for (unsigned i = 0; i < count; ++i)
      for (Operation *user :
           llvm::make_early_inc_range(block.getArgument(i).getUsers())) {
        auto place = llvm::find(dead, user);
        if (place == dead.end())
          return user->emitOpError(
              "with a sequence or an optional is not supported");
        user->dropAllUses();
        dead.erase(place);
        user->erase();
      }
    block.eraseArguments(0, count);
    return success();
  }

  LogicalResult splitRegions(Operation *op) {
    bool touches = hasComposite(op->getOperandTypes()) ||
                   hasComposite(op->getResultTypes());
    if (!touches) {
      bool bad = false;
      for (Region &region : op->getRegions())
        for (Block &block : region)
          bad |= failed(splitBlock(block));
      return failure(bad);
    }
    if (!isa<IfOp, LoopOp>(op))
      return op->emitOpError("with a sequence or an optional is not supported");
    OpBuilder builder(op);
    // The outputs' parts; their types follow from the bodies below.
    SmallVector<Type> types;
    for (Value result : op->getResults()) {
      FailureOr<SmallVector<Type>> parts =
          getParts(op->getLoc(), result.getType());
      if (failed(parts))
        return failure();
      llvm::append_range(types, *parts);
    }
    for (Region &region : op->getRegions())
      if (failed(splitBody(region)))
        return failure();
    OperationState state(op->getLoc(), op->getName());
    state.addTypes(types);
    if (auto loop = dyn_cast<LoopOp>(op)) {
      SmallVector<Value> carried = expand(builder, loop.getVInitial());
      int32_t sizes[] = {loop.getM() ? 1 : 0, loop.getCond() ? 1 : 0,
                         static_cast<int32_t>(carried.size())};
      for (Value value : {loop.getM(), loop.getCond()})
        if (value)
          state.addOperands(value);
      state.addOperands(carried);
      state.addAttribute("operandSegmentSizes",
                         builder.getDenseI32ArrayAttr(sizes));
    } else {
      state.addOperands(op->getOperands());
    }
    for (Region &region : op->getRegions())
      state.addRegion()->takeBody(region);
    Operation *split = builder.create(state);
    if (failed(inferAndSetResultTypes(split)))
      return failure();
    ValueRange rest = split->getResults();
    for (Value result : op->getResults()) {
      if (!isComposite(result.getType())) {
        result.replaceAllUsesWith(rest.front());
        rest = rest.drop_front();
        continue;
      }
      size_t count = getParts(op->getLoc(), result.getType())->size();
      values[result].parts = SmallVector<Value>(rest.take_front(count));
      rest = rest.drop_front(count);
    }
    dead.push_back(op);
    return success();
  }

  DenseMap<Value, Composite> values;
  SmallVector<std::pair<BlockArgument, BlockArgument>> kept;
  SmallVector<DictionaryAttr> arguments, results;
  std::vector<Operation *> dead;
  unsigned numOldArguments = 0;
};

} // namespace
