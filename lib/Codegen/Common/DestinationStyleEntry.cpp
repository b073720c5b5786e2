//===- DestinationStyleEntry.cpp - caller-owned buffers for the entry -----===//

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/Passes.h"
#include "onnx-aot/Support/ModuleInfo.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_DESTINATIONSTYLEENTRY
#include "onnx-aot/Codegen/Common/Passes.h.inc"
} // namespace onnx_aot

namespace {

struct DestinationStyleEntry
    : onnx_aot::impl::DestinationStyleEntryBase<DestinationStyleEntry> {
  void runOnOperation() override {
    entry = getEntry(getOperation());
    if (!entry) {
      getOperation().emitError("module has no entry function '")
          << kEntryName << "'";
      return signalPassFailure();
    }
    if (failed(readUpdates()) || failed(moveInterfaceToModule()))
      return signalPassFailure();
    addInputArguments();
    returnOutputDims();
    resolveTensorDims(entry);
    addOutputArguments();
  }

private:
  MemRefType getBufferType(Type tensor) {
    auto ranked = cast<RankedTensorType>(tensor);
    return MemRefType::get(ranked.getShape(), ranked.getElementType());
  }

  /// Finds the argument that each result is written to, -1 for the outputs.
  LogicalResult readUpdates() {
    updates.assign(entry.getNumResults(), -1);
    for (unsigned i = 0; i < entry.getNumResults(); ++i) {
      auto attribute = entry.getResultAttrOfType<IntegerAttr>(i, kUpdatesAttr);
      if (!attribute)
        continue;
      int64_t argument = attribute.getInt();
      if (argument < 0 || argument >= entry.getNumArguments())
        return entry.emitError("result ")
               << i << " updates argument " << argument << " of "
               << entry.getNumArguments();
      if (llvm::is_contained(updates, argument))
        return entry.emitError("argument ")
               << argument << " is updated by two results";
      auto type =
          dyn_cast<RankedTensorType>(entry.getArgument(argument).getType());
      if (!type || !type.hasStaticShape() || type != entry.getResultTypes()[i])
        return entry.emitError("result ")
               << i << " of type " << entry.getResultTypes()[i]
               << " cannot update argument " << argument << " of type "
               << entry.getArgument(argument).getType()
               << " (supported: the same static type)";
      updates[i] = argument;
    }
    return success();
  }

  bool isUpdated(int64_t argument) const {
    return llvm::is_contained(updates, argument);
  }

  /// The dictionary of a value says what its type says; a file may hold
  /// another.
  LogicalResult checkInfo(Attribute attribute, Type type, int64_t lowestDim) {
    FailureOr<ValueInfo> info = readValueInfo(attribute);
    auto tensor = dyn_cast<RankedTensorType>(type);
    bool fits = succeeded(info) && tensor &&
                tensor.getRank() == static_cast<int64_t>(info->dims.size());
    for (int64_t i = 0; fits && i < tensor.getRank(); ++i)
      fits = tensor.isDynamicDim(i)
                 ? info->dims[i] < 0 && info->dims[i] >= lowestDim
                 : info->dims[i] == tensor.getDimSize(i);
    if (fits)
      return success();
    return entry.emitError("'") << kAbiValueAttr << "' " << attribute
                                << " does not describe " << type;
  }

  /// The dictionaries outlive the arguments they describe.
  LogicalResult moveInterfaceToModule() {
    Builder builder(&getContext());
    SmallVector<Attribute> inputs, outputs;
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      inputs.push_back(entry.getArgAttr(i, kAbiValueAttr));
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      outputs.push_back(entry.getResultAttr(i, kAbiValueAttr));
    if (llvm::is_contained(inputs, Attribute()) ||
        llvm::is_contained(outputs, Attribute()))
      return entry.emitError("'")
             << kAbiValueAttr << "' is missing on an argument or result";
    auto symbols = getOperation()->getAttrOfType<ArrayAttr>(kAbiSymbolsAttr);
    int64_t numSymbols = symbols ? symbols.size() : 0;
    for (auto [info, type] : llvm::zip_equal(inputs, entry.getArgumentTypes()))
      if (failed(checkInfo(info, type, -numSymbols)))
        return failure();
    for (auto [info, type] : llvm::zip_equal(outputs, entry.getResultTypes()))
      if (failed(checkInfo(info, type, -1)))
        return failure();
    for (auto [index, input] : llvm::enumerate(inputs)) {
      auto info = dyn_cast<DictionaryAttr>(input);
      if (!info || !isUpdated(index))
        continue;
      NamedAttrList list(info);
      list.set(kUpdatedKey, builder.getUnitAttr());
      input = list.getDictionary(&getContext());
    }
    SmallVector<Attribute> untied;
    for (auto [output, argument] : llvm::zip_equal(outputs, updates))
      if (argument < 0)
        untied.push_back(output);
    outputs = untied;
    getOperation()->setAttr(kInputsAttr, builder.getArrayAttr(inputs));
    getOperation()->setAttr(kOutputsAttr, builder.getArrayAttr(outputs));
    entry.removeArgAttrsAttr();
    entry.removeResAttrsAttr();
    return success();
  }

  void addInputArguments() {
    Block &block = entry.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&block);
    Location loc = entry.getLoc();
    unsigned numInputs = block.getNumArguments();
    auto bytes = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
    SmallVector<Type> types{LLVM::LLVMPointerType::get(&getContext()), bytes,
                            bytes};
    auto symbols = getOperation()->getAttrOfType<ArrayAttr>(kAbiSymbolsAttr);
    types.append(symbols ? symbols.size() : 0, builder.getIndexType());
    unsigned first = types.size();
    for (BlockArgument argument : block.getArguments())
      types.push_back(getBufferType(argument.getType()));
    for (auto [index, type] : llvm::enumerate(types))
      block.addArgument(type, index < first
                                  ? loc
                                  : block.getArgument(index - first).getLoc());
    for (unsigned i = 0; i < numInputs; ++i) {
      BlockArgument before = block.getArgument(i);
      Value buffer = block.getArgument(numInputs + first + i);
      Value tensor = bufferization::ToTensorOp::create(
          builder, before.getLoc(), before.getType(), buffer,
          /*restrict=*/true, /*writable=*/isUpdated(i));
      before.replaceAllUsesWith(tensor);
      buffers.push_back(buffer);
    }
    block.eraseArguments(0, numInputs);
    entry.setType(FunctionType::get(&getContext(), block.getArgumentTypes(),
                                    entry.getResultTypes()));
  }

