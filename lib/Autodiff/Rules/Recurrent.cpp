//===- Recurrent.cpp - gradients of RNN, GRU and LSTM ---------------------===//
//
// A layer is differentiated as a Scan over its steps.
//
//===----------------------------------------------------------------------===//

#include "RuleUtils.h"
#include "Rules.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

namespace {

//===--- Activations ------------------------------------------------------===//

struct Activation {
  std::string name;
  float alpha = 0, beta = 0;
};

/// The numbers that an activation takes from activation_alpha and _beta, where
/// it takes any.
struct Parameters {
  std::optional<float> alpha, beta;
};
Parameters getParameters(StringRef name) {
  return llvm::StringSwitch<Parameters>(name)
      .Case("affine", {1.0f, 0.0f})
      .Case("leakyrelu", {0.01f, std::nullopt})
      .Cases({"thresholdedrelu", "elu"}, {1.0f, std::nullopt})
      .Case("scaledtanh", {1.0f, 1.0f})
      .Case("hardsigmoid", {0.2f, 0.5f})
      .Default({});
}

bool isKnownActivation(StringRef name) {
  constexpr StringLiteral names[] = {
      "relu",        "tanh",     "sigmoid",         "affine",
      "leakyrelu",   "elu",      "thresholdedrelu", "scaledtanh",
      "hardsigmoid", "softsign", "softplus"};
  return llvm::is_contained(names, name);
}

Value applyActivation(GradientBuilder &b, const Activation &f,
                      std::optional<float> clip, Value x) {
  if (clip)
    x = b.create<ClipOp>(x, b.scalar(-*clip, x), b.scalar(*clip, x));
  OpBuilder &builder = b.getBuilder();
  FloatAttr alpha = builder.getF32FloatAttr(f.alpha),
            beta = builder.getF32FloatAttr(f.beta);
  StringRef name = f.name;
  if (name == "relu")
    return b.create<ReluOp>(x);
  if (name == "tanh")
    return b.create<TanhOp>(x);
  if (name == "sigmoid")
    return b.create<SigmoidOp>(x);
  if (name == "affine")
    return b.add(b.mul(x, f.alpha), f.beta);
  if (name == "leakyrelu")
    return b.create<LeakyReluOp>(x, alpha);
  if (name == "thresholdedrelu")
    return b.create<ThresholdedReluOp>(x, alpha);
  if (name == "scaledtanh")
    return b.mul(b.create<TanhOp>(b.mul(x, f.beta)), f.alpha);
  if (name == "hardsigmoid")
    return b.create<HardSigmoidOp>(x, alpha, beta);
  if (name == "elu")
    return b.create<EluOp>(x, alpha);
  if (name == "softsign")
    return b.create<SoftsignOp>(x);
  if (name == "softplus")
    return b.create<SoftplusOp>(x);
  return {};
}

//===--- Layers -----------------------------------------------------------===//

using Values = SmallVector<Value>;

/// `count` equal parts along an axis.
Values split(GradientBuilder &b, Value x, int64_t axis, int64_t count) {
  if (count == 1)
    return {x};
  SmallVector<int64_t> sizes(
      count, cast<RankedTensorType>(x.getType()).getDimSize(axis) / count);
  auto op = b.createMulti<SplitOp>(count, x, b.integers(sizes),
                                   b.getBuilder().getI64IntegerAttr(axis),
                                   IntegerAttr());
  return llvm::to_vector_of<Value>(op->getResults());
}

Value stack(GradientBuilder &b, Values parts, int64_t axis) {
  for (Value &part : parts)
    part = b.unsqueeze(part, {axis});
  return parts.size() == 1 ? parts[0] : b.create<ConcatOp>(parts, axis);
}

/// What the three kinds of layers have in common. Optional values are null
/// where they are left out.
struct Layer {
  GradientBuilder &b;
  int64_t gates, directions;
  bool isReverse, isBatchFirst;
  Value x, w, r, bias, lengths;
  Values initial;
  std::optional<float> clip;
  SmallVector<Activation> activations;
  int64_t perDirection;

