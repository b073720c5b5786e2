//===- Entry.h - the entry function between the codegen passes --*- C++ -*-===//
//
// The layout of the entry function's arguments after
// codegen-destination-style-entry, and the attributes that describe it.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CODEGEN_COMMON_ENTRY_H
#define ONNX_AOT_CODEGEN_COMMON_ENTRY_H

#include "onnx-aot/Support/EntryAttributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace onnx_aot::codegen {

/// Name of the entry function inside the module.
constexpr llvm::StringLiteral kEntryName = "main";
/// The function from the symbols to output dims and arena bytes.
constexpr llvm::StringLiteral kPlanName = "main.plan";

/// On the module after codegen-destination-style-entry: what the inputs and the
/// outputs are (ArrayAttr of the dictionaries above).
constexpr llvm::StringLiteral kInputsAttr = "abi.inputs";
constexpr llvm::StringLiteral kOutputsAttr = "abi.outputs";
/// In the dictionary of an input that the entry updates in place (UnitAttr).
constexpr llvm::StringLiteral kUpdatedKey = "updated";
/// On the module: outputs whose shape depends on tensor values (DenseI64Array).
constexpr llvm::StringLiteral kValueShapedAttr = "abi.value_shaped_outputs";
/// On the module: [[offset, value], ...] of the weights buffer, and its size.
constexpr llvm::StringLiteral kWeightsAttr = "codegen.weights";
constexpr llvm::StringLiteral kWeightBytesAttr = "codegen.weight_bytes";
/// On the module: the arena's size when it is a constant.
constexpr llvm::StringLiteral kArenaBytesAttr = "codegen.arena_bytes";
/// On the module where a budget made the arena smaller: its size without, and
/// how many steps are repeated.
constexpr llvm::StringLiteral kNaturalBytesAttr = "codegen.natural_bytes";
constexpr llvm::StringLiteral kRepeatedAttr = "codegen.repeated_steps";
/// On the module where it is asked for: the nodes of the entry's steps
/// (ArrayAttr of texts), and first step, last step, offset and bytes of each
/// buffer in the arena, one after the other (DenseI64Array).
constexpr llvm::StringLiteral kStepsAttr = "codegen.steps";
constexpr llvm::StringLiteral kBuffersAttr = "codegen.buffers";
/// On the module: why main.plan may refuse the symbols (ArrayAttr of texts).
constexpr llvm::StringLiteral kPlanChecksAttr = "codegen.plan_checks";

/// Prefix of the functions the entry may call that the runtime serves.
constexpr llvm::StringLiteral kAllocateOutput = "onnx_aot.allocate_output";
constexpr llvm::StringLiteral kAllocate = "onnx_aot.allocate";
/// Suffix of the function that runs all tasks of a kernel.
constexpr llvm::StringLiteral kLaunchSuffix = ".launch";
/// On those functions: the memref type of the buffer they return.
constexpr llvm::StringLiteral kBufferAttr = "codegen.buffer";

/// Alignment of arena buffers and weights in bytes (ONNX_AOT_ALIGNMENT).
constexpr int64_t kAlignment = 64;

/// The entry function's arguments by role.
class EntryArguments {
public:
  explicit EntryArguments(mlir::func::FuncOp entry);

  mlir::BlockArgument runtime() const { return get(0); }
  mlir::BlockArgument weights() const { return get(1); }
  mlir::BlockArgument arena() const { return get(2); }
  mlir::BlockArgument symbol(unsigned index) const { return get(3 + index); }
  mlir::BlockArgument input(unsigned index) const {
    return get(3 + numSymbols + index);
  }
  unsigned getNumSymbols() const { return numSymbols; }
  unsigned getNumInputs() const { return numInputs; }
  /// First output argument; the value-shaped outputs have none.
  unsigned firstOutput() const { return 3 + numSymbols + numInputs; }
  /// The size of dimension `dim` of input `index`: a symbol argument, or null
  /// when it is a constant.
  mlir::Value inputDim(unsigned index, int64_t dim) const;

private:
  mlir::BlockArgument get(unsigned index) const {
    return entry.getArgument(index);
  }
  mutable mlir::func::FuncOp entry;
  unsigned numSymbols = 0, numInputs = 0;
  mlir::ArrayAttr inputs;
};

/// The module's entry function; null when it has none.
mlir::func::FuncOp getEntry(mlir::ModuleOp module);

/// The symbol argument that is the size of a dimension of an input, or of a
/// view of it with the same shape; null for constants and other values.
mlir::Value getEntryDim(mlir::func::FuncOp entry, mlir::Value value,
                        int64_t dim);

/// Replaces dimensions of entry arguments by the symbol arguments, so that
/// equal sizes are the same SSA value.
void resolveEntryDims(mlir::func::FuncOp entry);

/// Expresses dimensions of tensors by the symbols where shape functions allow
/// it.
void resolveTensorDims(mlir::func::FuncOp entry);

/// True when `value` is computed from index arguments and constants alone.
/// Collects the operations it needs, in order, when `slice` is given.
bool dependsOnSymbolsOnly(mlir::Value value,
                          llvm::SetVector<mlir::Operation *> *slice = nullptr);

} // namespace onnx_aot::codegen

#endif // ONNX_AOT_CODEGEN_COMMON_ENTRY_H
