//===- PackNibbles.cpp - keep weights of four bits in words ---------------===//
//
// The weights of a product that are numbers of four bits, with a scale for each
// block of the reduction, stay such numbers in memory: eight in a word, words
// of neighbouring columns side by side in panels. The product makes floats of
// them where it needs them.
//
//===----------------------------------------------------------------------===//

#include "ConstantBytes.h"
#include "Tiling.h"

#include "onnx-aot/Codegen/CPU/Passes.h"
#include "onnx-aot/Codegen/Common/StructuredOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_PACKNIBBLES
#include "onnx-aot/Codegen/CPU/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// Numbers in a word.
constexpr unsigned kPerWord = 8;

/// Elements of a constant, of 8 bits with their sign or floats.
struct Numbers {
  Attribute value;
  RankedTensorType type;
  bool isUnsigned = false;

  static std::optional<Numbers> get(Value tensor, bool isUnsigned) {
    auto constant = tensor.getDefiningOp<arith::ConstantOp>();
    auto type = dyn_cast<RankedTensorType>(tensor.getType());
    if (!constant || !type || type.getRank() != 2)
      return std::nullopt;
    Numbers numbers{constant.getValue(), type, isUnsigned};
    auto dense = dyn_cast<DenseElementsAttr>(numbers.value);
    bool isSplat = dense && dense.isSplat();
    if (!isSplat && !getConstantBytes(numbers.value))
      return std::nullopt;
    return numbers;
  }

  template <typename T>
  T read(int64_t index) const {
    auto dense = dyn_cast<DenseElementsAttr>(value);
    T element;
    if (dense && dense.isSplat())
      std::memcpy(&element, dense.getRawData().data(), sizeof(T));
    else
      std::memcpy(&element, getConstantBytes(value)->data() + index * sizeof(T),
                  sizeof(T));
    return element;
  }

  int64_t getNumber(int64_t index) const {
    int8_t number = read<int8_t>(index);
    return isUnsigned ? static_cast<uint8_t>(number) : number;
  }
};

/// (numbers - points) * scales, a scale for each block along `axis`.
struct Blocks {
  Numbers numbers, scales;
  std::optional<Numbers> points;
  int64_t axis = 0, size = 0;
};

/// The argument of an extension of 8 bits to 32.
Value getExtended(Value value, bool &isUnsigned) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(op) ||
      !op->getOperand(0).getType().isInteger(8))
    return {};
  isUnsigned = isa<arith::ExtUIOp>(op);
  return op->getOperand(0);
}

/// Whether a value is read at the body's own place, divided by a block along
/// one axis, and which.
bool readsBlocks(tensor::ExtractOp op, RankedTensorType whole, int64_t &axis,
                 int64_t &size) {
  auto type = cast<RankedTensorType>(op.getTensor().getType());
  if (type.getRank() != 2 || !type.hasStaticShape())
    return false;
  int64_t found = -1;
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    Value place = index;
    if (Operation *divide = index.getDefiningOp();
        isa_and_nonnull<arith::DivUIOp, arith::DivSIOp>(divide)) {
      std::optional<int64_t> by = getConstantIntValue(divide->getOperand(1));
      if (found >= 0 || !by || *by < 1)
        return false;
      found = dim;
      size = *by;
      place = divide->getOperand(0);
    }
    auto own = place.getDefiningOp<linalg::IndexOp>();
    int64_t blocks = (int64_t)dim == found ? size : 1;
    if (!own || own.getDim() != dim ||
        type.getDimSize(dim) * blocks != whole.getDimSize(dim))
      return false;
  }
  axis = found;
  return found >= 0;
}

