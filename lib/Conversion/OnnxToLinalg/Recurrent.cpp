//===- Recurrent.cpp - lower RNN, GRU and LSTM ----------------------------===//
//
// Per direction: one contraction projects the inputs of all steps, then a loop
// over time adds the recurrent contraction and applies the gates.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "Gather.h"
#include "IndexedGeneric.h"
#include "RecurrentActivations.h"

using namespace mlir;
using namespace onnx_aot;

namespace {

using Kind = Activation::Kind;

/// A slice of the unit range at `index` of each given dimension, those dropped.
Value dropDims(OpBuilder &builder, Location loc, Value tensor,
               ArrayRef<std::pair<int64_t, OpFoldResult>> at) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, tensor);
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  SmallVector<bool> dropped(sizes.size(), false);
  for (auto [dim, index] : at) {
    offsets[dim] = index;
    sizes[dim] = builder.getIndexAttr(1);
    dropped[dim] = true;
  }
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (!dropped[i])
      shape.push_back(type.getDimSize(i));
  return tensor::ExtractSliceOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), tensor,
      offsets, sizes, strides);
}

/// `count` elements of dimension `dim` from `offset` on.
Value sliceDim(OpBuilder &builder, Location loc, Value tensor, int64_t dim,
               OpFoldResult offset, OpFoldResult count) {
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, tensor);
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  offsets[dim] = offset;
  sizes[dim] = count;
  return tensor::ExtractSliceOp::create(builder, loc, tensor, offsets, sizes,
                                        strides);
}

/// A recurrent layer on memory values. States and gates are of the type in
/// which products are summed.
class Layer {
public:
  Layer(OpBuilder &builder, Location loc, int64_t gates, bool batchFirst)
      : builder(builder), loc(loc), gates(gates), batchFirst(batchFirst) {}
  virtual ~Layer() = default;
  int64_t getGates() const { return gates; }

  Value x, w, r, b, sequenceLens;
  /// Initial states, null where absent.
  SmallVector<Value> initial;
  StringRef direction;
  Type elementType;

  /// y and the final states.
  SmallVector<Value> build();

protected:
  /// The new states (the hidden one first) from the projected input (batch,
  /// gates * hidden) and the previous states.
  virtual SmallVector<Value> step(OpBuilder &ob, Value projected,
                                  ValueRange states) = 0;
  /// Takes what the step needs for one direction.
  virtual void enterDirection(int64_t index);
  /// Whether gate `gate`'s recurrent bias is added to the projected input.
  virtual bool addsRecurrentBias(int64_t gate) const { return true; }

  void checkBatches();
  /// Gate `index` of a (batch, gates * hidden) tensor.
  Value getGate(OpBuilder &ob, Value tensor, int64_t index) {
    OpFoldResult offset =
        foldSizes(ob, loc, ob.getAffineDimExpr(0) * index, hidden);
    return sliceDim(ob, loc, tensor, 1, offset, hidden);
  }
  /// Rows of gates [first, first + count) of r.
  Value getRecurrentRows(OpBuilder &ob, int64_t first, int64_t count) {
    AffineExpr size = ob.getAffineDimExpr(0);
    return sliceDim(ob, loc, recurrent, 0,
                    foldSizes(ob, loc, size * first, hidden),
                    foldSizes(ob, loc, size * count, hidden));
  }
  /// state * rows', (batch, rows).
  Value multiply(OpBuilder &ob, Value state, Value rows) {
    MLIRContext *context = ob.getContext();
    AffineExpr m = ob.getAffineDimExpr(0), n = ob.getAffineDimExpr(1),
               k = ob.getAffineDimExpr(2);
    SmallVector<OpFoldResult> sizes{batch, getRuntimeSizes(ob, loc, rows)[0]};
    return createContraction(ob, loc,
                             {{state, AffineMap::get(3, 0, {m, k}, context)},
                              {rows, AffineMap::get(3, 0, {n, k}, context)}},
                             AffineMap::get(3, 0, {m, n}, context),
                             {utils::IteratorType::parallel,
                              utils::IteratorType::parallel,
                              utils::IteratorType::reduction},
                             sizes, computeType);
  }
  /// One value for each (batch, hidden); `inputs` of rank 1 lie along hidden.
  Value combine(OpBuilder &ob, ValueRange inputs, ScalarBody body) {
    SmallVector<IndexedOperand> operands;
    for (Value input : inputs) {
      bool isRow = cast<RankedTensorType>(input.getType()).getRank() == 1;
      operands.push_back(
          {input, isRow ? AffineMap::get(2, 0, ob.getAffineDimExpr(1))
                        : ob.getMultiDimIdentityMap(2)});
    }
    return createPointwise(ob, loc, operands, {batch, hidden}, computeType,
                           body);
  }

