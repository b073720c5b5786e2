//===- WidenFloats.cpp - compute in float64 -------------------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"
#include "onnx-aot/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::onnx;

namespace onnx_aot {
#define GEN_PASS_DEF_WIDENFLOATS
#include "onnx-aot/Transforms/Passes.h.inc"
} // namespace onnx_aot

static bool isNarrow(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type>(type);
}

/// The elements as float64; null where there is no data.
static ElementsAttr widen(ElementsAttr value) {
  auto type = cast<ShapedType>(value.getType());
  auto narrow = cast<FloatType>(type.getElementType());
  Type f64 = Float64Type::get(value.getContext());
  ShapedType wideType = type.clone(f64);
  auto convert = [](APFloat number) {
    bool isInexact;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &isInexact);
    return number;
  };
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (dense.isSplat())
      return DenseElementsAttr::get(wideType,
                                    convert(dense.getSplatValue<APFloat>()));
    SmallVector<APFloat> numbers;
    for (const APFloat &number : dense.getValues<APFloat>())
      numbers.push_back(convert(number));
    return DenseElementsAttr::get(wideType, numbers);
  }
  auto resource = dyn_cast<DenseResourceElementsAttr>(value);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob)
    return {};
  ArrayRef<char> bytes = blob->getData();
  size_t width = narrow.getWidth() / 8;
  if (bytes.size() != width * type.getNumElements())
    return {};
  SmallVector<double> numbers;
  for (size_t at = 0; at < bytes.size(); at += width) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + at, width);
    APFloat number(narrow.getFloatSemantics(), APInt(narrow.getWidth(), bits));
    numbers.push_back(convert(number).convertToDouble());
  }
  return DenseElementsAttr::get(wideType, ArrayRef(numbers));
}

/// The ONNX numbers of types in attributes.
static void widenDataTypes(Operation *op) {
  Builder builder(op->getContext());
  int64_t f64 = *getDataTypeOf(builder.getF64Type());
  // A default is not written down.
  if (auto normal = dyn_cast<RandomNormalOp>(op))
    normal.setDtype(normal.getDtype());
  if (auto uniform = dyn_cast<RandomUniformOp>(op))
    uniform.setDtype(uniform.getDtype());
  if (auto empty = dyn_cast<SequenceEmptyOp>(op))
    empty.setDtype(empty.getDtype());
  for (StringRef name : {"to", "dtype", "output_datatype", "output_dtype"}) {
    auto number = op->getAttrOfType<IntegerAttr>(name);
    if (!number || !number.getType().isSignlessInteger(64))
      continue;
    Type type = getElementTypeOf(op->getContext(), number.getInt());
    if (type && isNarrow(type))
      op->setAttr(name, builder.getI64IntegerAttr(f64));
  }
}

/// A Resize takes scales of f32 whatever it resizes.
static void keepScales(ResizeOp op) {
  Value scales = op.getScales();
  if (!scales)
    return;
  OpBuilder builder(op);
  op.getScalesMutable().assign(createInferred<CastOp>(
      builder, op.getLoc(), scales, "up", uint64_t(1),
      static_cast<uint64_t>(*getDataTypeOf(builder.getF32Type()))));
}

namespace {
struct WidenFloats : onnx_aot::impl::WidenFloatsBase<WidenFloats> {
  using WidenFloatsBase::WidenFloatsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // The narrow scales of Resize are constants of their own.
    DenseSet<Operation *> kept;
    module.walk([&](ResizeOp op) {
      auto constant = op.getScales()
                          ? op.getScales().getDefiningOp<ConstantOp>()
                          : ConstantOp();
      if (!constant)
        return;
      OpBuilder builder(op);
      Operation *copy = builder.clone(*constant);
      kept.insert(copy);
      op.getScalesMutable().assign(copy->getResult(0));
    });
    if (module
            .walk([&](Operation *op) {
              if (kept.contains(op))
                return WalkResult::advance();
              if (failed(widenAttributes(op)))
                return WalkResult::interrupt();
              widenDataTypes(op);
              return WalkResult::advance();
            })
            .wasInterrupted())
      return signalPassFailure();
    AttrTypeReplacer types;
    Type f64 = Float64Type::get(&getContext());
    types.addReplacement([&](Type type) -> std::optional<Type> {
      if (isNarrow(type))
        return f64;
      return std::nullopt;
    });
    module.walk([&](Operation *op) {
      if (kept.contains(op))
        return;
      for (Value result : op->getResults())
        result.setType(types.replace(result.getType()));
      for (Region &region : op->getRegions())
        for (BlockArgument argument : region.getArguments())
          argument.setType(types.replace(argument.getType()));
      if (auto function = dyn_cast<func::FuncOp>(op))
        function.setType(types.replace(function.getFunctionType()));
    });
    module.walk([&](ResizeOp op) {
      if (op.getScales() && !kept.contains(op.getScales().getDefiningOp()))
        keepScales(op);
    });
  }

private:
  /// Tensors in attributes.
  static LogicalResult widenAttributes(Operation *op) {
    for (NamedAttribute attribute : op->getAttrs()) {
      auto value = dyn_cast<ElementsAttr>(attribute.getValue());
      if (!value || !isNarrow(value.getElementType()))
        continue;
      ElementsAttr wide = widen(value);
      if (!wide)
        return op->emitOpError("has no data that could be widened");
      op->setAttr(attribute.getName(), wide);
    }
    return success();
  }
};
} // namespace
