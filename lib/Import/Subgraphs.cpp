//===- Subgraphs.cpp - graph attributes as regions ------------------------===//

#include "GraphImporter.h"
#include "TypeImporter.h"

#include "onnx-aot/Dialect/Onnx/IR/Composite.h"
#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;

namespace onnx_aot::importer {

static const ::onnx::AttributeProto *
findAttribute(const ::onnx::NodeProto &node, StringRef name) {
  for (const ::onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

//===--- Types of a body's inputs -----------------------------------------===//

/// What a scan's body sees of one of its scanned inputs.
static Type dropDimension(Type type, int64_t axis) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  onnx::Shape shape = *onnx::getShape(type);
  FailureOr<int64_t> dropped = onnx::normalizeAxis(axis, shape.size());
  if (failed(dropped))
    return UnrankedTensorType::get(tensor.getElementType());
  shape.erase(shape.begin() + *dropped);
  return onnx::getTensorType(shape, tensor.getElementType());
}

/// Types of the body's inputs where they follow from the node's inputs, and
/// which of them are carried from one iteration to the next.
static SmallVector<Type>
getBodyTypes(const ::onnx::NodeProto &node, ArrayRef<Type> inputs,
             const ::onnx::GraphProto &graph, MLIRContext *context,
             unsigned &firstCarried, unsigned &firstYielded,
             unsigned &numCarried) {
  SmallVector<Type> types;
  numCarried = 0;
  if (node.op_type() == "Loop") {
    types.push_back(RankedTensorType::get({}, IntegerType::get(context, 64)));
    types.push_back(RankedTensorType::get({}, IntegerType::get(context, 1)));
    firstCarried = 2, firstYielded = 1;
    if (inputs.size() > 2)
      llvm::append_range(types, inputs.drop_front(2));
    numCarried = types.size() - 2;
  } else if (node.op_type() == "Scan") {
    const auto *count = findAttribute(node, "num_scan_inputs");
    const auto *axes = findAttribute(node, "scan_input_axes");
    int64_t numScanned = count ? count->i() : 0;
    if (numScanned < 1 || numScanned > static_cast<int64_t>(inputs.size()))
      return {};
    firstCarried = firstYielded = 0;
    numCarried = inputs.size() - numScanned;
    llvm::append_range(types, inputs.take_front(numCarried));
    for (int64_t i = 0; i < numScanned; ++i)
      types.push_back(
          dropDimension(inputs[numCarried + i],
                        axes && i < axes->ints_size() ? axes->ints(i) : 0));
  } else if (node.op_type() == "SequenceMap") {
    for (Type input : inputs)
      if (auto sequence = dyn_cast_or_null<onnx::SequenceType>(input))
        types.push_back(sequence.getElementType());
      else
        types.push_back(input);
  } else {
    for (const ::onnx::ValueInfoProto &input : graph.input())
      types.push_back(importDeclaredType(context, input.type()));
  }
  return types;
}

//===--- Regions ----------------------------------------------------------===//

LogicalResult GraphImporter::importRegion(const NodeSite &site,
                                          const ::onnx::GraphProto &graph,
                                          Region &region,
                                          ArrayRef<Type> inputTypes) {
  Scope inner(site.scope.frame, &site.scope);
  if (inner.depth > context.options.limits.subgraphDepth)
    return refuse(site, "graphs are nested deeper than " +
                            Twine(context.options.limits.subgraphDepth));
  if (static_cast<size_t>(graph.input_size()) != inputTypes.size())
    return refuse(site, "its graph '" + graph.name() + "' has " +
                            Twine(graph.input_size()) + " inputs, " +
                            Twine(inputTypes.size()) +
                            " follow from the node's inputs");
  OpBuilder::InsertionGuard guard(builder);
  Block &block = region.emplaceBlock();
  builder.setInsertionPointToEnd(&block);
  for (auto [input, type] : llvm::zip_equal(graph.input(), inputTypes)) {
    Location loc =
        context.getLocation(input.name(), site.scope.frame.rootIndex);
    Binding binding = Binding::refused();
    if (type)
      binding = Binding::present(block.addArgument(type, loc));
    define(inner, input.name(), binding, loc);
  }
  SmallVector<Value> outputs;
  bool isRefused = llvm::is_contained(inputTypes, Type());
  for (const Binding &binding : importGraph(graph, inner)) {
    isRefused |= binding.kind != Binding::Present;
    outputs.push_back(binding.value);
  }
  if (isRefused)
    return failure();
  onnx::YieldOp::create(builder, site.loc, outputs);
  return success();
}

/// The most that is known of a value that has one type or the other. Dimensions
/// that differ become fresh symbols; so does every one in `isFree`.
static Type joinTypes(Operation *module, Type known, Type yielded) {
  auto a = dyn_cast<RankedTensorType>(known),
       b = dyn_cast<RankedTensorType>(yielded);
  auto tensor = dyn_cast<TensorType>(known);
  if (!tensor) {
    FailureOr<Type> joined = onnx::joinCompositeTypes(known, yielded);
    return failed(joined) ? known : *joined;
  }
  if (!a || !b || a.getRank() != b.getRank())
    return UnrankedTensorType::get(tensor.getElementType());
  onnx::Shape shape = *onnx::getShape(known), other = *onnx::getShape(yielded);
  for (auto [dim, otherDim] : llvm::zip_equal(shape, other))
    if (dim != otherDim)
      dim = onnx::Dim(getAffineSymbolExpr(onnx::getOrAddSymbol(module, ""),
                                          module->getContext()));
  return onnx::getTensorType(shape, tensor.getElementType());
}

LogicalResult GraphImporter::importLoopBody(
    const NodeSite &site, const ::onnx::GraphProto &graph, Region &region,
    SmallVector<Type> inputTypes, unsigned firstCarried, unsigned firstYielded,
    unsigned numCarried) {
  // Dimensions that were found to change between iterations; an argument's
  // symbol for one of them need not be what the body yields.
  SmallVector<SmallVector<bool>> changes(numCarried);
  while (true) {
    if (failed(importRegion(site, graph, region, inputTypes)))
      return failure();
    auto yielded = region.front().getTerminator()->getOperandTypes();
    if (yielded.size() < firstYielded + numCarried)
      return refuse(site, "its graph '" + graph.name() + "' has " +
                              Twine(yielded.size()) + " outputs, at least " +
                              Twine(firstYielded + numCarried) + " are needed");
    bool isStable = true;
    for (unsigned i = 0; i < numCarried; ++i) {
      Type &type = inputTypes[firstCarried + i];
      Type next = yielded[firstYielded + i];
      if (getTypeString(type) != getTypeString(next))
        return refuse(site, "value #" + Twine(i) + " is carried as " +
                                getTypeString(type) +
                                " into an iteration and as " +
                                getTypeString(next) + " out of it");
      if (!isa<TensorType>(type)) {
        Type joined = joinTypes(context.module, type, next);
        isStable &= joined == type;
        type = joined;
        continue;
      }
      std::optional<onnx::Shape> shape = onnx::getShape(type),
                                 nextShape = onnx::getShape(next);
      if (!shape)
        continue;
      changes[i].resize(shape->size());
      if (nextShape && nextShape->size() == shape->size()) {
        bool isSame = true;
        for (auto [dim, nextDim, isChanging] :
             llvm::zip_equal(*shape, *nextShape, changes[i])) {
          if (isChanging || dim == nextDim)
            continue;
          isChanging = true;
          isSame = false;
        }
        if (isSame)
          continue;
      }
      type = joinTypes(context.module, type, next);
      isStable = false;
    }
    if (isStable)
      return success();
    region.getBlocks().clear();
  }
}

LogicalResult GraphImporter::importRegions(const NodeSite &site, Operation *op,
                                           StringRef names,
                                           ArrayRef<Type> inputs) {
  SmallVector<StringRef> nameList;
  names.split(nameList, ',', -1, /*KeepEmpty=*/false);
  LogicalResult result = success();
  for (auto [name, region] : llvm::zip_equal(nameList, op->getRegions())) {
    const ::onnx::AttributeProto *attribute = findAttribute(site.node, name);
    if (!attribute)
      continue;
    if (!attribute->has_g()) {
      result = refuse(site, "attribute '" + name + "' is not a graph");
      continue;
    }
    unsigned firstCarried = 0, firstYielded = 0, numCarried = 0;
    SmallVector<Type> types =
        getBodyTypes(site.node, inputs, attribute->g(), context.mlirContext,
                     firstCarried, firstYielded, numCarried);
    LogicalResult imported =
        numCarried ? importLoopBody(site, attribute->g(), region, types,
                                    firstCarried, firstYielded, numCarried)
                   : importRegion(site, attribute->g(), region, types);
    if (failed(imported))
      result = failure();
  }
  return result;
}

void GraphImporter::checkRegions(const NodeSite &site) {
  for (const ::onnx::AttributeProto &attribute : site.node.attribute()) {
    if (!attribute.has_g())
      continue;
    // The region's ops exist only while they are checked.
    OpBuilder::InsertionGuard guard(builder);
    auto scratch = ModuleOp::create(builder, site.loc);
    builder.setInsertionPointToStart(scratch.getBody());
    Scope inner(site.scope.frame, &site.scope);
    if (inner.depth <= context.options.limits.subgraphDepth) {
      for (const ::onnx::ValueInfoProto &input : attribute.g().input())
        define(inner, input.name(), Binding::refused(), site.loc);
      importGraph(attribute.g(), inner);
    }
    scratch.erase();
  }
}

} // namespace onnx_aot::importer