  /// Appends every dynamic output dimension to the results.
  void returnOutputDims() {
    auto terminator =
        cast<func::ReturnOp>(entry.getBody().front().getTerminator());
    OpBuilder builder(terminator);
    SmallVector<Value> operands(terminator.getOperands());
    numOutputs = operands.size();
    for (unsigned i = 0; i < numOutputs; ++i) {
      auto type = cast<RankedTensorType>(operands[i].getType());
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        if (type.isDynamicDim(dim))
          operands.push_back(tensor::DimOp::create(builder, terminator.getLoc(),
                                                   operands[i], dim));
    }
    terminator->setOperands(operands);
  }

  void addOutputArguments() {
    Block &block = entry.getBody().front();
    auto terminator = cast<func::ReturnOp>(block.getTerminator());
    OpBuilder builder(terminator);
    Location loc = terminator.getLoc();
    SmallVector<Value> results(terminator.getOperands().take_front(numOutputs));
    SmallVector<Value> dims(terminator.getOperands().drop_front(numOutputs));
    SmallVector<int64_t> valueShaped;
    ArrayRef<Value> rest(dims);
    int64_t output = 0;
    for (auto [result, argument] : llvm::zip_equal(results, updates)) {
      if (argument >= 0)
        continue;
      auto type = getBufferType(result.getType());
      ArrayRef<Value> own = rest.take_front(type.getNumDynamicDims());
      rest = rest.drop_front(own.size());
      Value buffer;
      if (llvm::all_of(own, [](Value v) { return dependsOnSymbolsOnly(v); })) {
        buffer = block.addArgument(type, result.getLoc());
      } else {
        valueShaped.push_back(output);
        buffer = allocateOutput(builder, loc, output, type, own);
      }
      ++output;
      bufferization::MaterializeInDestinationOp::create(
          builder, loc, /*result=*/Type(), result, buffer, /*restrict=*/true,
          /*writable=*/true);
    }
    writeUpdates(builder, loc, results);
    terminator->setOperands(dims);
    entry.setType(FunctionType::get(&getContext(), block.getArgumentTypes(),
                                    terminator.getOperandTypes()));
    getOperation()->setAttr(kValueShapedAttr,
                            DenseI64ArrayAttr::get(&getContext(), valueShaped));
  }

