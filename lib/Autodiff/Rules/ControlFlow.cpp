//===- ControlFlow.cpp - gradients of branches and loops ------------------===//
//
// Bodies are computed again in the backward pass and differentiated there: what
// is kept of the forward pass are the values that a loop carries, one for each
// iteration. The backward pass of a Loop is a Scan over these, last one first;
// so it runs as often as the loop did, whatever ended that.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "onnx-aot/Autodiff/BuildGradient.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

//===--- Symbols of bodies ------------------------------------------------===//

using Symbols = llvm::DenseSet<unsigned>;

static void collectSymbols(Type type, Symbols &symbols) {
  if (std::optional<Shape> shape = getShape(type))
    for (Dim dim : *shape)
      if (dim.isKnown())
        dim.getExpr().walk([&](AffineExpr expr) {
          if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
            symbols.insert(symbol.getPosition());
        });
}

/// Calls `function` for every value inside an op.
static void forEachValue(Operation *op,
                         llvm::function_ref<void(Value)> function) {
  op->walk<WalkOrder::PreOrder>([&](Operation *nested) {
    if (nested != op)
      llvm::for_each(nested->getResults(), function);
    for (Region &region : nested->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), function);
  });
}

/// The symbols of sizes that only the bodies of an op have.
static Symbols getInnerSymbols(Operation *op) {
  Operation *top = op;
  while (top->getParentOp())
    top = top->getParentOp();
  Symbols inner, outer;
  forEachValue(op,
               [&](Value value) { collectSymbols(value.getType(), inner); });
  forEachValue(top, [&](Value value) {
    if (!op->isAncestor(value.getParentBlock()->getParentOp()))
      collectSymbols(value.getType(), outer);
  });
  for (unsigned symbol : outer)
    inner.erase(symbol);
  return inner;
}

/// Gives the bodies of `copy` symbols of their own for the `inner` ones of what
/// they were copied from: those name other sizes.
static void renewSymbols(Operation *copy, const Symbols &inner) {
  if (inner.empty())
    return;
  Operation *top = copy;
  while (top->getParentOp())
    top = top->getParentOp();
  MLIRContext *context = copy->getContext();
  unsigned count = *std::max_element(inner.begin(), inner.end()) + 1;
  SmallVector<AffineExpr> fresh;
  for (unsigned symbol = 0; symbol < count; ++symbol)
    fresh.push_back(getAffineSymbolExpr(
        inner.contains(symbol) ? getOrAddSymbol(top, "") : symbol, context));
  auto renew = [&](Value value) {
    std::optional<Shape> shape = getShape(value);
    if (!shape)
      return;
    for (Dim &dim : *shape)
      if (dim.isKnown()) {
        SmallVector<AffineExpr> replacements(fresh);
        Symbols used;
        collectSymbols(value.getType(), used);
        for (unsigned symbol : used)
          while (replacements.size() <= symbol)
            replacements.push_back(
                getAffineSymbolExpr(replacements.size(), context));
        dim = Dim(dim.getExpr().replaceSymbols(replacements));
      }
    value.setType(getTensorType(*shape, getElementType(value)));
  };
  forEachValue(copy, renew);
}

//===--- Bodies -----------------------------------------------------------===//

/// The values around an op that its bodies use and that need gradients.
static SmallVector<Value> getActiveCaptures(Operation *op, GradientBuilder &b) {
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  return llvm::filter_to_vector(captured, [&](Value value) {
    return b.isActive(value) && isDifferentiable(value.getType());
  });
}

/// Copies the ops of a body to the insertion point; returns what it yields.
static SmallVector<Value> copyBody(OpBuilder &builder, Block &body,
                                   ValueRange arguments) {
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return llvm::map_to_vector(
      body.getTerminator()->getOperands(),
      [&](Value value) { return mapping.lookupOrDefault(value); });
}

/// Copies a body and creates the gradients of the outputs that have a seed;
/// zeros for an x that does not matter.
static FailureOr<SmallVector<Value>>
differentiateBody(GradientBuilder &b, Block &body, ValueRange arguments,
                  ArrayRef<Value> seeds, ArrayRef<Value> xs) {
  SmallVector<Value> ys, given;
  for (auto [y, seed] :
       llvm::zip_equal(copyBody(b.getBuilder(), body, arguments), seeds))
    if (seed) {
      ys.push_back(y);
      given.push_back(seed);
    }
  auto gradients = buildGradient(b.getBuilder(), ys, given, xs);
  if (failed(gradients))
    return failure();
  for (auto [gradient, x] : llvm::zip_equal(*gradients, xs))
    if (!gradient)
      gradient = b.zerosLike(x);
  return *gradients;
}

