//===- ML.cpp - linear models and preprocessing of ai.onnx.ml -------------===//

#include "ML.h"

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#include <cmath>

using namespace mlir;

namespace onnx_aot::importer {

//===--- Common parts -----------------------------------------------------===//

Type getRealType(FunctionWriter &writer, unsigned index) {
  Type type = writer.getElementType(index);
  return type.isF64() ? type : Type(Float32Type::get(type.getContext()));
}

Name addReal(FunctionWriter &writer, unsigned index) {
  Type type = getRealType(writer, index);
  if (writer.getElementType(index) == type)
    return writer.input(index);
  return writer.convert(writer.input(index), type);
}

Name addMatrix(FunctionWriter &writer, unsigned index) {
  Type f32 = Float32Type::get(writer.getElementType(index).getContext());
  Name value = writer.input(index);
  if (writer.getElementType(index) != f32)
    value = writer.convert(value, f32);
  return writer.getRank(index) == 1 ? writer.reshape(value, {1, -1}) : value;
}

FailureOr<ClassLabels> getClassLabels(FunctionWriter &writer, StringRef ints) {
  ClassLabels labels;
  labels.numbers = writer.getInts(ints);
  labels.count = labels.numbers.size();
  if (labels.count == 0) {
    labels.names = writer.getStrings("classlabels_strings");
    labels.count = labels.names.size();
  }
  if (labels.count < 1)
    return FailureOr<ClassLabels>(writer.refuse("it has no class labels"));
  return labels;
}

LogicalResult addLabels(FunctionWriter &writer, const ClassLabels &labels,
                        const Name &classes) {
  Name list = labels.numbers.empty() ? writer.strings(labels.names)
                                     : writer.integers(labels.numbers);
  writer.result(0, writer.add("Gather", {list, classes}));
  return success();
}

Name addArgMax(FunctionWriter &writer, const Name &scores) {
  return writer.add("ArgMax", {scores}, {{"axis", 1}, {"keepdims", 0}});
}

Name addIsAbove(FunctionWriter &writer, const Name &column, const Name &limit) {
  Name isAbove = writer.add("Greater", {writer.reshape(column, {-1}), limit});
  return writer.convert(
      isAbove, IntegerType::get(writer.getElementType(0).getContext(), 64));
}

FailureOr<Name> addPostTransform(FunctionWriter &writer, const Name &scores,
                                 StringRef transform) {
  std::string name = transform.empty()
                         ? writer.getString("post_transform", "NONE")
                         : transform.str();
  if (name == "NONE")
    return scores;
  if (name == "LOGISTIC")
    return writer.add("Sigmoid", {scores});
  if (name == "SOFTMAX")
    return writer.add("Softmax", {scores}, {{"axis", 1}});
  return FailureOr<Name>(
      writer.refuse("post_transform '" + name +
                    "' is not supported (supported: NONE, LOGISTIC, SOFTMAX)"));
}

Name addBinaryScores(FunctionWriter &writer, const Name &column,
                     bool isProbability) {
  Type f32 = Float32Type::get(writer.getElementType(0).getContext());
  Name other = isProbability
                   ? writer.add("Sub", {writer.number(1, f32), column})
                   : writer.add("Neg", {column});
  Name both = writer.add("Concat", {other, column}, {{"axis", 1}});
  if (!isProbability &&
      writer.getString("post_transform", "NONE") == "LOGISTIC")
    return writer.add("Sigmoid", {both});
  return both;
}

//===--- Linear models ----------------------------------------------------===//

/// x times the rows of coefficients, plus intercepts.
static FailureOr<Name> addLinear(FunctionWriter &writer, int64_t targets) {
  FailureOr<SmallVector<double>> coefficients =
                                     writer.getNumbers("coefficients"),
                                 intercepts = writer.getNumbers("intercepts");
  if (failed(coefficients) || failed(intercepts))
    return failure();
  int64_t count = coefficients->size();
  if (targets < 1 || count < targets || count % targets != 0 ||
      (!intercepts->empty() &&
       static_cast<int64_t>(intercepts->size()) != targets))
    return FailureOr<Name>(writer.refuse(
        Twine(count) + " coefficients and " + Twine(intercepts->size()) +
        " intercepts do not fit " + Twine(targets) + " targets"));
  Type f32 = Float32Type::get(writer.getElementType(0).getContext());
  Name offsets;
  if (!intercepts->empty())
    offsets = writer.tensor(*intercepts, {targets}, f32);
  return writer.add(
      "Gemm",
      {addMatrix(writer, 0),
       writer.tensor(*coefficients, {targets, count / targets}, f32), offsets},
      {{"transB", 1}});
}

static LogicalResult writeLinearRegressor(FunctionWriter &writer) {
  FailureOr<Name> scores = addLinear(writer, writer.getInt("targets", 1));
  if (failed(scores))
    return failure();
  FailureOr<Name> result = addPostTransform(writer, *scores);
  if (failed(result))
    return failure();
  writer.result(0, *result);
  return success();
}

static LogicalResult writeLinearClassifier(FunctionWriter &writer) {
  FailureOr<ClassLabels> labels = getClassLabels(writer, "classlabels_ints");
  if (failed(labels))
    return failure();
  const ::onnx::AttributeProto *intercepts = writer.find("intercepts");
  int64_t targets = intercepts ? intercepts->floats_size() : labels->count;
  if (targets != labels->count && !(targets == 1 && labels->count == 2))
    return writer.refuse(Twine(targets) + " scores for " +
                         Twine(labels->count) + " classes are not supported");
  FailureOr<Name> scores = addLinear(writer, targets);
  if (failed(scores))
    return failure();
  if (targets == 1 && labels->count == 2) {
    if (writer.getString("post_transform", "NONE") != "NONE")
      return writer.refuse(
          "post_transform with one score for two classes is not "
          "supported (supported: NONE)");
    Type f32 = Float32Type::get(writer.getElementType(0).getContext());
    writer.result(1, addBinaryScores(writer, *scores, /*isProbability=*/true));
    return addLabels(writer, *labels,
                     addIsAbove(writer, *scores, writer.number(0, f32)));
  }
  FailureOr<Name> result = addPostTransform(writer, *scores);
  if (failed(result))
    return failure();
  writer.result(1, *result);
  return addLabels(writer, *labels, addArgMax(writer, *scores));
}

//===--- Preprocessing ----------------------------------------------------===//

/// (x - offset) * scale
static LogicalResult writeScaler(FunctionWriter &writer) {
  FailureOr<SmallVector<double>> offset = writer.getNumbers("offset"),
                                 scale = writer.getNumbers("scale");
  if (failed(offset) || failed(scale))
    return failure();
  Type f32 = Float32Type::get(writer.getElementType(0).getContext());
  Name value = writer.convert(writer.input(0), f32);
  int64_t offsets = offset->size(), scales = scale->size();
  if (offsets)
    value = writer.add("Sub", {value, writer.tensor(*offset, {offsets}, f32)});
  if (scales)
    value = writer.add("Mul", {value, writer.tensor(*scale, {scales}, f32)});
  writer.result(0, value);
  return success();
}

/// Rows divided by their norm; a row whose norm is 0 stays.
static LogicalResult writeNormalizer(FunctionWriter &writer) {
  std::string norm = writer.getString("norm", "MAX");
  if (writer.getRank(0) < 1 || writer.getRank(0) > 2)
    return writer.refuse("x must be a matrix or a list");
  Type f32 = Float32Type::get(writer.getElementType(0).getContext());
  Name value = writer.convert(writer.input(0), f32),
       axis = writer.integers({-1});
  Name length;
  if (norm == "L1")
    length = writer.add("ReduceL1", {value, axis});
  else if (norm == "L2")
    length = writer.add("ReduceL2", {value, axis});
  else if (norm == "MAX")
    length = writer.add("ReduceMax", {value, axis});
  else
    return writer.refuse("norm '" + norm +
                         "' is not supported (supported: L1, L2, MAX)");
  Name isZero = writer.add("Equal", {length, writer.number(0, f32)});
  Name divisor = writer.add("Where", {isZero, writer.number(1, f32), length});
  writer.result(0, writer.add("Div", {value, divisor}));
  return success();
}

/// Missing values replaced by one for all, or for each column.
static LogicalResult writeImputer(FunctionWriter &writer) {
  Type type = writer.getElementType(0);
  if (type.isInteger(64)) {
    SmallVector<int64_t> values = writer.getInts("imputed_value_int64s");
    if (values.empty())
      return writer.refuse("imputed_value_int64s is missing");
    Name isMissing = writer.add(
        "Equal", {writer.input(0),
                  writer.integer(writer.getInt("replaced_value_int64", 0))});
    writer.result(0, writer.add("Where", {isMissing, writer.integers(values),
                                          writer.input(0)}));
    return success();
  }
  FailureOr<SmallVector<double>> values =
      writer.getNumbers("imputed_value_floats");
  if (failed(values))
    return failure();
  if (!type.isF32() || values->empty())
    return writer.refuse(
        "it needs x of float or int64 and values of that type");
  float missing = writer.getFloat("replaced_value_float", 0);
  Name isMissing = std::isnan(missing)
                       ? writer.add("IsNaN", {writer.input(0)})
                       : writer.add("Equal", {writer.input(0),
                                              writer.number(missing, type)});
  writer.result(
      0, writer.add("Where",
                    {isMissing,
                     writer.tensor(
                         *values, {static_cast<int64_t>(values->size())}, type),
                     writer.input(0)}));
  return success();
}

/// 1 above the threshold, else 0
static LogicalResult writeBinarizer(FunctionWriter &writer) {
  Type type = writer.getElementType(0);
  Name threshold = writer.number(writer.getFloat("threshold", 0), type);
  Name isAbove = writer.add("Greater", {writer.input(0), threshold});
  writer.result(0, writer.convert(isAbove, type));
  return success();
}

/// Where x is equal to each of a list of keys, along a new last dimension.
static Name addMatches(FunctionWriter &writer, const Name &x,
                       const Name &keys) {
  return writer.add(
      "Equal", {writer.add("Unsqueeze", {x, writer.integers({-1})}), keys});
}

/// The first key that matches, and whether there is one.
static std::pair<Name, Name> addSearch(FunctionWriter &writer,
                                       const Name &matches) {
  MLIRContext *context = writer.getElementType(0).getContext();
  Name flags = writer.convert(matches, IntegerType::get(context, 32));
  Name place = writer.add("ArgMax", {flags}, {{"axis", -1}, {"keepdims", 0}});
  Name any = writer.add("ReduceMax", {matches, writer.integers({-1})},
                        {{"keepdims", 0}});
  return {place, any};
}

static LogicalResult writeOneHotEncoder(FunctionWriter &writer) {
  SmallVector<int64_t> categories = writer.getInts("cats_int64s");
  std::vector<std::string> names = writer.getStrings("cats_strings");
  bool hasNames = isa<onnx::StringType>(writer.getElementType(0));
  int64_t count = hasNames ? names.size() : categories.size();
  if (count == 0)
    return writer.refuse("it has no categories of its input's type");
  MLIRContext *context = writer.getElementType(0).getContext();
  Type f32 = Float32Type::get(context), i64 = IntegerType::get(context, 64);
  Name x = hasNames ? writer.input(0) : writer.convert(writer.input(0), i64);
  Name matches = addMatches(writer, x,
                            hasNames ? writer.strings(names)
                                     : writer.integers(categories));
  if (writer.getInt("zeros", 1)) {
    writer.result(0, writer.convert(matches, f32));
    return success();
  }
  // A number that is no category is an error: it reads behind the last row.
  auto [place, any] = addSearch(writer, matches);
  Name row = writer.add("Where", {any, place, writer.integer(count)});
  Name unit = writer.add(
      "EyeLike",
      {writer.add("ConstantOfShape", {writer.integers({count, count})})},
      {{"dtype", writer.getDataType(f32)}});
  writer.result(0, writer.add("Gather", {unit, row}));
  return success();
}

/// A list of numbers in one of the forms that LabelEncoder has; empty where it
/// is left out.
static FailureOr<Name> addList(FunctionWriter &writer, StringRef kind) {
  if (writer.find((kind + "_strings").str()))
    return writer.strings(writer.getStrings((kind + "_strings").str()));
  if (const auto *tensor = writer.find((kind + "_tensor").str()))
    return writer.add("Constant", {}, {NodeAttribute("value", *tensor)});
  if (writer.find((kind + "_int64s").str()))
    return writer.integers(writer.getInts((kind + "_int64s").str()));
  if (const auto *floats = writer.find((kind + "_floats").str()))
    return writer.add("Constant", {}, {NodeAttribute("value_floats", *floats)});
  return Name();
}

static LogicalResult writeLabelEncoder(FunctionWriter &writer) {
  FailureOr<Name> keys = addList(writer, "keys"),
                  values = addList(writer, "values");
  if (failed(keys) || failed(values))
    return failure();
  if (keys->empty() || values->empty())
    return writer.refuse("it needs keys and values");
  Type type = writer.getElementType(0);
  Name matches = addMatches(writer, writer.input(0), *keys);
  if (isa<FloatType>(type)) {
    // NaN is a key like others.
    Name both = writer.add(
        "And", {writer.add("IsNaN",
                           {writer.add("Unsqueeze", {writer.input(0),
                                                     writer.integers({-1})})}),
                writer.add("IsNaN", {*keys})});
    matches = writer.add("Or", {matches, both});
  }
  auto [place, any] = addSearch(writer, matches);
  Name found = writer.add("Gather", {*values, place}), otherwise;
  if (const auto *tensor = writer.find("default_tensor"))
    otherwise = writer.add("Constant", {}, {NodeAttribute("value", *tensor)});
  else if (writer.find("values_floats"))
    otherwise = writer.number(writer.getFloat("default_float", -0.0f),
                              Float32Type::get(type.getContext()));
  else if (writer.find("values_int64s"))
    otherwise = writer.integer(writer.getInt("default_int64", -1));
  else if (writer.find("values_strings"))
    otherwise = writer.strings(writer.getString("default_string", "_Unused"));
  else
    return writer.refuse("values_tensor needs a default_tensor");
  writer.result(0, writer.add("Where", {any, found, otherwise}));
  return success();
}

/// Names as numbers, or numbers as names.
static LogicalResult writeCategoryMapper(FunctionWriter &writer) {
  Name numbers = writer.integers(writer.getInts("cats_int64s"));
  Name names = writer.strings(writer.getStrings("cats_strings"));
  if (writer.getInts("cats_int64s").size() !=
          writer.getStrings("cats_strings").size() ||
      writer.getInts("cats_int64s").empty())
    return writer.refuse("it needs as many cats_int64s as cats_strings");
  bool hasNames = isa<onnx::StringType>(writer.getElementType(0));
  auto [place, any] = addSearch(
      writer, addMatches(writer, writer.input(0), hasNames ? names : numbers));
  Name found = writer.add("Gather", {hasNames ? numbers : names, place});
  Name otherwise =
      hasNames ? writer.integer(writer.getInt("default_int64", -1))
               : writer.strings(writer.getString("default_string", "_Unused"));
  writer.result(0, writer.add("Where", {any, found, otherwise}));
  return success();
}

/// The columns of all inputs side by side.
static LogicalResult writeFeatureVectorizer(FunctionWriter &writer) {
  SmallVector<int64_t> sizes = writer.getInts("inputdimensions");
  if (sizes.size() != writer.getNumInputs())
    return writer.refuse("inputdimensions must have one size for each input");
  std::vector<Name> parts;
  for (auto [index, size] : llvm::enumerate(sizes)) {
    int64_t rank = writer.getRank(index);
    if (rank < 1 || rank > 2 || writer.getSize(index, -1) != size)
      return writer.refuse("input #" + Twine(index) +
                           " does not have the size of " + Twine(size) +
                           " that inputdimensions says");
    parts.push_back(addMatrix(writer, index));
  }
  writer.result(0, writer.add("Concat", parts, {{"axis", 1}}));
  return success();
}

static LogicalResult writeArrayFeatureExtractor(FunctionWriter &writer) {
  writer.result(0, writer.add("ArrayFeatureExtractor",
                              {writer.input(0), writer.input(1)}));
  return success();
}

/// A list of maps from labels to numbers has no form here: what it would hold
/// does, as a column for each label.
static LogicalResult writeZipMap(FunctionWriter &writer) {
  std::string labels;
  for (const std::string &name : writer.getStrings("classlabels_strings"))
    labels += (labels.empty() ? "" : ", ") + name;
  for (int64_t number : writer.getInts("classlabels_int64s"))
    labels += (labels.empty() ? "" : ", ") + std::to_string(number);
  writer.warn("its output is a matrix here, whose columns are what the maps "
              "hold for the labels " +
              labels);
  Name x = writer.input(0);
  writer.result(0, writer.getRank(0) == 1 ? writer.reshape(x, {1, -1})
                                          : writer.add("Identity", {x}));
  return success();
}

void addMLFunctions(OperatorFunctions &list) {
  list.insert(
      list.end(),
      {{"ai.onnx.ml",
        "LinearRegressor",
        1,
        1,
        writeLinearRegressor,
        {"coefficients", "intercepts", "post_transform", "targets"}},
       {"ai.onnx.ml",
        "LinearClassifier",
        1,
        1,
        writeLinearClassifier,
        {"classlabels_ints", "classlabels_strings", "coefficients",
         "intercepts", "multi_class", "post_transform"}},
       {"ai.onnx.ml", "Scaler", 1, 1, writeScaler, {"offset", "scale"}},
       {"ai.onnx.ml", "Normalizer", 1, 1, writeNormalizer, {"norm"}},
       {"ai.onnx.ml",
        "Imputer",
        1,
        1,
        writeImputer,
        {"imputed_value_floats", "imputed_value_int64s", "replaced_value_float",
         "replaced_value_int64"}},
       {"ai.onnx.ml", "Binarizer", 1, 1, writeBinarizer, {"threshold"}},
       {"ai.onnx.ml",
        "OneHotEncoder",
        1,
        1,
        writeOneHotEncoder,
        {"cats_int64s", "cats_strings", "zeros"}},
       {"ai.onnx.ml",
        "LabelEncoder",
        1,
        1,
        writeLabelEncoder,
        {"keys_int64s", "keys_floats", "keys_strings", "keys_tensor",
         "values_int64s", "values_floats", "values_strings", "values_tensor",
         "default_int64", "default_float", "default_string", "default_tensor"}},
       {"ai.onnx.ml",
        "FeatureVectorizer",
        1,
        1000,
        writeFeatureVectorizer,
        {"inputdimensions"}},
       {"ai.onnx.ml",
        "ArrayFeatureExtractor",
        2,
        2,
        writeArrayFeatureExtractor,
        {}},
       {"ai.onnx.ml",
        "CategoryMapper",
        1,
        1,
        writeCategoryMapper,
        {"cats_int64s", "cats_strings", "default_int64", "default_string"}},
       {"ai.onnx.ml",
        "ZipMap",
        1,
        1,
        writeZipMap,
        {"classlabels_int64s", "classlabels_strings"}}});
}

} // namespace onnx_aot::importer
