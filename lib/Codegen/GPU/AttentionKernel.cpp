//===- AttentionKernel.cpp - attention without its matrix of scores -------===//
//
// A block has 64 queries and runs over the keys, 64 at a time: their scores are
// one product, whose results stay with the threads that have them; their
// exponentials, in shared memory, are the rows of another. What was summed up
// before is scaled where the maximum of a row has grown. So the order of each
// sum depends on the shapes alone, and nothing of the matrix is in memory.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "Multiplier.h"

#include "onnx-aot/Codegen/Common/KernelChain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace onnx_aot::codegen;

namespace onnx_aot::gpu_kernel {

namespace {

Attention getAttention(const KernelAnalysis &kernel) {
  return *findAttention(getStages(kernel.getKernel()), kernel.getDomain());
}

bool isForTensorCores(const KernelAnalysis &kernel,
                      const Attention &attention) {
  return attention.scores.narrow == attention.values.narrow &&
         gpu_kernel::isForTensorCores(kernel, attention.scores) &&
         gpu_kernel::isForTensorCores(kernel, attention.values);
}

/// A block's results; where values are longer, scores are computed again for
/// each tile of them.
TileSize getTile(const KernelAnalysis &kernel, const Attention &attention) {
  std::optional<int64_t> length =
      kernel.getStaticProduct(attention.values.columns.dims);
  return {kTile, length && *length > kTile ? 2 * kTile : kTile};
}

/// Writes one kernel.
class AttentionWriter {
public:
  explicit AttentionWriter(KernelWriter &writer)
      : w(writer), attention(getAttention(w.analysis())),
        tile(getTile(w.analysis(), attention)),
        multiplyKeys(createMultiplier(attention.scores)),
        multiplyValues(createMultiplier(attention.values)),
        form(multiplyKeys->getForm()), rows(multiplyKeys->getRows()),
        columns(multiplyKeys->getColumns()), numColumns(columns.size()) {}

  void emit() {
    Slices keySlices(w, attention.scores, form);
    Type type = attention.values.rows.value.getType();
    weights = w.shared(type, form.elements * (kTile / form.depth), "weights");
    Slices valueSlices(w, attention.values, form, weights, keySlices);
    TileGrid grid(w, attention.values, tile);
    w.loop(w.blockIndex(), grid.count, w.gridSize(), {},
           [&](Value number, ValueRange) {
             Point point(w.analysis().getDomain().getNumDims());
             std::tie(firstRow, firstColumn) =
                 grid.place(w, attention.values, number, point);
             store(point, runOverKeys(point, keySlices, valueSlices));
             return SmallVector<Value>();
           });
  }

private:
  /// For each of a thread's rows the maximum of the scores so far and this
  /// lane's part of the sum of exponentials; the thread's sums of values.
  struct State {
    SmallVector<Value> maxima, sums, values;

    SmallVector<Value> list() const {
      SmallVector<Value> all(maxima);
      all.append(sums);
      all.append(values);
      return all;
    }
    static State read(ValueRange all, size_t rows) {
      State state;
      llvm::append_range(state.maxima, all.take_front(rows));
      llvm::append_range(state.sums, all.slice(rows, rows));
      llvm::append_range(state.values, all.drop_front(2 * rows));
      return state;
    }
  };

  std::unique_ptr<Multiplier> createMultiplier(const Product &product) {
    return isForTensorCores(w.analysis(), attention)
               ? createTensorCoreMultiplier(w, product, Sharing::WholeRows)
               : createThreadMultiplier(w, product);
  }

  Value getLowest(Type type) {
    return arith::ConstantOp::create(
        w.b(),
        w.b().getFloatAttr(
            type, APFloat::getInf(cast<FloatType>(type).getFloatSemantics(),
                                  /*Negative=*/true)));
  }