//===--- If ---------------------------------------------------------------===//

/// The same branch gives the gradients of what the branches use.
static LogicalResult gradIf(IfOp op, GradientBuilder &b) {
  SmallVector<Value> captures = getActiveCaptures(op, b), seeds;
  for (Value result : op.getResults())
    seeds.push_back(b.getGradient(result));
  Symbols inner = getInnerSymbols(op);
  OpBuilder &builder = b.getBuilder();
  auto branch = IfOp::create(builder, b.getLoc(),
                             ValueRange(captures).getTypes(), op.getCond());
  LogicalResult done = success();
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), branch->getRegions())) {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&to);
    auto gradients = differentiateBody(b, from.front(), {}, seeds, captures);
    if (failed(gradients))
      done = failure();
    YieldOp::create(builder, b.getLoc(),
                    succeeded(gradients) ? *gradients : captures);
  }
  renewSymbols(branch, inner);
  if (succeeded(done))
    for (auto [x, gradient] : llvm::zip_equal(captures, branch.getResults()))
      b.accumulate(x, gradient);
  return done;
}

//===--- Loops ------------------------------------------------------------===//

namespace {

/// A tensor that the backward pass takes or gives slice by slice.
struct Slices {
  Value tensor;
  int64_t axis = 0;
  bool isReversed = false;
};

/// The backward pass of a loop, whatever its form.
struct BackwardScan {
  Block *body;
  /// What the body's arguments are in each iteration; a null tensor marks a
  /// condition, which holds.
  SmallVector<Slices> arguments;
  /// How many arguments stand before the carried values, and how many of those
  /// there are.
  unsigned first, numCarried;
  /// Gradients of the final values (null where the value has none) and of the
  /// scan outputs (null tensors where there is none).
  SmallVector<Value> carriedGradients;
  SmallVector<Slices> outputGradients;
  /// Arguments whose gradients are wanted slice by slice.
  SmallVector<unsigned> scanned;
  SmallVector<Value> captures;

  /// Gradients of the initial values, the captures, the scanned arguments.
  FailureOr<SmallVector<Value>> build(GradientBuilder &b, const Symbols &inner);
};

} // namespace

FailureOr<SmallVector<Value>> BackwardScan::build(GradientBuilder &b,
                                                  const Symbols &inner) {
  OpBuilder &builder = b.getBuilder();
  // States: gradients of what is carried, sums for what is captured.
  SmallVector<Value> operands, carriedArguments;
  SmallVector<Type> types;
  SmallVector<unsigned> carried;
  for (auto [index, gradient] : llvm::enumerate(carriedGradients))
    if (gradient) {
      carried.push_back(index);
      operands.push_back(gradient);
      types.push_back(body->getArgument(first + index).getType());
    }
  for (Value capture : captures) {
    operands.push_back(b.zerosLike(capture));
    types.push_back(capture.getType());
  }
  unsigned numStates = operands.size();
  SmallVector<int64_t> axes, directions, outputAxes, outputDirections;
  auto addScanned = [&](const Slices &slices, Type type) {
    operands.push_back(slices.tensor);
    types.push_back(type);
    axes.push_back(slices.axis);
    // The last iteration comes first.
    directions.push_back(!slices.isReversed);
  };
  for (auto [slices, argument] :
       llvm::zip_equal(arguments, body->getArguments()))
    if (slices.tensor)
      addScanned(slices, argument.getType());
  Operation *yield = body->getTerminator();
  unsigned firstOutput = yield->getNumOperands() - outputGradients.size();
  for (auto [index, slices] : llvm::enumerate(outputGradients))
    if (slices.tensor)
      addScanned(slices, yield->getOperand(firstOutput + index).getType());
  for (unsigned argument : scanned) {
    outputAxes.push_back(arguments[argument].axis);
    outputDirections.push_back(!arguments[argument].isReversed);
  }

  SmallVector<Type> results(numStates + scanned.size(),
                            UnrankedTensorType::get(builder.getF32Type()));
  auto scan = ScanOp::create(builder, b.getLoc(), results, operands,
                             axes.size(), builder.getDenseI64ArrayAttr(axes),
                             builder.getDenseI64ArrayAttr(directions),
                             builder.getDenseI64ArrayAttr(outputAxes),
                             builder.getDenseI64ArrayAttr(outputDirections));
  LogicalResult done = success();
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block =
        builder.createBlock(&scan.getBody(), {}, types,
                            SmallVector<Location>(types.size(), b.getLoc()));
    ArrayRef<BlockArgument> rest = block->getArguments();
    ArrayRef<BlockArgument> states = rest.take_front(numStates);
    rest = rest.drop_front(numStates);
    auto take = [&]() -> Value {
      Value value = rest.front();
      rest = rest.drop_front();
      return value;
    };
    SmallVector<Value> bodyArguments, xs, seeds(yield->getNumOperands());
    for (const Slices &slices : arguments)
      bodyArguments.push_back(
          slices.tensor ? take()
                        : b.castLike(b.integer(1),
                                     body->getArgument(bodyArguments.size())));
    for (auto [index, slices] : llvm::enumerate(outputGradients))
      if (slices.tensor)
        seeds[firstOutput + index] = take();
    for (auto [state, index] : llvm::zip(states, carried)) {
      seeds[firstOutput - numCarried + index] = state;
      xs.push_back(bodyArguments[first + index]);
    }
    xs.append(captures);
    for (unsigned argument : scanned)
      xs.push_back(bodyArguments[argument]);
    auto gradients = differentiateBody(b, *body, bodyArguments, seeds, xs);
    if (failed(gradients)) {
      done = failure();
    } else {
      for (unsigned i = carried.size(); i < numStates; ++i)
        (*gradients)[i] = b.add(states[i], (*gradients)[i]);
      YieldOp::create(builder, b.getLoc(), *gradients);
    }
  }
  if (failed(done)) {
    scan.erase();
    return failure();
  }
  renewSymbols(scan, inner);
  if (failed(inferAndSetResultTypes(scan)))
    return failure();
  // One gradient for each carried value, null where it has none.
  SmallVector<Value> all(carriedGradients.size());
  for (auto [index, result] : llvm::zip(carried, scan.getResults()))
    all[index] = result;
  llvm::append_range(all, scan.getResults().drop_front(carried.size()));
  return all;
}

