//===- LaunchGraph.cpp - what the entry keeps in memory, and when ---------===//

#include "LaunchGraph.h"

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

//===--- The entry as numbers ---------------------------------------------===//

static bool isView(Operation *op) {
  return isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
             tensor::ExtractSliceOp, tensor::ReshapeOp>(op);
}

/// The operand that a result is written over or is a view of; null if the
/// result has memory of its own.
static OpOperand *getSharedOperand(OpResult result) {
  Operation *op = result.getOwner();
  if (auto written = dyn_cast<DestinationStyleOpInterface>(op))
    return written.getTiedOpOperand(result);
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return &insert.getDestMutable();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return &loop.getInitArgsMutable()[result.getResultNumber()];
  if (auto write = dyn_cast<bufferization::MaterializeInDestinationOp>(op))
    return &write.getDestMutable();
  return isView(op) ? &op->getOpOperand(0) : nullptr;
}

/// Points that an op computes, as far as they are known.
static double countPoints(linalg::LinalgOp op) {
  double points = 1;
  for (int64_t range : op.getStaticLoopRanges())
    points *= ShapedType::isDynamic(range) ? 1 : double(range);
  return points;
}

static double getCost(Operation &op, ModuleOp module) {
  // What no kernel computes runs one element at a time.
  constexpr double kSerial = 16;
  double cost = 0;
  if (auto launch = dyn_cast<kernel::LaunchOp>(op)) {
    if (auto kernel = module.lookupSymbol<func::FuncOp>(launch.getKernel()))
      kernel.walk([&](linalg::LinalgOp inner) { cost += countPoints(inner); });
  } else if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    cost = kSerial * countPoints(structured);
  } else if (!isView(&op)) {
    for (Type type : op.getResultTypes())
      if (auto shaped = dyn_cast<RankedTensorType>(type);
          shaped && shaped.hasStaticShape())
        cost += kSerial * double(shaped.getNumElements());
  }
  return cost;
}

/// Whether nothing is done with a result but to store it in memory of the
/// caller, so that it can be written there at once.
static bool isStored(mlir::Value result) {
  return result.hasOneUse() &&
         isa<bufferization::MaterializeInDestinationOp>(*result.user_begin());
}

int64_t LaunchGraph::measure(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (!tensor.hasStaticShape())
    hasDynamicSizes = true;
  if (!tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat())
    return 0;
  return int64_t(
      llvm::alignTo(tensor.getNumElements() *
                        llvm::divideCeil(tensor.getElementTypeBitWidth(), 8),
                    kAlignment));
}

int LaunchGraph::findDestination(mlir::Value result) const {
  if (!result.hasOneUse())
    return kNone;
  auto insert = dyn_cast<tensor::InsertSliceOp>(*result.user_begin());
  if (!insert || insert.getSource() != result)
    return kNone;
  auto dest = numbers.find(insert.getDest());
  return dest == numbers.end() ? kNone : values[dest->second].storage;
}

void LaunchGraph::addResult(OpResult result, Step &step) {
  unsigned index = steps.size();
  Operation *op = result.getOwner();
  Value value{index, result.getResultNumber(), kNone, 0};
  if (auto state = dyn_cast<bufferization::ToTensorOp>(op);
      state && state.getWritable()) {
    value.state = int(values.size());
    step.canRepeat = false;
  }
  int operand = kNone;
  OpOperand *shared = getSharedOperand(result);
  bool isFresh = !shared || shared->get().getDefiningOp<tensor::EmptyOp>();
  if (isa<bufferization::ToTensorOp>(op) ||
      op->hasTrait<OpTrait::ConstantLike>()) {
    isFresh = false;
  } else if (isFresh) {
    value.bytes = isStored(result) ? 0 : measure(result.getType());
    value.storage = findDestination(result);
    if (value.storage == kNone) {
      value.storage = int(storages.size());
      storages.push_back({value.bytes, {}, {}});
    }
  } else {
    for (auto [place, own] : llvm::enumerate(step.operands))
      if (!own.isCaptured && own.number == shared->getOperandNumber()) {
        own.isShared = true;
        operand = int(place);
        value.storage = values[own.value].storage;
        if (step.isView)
          value.state = values[own.value].state;
      }
    // What lies outside of the arena is written once.
    step.canRepeat &= step.isView || value.storage != kNone;
    if (!step.isView && value.storage != kNone)
      storages[value.storage].writes.push_back(index);
  }
  numbers[result] = int(values.size());
  step.results.push_back({int(values.size()), operand});
  values.push_back(value);
}