  State runOverKeys(const Point &point, Slices &keySlices,
                    Slices &valueSlices) {
    Value numKeys = w.size(attention.key);
    State state;
    state.maxima.assign(rows.size(), w.getInitial(attention.maximum));
    state.sums.assign(rows.size(), w.getInitial(attention.sum));
    state.values.assign(rows.size() * numColumns * (tile.columns / kTile),
                        w.getInitial(attention.values.op));
    SmallVector<Value> last =
        w.loop(w.constant(0), numKeys, w.constant(kTile), state.list(),
               [&](Value firstKey, ValueRange carried) {
                 State next = State::read(carried, rows.size());
                 SmallVector<Value> scores(rows.size() * numColumns,
                                           w.getInitial(attention.scores.op));
                 scores = keySlices.sumUp(point,
                                          {firstRow,
                                           firstKey,
                                           w.constant(0),
                                           w.product(attention.scores.depth),
                                           {}},
                                          scores, multiplyBy(*multiplyKeys));
                 addScores(point, firstKey, scores, next);
                 addValues(point, firstKey, valueSlices, next);
                 return next.list();
               });
    return State::read(last, rows.size());
  }

  std::function<SmallVector<Value>(ValueRange, Value, Value)>
  multiplyBy(Multiplier &multiplier) {
    return [&](ValueRange sums, Value rows, Value columns) {
      return multiplier.multiply(sums, rows, columns);
    };
  }

  /// What the softmax is of; -inf outside of the matrix.
  Value score(const Point &at, Value sum) {
    Value isInside = w.both(w.less(at[attention.row], w.size(attention.row)),
                            w.less(at[attention.key], w.size(attention.key)));
    Type type = getElementTypeOrSelf(attention.scored->getResult(0).getType());
    return w.choose(isInside, getLowest(type), [&] {
      w.define(attention.scores.op, at, sum);
      return w.evaluate(attention.scored, at).front();
    });
  }

  /// Brings a tile's scores into the maxima and sums, leaves their exponentials
  /// in shared memory and scales what is there of before.
  void addScores(const Point &point, Value firstKey, ArrayRef<Value> scores,
                 State &state) {
    Combiner combiner = *getCombiner(attention.maximum);
    const size_t numValues = state.values.size() / rows.size();
    SmallVector<Value> keys;
    for (Value column : columns)
      keys.push_back(w.add(firstKey, column));
    for (size_t i = 0; i < rows.size(); ++i) {
      SmallVector<Point> points(numColumns, point);
      Value row = w.add(firstRow, rows[i]);
      Value &maximum = state.maxima[i];
      Value before = maximum;
      for (size_t j = 0; j < numColumns; ++j) {
        points[j][attention.row] = row;
        points[j][attention.key] = keys[j];
        w.define(attention.scored, points[j],
                 score(points[j], scores[i * numColumns + j]));
        maximum = w.accumulate(attention.maximum, points[j], maximum);
      }
      for (int64_t distance : multiplyKeys->getRowDistances())
        maximum = w.combine(combiner, maximum, w.shuffle(maximum, distance));
      // As long as all scores are -inf their exponentials are 0.
      Value shift = arith::SelectOp::create(
          w.b(),
          arith::CmpFOp::create(w.b(), arith::CmpFPredicate::OEQ, maximum,
                                getLowest(maximum.getType())),
          w.getInitial(attention.sum), maximum);
      Value factor = math::ExpOp::create(
          w.b(), arith::SubFOp::create(w.b(), before, shift));
      auto scale = [&](Value &value) {
        value = arith::MulFOp::create(w.b(), value, factor);
      };
      scale(state.sums[i]);
      for (Value &value :
           MutableArrayRef(state.values).slice(i * numValues, numValues))
        scale(value);
      w.define(attention.maximum, points.front(), shift);
      for (size_t j = 0; j < numColumns; ++j) {
        state.sums[i] = w.accumulate(attention.sum, points[j], state.sums[i]);
        storeWeight(w.evaluate(attention.exponential, points[j]).front(),
                    rows[i], columns[j]);
      }
    }
  }