  OpBuilder &builder;
  Location loc;
  int64_t gates;
  bool batchFirst;
  OpFoldResult sequence, batch, hidden;
  Type computeType;
  /// (gates * hidden, hidden) and (2 * gates * hidden) of the current
  /// direction.
  Value recurrent, bias;
  int64_t directionIndex = 0;

private:
  Value project();
  SmallVector<Value> runDirection(int64_t index, bool reverse, Value &y);
  Value keepWhereActive(OpBuilder &ob, Value time, Value value,
                        Value otherwise);
};

void Layer::enterDirection(int64_t index) {
  directionIndex = index;
  OpFoldResult at = builder.getIndexAttr(index);
  recurrent = dropDims(builder, loc, r, {{0, at}});
  bias = b ? dropDims(builder, loc, b, {{0, at}}) : Value();
}

/// (sequence, batch, gates * hidden) for the current direction.
Value Layer::project() {
  MLIRContext *context = builder.getContext();
  Value weights =
      dropDims(builder, loc, w, {{0, builder.getIndexAttr(directionIndex)}});
  AffineExpr t = builder.getAffineDimExpr(0), m = builder.getAffineDimExpr(1),
             n = builder.getAffineDimExpr(2), k = builder.getAffineDimExpr(3);
  AffineMap xMap = batchFirst ? AffineMap::get(4, 0, {m, t, k}, context)
                              : AffineMap::get(4, 0, {t, m, k}, context);
  SmallVector<utils::IteratorType> iterators(3, utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  SmallVector<OpFoldResult> sizes{sequence, batch,
                                  getRuntimeSizes(builder, loc, weights)[0]};
  Value sum = createContraction(
      builder, loc,
      {{x, xMap}, {weights, AffineMap::get(4, 0, {n, k}, context)}},
      AffineMap::get(4, 0, {t, m, n}, context), iterators, sizes, computeType);
  if (!bias)
    return sum;
  // Input bias, and the recurrent one where it may be added that early.
  OpFoldResult count = sizes[2];
  Value inputBias =
      sliceDim(builder, loc, bias, 0, builder.getIndexAttr(0), count);
  Value recurrentBias = sliceDim(builder, loc, bias, 0, count, count);
  AffineMap row = AffineMap::get(3, 0, n);
  Value hiddenSize = getValueOrCreateConstantIndexOp(builder, loc, hidden);
  bool addsAll = true;
  int64_t numEarly = 0;
  for (int64_t gate = 0; gate < gates; ++gate) {
    addsAll &= addsRecurrentBias(gate);
    numEarly += addsRecurrentBias(gate);
  }
  return createPointwise(
      builder, loc,
      {{sum, builder.getMultiDimIdentityMap(3)},
       {inputBias, row},
       {recurrentBias, row}},
      sizes, computeType, [&](OpBuilder &b, Location l, ValueRange args) {
        Value first = convertScalar(b, l, args[1], computeType);
        Value second = convertScalar(b, l, args[2], computeType);
        if (!addsAll) { // the early gates come first
          Value limit = arith::MulIOp::create(
              b, l, hiddenSize, arith::ConstantIndexOp::create(b, l, numEarly));
          Value column = linalg::IndexOp::create(b, l, 2);
          Value isEarly = arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt,
                                                column, limit);
          second = arith::SelectOp::create(
              b, l, isEarly, second,
              createScalarConstant(b, l, 0, computeType));
        }
        return createAdd(b, l, createAdd(b, l, args[0], first), second);
      });
}