/// What a generic dequantizes, block by block; nothing for other ops.
std::optional<Blocks> getBlocks(linalg::GenericOp op) {
  if (!op || !isPointwise(op) || op.getNumDpsInputs() != 1 ||
      op->getNumResults() != 1 || op.getNumLoops() != 2 ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return std::nullopt;
  auto product = op.getBody()
                     ->getTerminator()
                     ->getOperand(0)
                     .getDefiningOp<arith::MulFOp>();
  if (!product)
    return std::nullopt;
  auto toFloat = product.getLhs().getDefiningOp<arith::SIToFPOp>();
  auto scale = product.getRhs().getDefiningOp<tensor::ExtractOp>();
  if (!toFloat || !scale || !product.getType().isF32())
    return std::nullopt;
  Blocks blocks;
  auto type = dyn_cast<RankedTensorType>(op.getDpsInputs()[0].getType());
  if (!type || !type.hasStaticShape() ||
      !readsBlocks(scale, type, blocks.axis, blocks.size))
    return std::nullopt;
  Value number = toFloat.getIn();
  bool isUnsigned = false;
  if (auto sub = number.getDefiningOp<arith::SubIOp>()) {
    Value value = getExtended(sub.getRhs(), isUnsigned);
    auto point = value ? value.getDefiningOp<tensor::ExtractOp>() : nullptr;
    int64_t axis = 0, size = 0;
    if (!point || !readsBlocks(point, type, axis, size) ||
        axis != blocks.axis || size != blocks.size)
      return std::nullopt;
    blocks.points = Numbers::get(point.getTensor(), isUnsigned);
    if (!blocks.points)
      return std::nullopt;
    number = sub.getLhs();
  }
  auto argument =
      dyn_cast_or_null<BlockArgument>(getExtended(number, isUnsigned));
  std::optional<Numbers> numbers =
      Numbers::get(op.getDpsInputs()[0], isUnsigned);
  std::optional<Numbers> scales = Numbers::get(scale.getTensor(), false);
  if (!argument || argument.getOwner() != op.getBody() ||
      argument.getArgNumber() != 0 || !numbers || !scales)
    return std::nullopt;
  blocks.numbers = *numbers;
  blocks.scales = *scales;
  return blocks;
}

struct PackNibbles : onnx_aot::impl::PackNibblesBase<PackNibbles> {
  using PackNibblesBase::PackNibblesBase;

  void runOnOperation() override {
    target.vectorBytes = vectorBytes;
    target.vectorRegisters = vectorRegisters;
    target.tuning.panelVectors = panelVectors;
    SmallVector<linalg::GenericOp> contractions;
    getOperation()->walk([&](linalg::GenericOp op) {
      if (op.hasPureTensorSemantics() && isContraction(op) &&
          op.getNumDpsInputs() == 2)
        contractions.push_back(op);
    });
    for (linalg::GenericOp op : contractions)
      if (std::optional<Product> product = analyze(op))
        rewrite(op, *product);
  }

private:
  /// A product of rows and dequantized columns: its loops.
  struct Product {
    Blocks blocks;
    unsigned column, reduction;
    int64_t least; ///< of the numbers
  };

  static std::optional<Product> analyze(linalg::GenericOp op) {
    Value rows = op.getDpsInputs()[0], weights = op.getDpsInputs()[1];
    std::optional<Blocks> blocks =
        getBlocks(weights.getDefiningOp<linalg::GenericOp>());
    AffineMap rowMap = op.getMatchingIndexingMap(op.getDpsInputOperand(0)),
              weightMap = op.getMatchingIndexingMap(op.getDpsInputOperand(1)),
              output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    if (!blocks || blocks->size % kPerWord != 0 ||
        !getElementTypeOrSelf(rows.getType()).isF32() ||
        op.getNumReductionLoops() != 1 || !weightMap.isProjectedPermutation() ||
        !rowMap.isProjectedPermutation() || output.getNumResults() == 0)
      return std::nullopt;
    unsigned reduction = weightMap.getDimPosition(blocks->axis),
             column = weightMap.getDimPosition(1 - blocks->axis);
    AffineExpr last = getAffineDimExpr(reduction, op.getContext());
    if (op.getIteratorTypesArray()[reduction] !=
            utils::IteratorType::reduction ||
        rowMap.getNumResults() == 0 ||
        rowMap.getResult(rowMap.getNumResults() - 1) != last ||
        rowMap.isFunctionOfDim(column) ||
        output.getResult(output.getNumResults() - 1) !=
            getAffineDimExpr(column, op.getContext()))
      return std::nullopt;
    int64_t least = 255, most = -128;
    for (int64_t i = 0; i < blocks->numbers.type.getNumElements(); ++i) {
      least = std::min(least, blocks->numbers.getNumber(i));
      most = std::max(most, blocks->numbers.getNumber(i));
    }
    if (most - least > 15)
      return std::nullopt;
    return Product{*blocks, column, reduction, least};
  }

  /// A constant of such a shape whose bytes `fill` writes.
  template <typename T>
  static Value createConstant(OpBuilder &builder, Location loc,
                              ArrayRef<int64_t> shape, Type type,
                              function_ref<void(T *)> fill) {
    auto tensorType = RankedTensorType::get(shape, type);
    AsmResourceBlob blob = HeapAsmResourceBlob::allocate(
        tensorType.getNumElements() * sizeof(T), /*align=*/64,
        /*dataIsMutable=*/true);
    T *data = reinterpret_cast<T *>(blob.getMutableData().data());
    std::fill_n(data, tensorType.getNumElements(), T(0));
    fill(data);
    return arith::ConstantOp::create(
        builder, loc,
        cast<TypedAttr>(DenseResourceElementsAttr::get(tensorType, "packed",
                                                       std::move(blob))));
  }

  /// Size of the loop over the rows, for the choice of the panel's width.
  static int64_t getRows(linalg::GenericOp op, const Product &product) {
    int64_t rows = 1;
    for (auto [loop, size] : llvm::enumerate(op.getStaticLoopRanges()))
      if (loop != product.column && loop != product.reduction && size != 1)
        rows = size;
    return rows;
  }

  void rewrite(linalg::GenericOp op, const Product &product) {
    const Blocks &blocks = product.blocks;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
    int64_t columns = blocks.numbers.type.getDimSize(1 - blocks.axis);
    int64_t count = blocks.scales.type.getDimSize(blocks.axis);
    int64_t words = blocks.size / kPerWord;
    int64_t width = cpu::getPanelWidth(columns, getRows(op, product),
                                       /*elementBytes=*/4, target);
    int64_t panels = llvm::divideCeil(columns, width);
    // Where an element lies in a constant of two axes.
    auto at = [&](RankedTensorType type, int64_t column, int64_t place) {
      return blocks.axis == 0 ? place * type.getDimSize(1) + column
                              : column * type.getDimSize(1) + place;
    };
    Value packed = createConstant<uint32_t>(
        builder, loc, {panels, count, words, width}, i32, [&](uint32_t *out) {
          for (int64_t n = 0; n < columns; ++n)
            for (int64_t k = 0; k < count * blocks.size; ++k) {
              uint32_t number =
                  blocks.numbers.getNumber(at(blocks.numbers.type, n, k)) -
                  product.least;
              int64_t word =
                  (n / width * count * words + k / kPerWord) * width +
                  n % width;
              out[word] |= number << k % kPerWord * 4;
            }
        });
    auto forBlocks = [&](function_ref<float(int64_t)> get) {
      return createConstant<float>(
          builder, loc, {panels, count, width}, f32, [&](float *out) {
            for (int64_t n = 0; n < columns; ++n)
              for (int64_t block = 0; block < count; ++block)
                out[(n / width * count + block) * width + n % width] =
                    get(at(blocks.scales.type, n, block));
          });
    };
    Value scales = forBlocks(
        [&](int64_t index) { return blocks.scales.read<float>(index); });
    Value offsets = forBlocks([&](int64_t index) {
      int64_t point = blocks.points ? blocks.points->getNumber(index) : 0;
      return static_cast<float>(product.least - point) *
             blocks.scales.read<float>(index);
    });

    // The reduction becomes blocks, words and numbers.
    unsigned numLoops = op.getNumLoops() + 2;
    AffineExpr block = builder.getAffineDimExpr(product.reduction),
               word = builder.getAffineDimExpr(numLoops - 2),
               nibble = builder.getAffineDimExpr(numLoops - 1),
               column = builder.getAffineDimExpr(product.column);
    AffineExpr panel = column.floorDiv(width), lane = column % width;
    auto map = [&](ArrayRef<AffineExpr> exprs) {
      return AffineMap::get(numLoops, 0, exprs, op.getContext());
    };
    AffineMap rowMap = op.getMatchingIndexingMap(op.getDpsInputOperand(0)),
              output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    SmallVector<AffineExpr> rows(rowMap.getResults());
    rows.append({word, nibble});
    SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
    kinds.append(2, utils::IteratorType::reduction);
    auto made = linalg::GenericOp::create(
        builder, loc, op.getResultTypes(),
        ValueRange{split(builder, loc, op.getDpsInputs()[0],
                         count * blocks.size, words),
                   packed, scales, offsets},
        ValueRange(op.getDpsInits()),
        ArrayRef<AffineMap>{map(rows), map({panel, block, word, lane}),
                            map({panel, block, lane}),
                            map({panel, block, lane}),
                            map(output.getResults())},
        kinds, [&](OpBuilder &b, Location l, ValueRange args) {
          Value weight = createWeight(b, l, numLoops - 1, args);
          Value term = arith::MulFOp::create(b, l, args[0], weight);
          Value sum = arith::AddFOp::create(b, l, args[4], term);
          linalg::YieldOp::create(b, l, sum);
        });
    made->setAttr(kPackedAttr, builder.getUnitAttr());
    Operation *floats = op.getDpsInputs()[1].getDefiningOp();
    op.replaceAllUsesWith(made->getResults());
    op.erase();
    if (floats->use_empty())
      floats->erase();
  }

  /// number * scale + offset. A number is not moved to the lowest bits but
  /// taken as what it is where it lies, times a power of 16, which the scale
  /// makes up for; those of the upper half of a word are moved to the lower
  /// one, or the last would have the sign's bit.
  static Value createWeight(OpBuilder &b, Location loc, unsigned loop,
                            ValueRange args) {
    Type i32 = b.getI32Type();
    auto constant = [&](int64_t value) {
      return arith::ConstantIntOp::create(b, loc, value, 32);
    };
    Value place = arith::IndexCastOp::create(
        b, loc, i32, linalg::IndexOp::create(b, loc, loop));
    Value half = arith::ShLIOp::create(
        b, loc, arith::ShRUIOp::create(b, loc, place, constant(2)),
        constant(4));
    Value shift = arith::ShLIOp::create(
        b, loc, arith::AndIOp::create(b, loc, place, constant(3)), constant(2));
    Value word = arith::ShRUIOp::create(b, loc, args[1], half);
    Value mask = arith::ShLIOp::create(b, loc, constant(15), shift);
    Value number = arith::SIToFPOp::create(
        b, loc, b.getF32Type(), arith::AndIOp::create(b, loc, word, mask));
    Value exponent = arith::SubIOp::create(b, loc, constant(127), shift);
    Value power = arith::BitcastOp::create(
        b, loc, b.getF32Type(),
        arith::ShLIOp::create(b, loc, exponent, constant(23)));
    Value scale = arith::MulFOp::create(b, loc, args[2], power);
    return math::FmaOp::create(b, loc, number, scale, args[3]);
  }

  /// The rows with their last axis split, as a view. It is as long as the
  /// reduction, of which codegen-check-sizes has made sure.
  static Value split(OpBuilder &builder, Location loc, Value tensor,
                     int64_t length, int64_t words) {
    auto type = cast<RankedTensorType>(tensor.getType());
    int64_t last = type.getRank() - 1;
    if (type.isDynamicDim(last)) {
      SmallVector<int64_t> known(type.getShape());
      known.back() = length;
      type = RankedTensorType::get(known, type.getElementType());
      tensor = tensor::CastOp::create(builder, loc, type, tensor);
    }
    SmallVector<int64_t> shape(type.getShape().drop_back());
    int64_t count = type.getDimSize(last) / words / int64_t(kPerWord);
    shape.append({count, words, int64_t(kPerWord)});
    SmallVector<ReassociationIndices> groups;
    for (int64_t i = 0; i < last; ++i)
      groups.push_back({i});
    groups.push_back({last, last + 1, last + 2});
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(builder, loc, tensor);
    sizes[last] = builder.getIndexAttr(count);
    sizes.append({builder.getIndexAttr(words), builder.getIndexAttr(kPerWord)});
    return tensor::ExpandShapeOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()),
        tensor, groups, sizes);
  }

  cpu::Target target;
};

} // namespace
