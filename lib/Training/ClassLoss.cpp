//===- ClassLoss.cpp - losses of scores and class numbers -----------------===//

#include "Loss.h"

#include <limits>

using namespace mlir;
using namespace onnx_aot;

namespace {

/// Cross-entropy of scores, or negative log likelihood of log probabilities.
class ClassLoss : public FormulaLoss {
public:
  explicit ClassLoss(Spec &spec) : isNll(spec.getName() == "nll") {
    targetName = "labels";
    reduction = spec.choice("reduction", {"mean", "sum", "none"});
    ignoreIndex = spec.integer("ignore_index", -100, INT64_MIN, INT64_MAX);
    classAxis = spec.integer("class_axis", 1, -16, 15);
    weights =
        spec.numbers("weight", {}, 0, std::numeric_limits<double>::infinity());
    labelType = spec.choice("label_type", {"int64", "int32"});
    if (!isNll)
      smoothing = spec.number("label_smoothing", 0, 0, 1);
  }

  RankedTensorType getTargetType(Location loc, Value output) const override {
    onnx::Shape shape = *onnx::getShape(output);
    int64_t rank = shape.size();
    int64_t axis = classAxis < 0 ? classAxis + rank : classAxis;
    auto refuse = [&](const Twine &why) {
      emitError(loc) << "the loss cannot be computed of an output of type "
                     << output.getType() << ": " << why;
      return RankedTensorType();
    };
    if (rank < 2)
      return refuse("scores have a batch and a class dimension at least");
    if (axis < 0 || axis >= rank)
      return refuse("it has no dimension " + Twine(classAxis) +
                    " (class_axis)");
    if (!shape[axis].isStatic() || shape[axis].isStatic(0))
      return refuse("the number of classes is not fixed");
    if (!weights.empty() && !shape[axis].isStatic(weights.size()))
      return refuse("there are " + Twine(weights.size()) + " class weights");
    shape.erase(shape.begin() + axis);
    Builder builder(output.getContext());
    return onnx::getTensorType(shape, labelType == "int32"
                                          ? builder.getI32Type()
                                          : builder.getI64Type());
  }

  Value build(OpMaker &m, Value output, Value target) const override {
    OpBuilder &builder = m.getBuilder();
    int64_t rank = *onnx::getRank(output);
    int64_t axis = classAxis < 0 ? classAxis + rank : classAxis;
    int64_t classes = (*onnx::getShape(output))[axis].getStatic();
    Value scores = output, labels = checkLabels(m, target, classes);
    Value sizes;
    if (axis == rank - 1) {
      // Rows of scores that lie side by side.
      if (rank > 2)
        sizes = m.create<onnx::ShapeOp>(target, IntegerAttr(), /*start=*/0);
      scores = reshape(m, scores, {-1, classes});
      labels = reshape(m, labels, {-1});
    } else if (axis != 1) {
      SmallVector<int64_t> order;
      for (int64_t dim = 0; dim < rank; ++dim)
        if (dim != axis)
          order.push_back(dim);
      order.insert(order.begin() + 1, axis);
      scores = m.create<onnx::TransposeOp>(scores,
                                           builder.getDenseI64ArrayAttr(order));
    }
    Value result = smoothing != 0 ? smoothed(m, scores, labels, classes)
                                  : plain(m, scores, labels, reduction).first;
    if (sizes && reduction == "none")
      result = m.create<onnx::ReshapeOp>(result, sizes, /*allowzero=*/1);
    return result;
  }

private:
  Value reshape(OpMaker &m, Value x, ArrayRef<int64_t> shape) const {
    return m.create<onnx::ReshapeOp>(
        x, onnx::createIntegers(m.getBuilder(), m.getLoc(), shape),
        /*allowzero=*/0);
  }

  /// The labels, by a look-up that ends the run where one is no class: what
  /// lies below 0 is sent above, since a look-up counts negative numbers from
  /// the end.
  Value checkLabels(OpMaker &m, Value labels, int64_t classes) const {
    Type type = onnx::getElementType(labels);
    auto tableType = RankedTensorType::get({classes}, type);
    SmallVector<APInt> numbers;
    for (int64_t number = 0; number < classes; ++number)
      numbers.push_back(APInt(type.getIntOrFloatBitWidth(), number));
    Value table = onnx::createConstant(
        m.getBuilder(), m.getLoc(), DenseElementsAttr::get(tableType, numbers));
    Value isNegative = m.create<onnx::LessOp>(labels, m.scalar(0, labels));
    Value index = m.where(isNegative, m.scalar(classes, labels), labels);
    if (!mayIgnore(type))
      return m.create<onnx::GatherOp>(table, index, /*axis=*/0);
    Value isIgnored = ignored(m, labels);
    index = m.where(isIgnored, m.scalar(0, labels), index);
    Value checked = m.create<onnx::GatherOp>(table, index, /*axis=*/0);
    return m.where(isIgnored, integer(m, ignoreIndex, labels), checked);
  }