void LaunchGraph::addStep(Operation &op, ModuleOp module) {
  Step step;
  auto add = [&](mlir::Value value, unsigned number, bool isCaptured) {
    auto found = numbers.find(value);
    if (found != numbers.end())
      step.operands.push_back({found->second, number, isCaptured, false});
  };
  for (OpOperand &operand : op.getOpOperands())
    add(operand.get(), operand.getOperandNumber(), false);
  SetVector<mlir::Value> captured;
  getUsedValuesDefinedAbove(op.getRegions(), captured);
  for (mlir::Value value : captured)
    add(value, 0, true);
  step.isView = ::isView(&op);
  step.cost = getCost(op, module);
  step.canRepeat =
      op.getNumResults() > 0 &&
      llvm::all_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>) &&
      (isa<kernel::LaunchOp>(op) || isMemoryEffectFree(&op)) &&
      llvm::none_of(step.operands,
                    [](const Operand &operand) { return operand.isCaptured; });
  for (OpResult result : op.getResults())
    if (isa<RankedTensorType>(result.getType()) && !isa<tensor::EmptyOp>(op))
      addResult(result, step);
  unsigned index = steps.size();
  auto touch = [&](int value) {
    int storage = values[value].storage;
    if (storage != kNone && (storages[storage].accesses.empty() ||
                             storages[storage].accesses.back() != index))
      storages[storage].accesses.push_back(index);
  };
  for (const Operand &operand : step.operands) {
    touch(operand.value);
    int state = values[operand.value].state;
    if (state != kNone && !isa<bufferization::MaterializeInDestinationOp>(op))
      values[state].until = index;
  }
  for (const Result &result : step.results)
    touch(result.value);
  steps.push_back(std::move(step));
}

LaunchGraph::LaunchGraph(func::FuncOp entry) {
  auto module = entry->getParentOfType<ModuleOp>();
  for (Operation &op : entry.getBody().front())
    addStep(op, module);
}

std::optional<std::pair<unsigned, unsigned>>
LaunchGraph::getGap(unsigned storage) const {
  const std::vector<unsigned> &accesses = storages[storage].accesses;
  std::optional<std::pair<unsigned, unsigned>> longest;
  for (size_t i = 1; i < accesses.size(); ++i) {
    unsigned length = accesses[i] - accesses[i - 1];
    if (length > 1 && (!longest || length > longest->second - longest->first))
      longest = {accesses[i - 1], accesses[i]};
  }
  return longest;
}

//===--- Schedules --------------------------------------------------------===//

/// Walks over the steps and repeats others before them where their operands
/// are gone. An instance is a value as such (then its number is the value's) or
/// one that was made again.
class LaunchGraph::Scheduler {
public:
  Scheduler(const LaunchGraph &graph, const std::vector<bool> &dropped)
      : graph(graph), gaps(graph.storages.size()) {
    for (unsigned storage = 0; storage < dropped.size(); ++storage)
      if (dropped[storage])
        gaps[storage] = graph.getGap(storage);
    for (const Value &value : graph.values)
      places.push_back(value.storage);
    for (const Storage &storage : graph.storages)
      bytes.push_back(storage.bytes);
  }

  std::optional<Schedule> run() {
    for (position = 0; position < graph.steps.size(); ++position)
      if (!addStep())
        return std::nullopt;
    measure();
    return std::move(schedule);
  }

private:
  /// A value made again, and the step that it was made for.
  struct Copy {
    unsigned instance, position;
  };

  bool isDropped(const Value &value) const {
    return value.storage != kNone && gaps[value.storage] &&
           position > gaps[value.storage]->first &&
           value.step <= gaps[value.storage]->first;
  }

  /// The value itself can still be read.
  bool isIntact(const Value &value) const {
    // New state is written in the old one's place as soon as nothing reads
    // that any more; a later reader would bring it a place of its own.
    if (value.storage == kNone)
      return value.state == kNone ||
             position <= graph.values[value.state].until;
    const Storage &storage = graph.storages[value.storage];
    if (isDropped(value) || position > storage.accesses.back())
      return false;
    // Nothing wrote over it since.
    auto next = llvm::upper_bound(storage.writes, value.step);
    return next == storage.writes.end() || *next >= position;
  }

  /// The instance of a value for the step at hand, of its own if that writes
  /// over it; kNone if there can be none.
  int find(int number, bool isOwn) {
    const Value &value = graph.values[number];
    if (isOwn)
      return value.storage == kNone ? kNone : repeat(number, isOwn);
    if (isIntact(value))
      return number;
    auto known = copies.find(number);
    if (known != copies.end() &&
        (known->second.position == position ||
         position <= graph.storages[value.storage].accesses.back()))
      return int(known->second.instance);
    return repeat(number, isOwn);
  }

