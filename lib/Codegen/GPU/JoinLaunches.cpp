//===- JoinLaunches.cpp - launches that may run as one --------------------===//
//
// An optimizer's step is a kernel for each parameter, the same formula again
// and again; a norm of all gradients likewise. Each takes less time than it
// takes to launch. Kernels that say the same of buffers of one shape, which
// need not be the same shape, are written for a row of elements; launches of
// them that do not depend on each other are put side by side and get a common
// number, by which one launch is made of them.
//
//===----------------------------------------------------------------------===//

#include "Footprint.h"

#include "onnx-aot/Codegen/Common/Entry.h"
#include "onnx-aot/Codegen/GPU/Passes.h"
#include "onnx-aot/Dialect/Kernel/IR/Kernel.h"
#include "onnx-aot/Support/EntryAttributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::gpu_kernel;

namespace onnx_aot {
#define GEN_PASS_DEF_JOINLAUNCHES
#include "onnx-aot/Codegen/GPU/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// Writes kernels whose loops run over all elements of buffers of one shape
/// for rows of elements.
class Flattening {
public:
  Flattening(kernel::LaunchOp launch, func::FuncOp body)
      : launch(launch), body(body) {}

  bool isPossible() {
    for (Type type : launch.getOperandTypes()) {
      auto buffer = dyn_cast<MemRefType>(type);
      if (!buffer || !buffer.hasStaticShape() ||
          !buffer.getLayout().isIdentity() || !fits(buffer.getShape()))
        return false;
    }
    return !shape.empty() && ShapedType::getNumElements(shape) <= kMost &&
           llvm::all_of(body.getBody().front(),
                        [&](Operation &op) { return isPossible(op); });
  }

  /// The same kernel for rows of elements.
  OwningOpRef<func::FuncOp> write(StringRef name) {
    SmallVector<Type> inputs, results;
    for (Type type : body.getArgumentTypes())
      inputs.push_back(flat(type));
    for (Type type : body.getResultTypes())
      results.push_back(flat(type));
    OpBuilder b(body.getContext());
    OwningOpRef<func::FuncOp> made = func::FuncOp::create(
        body.getLoc(), name, b.getFunctionType(inputs, results));
    made->setPrivate();
    Block *block = made->addEntryBlock();
    b.setInsertionPointToStart(block);
    IRMapping mapping;
    mapping.map(body.getArguments(), block->getArguments());
    Value count;
    for (Value argument : block->getArguments())
      if (!count && cast<RankedTensorType>(argument.getType()).getRank())
        count = tensor::DimOp::create(b, body.getLoc(), argument, 0);
    for (Operation &op : body.getBody().front())
      clone(b, op, mapping, count);
    return made;
  }

  /// Lets the launch pass its buffers as rows of elements to `kernel`.
  void use(func::FuncOp kernel) {
    OpBuilder b(launch);
    for (OpOperand &operand : launch->getOpOperands()) {
      auto type = cast<MemRefType>(operand.get().getType());
      if (type.getRank() == 0)
        continue;
      Value row = operand.get();
      if (type.getRank() > 1)
        row = memref::CollapseShapeOp::create(
            b, launch.getLoc(), row,
            ReassociationIndices(
                llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()))));
      operand.set(memref::CastOp::create(
          b, launch.getLoc(),
          MemRefType::get({ShapedType::kDynamic}, type.getElementType()), row));
    }
    launch.setKernelAttr(FlatSymbolRefAttr::get(kernel));
  }

private:
  /// As many elements as kernels for static shapes take.
  static constexpr int64_t kMost = int64_t(1) << 30;

  /// Scalars fit into every space; all others have one shape.
  bool fits(ArrayRef<int64_t> other) {
    if (other.empty())
      return true;
    if (shape.empty())
      shape.assign(other.begin(), other.end());
    return shape == other;
  }

  bool isPossible(Operation &op) {
    for (Type type : op.getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        if (!tensor.hasStaticShape() || !fits(tensor.getShape()))
          return false;
    if (op.hasTrait<OpTrait::ConstantLike>())
      return !isa<TensorType>(op.getResult(0).getType());
    if (isa<tensor::EmptyOp, linalg::FillOp, func::ReturnOp>(op))
      return true;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic)
      return false;
    ArrayRef<Attribute> iterators = generic.getIteratorTypes().getValue();
    if (!llvm::all_equal(iterators) ||
        !llvm::all_of(generic.getIndexingMapsArray(), [](AffineMap map) {
          return map.isIdentity() || map.getNumResults() == 0;
        }))
      return false;
    return llvm::none_of(*generic.getBody(), [](Operation &inner) {
      return isa<linalg::IndexOp, tensor::ExtractOp>(inner);
    });
  }

  static Type flat(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.getRank() ? RankedTensorType::get({ShapedType::kDynamic},
                                                    tensor.getElementType())
                            : tensor;
  }

  static void clone(OpBuilder &b, Operation &op, IRMapping &mapping,
                    Value count) {
    if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
      auto type = cast<RankedTensorType>(flat(empty.getType()));
      mapping.map(empty.getResult(),
                  tensor::EmptyOp::create(b, op.getLoc(), type,
                                          type.getRank() ? ValueRange(count)
                                                         : ValueRange())
                      .getResult());
      return;
    }
    Operation *made = b.clone(op, mapping);
    for (Value result : made->getResults())
      if (isa<RankedTensorType>(result.getType()))
        result.setType(flat(result.getType()));
    auto generic = dyn_cast<linalg::GenericOp>(made);
    if (!generic || generic.getNumLoops() == 0)
      return;
    SmallVector<AffineMap> maps;
    for (AffineMap map : generic.getIndexingMapsArray())
      maps.push_back(map.getNumResults()
                         ? b.getMultiDimIdentityMap(1)
                         : AffineMap::get(1, 0, b.getContext()));
    generic.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
    generic.setIteratorTypesAttr(
        b.getArrayAttr(generic.getIteratorTypes().getValue().take_front()));
  }

  kernel::LaunchOp launch;
  func::FuncOp body;
  SmallVector<int64_t> shape;
};