/// value where step `time` is within the sequence, else `otherwise` (a state
/// or, when null, 0).
Value Layer::keepWhereActive(OpBuilder &ob, Value time, Value value,
                             Value otherwise) {
  SmallVector<IndexedOperand> operands{
      {value, ob.getMultiDimIdentityMap(2)},
      {sequenceLens, AffineMap::get(2, 0, ob.getAffineDimExpr(0))}};
  if (otherwise)
    operands.push_back({otherwise, ob.getMultiDimIdentityMap(2)});
  return createPointwise(
      ob, loc, operands, {batch, hidden}, computeType,
      [&](OpBuilder &b, Location l, ValueRange args) -> Value {
        Value step = arith::IndexCastOp::create(b, l, args[1].getType(), time);
        Value isActive = arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt,
                                               step, args[1]);
        Value other =
            otherwise ? args[2] : createScalarConstant(b, l, 0, computeType);
        return arith::SelectOp::create(b, l, isActive, args[0], other);
      });
}

SmallVector<Value> Layer::runDirection(int64_t index, bool reverse, Value &y) {
  enterDirection(index);
  Value projected = project();
  SmallVector<Value> carried{y};
  for (Value state : initial) {
    if (state) {
      Value own = dropDims(
          builder, loc, state,
          {{batchFirst ? 1 : 0, OpFoldResult(builder.getIndexAttr(index))}});
      own = convertFloats(builder, loc, own, computeType);
      // The loop carries what its steps make, whichever size is known.
      SmallVector<int64_t> shape;
      for (OpFoldResult size : {batch, hidden})
        shape.push_back(
            getConstantIntValue(size).value_or(ShapedType::kDynamic));
      carried.push_back(castTensor(builder, loc, own,
                                   RankedTensorType::get(shape, computeType)));
      continue;
    }
    Value zero = createScalarConstant(builder, loc, 0, computeType);
    carried.push_back(createFilled(builder, loc, {batch, hidden}, zero));
  }
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value steps = getValueOrCreateConstantIndexOp(builder, loc, sequence);
  SmallVector<Value> results = createFor(
      builder, loc, zero, steps, carried,
      [&](OpBuilder &ob, Location, Value count, ValueRange values) {
        Value time = count;
        if (reverse) {
          Value one = arith::ConstantIndexOp::create(ob, loc, 1);
          Value last = arith::SubIOp::create(ob, loc, steps, one);
          time = arith::SubIOp::create(ob, loc, last, count);
        }
        Value input = dropDims(ob, loc, projected, {{0, time}});
        SmallVector<Value> states = step(ob, input, values.drop_front());
        Value shown = states[0];
        if (sequenceLens) {
          shown = keepWhereActive(ob, time, states[0], Value());
          for (auto [state, before] :
               llvm::zip_equal(states, values.drop_front()))
            state = keepWhereActive(ob, time, state, before);
        }
        OpFoldResult none = ob.getIndexAttr(0), one = ob.getIndexAttr(1),
                     at = ob.getIndexAttr(index);
        SmallVector<OpFoldResult> offsets{time, at, none, none},
            sizes{one, one, batch, hidden}, strides(4, one);
        if (batchFirst) {
          offsets = {none, time, at, none};
          sizes = {batch, one, one, hidden};
        }
        Value next = tensor::InsertSliceOp::create(ob, loc, shown, values[0],
                                                   offsets, sizes, strides);
        SmallVector<Value> all{next};
        for (auto [state, before] :
             llvm::zip_equal(states, values.drop_front()))
          all.push_back(overwrite(ob, loc, state, before));
        return all;
      });
  y = results[0];
  return SmallVector<Value>(llvm::drop_begin(results));
}