  /// Of one direction: (hidden, gates * hidden), recurrent bias (gates *
  /// hidden) or null.
  Value recurrent, recurrentBias;
  int64_t direction = 0;

  Value activate(int64_t index, Value value) {
    return applyActivation(b, activations[direction * perDirection + index],
                           clip, value);
  }
  Value entry(Value all, int64_t index, int64_t axis = 0) {
    return b.squeeze(split(b, all, axis, directions)[index], {axis});
  }

  /// The next states, the hidden one first, from the projected input and the
  /// previous ones.
  using Step = llvm::function_ref<Values(Value projected, ValueRange)>;
  /// y and the final states. With `foldsBias` the recurrent bias is part of the
  /// projection. `enter` is called at the begin of each direction.
  Values build(bool foldsBias, llvm::function_ref<void()> enter, Step step);

private:
  Value project(bool foldsBias);
  Values getInitialStates();
  Values scan(Value projected, Value isActive, Step step);
};

/// x w' + bias for all steps of the direction.
Value Layer::project(bool foldsBias) {
  recurrent = b.transpose(entry(r, direction), {1, 0});
  recurrentBias = {};
  Value projected =
      b.create<MatMulOp>(x, b.transpose(entry(w, direction), {1, 0}));
  if (!bias)
    return projected;
  Values both = split(b, entry(bias, direction), 0, 2);
  recurrentBias = both[1];
  projected = b.add(projected, both[0]);
  return foldsBias ? b.add(projected, recurrentBias) : projected;
}

/// The direction's states (batch, hidden).
Values Layer::getInitialStates() {
  Value batch = b.sizeOf(x, 1), hidden = b.sizeOf(r, 2),
        count = b.integers({directions});
  return llvm::map_to_vector(initial, [&](Value state) {
    if (!state)
      return createFilled(b, b.concat({batch, hidden}), 0.0, x);
    Value shape = isBatchFirst ? b.concat({batch, count, hidden})
                               : b.concat({count, batch, hidden});
    return entry(b.reshape(state, shape), direction, isBatchFirst ? 1 : 0);
  });
}

/// The final states and the hidden ones of all steps.
Values Layer::scan(Value projected, Value isActive, Step step) {
  OpBuilder &builder = b.getBuilder();
  Values operands = getInitialStates();
  size_t numStates = operands.size();
  SmallVector<Type> types = llvm::to_vector(ValueRange(operands).getTypes());
  auto addScanned = [&](Value value) {
    Shape shape = *getShape(value);
    operands.push_back(value);
    types.push_back(
        getTensorType(ArrayRef(shape).drop_front(), getElementType(value)));
  };
  addScanned(projected);
  if (isActive)
    addScanned(isActive);
  int64_t numScanned = operands.size() - numStates;
  int64_t isBackward = isReverse || direction == 1;
  SmallVector<Type> results(numStates + 1,
                            UnrankedTensorType::get(builder.getF32Type()));
  auto scan = ScanOp::create(builder, b.getLoc(), results, operands, numScanned,
                             /*scan_input_axes=*/DenseI64ArrayAttr(),
                             builder.getDenseI64ArrayAttr(
                                 SmallVector<int64_t>(numScanned, isBackward)),
                             /*scan_output_axes=*/DenseI64ArrayAttr(),
                             builder.getDenseI64ArrayAttr({isBackward}));
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body =
        builder.createBlock(&scan.getBody(), {}, types,
                            SmallVector<Location>(types.size(), b.getLoc()));
    Values before(body->getArguments().take_front(numStates));
    Values next = step(body->getArgument(numStates), before);
    Value shown = next[0];
    if (isActive) {
      Value runs = body->getArgument(numStates + 1);
      shown = b.select(runs, shown);
      for (auto [state, old] : llvm::zip_equal(next, before))
        state = b.where(runs, state, old);
    }
    next.push_back(shown);
    YieldOp::create(builder, b.getLoc(), next);
  }
  (void)inferAndSetResultTypes(scan);
  return Values(scan.getResults());
}