  int repeat(int number, bool isOwn) {
    unsigned index = graph.values[number].step;
    const Step &step = graph.steps[index];
    if (!step.canRepeat || depth == kMaxDepth)
      return kNone;
    ++depth;
    Schedule::Item item{index, true, {}, {}};
    item.operands.resize(step.operands.size());
    // What is written over comes first: parts that are made after it can be
    // written where they belong.
    for (bool isShared : {true, false})
      for (auto [operand, instance] :
           llvm::zip_equal(step.operands, item.operands)) {
        if (operand.isShared != isShared)
          continue;
        // Of a view the reader's reasons hold.
        int found = find(operand.value, isShared && (isOwn || !step.isView));
        if (found == kNone)
          return kNone;
        instance = unsigned(found);
      }
    --depth;
    int found = kNone;
    for (const Result &result : step.results) {
      unsigned instance = places.size();
      if (result.operand != kNone) {
        places.push_back(places[item.operands[result.operand]]);
      } else {
        places.push_back(int(bytes.size()));
        bytes.push_back(graph.values[result.value].bytes);
      }
      item.results.push_back(instance);
      if (!isOwn)
        copies[result.value] = {instance, position};
      if (result.value == number)
        found = int(instance);
    }
    schedule.cost += step.cost;
    schedule.numRepeated += !step.isView;
    schedule.items.push_back(std::move(item));
    return found;
  }

  /// The step at hand itself.
  bool addStep() {
    const Step &step = graph.steps[position];
    Schedule::Item item{position, false, {}, {}};
    depth = 0;
    for (const Operand &operand : step.operands) {
      int instance = operand.value;
      if (isDropped(graph.values[operand.value]))
        // What is used inside of a loop stays where it is.
        instance = operand.isCaptured
                       ? kNone
                       : find(operand.value, operand.isShared && !step.isView);
      if (instance == kNone)
        return false;
      item.operands.push_back(unsigned(instance));
    }
    for (const Result &result : step.results) {
      const Value &value = graph.values[result.value];
      if (result.operand != kNone) {
        places[result.value] = places[item.operands[result.operand]];
      } else if (value.storage != kNone && gaps[value.storage] &&
                 position > gaps[value.storage]->first) {
        // To be inserted into what is made again.
        places[result.value] = int(bytes.size());
        bytes.push_back(value.bytes);
      }
      item.results.push_back(unsigned(result.value));
    }
    schedule.items.push_back(std::move(item));
    return true;
  }

  void measure() {
    std::vector<int64_t> first(bytes.size(), -1), last(bytes.size(), -1);
    for (auto [index, item] : llvm::enumerate(schedule.items))
      for (const auto *list : {&item.operands, &item.results})
        for (unsigned instance : *list) {
          int place = places[instance];
          if (place == kNone)
            continue;
          if (first[place] < 0)
            first[place] = int64_t(index);
          last[place] = int64_t(index);
        }
    std::vector<int64_t> change(schedule.items.size() + 1, 0);
    for (auto [own, begin, end] : llvm::zip_equal(bytes, first, last))
      if (begin >= 0) {
        change[begin] += own;
        change[end + 1] -= own;
      }
    schedule.live.assign(graph.steps.size(), 0);
    int64_t live = 0;
    unsigned step = 0;
    for (auto [index, item] : llvm::enumerate(schedule.items)) {
      live += change[index];
      schedule.live[step] = std::max(schedule.live[step], live);
      schedule.peak = std::max(schedule.peak, live);
      step += !item.isRepeated;
    }
  }

  /// Longer chains of steps are not worth it, and use the stack.
  static constexpr unsigned kMaxDepth = 256;

  const LaunchGraph &graph;
  std::vector<std::optional<std::pair<unsigned, unsigned>>> gaps;
  DenseMap<int, Copy> copies;
  /// The memory that each instance lies in, and its bytes: the graph's storages
  /// and then those of copies.
  std::vector<int> places;
  std::vector<int64_t> bytes;
  unsigned position = 0, depth = 0;
  Schedule schedule;
};

std::optional<LaunchGraph::Schedule>
LaunchGraph::schedule(const std::vector<bool> &dropped) const {
  return Scheduler(*this, dropped).run();
}

void LaunchGraph::apply(const Schedule &schedule, func::FuncOp entry) const {
  SmallVector<Operation *> ops;
  for (Operation &op : entry.getBody().front())
    ops.push_back(&op);
  assert(ops.size() == steps.size() && "another entry");
  std::vector<mlir::Value> instances;
  for (const Value &value : values)
    instances.push_back(ops[value.step]->getResult(value.number));
  OpBuilder builder(entry.getContext());
  unsigned next = 0;
  for (const Schedule::Item &item : schedule.items) {
    Operation *op = ops[item.step];
    if (item.isRepeated) {
      builder.setInsertionPoint(ops[next]);
      op = builder.clone(*op);
      for (auto [result, instance] :
           llvm::zip_equal(steps[item.step].results, item.results)) {
        instances.resize(std::max<size_t>(instances.size(), instance + 1));
        instances[instance] = op->getResult(values[result.value].number);
      }
    } else {
      ++next;
    }
    for (auto [operand, instance] :
         llvm::zip_equal(steps[item.step].operands, item.operands))
      if (!operand.isCaptured)
        op->setOperand(operand.number, instances[instance]);
  }
}