/// Refuses a run in which a state has another batch than the input.
void Layer::checkBatches() {
  for (Value state : initial) {
    if (!state)
      continue;
    OpFoldResult own = getRuntimeSizes(builder, loc, state)[batchFirst ? 0 : 1];
    if (getConstantIntValue(own) && getConstantIntValue(batch))
      continue; // they agree
    createCheck(builder, loc,
                builder.createOrFold<arith::CmpIOp>(
                    loc, arith::CmpIPredicate::eq,
                    getValueOrCreateConstantIndexOp(builder, loc, own),
                    getValueOrCreateConstantIndexOp(builder, loc, batch)),
                "the batch of an initial state is not the input's");
  }
}

SmallVector<Value> Layer::build() {
  computeType = getAccumulatorType(elementType);
  SmallVector<OpFoldResult> sizes = getRuntimeSizes(builder, loc, x);
  sequence = sizes[batchFirst ? 1 : 0];
  batch = sizes[batchFirst ? 0 : 1];
  hidden = getRuntimeSizes(builder, loc, r)[2];
  checkBatches();
  int64_t directions = direction == "bidirectional" ? 2 : 1;
  OpFoldResult count = builder.getIndexAttr(directions),
               one = builder.getIndexAttr(1), none = builder.getIndexAttr(0);
  SmallVector<OpFoldResult> ySizes{sequence, count, batch, hidden},
      stateSizes{count, batch, hidden};
  if (batchFirst) {
    ySizes = {batch, sequence, count, hidden};
    stateSizes = {batch, count, hidden};
  }
  if (isConstantIntValue(batch, 0)) { // nothing could be taken slice by slice
    SmallVector<Value> none(initial.size(),
                            createEmpty(builder, loc, stateSizes, elementType));
    none.insert(none.begin(), createEmpty(builder, loc, ySizes, elementType));
    return none;
  }
  Value y = createEmpty(builder, loc, ySizes, computeType);
  SmallVector<Value> finals;
  for (size_t i = 0; i < initial.size(); ++i)
    finals.push_back(createEmpty(builder, loc, stateSizes, computeType));
  for (int64_t index = 0; index < directions; ++index) {
    bool reverse = direction == "reverse" || index == 1;
    SmallVector<Value> states = runDirection(index, reverse, y);
    SmallVector<OpFoldResult> offsets(3, none), slice = stateSizes,
                                                strides(3, one);
    offsets[batchFirst ? 1 : 0] = builder.getIndexAttr(index);
    slice[batchFirst ? 1 : 0] = one;
    for (auto [all, state] : llvm::zip_equal(finals, states))
      all = tensor::InsertSliceOp::create(builder, loc, state, all, offsets,
                                          slice, strides);
  }
  SmallVector<Value> results{convertFloats(builder, loc, y, elementType)};
  for (Value state : finals)
    results.push_back(convertFloats(builder, loc, state, elementType));
  return results;
}

//===--- RNN --------------------------------------------------------------===//

class RnnLayer : public Layer {
public:
  using Layer::Layer;
  /// One per direction.
  SmallVector<Activation> activations;

protected:
  SmallVector<Value> step(OpBuilder &ob, Value projected,
                          ValueRange states) override {
    Value sum = multiply(ob, states[0], recurrent);
    return {combine(
        ob, {projected, sum}, [&](OpBuilder &b, Location l, ValueRange args) {
          ScalarBuilder s(b, l, /*isUnsigned=*/false);
          return activations[directionIndex].apply(s, s.add(args[0], args[1]));
        })};
  }
};

//===--- GRU --------------------------------------------------------------===//

class GruLayer : public Layer {
public:
  using Layer::Layer;
  /// Gate and candidate, per direction.
  SmallVector<Activation> activations;
  bool linearBeforeReset = false;

protected:
  bool addsRecurrentBias(int64_t gate) const override {
    return gate < 2 || !linearBeforeReset;
  }