/// What a loop carries, iteration by iteration, must be tensors.
static bool carriesTensors(Block &body) {
  return llvm::all_of(body.getArgumentTypes(),
                      [](Type type) { return isa<RankedTensorType>(type); });
}

/// The gradients of the final values, and zeros where a value may matter in an
/// earlier iteration.
static SmallVector<Value> getCarriedGradients(ValueRange results,
                                              GradientBuilder &b) {
  return llvm::map_to_vector(results, [&](Value result) {
    return isDifferentiable(result.getType()) ? b.getGradientOrZeros(result)
                                              : Value();
  });
}

/// Hands over what BackwardScan::build gives.
static void accumulateAll(GradientBuilder &b, ValueRange operands,
                          ArrayRef<Value> gradients) {
  for (auto [operand, gradient] : llvm::zip_equal(operands, gradients))
    if (gradient)
      b.accumulate(operand, gradient);
}

/// A Loop that also gives its iteration numbers and what it carries into each
/// iteration, stacked.
static SmallVector<Value> traceLoop(LoopOp op, const Symbols &inner,
                                    GradientBuilder &b) {
  OpBuilder &builder = b.getBuilder();
  Block &body = op.getBody().front();
  size_t numCarried = op.getVInitial().size();
  SmallVector<Type> types(2 * numCarried + 1,
                          UnrankedTensorType::get(builder.getF32Type()));
  auto loop = LoopOp::create(builder, b.getLoc(), types, op.getM(),
                             op.getCond(), op.getVInitial());
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(
        &loop.getBody(), {}, body.getArgumentTypes(),
        SmallVector<Location>(body.getNumArguments(), b.getLoc()));
    SmallVector<Value> yields =
        copyBody(builder, body, ValueRange(block->getArguments()));
    yields.resize(numCarried + 1);
    yields.push_back(block->getArgument(0));
    llvm::append_range(yields, block->getArguments().drop_front(2));
    YieldOp::create(builder, b.getLoc(), yields);
  }
  renewSymbols(loop, inner);
  (void)inferAndSetResultTypes(loop);
  return llvm::to_vector_of<Value>(loop.getResults().drop_front(numCarried));
}