  /// The tensor in the buffer of an input that is updated. What is not read has
  /// none left.
  Value getState(OpBuilder &builder, int64_t argument) {
    Value buffer = buffers[argument];
    for (Operation *user : buffer.getUsers())
      if (auto tensor = dyn_cast<bufferization::ToTensorOp>(user))
        return tensor;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&entry.getBody().front());
    auto type = cast<MemRefType>(buffer.getType());
    return bufferization::ToTensorOp::create(
        builder, buffer.getLoc(),
        RankedTensorType::get(type.getShape(), type.getElementType()), buffer,
        /*restrict=*/true, /*writable=*/true);
  }

  /// True when a result is state as it was, seen through views, or may be.
  bool mayBeState(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (op->hasTrait<OpTrait::ConstantLike>() ||
          isa<DestinationStyleOpInterface>(op))
        return false;
      if (!isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
               tensor::ExtractSliceOp, tensor::ReshapeOp>(op))
        return true;
      value = op->getOperand(0);
    }
    return true;
  }

  /// Bufferisation sees state as one tensor that is read and then overwritten:
  /// it writes in place where no later op reads the old value, otherwise
  /// elsewhere. The copy at the end is of a buffer onto itself, or brings the
  /// value home.
  void writeUpdates(OpBuilder &builder, Location loc, ArrayRef<Value> results) {
    SmallVector<Value> values(results), states;
    for (int64_t argument : updates)
      states.push_back(argument < 0 ? Value() : getState(builder, argument));
    for (auto [value, argument, state] :
         llvm::zip_equal(values, updates, states))
      // Other state may be overwritten before this one is.
      if (argument >= 0 && value != state && mayBeState(value))
        value = bufferization::AllocTensorOp::create(
            builder, loc, cast<RankedTensorType>(value.getType()),
            /*dynamicSizes=*/ValueRange(), /*copy=*/value);
    SmallVector<std::pair<Value, Value>> copies;
    for (auto [value, argument, state] :
         llvm::zip_equal(values, updates, states)) {
      if (argument < 0 || value == state)
        continue;
      Value buffer = buffers[argument];
      Value updated = bufferization::MaterializeInDestinationOp::create(
                          builder, loc, value.getType(), value, state)
                          .getResult();
      copies.push_back({updated, buffer});
    }
    for (auto [updated, buffer] : copies) {
      Value source = bufferization::ToBufferOp::create(
          builder, loc, buffer.getType(), updated, /*read_only=*/true);
      memref::CopyOp::create(builder, loc, source, buffer);
    }
  }

  Value allocateOutput(OpBuilder &builder, Location loc, int64_t index,
                       MemRefType type, ArrayRef<Value> dims) {
    std::string name = (kAllocateOutput + "." + Twine(index)).str();
    Value runtime = EntryArguments(entry).runtime();
    SmallVector<Value> operands{runtime};
    operands.append(dims.begin(), dims.end());
    auto function = func::FuncOp::create(
        loc, name,
        FunctionType::get(&getContext(), ValueRange(operands).getTypes(),
                          type));
    function.setPrivate();
    function->setAttr(kBufferAttr, TypeAttr::get(type));
    getOperation().push_back(function);
    return func::CallOp::create(builder, loc, function, operands).getResult(0);
  }

  func::FuncOp entry;
  unsigned numOutputs = 0;
  /// Argument that each result is written to, or -1.
  SmallVector<int64_t> updates;
  /// What the inputs lie in.
  SmallVector<Value> buffers;
};

} // namespace