  /// The number to ignore is one of the labels' type.
  bool mayIgnore(Type type) const {
    return type.isInteger(64) || llvm::isInt<32>(ignoreIndex);
  }
  static Value integer(OpMaker &m, int64_t value, Value like) {
    Type type = onnx::getElementType(like);
    APInt number(type.getIntOrFloatBitWidth(), value, /*isSigned=*/true,
                 /*implicitTrunc=*/true);
    return onnx::createConstant(
        m.getBuilder(), m.getLoc(),
        DenseElementsAttr::get(RankedTensorType::get({}, type), number));
  }
  Value ignored(OpMaker &m, Value labels) const {
    return m.create<onnx::EqualOp>(labels, integer(m, ignoreIndex, labels));
  }

  Value classWeights(OpMaker &m, Value scores) const {
    if (weights.empty())
      return {};
    auto type = cast<FloatType>(onnx::getElementType(scores));
    SmallVector<APFloat> numbers;
    for (double weight : weights) {
      APFloat number(weight);
      bool losesInfo;
      number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
      numbers.push_back(number);
    }
    return onnx::createConstant(
        m.getBuilder(), m.getLoc(),
        DenseElementsAttr::get(
            RankedTensorType::get({int64_t(numbers.size())}, type), numbers));
  }

  /// The loss of ONNX's op and the log probabilities.
  std::pair<Value, Value> plain(OpMaker &m, Value scores, Value labels,
                                StringRef how) const {
    OpBuilder &builder = m.getBuilder();
    IntegerAttr ignore = mayIgnore(onnx::getElementType(labels))
                             ? builder.getI64IntegerAttr(ignoreIndex)
                             : IntegerAttr();
    StringAttr reduce = builder.getStringAttr(how);
    Value weight = classWeights(m, scores);
    if (isNll)
      return {m.create<onnx::NegativeLogLikelihoodLossOp>(
                  scores, labels, weight, ignore, reduce),
              scores};
    auto unknown = UnrankedTensorType::get(builder.getF32Type());
    auto op = onnx::SoftmaxCrossEntropyLossOp::create(
        builder, m.getLoc(), unknown, unknown, scores, labels, weight, ignore,
        reduce);
    (void)onnx::inferAndSetResultTypes(op);
    return {op.getOutput(), op.getLogProb()};
  }

  /// (1 - eps) nll + eps / C sum over classes of -w log p, where the label
  /// counts.
  Value smoothed(OpMaker &m, Value scores, Value labels,
                 int64_t classes) const {
    auto [nll, logs] = plain(m, scores, labels, "none");
    OpBuilder &builder = m.getBuilder();
    Value weight = classWeights(m, scores);
    Value weighted = logs;
    if (weight) {
      SmallVector<int64_t> shape(*onnx::getRank(scores), 1);
      shape[1] = classes;
      weighted = m.mul(logs, reshape(m, weight, shape));
    }
    Value spread = m.create<onnx::NegOp>(m.create<onnx::ReduceSumOp>(
        weighted, onnx::createIntegers(builder, m.getLoc(), {1}),
        /*keepdims=*/0));
    Type elementType = onnx::getElementType(scores);
    Value isIgnored = ignored(m, labels);
    Value zero = m.scalar(0, spread);
    spread = m.where(isIgnored, zero, spread);
    Value losses =
        m.add(m.mul(nll, 1 - smoothing), m.mul(spread, smoothing / classes));
    if (reduction == "none")
      return losses;
    Value sum = m.sumAll(losses);
    if (reduction == "sum")
      return sum;
    Value safe = m.where(isIgnored, m.scalar(0, labels), labels);
    Value counted = weight ? m.create<onnx::GatherOp>(weight, safe, /*axis=*/0)
                           : m.add(m.mul(m.cast(safe, elementType), 0.0), 1.0);
    return m.div(sum, m.sumAll(m.where(isIgnored, zero, counted)));
  }

  bool isNll;
  std::string reduction, labelType;
  int64_t ignoreIndex, classAxis;
  SmallVector<double> weights;
  double smoothing = 0;
};

} // namespace

ArrayRef<StringRef> onnx_aot::getClassLossNames() {
  static constexpr StringRef names[] = {"cross-entropy", "nll"};
  return names;
}

std::unique_ptr<FormulaLoss> onnx_aot::createClassLoss(Spec &spec) {
  return std::make_unique<ClassLoss>(spec);
}
