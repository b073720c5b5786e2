//===- LowRank.cpp - trained updates of frozen weights --------------------===//

#include "LowRank.h"
#include "Parameters.h"

#include "onnx-aot/Optimizer/OpMaker.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace onnx_aot;

llvm::Expected<std::unique_ptr<LowRankUpdate>>
LowRankUpdate::create(StringRef text) {
  auto update = std::make_unique<LowRankUpdate>();
  Spec spec("lora", text);
  if (StringRef(spec.getName()).getAsInteger(10, update->rank) ||
      update->rank < 1 || update->rank > 1 << 20)
    spec.refuse("it is no rank (supported: whole numbers from 1)");
  update->alpha = spec.number("alpha", double(update->rank), 0, 1e30);
  update->seed = spec.integer("seed", 0, 0, INT64_MAX);
  SmallVector<StringRef> parts;
  std::string targets = spec.text("targets", "*");
  StringRef(targets).split(parts, '+');
  for (StringRef part : parts)
    update->targets.push_back(part.str());
  if (auto filter = NameFilter::create(update->targets); !filter)
    spec.refuse(llvm::toString(filter.takeError()));
  if (llvm::Error error = spec.finish())
    return error;
  return update;
}

namespace {

/// One weight and the nodes that multiply by it.
struct Target {
  onnx::ConstantOp weight;
  std::string name;
  SmallVector<Operation *> nodes;
  bool isTransposed = false;
};

} // namespace

/// The name of a node, from its location.
static StringRef getNodeName(Operation *op) {
  StringRef name;
  op->getLoc()->walk([&](Location loc) {
    auto named = dyn_cast<NameLoc>(loc);
    if (!named)
      return WalkResult::advance();
    name = named.getName().getValue();
    return WalkResult::interrupt();
  });
  return name;
}

/// Whether a node multiplies by the weight, which lies as in x out (MatMul), or
/// out x in (a Gemm with transB).
static bool multipliesBy(Operation *op, Value weight, bool &isTransposed) {
  if (auto gemm = dyn_cast<onnx::GemmOp>(op)) {
    isTransposed = gemm.getTransB() == 0;
    return gemm.getB() == weight && gemm.getA() != weight &&
           gemm.getC() != weight;
  }
  isTransposed = true;
  return isa<onnx::MatMulOp>(op) && op->getOperand(1) == weight &&
         op->getOperand(0) != weight;
}

static Value makeMatrix(OpMaker &m, ArrayRef<int64_t> shape, FloatType type,
                        StringRef name, function_ref<double()> next) {
  SmallVector<APFloat> numbers;
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
    APFloat number(next());
    bool losesInfo;
    number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    numbers.push_back(number);
  }
  OpBuilder &builder = m.getBuilder();
  auto loc = NameLoc::get(builder.getStringAttr(name), m.getLoc());
  auto constant = onnx::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(RankedTensorType::get(shape, type), numbers));
  constant->setAttr(onnx::kNameAttr, builder.getStringAttr(name));
  return constant;
}

/// Whether the entry has something of this name that a file would name, too.
static bool isTaken(func::FuncOp entry, StringRef name) {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (auto attr = entry.getArgAttrOfType<StringAttr>(i, onnx::kNameAttr);
        attr && attr.getValue() == name)
      return true;
  return llvm::any_of(entry.getBody().front().getOps<onnx::ConstantOp>(),
                      [&](onnx::ConstantOp op) {
                        auto attr =
                            op->getAttrOfType<StringAttr>(onnx::kNameAttr);
                        return attr && attr.getValue() == name;
                      });
}

/// Adds scale (x A^T) B^T to what a node gives.
static void addUpdate(Operation *node, Value a, Value b, double scale) {
  OpBuilder builder(node->getContext());
  builder.setInsertionPointAfter(node);
  OpMaker m(builder, node->getLoc());
  auto order = builder.getDenseI64ArrayAttr({1, 0});
  auto transpose = [&](Value x) {
    return m.create<onnx::TransposeOp>(x, order);
  };
  Value x = node->getOperand(0);
  if (auto gemm = dyn_cast<onnx::GemmOp>(node)) {
    if (gemm.getTransA() != 0)
      x = transpose(x);
    scale *= gemm.getAlpha().convertToDouble();
  }
  Value inner = m.create<onnx::MatMulOp>(x, transpose(a));
  Value update = m.mul(m.create<onnx::MatMulOp>(inner, transpose(b)), scale);
  Value sum = m.add(node->getResult(0), update);
  node->getResult(0).replaceUsesWithIf(sum, [&](OpOperand &use) {
    return use.getOwner() != sum.getDefiningOp();
  });
}