/// v_final, scan outputs = loop(v_initial)
static LogicalResult gradLoop(LoopOp op, GradientBuilder &b) {
  Block &body = op.getBody().front();
  if (!carriesTensors(body))
    return b.unsupported(op, "has no gradient where it carries sequences, "
                             "optionals or tensors of unknown rank");
  Symbols inner = getInnerSymbols(op);
  unsigned numCarried = op.getVInitial().size();
  SmallVector<Value> trace = traceLoop(op, inner, b);
  BackwardScan scan;
  scan.body = &body;
  scan.first = 2;
  scan.numCarried = numCarried;
  scan.arguments.push_back({trace.front()});
  scan.arguments.push_back({});
  for (Value values : ArrayRef(trace).drop_front())
    scan.arguments.push_back({values});
  scan.carriedGradients =
      getCarriedGradients(op.getResults().take_front(numCarried), b);
  for (Value result : op.getResults().drop_front(numCarried))
    scan.outputGradients.push_back({b.getGradient(result)});
  scan.captures = getActiveCaptures(op, b);
  auto gradients = scan.build(b, inner);
  if (failed(gradients))
    return failure();
  SmallVector<Value> operands(op.getVInitial());
  operands.append(scan.captures);
  accumulateAll(b, operands, *gradients);
  return success();
}

/// The entry of a list of axes or directions; 0 where there is none.
static int64_t getEntry(std::optional<ArrayRef<int64_t>> list, size_t index) {
  return list && index < list->size() ? (*list)[index] : 0;
}

/// A Scan that gives what it carries into each iteration, stacked along a first
/// dimension, instead of its own scan outputs.
static SmallVector<Value> traceScan(ScanOp op, unsigned numCarried,
                                    const Symbols &inner, GradientBuilder &b) {
  OpBuilder &builder = b.getBuilder();
  Block &body = op.getBody().front();
  SmallVector<Type> types(2 * numCarried,
                          UnrankedTensorType::get(builder.getF32Type()));
  auto scan = ScanOp::create(builder, b.getLoc(), types, op.getOperands(),
                             op.getNumScanInputs(), op.getScanInputAxesAttr(),
                             op.getScanInputDirectionsAttr(),
                             DenseI64ArrayAttr(), DenseI64ArrayAttr());
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(
        &scan.getBody(), {}, body.getArgumentTypes(),
        SmallVector<Location>(body.getNumArguments(), b.getLoc()));
    SmallVector<Value> yields =
        copyBody(builder, body, ValueRange(block->getArguments()));
    yields.resize(numCarried);
    llvm::append_range(yields, block->getArguments().take_front(numCarried));
    YieldOp::create(builder, b.getLoc(), yields);
  }
  renewSymbols(scan, inner);
  (void)inferAndSetResultTypes(scan);
  return llvm::to_vector_of<Value>(scan.getResults().drop_front(numCarried));
}

/// final state, scan outputs = scan(initial state, scan inputs)
static LogicalResult gradScan(ScanOp op, GradientBuilder &b) {
  Block &body = op.getBody().front();
  if (!carriesTensors(body))
    return b.unsupported(
        op, "has no gradient where the rank of what it carries is unknown");
  Symbols inner = getInnerSymbols(op);
  unsigned numScanned = op.getNumScanInputs();
  unsigned numCarried = op.getNumOperands() - numScanned;
  BackwardScan scan;
  scan.body = &body;
  scan.first = 0;
  scan.numCarried = numCarried;
  if (numCarried != 0)
    for (Value values : traceScan(op, numCarried, inner, b))
      scan.arguments.push_back({values});
  SmallVector<Value> operands(op.getOperands().take_front(numCarried));
  scan.captures = getActiveCaptures(op, b);
  operands.append(scan.captures);
  for (unsigned i = 0; i < numScanned; ++i) {
    Value input = op.getOperand(numCarried + i);
    int64_t axis = getEntry(op.getScanInputAxes(), i);
    axis = axis < 0 ? axis + b.getRank(input) : axis;
    scan.arguments.push_back(
        {input, axis, getEntry(op.getScanInputDirections(), i) != 0});
    if (!b.isActive(input) || !isDifferentiable(input.getType()))
      continue;
    scan.scanned.push_back(numCarried + i);
    operands.push_back(input);
  }
  scan.carriedGradients =
      getCarriedGradients(op.getResults().take_front(numCarried), b);
  for (auto [i, result] :
       llvm::enumerate(op.getResults().drop_front(numCarried))) {
    int64_t axis = getEntry(op.getScanOutputAxes(), i);
    axis = axis < 0 ? axis + b.getRank(result) : axis;
    scan.outputGradients.push_back(
        {b.getGradient(result), axis,
         getEntry(op.getScanOutputDirections(), i) != 0});
  }
  auto gradients = scan.build(b, inner);
  if (failed(gradients))
    return failure();
  accumulateAll(b, operands, *gradients);
  return success();
}

void onnx_aot::populateControlFlowGradientRules(MLIRContext *context) {
  attachRule<IfOp, gradIf>(context);
  attachRule<LoopOp, gradLoop>(context);
  attachRule<ScanOp, gradScan>(context);
}
