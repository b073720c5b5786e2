//===- ScatterKernel.cpp - updates of computed places ---------------------===//
//
// Several updates may have one place. The first of them owns it: its thread
// makes all steps of that place in the order of the loops and stores once.
// Results are those of the loops, bit by bit, and no two threads write one
// place.
//
//===----------------------------------------------------------------------===//

#include "KernelFamily.h"
#include "ScatterLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace onnx_aot::gpu_kernel {

namespace {

constexpr int64_t kThreads = 256;

/// Evaluates the values of a nest at one of its points.
class NestValues {
public:
  /// `point` has an index for each loop.
  NestValues(KernelWriter &w, ScatterLoops &nest, const Point &point)
      : w(w), nest(nest) {
    for (auto [loop, index] : llvm::zip_equal(nest.loops, point))
      mapping.map(loop.getInductionVar(), toIndex(index));
  }

  void map(Value from, Value to) { mapping.map(from, to); }

  Value get(Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || !nest.loops.front()->isAncestor(op))
      return w.getScalar(value);
    Value made;
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      made = w.load(load.getMemRef(), getIndices(load.getIndices()));
    } else {
      for (Value operand : op->getOperands())
        mapping.map(operand, get(operand));
      made = w.b()
                 .clone(*op, mapping)
                 ->getResult(cast<OpResult>(value).getResultNumber());
    }
    mapping.map(value, made);
    return made;
  }

  SmallVector<Value> getIndices(ValueRange values) {
    SmallVector<Value> indices;
    for (Value value : values)
      indices.push_back(
          arith::IndexCastOp::create(w.b(), w.b().getI32Type(), get(value)));
    return indices;
  }

private:
  Value toIndex(Value index) {
    return arith::IndexCastOp::create(w.b(), w.b().getIndexType(), index);
  }

  KernelWriter &w;
  ScatterLoops &nest;
  IRMapping mapping;
};

struct ScatterFamily final : KernelFamily {
  StringRef getName() const override { return "scatter"; }
  bool matches(const KernelAnalysis &kernel) const override {
    return kernel.getScatter().has_value();
  }
  int64_t getThreads(const KernelAnalysis &) const override { return kThreads; }

  Value emitBlocks(const KernelAnalysis &kernel,
                   const HostSizes &host) const override {
    Value points = host.mul(host.product(kernel.getScatter()->straight),
                            host.product(kernel.getScatter()->scanned));
    return host.minimum(host.ceilDiv(points, kThreads), kMaxBlocks);
  }

  /// Neighbouring threads have neighbouring places of one scanned point.
  void emit(KernelWriter &w) const override {
    ScatterLoops nest = *w.analysis().getScatter();
    Value length = w.product(nest.straight), count = w.product(nest.scanned);
    Value first =
        w.add(w.mul(w.blockIndex(), w.constant(kThreads)), w.threadIndex());
    w.loop(first, w.mul(length, count),
           w.mul(w.gridSize(), w.constant(kThreads)), {},
           [&](Value linear, ValueRange) {
             Point point(nest.loops.size());
             w.delinearize(w.rem(linear, length), nest.straight, point);
             update(w, nest, point, w.div(linear, length), count);
             return SmallVector<Value>();
           });
  }

private:
  /// The point whose number along the scanned loops is `number`.
  static NestValues at(KernelWriter &w, ScatterLoops &nest, Point point,
                       Value number) {
    w.delinearize(number, nest.scanned, point);
    return NestValues(w, nest, point);
  }

  static void update(KernelWriter &w, ScatterLoops &nest, const Point &point,
                     Value number, Value count) {
    SmallVector<Value> place =
        at(w, nest, point, number).getIndices(nest.store.getIndices());
    auto isSame = [&](Value other) -> Value {
      NestValues values = at(w, nest, point, other);
      Value same = arith::ConstantIntOp::create(w.b(), w.b().getI1Type(), 1);
      for (auto [coordinate, mine] :
           llvm::zip_equal(nest.store.getIndices(), place)) {
        if (isStraight(nest, coordinate))
          continue;
        Value theirs = values.getIndices(coordinate).front();
        same = w.both(same, arith::CmpIOp::create(
                                w.b(), arith::CmpIPredicate::eq, mine, theirs));
      }
      return same;
    };
    Value earliest = w.search(w.constant(0), number, isSame);
    Value isOwner = arith::CmpIOp::create(w.b(), arith::CmpIPredicate::eq,
                                          earliest, number);
    w.when(isOwner, [&] {
      unsigned target = cast<BlockArgument>(nest.getTarget()).getArgNumber();
      Type type = nest.store.getValue().getType();
      Value held =
          nest.current
              ? w.load(nest.getTarget(), place)
              : arith::ConstantOp::create(w.b(), w.b().getZeroAttr(type))
                    .getResult();
      Value result = w.loop(number, count, w.constant(1), held,
                            [&](Value other, ValueRange carried) {
                              Value before = carried.front();
                              return SmallVector<Value>{
                                  w.choose(isSame(other), before, [&] {
                                    NestValues values =
                                        at(w, nest, point, other);
                                    if (nest.current)
                                      values.map(nest.current, before);
                                    return values.get(nest.store.getValue());
                                  })};
                            })
                         .front();
      w.store(result, target, place);
    });
  }

  static bool isStraight(ScatterLoops &nest, Value coordinate) {
    return llvm::any_of(nest.straight, [&](unsigned number) {
      return nest.loops[number].getInductionVar() == coordinate;
    });
  }
};

} // namespace

const KernelFamily &getScatterFamily() {
  static const ScatterFamily family;
  return family;
}

} // namespace onnx_aot::gpu_kernel
