//===- UseWinograd.cpp - 3x3 convolutions with fewer multiplications ------===//
//
// F(2x2, 3x3) of Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks" (2015): a tile of 2x2 results needs 16 products for each pair of
// channels instead of 36. The two transforms are pointwise generics, the
// products one batched contraction, so that the ordinary kernels serve all
// three.
//
//===----------------------------------------------------------------------===//

#include "ConstantBytes.h"

#include "onnx-aot/Codegen/CPU/Passes.h"
#include "onnx-aot/Codegen/Common/StructuredOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_USEWINOGRAD
#include "onnx-aot/Codegen/CPU/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// Points of a transformed tile in one direction, and results.
constexpr int64_t kPoints = 4, kOutputs = 2;

/// A 3x3 convolution of stride 1 on N x H x W x C with constant weights.
struct Convolution {
  linalg::GenericOp op;
  Value input;
  ArrayRef<char> weights;
  /// Axes of the weights by role, as strides in elements.
  int64_t strideOut, strideIn, strideRow, strideColumn;
  int64_t batch, height, width, outputs, channels;

  int64_t tileRows() const { return llvm::divideCeil(height, kOutputs); }
  int64_t tileColumns() const { return llvm::divideCeil(width, kOutputs); }
  int64_t tiles() const { return batch * tileRows() * tileColumns(); }
};

/// The loop of a map's result, -1 for anything but a plain loop.
int getLoop(AffineExpr expr) {
  auto loop = dyn_cast<AffineDimExpr>(expr);
  return loop ? (int)loop.getPosition() : -1;
}

/// `expr` is the sum of an output's loop and a loop of the window: the latter.
int getWindowLoop(AffineExpr expr, int outputLoop) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!sum || sum.getKind() != AffineExprKind::Add)
    return -1;
  int left = getLoop(sum.getLHS()), right = getLoop(sum.getRHS());
  if (left == outputLoop)
    return right;
  return right == outputLoop ? left : -1;
}

std::optional<Convolution> match(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || !isContraction(op) ||
      op.getNumLoops() != 7 || !getInitialScalar(op))
    return std::nullopt;
  auto constant = op.getDpsInputs()[1].getDefiningOp<arith::ConstantOp>();
  auto type = dyn_cast<RankedTensorType>(op.getDpsInputs()[1].getType());
  if (!constant || !type || !type.getElementType().isF32() ||
      !getElementTypeOrSelf(op->getResult(0).getType()).isF32() ||
      !matchPattern(getInitialScalar(op), m_PosZeroFloat()))
    return std::nullopt;
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  if (llvm::any_of(ranges, ShapedType::isDynamic))
    return std::nullopt;
  AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  AffineMap input = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  AffineMap weights = op.getMatchingIndexingMap(op.getDpsInputOperand(1));
  if (output.getNumResults() != 4 || input.getNumResults() != 4 ||
      weights.getNumResults() != 4 || !output.isProjectedPermutation())
    return std::nullopt;
  int n = getLoop(output.getResult(0)), h = getLoop(output.getResult(1)),
      w = getLoop(output.getResult(2)), oc = getLoop(output.getResult(3));
  int kh = getWindowLoop(input.getResult(1), h),
      kw = getWindowLoop(input.getResult(2), w),
      ic = getLoop(input.getResult(3));
  if (getLoop(input.getResult(0)) != n || kh < 0 || kw < 0 || ic < 0 ||
      ranges[kh] != 3 || ranges[kw] != 3)
    return std::nullopt;
  Convolution conv;
  conv.op = op;
  conv.input = op.getDpsInputs()[0];
  conv.strideOut = conv.strideIn = conv.strideRow = conv.strideColumn = -1;
  int64_t stride = 1;
  for (int axis = 3; axis >= 0; --axis) {
    int loop = getLoop(weights.getResult(axis));
    int64_t &place = loop == oc   ? conv.strideOut
                     : loop == ic ? conv.strideIn
                     : loop == kh ? conv.strideRow
                                  : conv.strideColumn;
    if (place >= 0 || (&place == &conv.strideColumn && loop != kw))
      return std::nullopt;
    place = stride;
    stride *= type.getDimSize(axis);
  }
  std::optional<ArrayRef<char>> bytes = getConstantBytes(constant.getValue());
  if (!bytes)
    return std::nullopt;
  conv.weights = *bytes;
  conv.batch = ranges[n];
  conv.height = ranges[h];
  conv.width = ranges[w];
  conv.outputs = ranges[oc];
  conv.channels = ranges[ic];
  return conv;
}