Values Layer::build(bool foldsBias, llvm::function_ref<void()> enter,
                    Step step) {
  if (isBatchFirst)
    x = b.transpose(x, {1, 0, 2});
  Value isActive; // (steps, batch, 1)
  if (lengths) {
    Value steps = b.castLike(createIota(b, b.sizeOf(x, 0)), lengths);
    isActive =
        b.unsqueeze(b.create<LessOp>(b.unsqueeze(steps, {1}), lengths), {2});
  }
  Values ys;
  SmallVector<Values> finals(initial.size());
  for (direction = 0; direction < directions; ++direction) {
    Value projected = project(foldsBias);
    enter();
    Values results = scan(projected, isActive, step);
    ys.push_back(results.pop_back_val());
    for (auto [list, state] : llvm::zip_equal(finals, results))
      list.push_back(state);
  }
  Value y = stack(b, ys, 1);
  Values all{isBatchFirst ? b.transpose(y, {2, 0, 1, 3}) : y};
  for (const Values &states : finals)
    all.push_back(stack(b, states, isBatchFirst ? 1 : 0));
  return all;
}

/// Fills in what the three ops share; refuses what only the run knows.
template <typename OpTy>
FailureOr<Layer> makeLayer(OpTy op, GradientBuilder &b, int64_t gates,
                           ArrayRef<StringRef> defaults, ArrayRef<Value> in) {
  bool isBatchFirst = op.getLayout() == 1;
  int64_t directions = op.getDirection() == "bidirectional" ? 2 : 1;
  for (Value weight : {in[1], in[2], in[3]})
    if (weight && !cast<RankedTensorType>(weight.getType()).hasStaticShape())
      return b.unsupported(op, "has a gradient only for weights of sizes that "
                               "are known at compile time");
  int64_t count = defaults.size();
  Layer layer{b,
              gates,
              directions,
              op.getDirection() == "reverse",
              isBatchFirst,
              in[0],
              in[1],
              in[2],
              in[3],
              op.getSequenceLens(),
              {},
              {},
              {},
              count,
              {},
              {}};
  if (op.getClip())
    layer.clip = op.getClip()->convertToFloat();
  std::optional<ArrayAttr> names = op.getActivations();
  if (names && static_cast<int64_t>(names->size()) != directions * count)
    return b.unsupported(op, "has a wrong number of activations");
  size_t nextAlpha = 0, nextBeta = 0;
  auto take = [](std::optional<float> byDefault,
                 std::optional<ArrayRef<float>> given, size_t &next) {
    if (byDefault && given && next < given->size())
      return (*given)[next++];
    return byDefault.value_or(0.0f);
  };
  for (int64_t i = 0; i < directions * count; ++i) {
    Activation f;
    f.name = names ? cast<StringAttr>((*names)[i]).getValue().lower()
                   : defaults[i % count].str();
    if (!isKnownActivation(f.name))
      return b.unsupported(op, "has no gradient with activation \"" + f.name +
                                   "\"");
    Parameters parameters = getParameters(f.name);
    f.alpha = take(parameters.alpha, op.getActivationAlpha(), nextAlpha);
    f.beta = take(parameters.beta, op.getActivationBeta(), nextBeta);
    layer.activations.push_back(f);
  }
  return layer;
}

} // namespace

/// h = f(x w' + h r' + bias)
static LogicalResult gradRnn(RNNOp op, GradientBuilder &b) {
  auto decompose = [&](ArrayRef<Value> in) -> FailureOr<Values> {
    FailureOr<Layer> layer = makeLayer(op, b, 1, {"tanh"}, in);
    if (failed(layer))
      return failure();
    layer->initial = {in[4]};
    return layer->build(
        true, [] {},
        [&](Value projected, ValueRange states) -> Values {
          Value sum = b.create<MatMulOp>(states[0], layer->recurrent);
          return {layer->activate(0, b.add(projected, sum))};
        });
  };
  return differentiateAs(
      op, b, {op.getX(), op.getW(), op.getR(), op.getB(), op.getInitialH()},
      decompose);
}