  void enterDirection(int64_t index) override {
    Layer::enterDirection(index);
    candidateBias = Value();
    if (!bias || !linearBeforeReset)
      return;
    OpFoldResult offset =
        foldSizes(builder, loc, builder.getAffineDimExpr(0) * 5, hidden);
    Value own = sliceDim(builder, loc, bias, 0, offset, hidden);
    candidateBias = convertFloats(builder, loc, own, computeType);
  }

  SmallVector<Value> step(OpBuilder &ob, Value projected,
                          ValueRange states) override {
    const Activation &f = activations[2 * directionIndex],
                     &g = activations[2 * directionIndex + 1];
    Value h = states[0];
    int64_t early = linearBeforeReset ? 3 : 2;
    Value sums = multiply(ob, h, getRecurrentRows(ob, 0, early));
    auto gate = [&](int64_t index) {
      return combine(ob,
                     {getGate(ob, projected, index), getGate(ob, sums, index)},
                     [&](OpBuilder &b, Location l, ValueRange args) {
                       ScalarBuilder s(b, l, /*isUnsigned=*/false);
                       return f.apply(s, s.add(args[0], args[1]));
                     });
    };
    Value z = gate(0), reset = gate(1), candidate = getGate(ob, projected, 2);
    Value term;
    if (linearBeforeReset) {
      SmallVector<Value> inputs{reset, getGate(ob, sums, 2)};
      if (candidateBias)
        inputs.push_back(candidateBias);
      term =
          combine(ob, inputs, [&](OpBuilder &b, Location l, ValueRange args) {
            ScalarBuilder s(b, l, /*isUnsigned=*/false);
            Value sum = candidateBias ? s.add(args[1], args[2]) : args[1];
            return s.mul(args[0], sum);
          });
    } else {
      Value scaled = combine(ob, {reset, h},
                             [&](OpBuilder &b, Location l, ValueRange args) {
                               return createMul(b, l, args[0], args[1]);
                             });
      term = multiply(ob, scaled, getRecurrentRows(ob, 2, 1));
    }
    return {combine(ob, {z, candidate, term, h},
                    [&](OpBuilder &b, Location l, ValueRange args) {
                      ScalarBuilder s(b, l, /*isUnsigned=*/false);
                      Value next = g.apply(s, s.add(args[1], args[2]));
                      Value fresh =
                          s.mul(s.sub(s.like(next, 1), args[0]), next);
                      return s.add(fresh, s.mul(args[0], args[3]));
                    })};
  }

private:
  Value candidateBias;
};

//===--- LSTM -------------------------------------------------------------===//

class LstmLayer : public Layer {
public:
  using Layer::Layer;
  /// Gate, candidate and output, per direction.
  SmallVector<Activation> activations;
  bool inputForget = false;
  /// (directions, 3 * hidden) or null.
  Value peepholes;

protected:
  void enterDirection(int64_t index) override {
    Layer::enterDirection(index);
    ownPeepholes.clear();
    if (!peepholes)
      return;
    Value all = dropDims(builder, loc, peepholes,
                         {{0, OpFoldResult(builder.getIndexAttr(index))}});
    for (int64_t i = 0; i < 3; ++i)
      ownPeepholes.push_back(convertFloats(
          builder, loc,
          sliceDim(
              builder, loc, all, 0,
              foldSizes(builder, loc, builder.getAffineDimExpr(0) * i, hidden),
              hidden),
          computeType));
  }

