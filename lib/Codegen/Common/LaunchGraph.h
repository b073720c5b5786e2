//===- LaunchGraph.h - what the entry keeps in memory, and when -*- C++ -*-===//

#ifndef ONNX_AOT_LIB_CODEGEN_COMMON_LAUNCHGRAPH_H
#define ONNX_AOT_LIB_CODEGEN_COMMON_LAUNCHGRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace onnx_aot::codegen {

/// The entry on tensors as numbers: its steps (the ops of its block), their
/// tensor values, and storages, the memory that values which are written one
/// over the other share.
class LaunchGraph {
public:
  explicit LaunchGraph(mlir::func::FuncOp entry);

  /// A temporary has a size that only the run knows.
  bool isDynamic() const { return hasDynamicSizes; }
  unsigned getNumStorages() const { return storages.size(); }
  int64_t getBytes(unsigned storage) const { return storages[storage].bytes; }
  /// The longest time in which nothing touches a storage that is read
  /// afterwards: the steps at its ends; none if there is no such time.
  std::optional<std::pair<unsigned, unsigned>> getGap(unsigned storage) const;

  /// The steps in a new order, some of them more than once.
  struct Schedule {
    struct Item {
      unsigned step;
      bool isRepeated;
      /// Instances of the step's tensor operands and results. Those of the
      /// values themselves come first, then those of repeated steps.
      llvm::SmallVector<unsigned, 4> operands, results;
    };
    std::vector<Item> items;
    /// Most bytes alive while each step and what is repeated for it runs.
    std::vector<int64_t> live;
    int64_t peak = 0;
    /// Work of the repeated steps, and how many of them launch something.
    double cost = 0;
    unsigned numRepeated = 0;
  };

  /// Lets go of the storages marked in `dropped` for their longest idle time
  /// and makes them again before they are next used; nothing if what makes one
  /// cannot be repeated.
  std::optional<Schedule> schedule(const std::vector<bool> &dropped) const;

  /// Repeats the steps of an entry which this graph was made of, or of a copy
  /// of it.
  void apply(const Schedule &schedule, mlir::func::FuncOp entry) const;

private:
  class Scheduler;
  static constexpr int kNone = -1;

  struct Operand {
    int value;
    unsigned number;
    bool isCaptured; ///< used inside the step's regions
    bool isShared;   ///< written over by the step, or seen by it as a view
  };
  struct Result {
    int value;
    int operand; ///< which it shares its storage with, by its place in the list
  };
  struct Step {
    llvm::SmallVector<Operand, 4> operands;
    llvm::SmallVector<Result, 2> results;
    bool canRepeat = false;
    bool isView = false;
    double cost = 0;
  };
  struct Storage {
    int64_t bytes = 0;
    std::vector<unsigned> accesses, writes; ///< steps, in order
  };
  struct Value {
    unsigned step, number; ///< the step and which of its results it is
    int storage;           ///< none for what lies outside of the arena
    int64_t bytes;         ///< that it would take by itself
    int state = -1;        ///< the state that it is, or shows as a view
    unsigned until = 0;    ///< of state: the last step that reads it
  };

  void addStep(mlir::Operation &op, mlir::ModuleOp module);
  void addResult(mlir::OpResult result, Step &step);
  int64_t measure(mlir::Type type);
  /// The storage of what a fresh result is inserted into, if it only serves for
  /// that.
  int findDestination(mlir::Value result) const;

  std::vector<Step> steps;
  std::vector<Storage> storages;
  std::vector<Value> values;
  llvm::DenseMap<mlir::Value, int> numbers;
  bool hasDynamicSizes = false;
};

} // namespace onnx_aot::codegen

#endif // ONNX_AOT_LIB_CODEGEN_COMMON_LAUNCHGRAPH_H