/// Rewrites one convolution.
class WinogradRewrite {
public:
  explicit WinogradRewrite(const Convolution &conv)
      : conv(conv), epilogue(findEpilogue(conv)), b(getLast()),
        loc(conv.op->getLoc()) {}

  void run() {
    Value result = transformOutput(multiply(transformInput(padInput())));
    getLast()->getResult(0).replaceAllUsesWith(result);
    if (epilogue)
      epilogue.erase();
    conv.op->erase();
  }

private:
  /// The op whose result is replaced.
  Operation *getLast() { return epilogue ? epilogue : conv.op; }

  /// The pointwise op behind the convolution, if it can be computed tile by
  /// tile.
  static linalg::GenericOp findEpilogue(const Convolution &conv) {
    if (conv.height % kOutputs || conv.width % kOutputs)
      return {};
    Value result = conv.op->getResult(0);
    Operation *user = result.use_empty() ? nullptr : *result.user_begin();
    auto op = dyn_cast_or_null<linalg::GenericOp>(user);
    if (!op || !llvm::all_equal(result.getUsers()) || !isPointwise(op) ||
        op->getNumResults() != 1 || op->getBlock() != conv.op->getBlock() ||
        !op.hasPureTensorSemantics() || op.getNumLoops() != 4 ||
        op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)) ||
        !op.getBody()->getOps<linalg::IndexOp>().empty() ||
        !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
      return {};
    for (OpOperand *operand : op.getDpsInputOperands()) {
      AffineMap map = op.getMatchingIndexingMap(operand);
      if (operand->get() == result ? !map.isIdentity()
                                   : !map.isProjectedPermutation())
        return {};
    }
    return op;
  }

  //===--- The three steps
  //-------------------------------------------------===//

  /// The input with the rows and columns that the last tiles read beyond it;
  /// what they hold reaches only results that are cut off.
  Value padInput() {
    int64_t rows = conv.height % kOutputs, columns = conv.width % kOutputs;
    if (!rows && !columns)
      return conv.input;
    SmallVector<OpFoldResult> none(4, b.getIndexAttr(0));
    SmallVector<OpFoldResult> high{b.getIndexAttr(0), b.getIndexAttr(rows),
                                   b.getIndexAttr(columns), b.getIndexAttr(0)};
    auto type = cast<RankedTensorType>(conv.input.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[1] += rows;
    shape[2] += columns;
    auto padded = RankedTensorType::get(shape, type.getElementType());
    // One padding, not two, where there is one already.
    auto pad = conv.input.getDefiningOp<tensor::PadOp>();
    Value filler = pad ? pad.getConstantPaddingValue() : Value();
    if (filler && pad->hasOneUse() &&
        llvm::all_of(pad.getStaticHigh(), [](int64_t size) {
          return !ShapedType::isDynamic(size);
        })) {
      SmallVector<OpFoldResult> more;
      for (auto [size, extra] : llvm::zip_equal(
               pad.getStaticHigh(), ArrayRef<int64_t>{0, rows, columns, 0}))
        more.push_back(b.getIndexAttr(size + extra));
      return tensor::PadOp::create(b, loc, padded, pad.getSource(),
                                   pad.getMixedLowPad(), more, filler);
    }
    filler = arith::ConstantOp::create(
        b, loc, cast<TypedAttr>(b.getZeroAttr(type.getElementType())));
    return tensor::PadOp::create(b, loc, padded, conv.input, none, high,
                                 filler);
  }

  AffineExpr loop(unsigned position) { return b.getAffineDimExpr(position); }

  AffineMap map(unsigned loops, ArrayRef<AffineExpr> results) {
    return AffineMap::get(loops, 0, results, b.getContext());
  }

  Value empty(ArrayRef<int64_t> shape) {
    return tensor::EmptyOp::create(b, loc, shape, b.getF32Type());
  }

  /// B^T d B: points(i, j, n, th, tw, c) of the tile that starts at (2 th, 2
  /// tw).
  Value transformInput(Value input) {
    SmallVector<AffineMap> maps;
    for (int64_t row = 0; row < kPoints; ++row)
      for (int64_t column = 0; column < kPoints; ++column)
        maps.push_back(map(6, {loop(2), loop(3) * kOutputs + row,
                               loop(4) * kOutputs + column, loop(5)}));
    maps.push_back(b.getMultiDimIdentityMap(6));
    SmallVector<Value> inputs(kPoints * kPoints, input);
    auto result =
        RankedTensorType::get({kPoints, kPoints, conv.batch, conv.tileRows(),
                               conv.tileColumns(), conv.channels},
                              b.getF32Type());
    auto generic = linalg::GenericOp::create(
        b, loc, result, inputs, empty(result.getShape()), maps,
        SmallVector<utils::IteratorType>(6, utils::IteratorType::parallel),
        [&](OpBuilder &body, Location, ValueRange d) {
          Value row = linalg::IndexOp::create(body, loc, 0),
                column = linalg::IndexOp::create(body, loc, 1);
          SmallVector<Value> columns;
          for (int64_t j = 0; j < kPoints; ++j)
            columns.push_back(
                combineInput(body, row,
                             {d[j], d[kPoints + j], d[2 * kPoints + j],
                              d[3 * kPoints + j]}));
          linalg::YieldOp::create(body, loc,
                                  combineInput(body, column, columns));
        });
    return generic.getResult(0);
  }

  /// Row `index` of B^T = (1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 1 0 -1) times d.
  Value combineInput(OpBuilder &body, Value index, ArrayRef<Value> d) {
    return select(body, index,
                  {arith::SubFOp::create(body, loc, d[0], d[2]),
                   arith::AddFOp::create(body, loc, d[1], d[2]),
                   arith::SubFOp::create(body, loc, d[2], d[1]),
                   arith::SubFOp::create(body, loc, d[1], d[3])});
  }

  /// Row `index` of A^T = (1 1 1 0; 0 1 -1 -1) times m.
  Value combineOutput(OpBuilder &body, Value index, ArrayRef<Value> m) {
    Value first = arith::AddFOp::create(
        body, loc, arith::AddFOp::create(body, loc, m[0], m[1]), m[2]);
    Value second = arith::SubFOp::create(
        body, loc, arith::SubFOp::create(body, loc, m[1], m[2]), m[3]);
    return select(body, index, {first, second});
  }

  /// The value at an index that is a constant wherever the loop is unrolled.
  Value select(OpBuilder &body, Value index, ArrayRef<Value> values) {
    Value result = values.back();
    for (int64_t i = (int64_t)values.size() - 2; i >= 0; --i) {
      Value here =
          arith::CmpIOp::create(body, loc, arith::CmpIPredicate::eq, index,
                                arith::ConstantIndexOp::create(body, loc, i));
      result = arith::SelectOp::create(body, loc, here, values[i], result);
    }
    return result;
  }

  /// One matrix product for each of the 16 points: tiles x channels by channels
  /// x outputs.
  Value multiply(Value points) {
    int64_t count = kPoints * kPoints;
    Type f32 = b.getF32Type();
    auto flat =
        RankedTensorType::get({count, conv.tiles(), conv.channels}, f32);
    points = tensor::CollapseShapeOp::create(
        b, loc, flat, points,
        ArrayRef<ReassociationIndices>{{0, 1}, {2, 3, 4}, {5}});
    Value weights =
        arith::ConstantOp::create(b, loc, cast<TypedAttr>(transformWeights()));
    Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
    auto type = RankedTensorType::get({count, conv.tiles(), conv.outputs}, f32);
    Value start = linalg::FillOp::create(b, loc, zero, empty(type.getShape()))
                      .getResult(0);
    using utils::IteratorType;
    auto product = linalg::GenericOp::create(
        b, loc, type, ValueRange{points, weights}, start,
        ArrayRef<AffineMap>{map(4, {loop(0), loop(1), loop(3)}),
                            map(4, {loop(0), loop(3), loop(2)}),
                            map(4, {loop(0), loop(1), loop(2)})},
        ArrayRef<IteratorType>{IteratorType::parallel, IteratorType::parallel,
                               IteratorType::parallel, IteratorType::reduction},
        [&](OpBuilder &body, Location, ValueRange args) {
          Value term = arith::MulFOp::create(body, loc, args[0], args[1]);
          linalg::YieldOp::create(
              body, loc,
              arith::AddFOp::create(body, loc, args[2], term).getResult());
        });
    auto expanded =
        RankedTensorType::get({kPoints, kPoints, conv.batch, conv.tileRows(),
                               conv.tileColumns(), conv.outputs},
                              f32);
    return tensor::ExpandShapeOp::create(
        b, loc, expanded, product.getResult(0),
        ArrayRef<ReassociationIndices>{{0, 1}, {2, 3, 4}, {5}});
  }

  /// G g G^T in double precision, as [point][channel][output].
  Attribute transformWeights() {
    static constexpr double kG[4][3] = {
        {1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
    int64_t plane = conv.channels * conv.outputs;
    AsmResourceBlob blob = HeapAsmResourceBlob::allocate(
        kPoints * kPoints * plane * sizeof(float), /*align=*/64,
        /*dataIsMutable=*/true);
    auto *out = reinterpret_cast<float *>(blob.getMutableData().data());
    for (int64_t in = 0; in < conv.channels; ++in)
      for (int64_t o = 0; o < conv.outputs; ++o) {
        double rows[4][3] = {};
        for (int r = 0; r < 3; ++r)
          for (int c = 0; c < 3; ++c) {
            float g;
            int64_t at = o * conv.strideOut + in * conv.strideIn +
                         r * conv.strideRow + c * conv.strideColumn;
            std::memcpy(&g, conv.weights.data() + at * sizeof(float),
                        sizeof(g));
            for (int i = 0; i < 4; ++i)
              rows[i][c] += kG[i][r] * g;
          }
        for (int i = 0; i < 4; ++i)
          for (int j = 0; j < 4; ++j) {
            double sum = 0;
            for (int c = 0; c < 3; ++c)
              sum += rows[i][c] * kG[j][c];
            out[(i * kPoints + j) * plane + in * conv.outputs + o] = (float)sum;
          }
      }
    auto type = RankedTensorType::get(
        {kPoints * kPoints, conv.channels, conv.outputs}, b.getF32Type());
    return DenseResourceElementsAttr::get(type, "winograd", std::move(blob));
  }

  /// A^T m A and the epilogue at (n, th, i, tw, j, c), as N x H x W x C.
  Value transformOutput(Value products) {
    SmallVector<Value> inputs(kPoints * kPoints, products);
    SmallVector<AffineMap> maps;
    for (int64_t row = 0; row < kPoints; ++row)
      for (int64_t column = 0; column < kPoints; ++column)
        maps.push_back(map(6, {b.getAffineConstantExpr(row),
                               b.getAffineConstantExpr(column), loop(0),
                               loop(1), loop(3), loop(5)}));
    if (epilogue)
      for (OpOperand *operand : epilogue.getDpsInputOperands())
        if (operand->get() != conv.op->getResult(0)) {
          AffineMap map = epilogue.getMatchingIndexingMap(operand);
          inputs.push_back(splitTiles(operand->get(), map));
          maps.push_back(map);
        }
    maps.push_back(b.getMultiDimIdentityMap(6));
    auto type =
        RankedTensorType::get({conv.batch, conv.tileRows(), kOutputs,
                               conv.tileColumns(), kOutputs, conv.outputs},
                              b.getF32Type());
    auto generic = linalg::GenericOp::create(
        b, loc,
        epilogue ? RankedTensorType::get(
                       type.getShape(),
                       getElementTypeOrSelf(epilogue->getResult(0).getType()))
                 : type,
        inputs,
        tensor::EmptyOp::create(
            b, loc, type.getShape(),
            getElementTypeOrSelf(getLast()->getResult(0).getType()))
            .getResult(),
        maps,
        SmallVector<utils::IteratorType>(6, utils::IteratorType::parallel),
        [&](OpBuilder &body, Location, ValueRange m) {
          Value row = linalg::IndexOp::create(body, loc, 2),
                column = linalg::IndexOp::create(body, loc, 4);
          SmallVector<Value> rows;
          for (int64_t i = 0; i < kPoints; ++i)
            rows.push_back(combineOutput(
                body, column, llvm::to_vector(m.slice(i * kPoints, kPoints))));
          Value value = combineOutput(body, row, rows);
          finish(body, value, m.drop_front(kPoints * kPoints));
        });
    Value result = generic.getResult(0);
    auto whole =
        RankedTensorType::get({conv.batch, conv.tileRows() * kOutputs,
                               conv.tileColumns() * kOutputs, conv.outputs},
                              getElementTypeOrSelf(result.getType()));
    result = tensor::CollapseShapeOp::create(
        b, loc, whole, result,
        ArrayRef<ReassociationIndices>{{0}, {1, 2}, {3, 4}, {5}});
    if (whole == getLast()->getResult(0).getType())
      return result;
    SmallVector<OpFoldResult> offsets(4, b.getIndexAttr(0)),
        strides(4, b.getIndexAttr(1)), sizes;
    for (int64_t size : {conv.batch, conv.height, conv.width, conv.outputs})
      sizes.push_back(b.getIndexAttr(size));
    return tensor::ExtractSliceOp::create(b, loc, result, offsets, sizes,
                                          strides);
  }

  /// Yields `value`, or what the epilogue makes of it.
  void finish(OpBuilder &body, Value value, ValueRange others) {
    if (!epilogue) {
      linalg::YieldOp::create(body, loc, value);
      return;
    }
    IRMapping mapping;
    for (OpOperand *operand : epilogue.getDpsInputOperands()) {
      Value argument = epilogue.getMatchingBlockArgument(operand);
      if (operand->get() == conv.op->getResult(0)) {
        mapping.map(argument, value);
        continue;
      }
      mapping.map(argument, others.front());
      others = others.drop_front();
    }
    for (Operation &op : *epilogue.getBody())
      body.clone(op, mapping);
  }

  /// An operand over (n, h, w, c) as one over the tiles' loops; `map` becomes
  /// its map over (n, th, i, tw, j, c).
  Value splitTiles(Value operand, AffineMap &operandMap) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    SmallVector<AffineExpr> exprs;
    SmallVector<int64_t> shape;
    SmallVector<ReassociationIndices> groups;
    for (auto [axis, expr] : llvm::enumerate(operandMap.getResults())) {
      unsigned from = getLoop(expr);
      ReassociationIndices group{(int64_t)exprs.size()};
      if (from == 1 || from == 2) {
        group.push_back(exprs.size() + 1);
        exprs.append({loop(2 * from - 1), loop(2 * from)});
        shape.append({type.getDimSize(axis) / kOutputs, kOutputs});
      } else {
        exprs.push_back(loop(from == 0 ? 0 : 5));
        shape.push_back(type.getDimSize(axis));
      }
      groups.push_back(group);
    }
    operandMap = map(6, exprs);
    if (!type || shape.size() == (size_t)type.getRank())
      return operand;
    return tensor::ExpandShapeOp::create(
        b, loc, RankedTensorType::get(shape, type.getElementType()), operand,
        groups);
  }

  const Convolution &conv;
  linalg::GenericOp epilogue; ///< computed with the results; may be null
  OpBuilder b;
  Location loc;
};

struct UseWinograd : onnx_aot::impl::UseWinogradBase<UseWinograd> {
  using UseWinogradBase::UseWinogradBase;

  void runOnOperation() override {
    SmallVector<Convolution> convolutions;
    getOperation()->walk([&](linalg::GenericOp op) {
      std::optional<Convolution> conv = match(op);
      if (conv && isWorthwhile(*conv))
        convolutions.push_back(*conv);
    });
    for (const Convolution &conv : convolutions)
      WinogradRewrite(conv).run();
  }

private:
  /// The cost model of docs/RationaleCodegen.md: 20 of 36 products per tile and
  /// pair of channels are saved, 16 values of each channel go through memory
  /// twice.
  bool isWorthwhile(const Convolution &conv) {
    int64_t lanes = vectorBytes / sizeof(float);
    int64_t saved = 20 * conv.channels * conv.outputs / (2 * lanes);
    int64_t moved = 4 * 16 * (conv.channels + conv.outputs) / 16;
    return conv.tiles() >= 12 && conv.channels % lanes == 0 &&
           conv.outputs % lanes == 0 && saved > 2 * moved;
  }
};

} // namespace