FailureOr<std::vector<AdapterInfo>> LowRankUpdate::apply(ModuleOp model) const {
  auto entry = model.lookupSymbol<func::FuncOp>("main");
  NameFilter filter = cantFail(NameFilter::create(targets));
  std::vector<Target> found;
  SmallVector<std::string> names;
  bool bad = false;
  bool isAsked = targets != std::vector<std::string>{"*"};
  for (Initializer &initializer : findInitializers(model)) {
    auto type = cast<RankedTensorType>(initializer.op.getType());
    Target target{initializer.op, initializer.name, {}, false};
    bool isOwn = true, isMatched = false;
    for (OpOperand &use : initializer.op->getUses()) {
      bool isTransposed = false;
      Operation *op = use.getOwner();
      if (!multipliesBy(op, initializer.op, isTransposed) ||
          op->getBlock() != &entry.getBody().front() ||
          (!target.nodes.empty() && isTransposed != target.isTransposed)) {
        isOwn = false;
        continue;
      }
      target.isTransposed = isTransposed;
      target.nodes.push_back(op);
      names.push_back(getNodeName(op).str());
      isMatched |= filter.matches(names.back());
    }
    if (target.nodes.empty() || type.getRank() != 2 || !type.hasStaticShape())
      continue;
    names.push_back(initializer.name);
    isMatched |= filter.matches(initializer.name);
    if (!isMatched)
      continue;
    if (isOwn &&
        (type.getElementType().isF32() || type.getElementType().isF64())) {
      found.push_back(std::move(target));
    } else if (isAsked) {
      bad = true;
      emitError(initializer.op.getLoc())
          << "a weight of type " << type << " "
          << (isOwn
                  ? "has no low-rank update (supported: float and double)"
                  : "that other nodes use differently has no low-rank update");
    }
  }
  SmallVector<StringRef> known(names.begin(), names.end());
  if (StringRef unused = filter.findUnused(known); !unused.empty())
    return entry.emitError("no MatMul or Gemm by an initializer, and none of "
                           "these initializers, is called '")
           << unused << "' (--lora)";
  if (bad)
    return failure();
  if (found.empty())
    return entry.emitError(
        "there is no MatMul or Gemm by an initializer of its own for --lora");

  std::vector<AdapterInfo> added;
  for (Target &target : found) {
    auto type = cast<RankedTensorType>(target.weight.getType());
    int64_t out = type.getDimSize(target.isTransposed ? 1 : 0),
            in = type.getDimSize(target.isTransposed ? 0 : 1);
    if (rank > std::min(in, out))
      return emitError(target.weight.getLoc())
             << "a low-rank update of rank " << rank
             << " is larger than the weight of type " << type;
    AdapterInfo adapter{target.name, -1, -1, target.isTransposed, getScale()};
    for (StringRef matrix : {"A", "B"})
      if (std::string name = getAdapterName(adapter, matrix);
          isTaken(entry, name))
        return emitError(target.weight.getLoc())
               << "the model has a '" << name
               << "' already, as a low-rank update of this weight would be "
                  "called";
    OpBuilder builder(target.weight);
    OpMaker m(builder, target.weight.getLoc());
    auto element = cast<FloatType>(type.getElementType());
    // Of the name: which other weights there are does not matter.
    std::mt19937_64 engine(llvm::xxh3_64bits(target.name) + uint64_t(seed));
    double bound = 1 / std::sqrt(double(in));
    Value a =
        makeMatrix(m, {rank, in}, element, getAdapterName(adapter, "A"), [&] {
          return (std::ldexp(double(engine() >> 11), -52) - 1) * bound;
        });
    Value b = makeMatrix(m, {out, rank}, element, getAdapterName(adapter, "B"),
                         [] { return 0.0; });
    for (Operation *node : target.nodes)
      addUpdate(node, a, b, getScale());
    added.push_back(std::move(adapter));
  }
  return added;
}