  SmallVector<Value> step(OpBuilder &ob, Value projected,
                          ValueRange states) override {
    const Activation *own = &activations[3 * directionIndex];
    Value sums = multiply(ob, states[0], recurrent), cell = states[1];
    // A gate's argument: projection + recurrent term (+ peephole * cell).
    auto getInputs = [&](std::initializer_list<int64_t> gateIndices) {
      SmallVector<Value> inputs;
      for (int64_t index : gateIndices) {
        inputs.push_back(getGate(ob, projected, index));
        inputs.push_back(getGate(ob, sums, index));
      }
      return inputs;
    };
    auto peep = [&](ScalarBuilder &s, Value sum, Value weight, Value state) {
      return peepholes ? s.add(sum, s.mul(weight, state)) : sum;
    };
    SmallVector<Value> inputs = getInputs({0, 2, 3});
    inputs.push_back(cell);
    if (peepholes) {
      inputs.push_back(ownPeepholes[0]);
      inputs.push_back(ownPeepholes[2]);
    }
    Value nextCell =
        combine(ob, inputs, [&](OpBuilder &b, Location l, ValueRange args) {
          ScalarBuilder s(b, l, /*isUnsigned=*/false);
          Value before = args[6];
          Value pi = peepholes ? args[7] : Value(),
                pf = peepholes ? args[8] : Value();
          Value input =
              own[0].apply(s, peep(s, s.add(args[0], args[1]), pi, before));
          Value forget = inputForget
                             ? s.sub(s.like(input, 1), input)
                             : own[0].apply(s, peep(s, s.add(args[2], args[3]),
                                                    pf, before));
          Value candidate = own[1].apply(s, s.add(args[4], args[5]));
          return s.add(s.mul(forget, before), s.mul(input, candidate));
        });
    inputs = getInputs({1});
    inputs.push_back(nextCell);
    if (peepholes)
      inputs.push_back(ownPeepholes[1]);
    Value nextHidden =
        combine(ob, inputs, [&](OpBuilder &b, Location l, ValueRange args) {
          ScalarBuilder s(b, l, /*isUnsigned=*/false);
          Value po = peepholes ? args[3] : Value();
          Value output =
              own[0].apply(s, peep(s, s.add(args[0], args[1]), po, args[2]));
          return s.mul(output, own[2].apply(s, args[2]));
        });
    return {nextHidden, nextCell};
  }

private:
  SmallVector<Value> ownPeepholes;
};

//===--- Patterns ---------------------------------------------------------===//

/// What the sizes of the weights must be: w is (directions, gates * hidden,
/// input), r (directions, gates * hidden, hidden), b (directions, 2 * gates *
/// hidden).
template <typename OpTy, typename Adaptor>
void checkLayer(OpTy op, Adaptor adaptor, OpBuilder &builder, int64_t gates) {
  Location loc = op.getLoc();
  auto size = [&](Value tensor, int64_t axis) {
    return tensor::getMixedSize(builder, loc, tensor, axis);
  };
  auto times = [&](OpFoldResult value, int64_t factor) {
    return foldSizes(builder, loc, builder.getAffineDimExpr(0) * factor, value);
  };
  Value x = adaptor.getX(), w = adaptor.getW(), r = adaptor.getR();
  OpFoldResult hidden = size(r, 2);
  OpFoldResult directions =
      builder.getIndexAttr(op.getDirection() == "bidirectional" ? 2 : 1);
  if (std::optional<uint64_t> given = op.getHiddenSize())
    checkSize(builder, op, r, 2, builder.getIndexAttr(*given),
              "r and hidden_size");
  for (Value weights : {w, r}) {
    checkSize(builder, op, weights, 0, directions,
              "the weights and the directions");
    checkSize(builder, op, weights, 1, times(hidden, gates),
              "the weights and the hidden size");
  }
  checkSize(builder, op, w, 2, size(x, 2), "w and the input's last axis");
  if (Value b = adaptor.getB()) {
    checkSize(builder, op, b, 0, directions, "b and the directions");
    checkSize(builder, op, b, 1, times(hidden, 2 * gates),
              "b and the hidden size");
  }
  if (Value lengths = adaptor.getSequenceLens()) {
    int64_t time = op.getLayout() == 1 ? 1 : 0;
    checkSize(builder, op, lengths, 0, size(x, 1 - time),
              "sequence_lens and the batch");
    Value end = getValueOrCreateConstantIndexOp(
        builder, loc,
        foldSizes(builder, loc, builder.getAffineDimExpr(0) + 1,
                  size(x, time)));
    checkRange(builder, op, lengths,
               arith::ConstantIndexOp::create(builder, loc, 0), end,
               "an element of sequence_lens is out of range");
  }
}