/// h = (1 - z) candidate + z h, the candidate from what the reset gate lets
/// pass
static LogicalResult gradGru(GRUOp op, GradientBuilder &b) {
  bool isLinear = op.getLinearBeforeReset() != 0;
  auto decompose = [&](ArrayRef<Value> in) -> FailureOr<Values> {
    FailureOr<Layer> layer = makeLayer(op, b, 3, {"sigmoid", "tanh"}, in);
    if (failed(layer))
      return failure();
    layer->initial = {in[4]};
    Values columns, biases;
    auto enter = [&] {
      columns = split(b, layer->recurrent, 1, 3);
      biases.assign(3, Value());
      if (layer->recurrentBias)
        biases = split(b, layer->recurrentBias, 0, 3);
    };
    auto recur = [&](Value state, int64_t gate) {
      Value sum = b.create<MatMulOp>(state, columns[gate]);
      return biases[gate] ? b.add(sum, biases[gate]) : sum;
    };
    auto step = [&](Value projected, ValueRange states) -> Values {
      Value h = states[0];
      Values own = split(b, projected, 1, 3);
      Value z = layer->activate(0, b.add(own[0], recur(h, 0)));
      Value reset = layer->activate(0, b.add(own[1], recur(h, 1)));
      Value term =
          isLinear ? b.mul(reset, recur(h, 2)) : recur(b.mul(reset, h), 2);
      Value candidate = layer->activate(1, b.add(own[2], term));
      return {b.add(b.mul(b.sub(1.0, z), candidate), b.mul(z, h))};
    };
    return layer->build(false, enter, step);
  };
  return differentiateAs(
      op, b, {op.getX(), op.getW(), op.getR(), op.getB(), op.getInitialH()},
      decompose);
}

/// c = f c + i g(candidate), h = o h(c)
static LogicalResult gradLstm(LSTMOp op, GradientBuilder &b) {
  auto decompose = [&](ArrayRef<Value> in) -> FailureOr<Values> {
    FailureOr<Layer> layer =
        makeLayer(op, b, 4, {"sigmoid", "tanh", "tanh"}, in);
    if (failed(layer))
      return failure();
    layer->initial = {in[4], in[5]};
    Values peepholes;
    auto enter = [&] {
      peepholes.clear();
      if (in[6])
        peepholes = split(b, layer->entry(in[6], layer->direction), 0, 3);
    };
    auto gate = [&](Value sum, int64_t peephole, Value cell) {
      if (!peepholes.empty())
        sum = b.add(sum, b.mul(peepholes[peephole], cell));
      return layer->activate(0, sum);
    };
    auto step = [&](Value projected, ValueRange states) -> Values {
      Value cell = states[1];
      Value sum = b.create<MatMulOp>(states[0], layer->recurrent);
      Values sums = split(b, b.add(projected, sum), 1, 4);
      Value input = gate(sums[0], 0, cell);
      Value forget =
          op.getInputForget() ? b.sub(1.0, input) : gate(sums[2], 2, cell);
      Value candidate = layer->activate(1, sums[3]);
      Value next = b.add(b.mul(forget, cell), b.mul(input, candidate));
      Value output = gate(sums[1], 1, next);
      return {b.mul(output, layer->activate(2, next)), next};
    };
    return layer->build(true, enter, step);
  };
  return differentiateAs(op, b,
                         {op.getX(), op.getW(), op.getR(), op.getB(),
                          op.getInitialH(), op.getInitialC(), op.getP()},
                         decompose);
}

void onnx_aot::populateRecurrentGradientRules(MLIRContext *context) {
  attachRule<RNNOp, gradRnn>(context);
  attachRule<GRUOp, gradGru>(context);
  attachRule<LSTMOp, gradLstm>(context);
}