/// Launches of one kernel that do not depend on each other.
struct Group {
  std::string key;
  SmallVector<kernel::LaunchOp> launches;
  Footprint footprint;
};

class Joining {
public:
  explicit Joining(ModuleOp module) : module(module) {}

  void run(func::FuncOp entry) {
    entry.walk([&](Block *block) { joinIn(*block); });
    for (func::FuncOp body : replaced)
      if (SymbolTable::symbolKnownUseEmpty(body, module))
        body.erase();
  }

private:
  void joinIn(Block &block) {
    SmallVector<Group> open;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto launch = dyn_cast<kernel::LaunchOp>(op);
      if (!launch) {
        if (!isMemoryEffectFree(&op))
          closeAll(open);
        continue;
      }
      add(launch, open);
    }
    closeAll(open);
  }

  /// Joins the group of the same kernel; others that it depends on, or that
  /// depend on it, end before it.
  void add(kernel::LaunchOp launch, SmallVector<Group> &open) {
    Footprint footprint = Footprint::of(launch);
    std::string key = getKey(launch);
    Group *own = nullptr;
    for (size_t i = open.size(); i-- > 0;) {
      if (open[i].footprint.conflictsWith(footprint)) {
        close(open[i]);
        open.erase(open.begin() + i);
      }
    }
    for (Group &group : open)
      if (group.key == key)
        own = &group;
    if (!own) {
      open.push_back({key, {}, {}});
      own = &open.back();
    }
    own->launches.push_back(launch);
    own->footprint.add(footprint);
  }

  void closeAll(SmallVector<Group> &open) {
    for (Group &group : open)
      close(group);
    open.clear();
  }

  /// Moves the launches to the last of them.
  void close(Group &group) {
    if (group.launches.size() < 2)
      return;
    Attribute number =
        Builder(module.getContext()).getI64IntegerAttr(numJoints++);
    auto rows = flattened.find(group.key);
    for (kernel::LaunchOp launch : group.launches) {
      if (launch != group.launches.back())
        launch->moveBefore(group.launches.back());
      launch->setAttr(kJointAttr, number);
      if (rows == flattened.end())
        continue;
      func::FuncOp body = getBody(launch);
      Flattening(launch, body).use(publish(rows->second));
      replaced.insert(body);
    }
  }

  func::FuncOp getBody(kernel::LaunchOp launch) {
    return module.lookupSymbol<func::FuncOp>(launch.getKernel());
  }

  /// What decides on the code.
  std::string getKey(kernel::LaunchOp launch) {
    func::FuncOp body = getBody(launch);
    Flattening flattening(launch, body);
    if (!flattening.isPossible())
      return print(launch, body);
    OwningOpRef<func::FuncOp> row = flattening.write("row");
    std::string key = print({}, *row);
    flattened[key].written = std::move(row);
    return key;
  }

  static std::string print(kernel::LaunchOp launch, func::FuncOp body) {
    std::string key, text;
    llvm::raw_string_ostream stream(key), bodyStream(text);
    if (launch)
      llvm::interleave(launch.getOperandTypes(), stream, ";");
    body->print(bodyStream, OpPrintingFlags().useLocalScope());
    key += StringRef(text).drop_until([](char c) { return c == '('; });
    return key;
  }

  /// A kernel for rows of elements, and the same with a name once it is used.
  struct Rows {
    OwningOpRef<func::FuncOp> written;
    func::FuncOp published;
  };

  func::FuncOp publish(Rows &rows) {
    if (!rows.published) {
      rows.published = rows.written.release();
      rows.published.setSymName(("rows." + Twine(numKernels++)).str());
      module.push_back(rows.published);
    }
    return rows.published;
  }

  llvm::StringMap<Rows> flattened;
  SetVector<func::FuncOp> replaced;
  ModuleOp module;
  int64_t numJoints = 0, numKernels = 0;
};

struct JoinLaunches : onnx_aot::impl::JoinLaunchesBase<JoinLaunches> {
  void runOnOperation() override {
    if (func::FuncOp entry = codegen::getEntry(getOperation()))
      Joining(getOperation()).run(entry);
  }
};

} // namespace