/// Sets what all layers have, builds, and replaces the op.
template <typename OpTy, typename Adaptor>
LogicalResult lowerLayer(OpTy op, Adaptor adaptor,
                         ConversionPatternRewriter &rewriter, Layer &layer,
                         ArrayRef<Value> initial) {
  checkLayer(op, adaptor, rewriter, layer.getGates());
  layer.x = adaptor.getX();
  layer.w = adaptor.getW();
  layer.r = adaptor.getR();
  layer.b = adaptor.getB();
  layer.sequenceLens = adaptor.getSequenceLens();
  layer.initial.assign(initial.begin(), initial.end());
  layer.direction = op.getDirection();
  layer.elementType = getElementTypeOrSelf(layer.x.getType());
  SmallVector<Value> results = layer.build();
  for (auto [result, before] : llvm::zip_equal(results, op->getResults()))
    result = castTensor(rewriter, op.getLoc(), result,
                        convertOnnxType(before.getType()));
  rewriter.replaceOp(op, results);
  return success();
}

template <typename OpTy>
FailureOr<SmallVector<Activation>> readActivations(OpTy op,
                                                   ArrayRef<Kind> defaults) {
  for (Value operand : op->getOperands())
    if (!onnx::getRank(operand))
      return op.emitOpError("operand of unknown rank");
  if (!isa<FloatType>(onnx::getElementType(op.getX())))
    return op.emitOpError("needs floats");
  int64_t directions = op.getDirection() == "bidirectional" ? 2 : 1;
  std::optional<double> clip;
  if (op.getClip())
    clip = op.getClip()->convertToDouble();
  return getActivations(op, op.getActivations(), op.getActivationAlpha(),
                        op.getActivationBeta(), clip,
                        directions * defaults.size(), defaults);
}

struct LowerRnn : OnnxLowering<onnx::RNNOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::RNNOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto activations = readActivations(op, Kind::Tanh);
    if (failed(activations))
      return failure();
    RnnLayer layer(rewriter, op.getLoc(), 1, op.getLayout() == 1);
    layer.activations = *activations;
    return lowerLayer(op, adaptor, rewriter, layer, {adaptor.getInitialH()});
  }
};

struct LowerGru : OnnxLowering<onnx::GRUOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::GRUOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto activations = readActivations(op, {Kind::Sigmoid, Kind::Tanh});
    if (failed(activations))
      return failure();
    GruLayer layer(rewriter, op.getLoc(), 3, op.getLayout() == 1);
    layer.activations = *activations;
    layer.linearBeforeReset = op.getLinearBeforeReset() != 0;
    return lowerLayer(op, adaptor, rewriter, layer, {adaptor.getInitialH()});
  }
};

struct LowerLstm : OnnxLowering<onnx::LSTMOp> {
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::LSTMOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto activations =
        readActivations(op, {Kind::Sigmoid, Kind::Tanh, Kind::Tanh});
    if (failed(activations))
      return failure();
    LstmLayer layer(rewriter, op.getLoc(), 4, op.getLayout() == 1);
    layer.activations = *activations;
    layer.inputForget = op.getInputForget() != 0;
    layer.peepholes = adaptor.getP();
    return lowerLayer(op, adaptor, rewriter, layer,
                      {adaptor.getInitialH(), adaptor.getInitialC()});
  }
};

} // namespace

void onnx_aot::populateOnnxToLinalgRecurrentPatterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {
  patterns.add<LowerRnn, LowerGru, LowerLstm>(lowering, patterns.getContext());
}