  /// Slices follow each other, so that each is found as those that are loaded.
  void storeWeight(Value value, Value row, Value key) {
    Type type = attention.values.rows.value.getType();
    if (value.getType() != type)
      value = arith::TruncFOp::create(w.b(), type, value);
    Value depth = w.constant(form.depth);
    Value place = w.add(w.mul(w.div(key, depth), w.constant(form.elements)),
                        w.mul(w.rem(key, depth), w.constant(form.depthStride)));
    w.storeShared(value, weights,
                  w.add(place, w.mul(row, w.constant(form.lineStride))));
  }

  /// Adds the values of a tile's keys. Sums lie row by row, those of one row
  /// tile by tile.
  void addValues(const Point &point, Value firstKey, Slices &slices,
                 State &state) {
    Value end =
        w.minimum(w.add(firstKey, w.constant(kTile)), w.size(attention.key));
    const size_t numTiles = tile.columns / kTile;
    for (size_t number = 0; number < numTiles; ++number) {
      auto place = [&](size_t i, size_t j) -> Value & {
        return state.values[(i * numTiles + number) * numColumns + j];
      };
      SmallVector<Value> sums;
      for (size_t i = 0; i < rows.size(); ++i)
        for (size_t j = 0; j < numColumns; ++j)
          sums.push_back(place(i, j));
      sums = slices.sumUp(point,
                          {firstRow,
                           w.add(firstColumn, w.constant(number * kTile)),
                           firstKey,
                           end,
                           {}},
                          sums, multiplyBy(*multiplyValues));
      for (size_t i = 0; i < rows.size(); ++i)
        for (size_t j = 0; j < numColumns; ++j)
          place(i, j) = sums[i * numColumns + j];
    }
  }

  void store(const Point &point, State state) {
    const size_t numValues = state.values.size() / rows.size();
    Combiner combiner = *getCombiner(attention.sum);
    Value zero = w.getInitial(attention.values.op);
    for (size_t i = 0; i < rows.size(); ++i) {
      Value sum = state.sums[i];
      for (int64_t distance : multiplyKeys->getRowDistances())
        sum = w.combine(combiner, sum, w.shuffle(sum, distance));
      for (size_t j = 0; j < numValues; ++j) {
        Value result =
            arith::DivFOp::create(w.b(), state.values[i * numValues + j], sum);
        Value isZero =
            attention.isZeroWithoutKeys
                ? arith::CmpFOp::create(w.b(), arith::CmpFPredicate::OEQ, sum,
                                        w.getInitial(attention.sum))
                      .getResult()
                : w.less(w.size(attention.key), w.constant(1));
        result = arith::SelectOp::create(w.b(), isZero, zero, result);
        Value column =
            w.add(columns[j % numColumns], w.constant(j / numColumns * kTile));
        storeResult(w, attention.values, point, TilePart(),
                    w.add(firstRow, rows[i]), w.add(firstColumn, column),
                    result);
      }
    }
  }

  KernelWriter &w;
  Attention attention;
  TileSize tile;
  std::unique_ptr<Multiplier> multiplyKeys, multiplyValues;
  Slices::Form form;
  SmallVector<Value> rows, columns; ///< of this thread
  size_t numColumns;
  Value weights; ///< shared memory
  Value firstRow, firstColumn;
};

struct AttentionFamily final : KernelFamily {
  StringRef getName() const override { return "attention"; }
  bool matches(const KernelAnalysis &kernel) const override {
    return kernel.isChain();
  }
  int64_t getThreads(const KernelAnalysis &kernel) const override {
    return isForTensorCores(kernel, getAttention(kernel))
               ? kTensorCoreThreads
               : kThreadMultiplierThreads;
  }
  Value emitBlocks(const KernelAnalysis &kernel,
                   const HostSizes &host) const override {
    Attention attention = getAttention(kernel);
    return emitTileBlocks(host, attention.values, getTile(kernel, attention));
  }
  void emit(KernelWriter &w) const override { AttentionWriter(w).emit(); }
};

} // namespace

const KernelFamily &getAttentionFamily() {
  static const AttentionFamily family;
  return family;
}

} // namespace onnx_aot::gpu_kernel
