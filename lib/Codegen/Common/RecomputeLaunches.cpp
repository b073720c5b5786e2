//===- RecomputeLaunches.cpp - compute values again to save memory --------===//

#include "LaunchGraph.h"

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/Common/Passes.h"
#include "onnx-aot/Codegen/Common/PipelineSteps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_RECOMPUTELAUNCHES
#include "onnx-aot/Codegen/Common/Passes.h.inc"
} // namespace onnx_aot

namespace {

using Schedule = LaunchGraph::Schedule;

/// Chooses what is let go of, one storage after the other.
class Search {
public:
  explicit Search(const LaunchGraph &graph)
      : graph(graph), dropped(graph.getNumStorages(), false),
        best(*graph.schedule(dropped)) {}

  const Schedule &getSchedule() const { return best; }

  /// Goes on until at most `target` bytes are alive at any time, or nothing
  /// helps.
  void run(int64_t target) {
    while (best.peak > target && dropNext(target)) {
    }
  }

  /// The same in small steps, which gets further where the target is out of
  /// reach: it is the highest peaks that are worked at.
  void descend(int64_t target) {
    while (best.peak > target &&
           dropNext(std::max(target, best.peak - best.peak / 32))) {
    }
  }

private:
  /// How many candidates are tried in each round.
  static constexpr size_t kCandidates = 24;

  static double getExcess(const Schedule &schedule, int64_t target) {
    double excess = 0;
    for (int64_t live : schedule.live)
      excess += double(std::max<int64_t>(0, live - target));
    return excess;
  }

  /// The storages that lie idle where too much is alive, those first that save
  /// most.
  SmallVector<unsigned> findCandidates(int64_t target) const {
    std::vector<unsigned> above{0};
    for (int64_t live : best.live)
      above.push_back(above.back() + (live > target));
    SmallVector<std::pair<double, unsigned>> found;
    for (unsigned storage = 0; storage < dropped.size(); ++storage) {
      auto gap = dropped[storage] ? std::nullopt : graph.getGap(storage);
      if (!gap)
        continue;
      unsigned steps = above[gap->second] - above[gap->first + 1];
      if (double saved = double(steps) * double(graph.getBytes(storage)))
        found.push_back({saved, storage});
    }
    llvm::stable_sort(
        found, [](const auto &a, const auto &b) { return a.first > b.first; });
    SmallVector<unsigned> storages;
    for (const auto &[saved, storage] : found)
      storages.push_back(storage);
    return storages;
  }

  /// Lets go of what saves most bytes, over all steps, for the work that it
  /// costs.
  bool dropNext(int64_t target) {
    double excess = getExcess(best, target);
    std::optional<Schedule> chosen;
    double chosenScore = 0;
    unsigned chosenStorage = 0;
    size_t tried = 0;
    for (unsigned storage : findCandidates(target)) {
      if (tried == kCandidates && chosen)
        break;
      dropped[storage] = true;
      std::optional<Schedule> next = graph.schedule(dropped);
      dropped[storage] = false;
      if (!next)
        continue;
      double gain = excess - getExcess(*next, target);
      if (gain <= 0)
        continue;
      ++tried;
      double score = gain / (1 + std::max(0.0, next->cost - best.cost));
      if (score <= chosenScore)
        continue;
      chosenScore = score;
      chosenStorage = storage;
      chosen = std::move(next);
    }
    if (!chosen)
      return false;
    dropped[chosenStorage] = true;
    best = std::move(*chosen);
    return true;
  }

  const LaunchGraph &graph;
  std::vector<bool> dropped;
  Schedule best;
};

struct RecomputeLaunches
    : onnx_aot::impl::RecomputeLaunchesBase<RecomputeLaunches> {
  using RecomputeLaunchesBase::RecomputeLaunchesBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    RecomputeLaunchesBase::getDependentDialects(registry);
    OpPassManager steps(ModuleOp::getOperationName());
    addBufferSteps(steps, {});
    steps.getDependentDialects(registry);
  }

  void runOnOperation() override {
    func::FuncOp entry = getEntry(getOperation());
    if (!entry || budget <= 0)
      return;
    LaunchGraph graph(entry);
    std::optional<int64_t> natural;
    if (!graph.isDynamic())
      natural = plan(nullptr, graph);
    if (!natural) {
      entry.emitError("a memory budget needs sizes that are known when the "
                      "model is compiled: fix them by --dim");
      return signalPassFailure();
    }
    if (*natural <= budget)
      return;
    if (failed(fit(entry, graph, *natural)))
      signalPassFailure();
  }

private:
  /// How often a schedule is made smaller because its plan did not fit.
  static constexpr int kTries = 12;

  /// The bytes of the arena with a schedule, or without any; none if only the
  /// run knows them.
  std::optional<int64_t> plan(const Schedule *schedule,
                              const LaunchGraph &graph) {
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto copy = cast<ModuleOp>(builder.clone(*getOperation()));
    if (schedule)
      graph.apply(*schedule, getEntry(copy));
    OpPassManager steps(ModuleOp::getOperationName());
    addBufferSteps(steps, {});
    std::optional<int64_t> bytes;
    if (succeeded(runPipeline(steps, copy)))
      if (auto arena = copy->getAttrOfType<IntegerAttr>(kArenaBytesAttr))
        bytes = arena.getInt();
    copy.erase();
    return bytes;
  }

  LogicalResult fit(func::FuncOp entry, const LaunchGraph &graph,
                    int64_t natural) {
    // What is alive is at most what the plan takes, and less where buffers do
    // not fill all gaps.
    int64_t target = budget, least = natural;
    bool isReached = true;
    for (int i = 0; i < kTries && isReached; ++i) {
      Search direct(graph), slow(graph);
      direct.run(target);
      isReached = direct.getSchedule().peak <= target;
      if (!isReached)
        slow.descend(target);
      const Schedule &chosen =
          isReached ? direct.getSchedule() : slow.getSchedule();
      isReached |= chosen.peak <= target;
      std::optional<int64_t> bytes = plan(&chosen, graph);
      if (!bytes)
        return failure();
      least = std::min(least, *bytes);
      if (*bytes <= budget) {
        graph.apply(chosen, entry);
        Builder builder(&getContext());
        getOperation()->setAttr(kNaturalBytesAttr,
                                builder.getI64IntegerAttr(natural));
        getOperation()->setAttr(kRepeatedAttr,
                                builder.getI64IntegerAttr(chosen.numRepeated));
        return success();
      }
      target = std::min(target, chosen.peak) - (*bytes - budget);
    }
    // As numbers, which options are not to a stream.
    int64_t wanted = budget, other = state;
    return entry.emitError("the memory budget of ")
           << wanted + other << " bytes cannot be kept: at least "
           << least + other << " are needed, " << least
           << " of them for temporary values however much is computed again ("
           << natural << " when nothing is), " << other
           << " for parameters and other state";
  }
};

} // namespace
