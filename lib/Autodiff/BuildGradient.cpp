//===- BuildGradient.cpp - reverse-mode differentiation -------------------===//

#include "onnx-aot/Autodiff/BuildGradient.h"
#include "Activity.h"
#include "onnx-aot/Autodiff/GradientBuilder.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace onnx_aot;

/// The location of the gradient ops of a forward op: grad/<node>.
static Location getGradientLocation(Location forward) {
  StringRef name = "?";
  forward->walk([&](Location loc) {
    auto named = dyn_cast<NameLoc>(loc);
    if (!named)
      return WalkResult::advance();
    name = named.getName().getValue();
    return WalkResult::interrupt();
  });
  return NameLoc::get(StringAttr::get(forward->getContext(), "grad/" + name),
                      forward);
}

/// The tensors of an op must be ranked: rules rely on it.
static bool hasUnranked(Operation *op) {
  auto isUnranked = [](Type type) { return isa<UnrankedTensorType>(type); };
  return llvm::any_of(op->getOperandTypes(), isUnranked) ||
         llvm::any_of(op->getResultTypes(), isUnranked);
}

static LogicalResult differentiate(Operation *op, GradientBuilder &builder) {
  auto rule = dyn_cast<GradientOpInterface>(op);
  LogicalResult done = failure();
  if (!rule)
    done = builder.unsupported(op, "has no gradient rule");
  else if (hasUnranked(op))
    done = builder.unsupported(
        op, "has no gradient where the rank of a tensor is unknown");
  else
    done = rule.differentiate(builder);
  if (succeeded(done))
    return success();
  // Refused anyway: let the ops before it say what is wrong with them, too.
  for (Value input : getInputs(op))
    if (builder.isActive(input) && isa<RankedTensorType>(input.getType()) &&
        isDifferentiable(input.getType()))
      builder.accumulate(input, builder.zerosLike(input));
  return failure();
}

FailureOr<SmallVector<Value>> onnx_aot::buildGradient(OpBuilder &opBuilder,
                                                      ArrayRef<Value> ys,
                                                      ArrayRef<Value> seeds,
                                                      ArrayRef<Value> xs) {
  Block *block = opBuilder.getInsertionBlock();
  Block::iterator end = opBuilder.getInsertionPoint();
  Operation *last = end == block->begin() ? nullptr : &*std::prev(end);
  Activity activity = findActivity(block, end, ys, xs);

  Location loc =
      ys.empty() ? block->getParentOp()->getLoc() : ys.front().getLoc();
  GradientBuilder builder(opBuilder, loc, std::move(activity.values));
  for (auto [index, y] : llvm::enumerate(ys)) {
    if (!builder.isActive(y))
      continue;
    builder.setLoc(getGradientLocation(y.getLoc()));
    Value seed = index < seeds.size() ? seeds[index] : Value();
    builder.accumulate(y, seed ? seed : builder.onesLike(y));
  }
  bool bad = false;
  for (Operation *op : llvm::reverse(activity.ops)) {
    builder.setLoc(getGradientLocation(op->getLoc()));
    if (llvm::any_of(op->getResults(), [&](Value result) {
          return builder.getGradient(result) != nullptr;
        }))
      bad |= failed(differentiate(op, builder));
  }

  SmallVector<Value> gradients;
  for (Value x : xs)
    gradients.push_back(builder.getGradient(x));
  // What was created goes again where it failed, or where nobody wants it.
  for (auto it = opBuilder.getInsertionPoint(); it != block->begin();) {
    Operation *op = &*std::prev(it);
    if (op == last)
      break;
    bool wanted = llvm::any_of(op->getResults(), [&](Value result) {
      return llvm::is_contained(gradients, result);
    });
    if (bad || (!wanted && isOpTriviallyDead(op)))
      op->erase();
    else
      it = op->getIterator();
  }
  for (const auto &[op, why] : builder.getProblems())
    op->emitOpError() << why;
  if (bad)
    return failure();
  return gradients;
}
