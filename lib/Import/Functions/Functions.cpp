//===- Functions.cpp - writing the body of a function ---------------------===//

#include "Functions.h"

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace onnx_aot::importer {

//===--- The table --------------------------------------------------------===//

const OperatorFunction *getOperatorFunction(StringRef domain, StringRef op) {
  static const OperatorFunctions list = [] {
    OperatorFunctions all;
    addElementwiseFunctions(all);
    addMatMulFunctions(all);
    addNormalizationFunctions(all);
    addAttentionFunctions(all);
    addQuantizationFunctions(all);
    addShapeFunctions(all);
    addTfIdfFunctions(all);
    addOptimizerFunctions(all);
    addMLFunctions(all);
    addSVMFunctions(all);
    addTreeFunctions(all);
    return all;
  }();
  for (const OperatorFunction &entry : list)
    if (entry.domain == domain && entry.op == op)
      return &entry;
  return nullptr;
}

bool GraphImporter::importOperatorFunction(const NodeSite &site) {
  const OperatorFunction *entry =
      getOperatorFunction(site.getDomain(), site.node.op_type());
  if (!entry)
    return false;
  SmallVector<Binding> inputs = getInputs(site);
  bool isRefused = llvm::any_of(inputs, [](const Binding &input) {
    return input.kind == Binding::Refused;
  });
  for (const ::onnx::AttributeProto &attribute : site.node.attribute())
    if (!llvm::is_contained(entry->attributes, StringRef(attribute.name())))
      isRefused = failed(refuse(site, "attribute '" + attribute.name() +
                                          "' is not supported"));
  for (unsigned index = 0; index < entry->minInputs; ++index)
    if (index >= inputs.size() || inputs[index].kind == Binding::Absent)
      isRefused = failed(
          refuse(site, "required input #" + Twine(index) + " is missing"));
  if (inputs.size() > entry->maxInputs)
    isRefused = failed(refuse(site, "it has " + Twine(inputs.size()) +
                                        " inputs (supported: up to " +
                                        Twine(entry->maxInputs) + ")"));
  // The bodies are made for types: without a rank there is none.
  for (auto [index, input] : llvm::enumerate(inputs))
    if (!isRefused && input.value && !onnx::getRank(input.value))
      isRefused = failed(refuse(site, "input #" + Twine(index) +
                                          " is not a tensor of known rank"));
  if (isRefused) {
    giveUp(site);
    return true;
  }
  ::onnx::FunctionProto &function = context.storage->functions.emplace_back();
  FunctionWriter writer(
      site, inputs, [&](const Twine &reason) { return refuse(site, reason); },
      function);
  if (failed(entry->write(writer)) || failed(writer.finish()))
    giveUp(site);
  else
    inlineFunction(site, function, {});
  return true;
}

//===--- Attributes -------------------------------------------------------===//

static ::onnx::AttributeProto
makeAttribute(StringRef name, ::onnx::AttributeProto::AttributeType type) {
  ::onnx::AttributeProto proto;
  proto.set_name(name.str());
  proto.set_type(type);
  return proto;
}

NodeAttribute::NodeAttribute(StringRef name, int64_t value)
    : proto(makeAttribute(name, ::onnx::AttributeProto::INT)) {
  proto.set_i(value);
}

NodeAttribute::NodeAttribute(StringRef name, float value)
    : proto(makeAttribute(name, ::onnx::AttributeProto::FLOAT)) {
  proto.set_f(value);
}

NodeAttribute::NodeAttribute(StringRef name, StringRef value)
    : proto(makeAttribute(name, ::onnx::AttributeProto::STRING)) {
  proto.set_s(value.str());
}

NodeAttribute::NodeAttribute(StringRef name, ArrayRef<int64_t> values)
    : proto(makeAttribute(name, ::onnx::AttributeProto::INTS)) {
  proto.mutable_ints()->Add(values.begin(), values.end());
}

NodeAttribute::NodeAttribute(StringRef name,
                             const ::onnx::AttributeProto &other)
    : proto(other) {
  proto.set_name(name.str());
}

//===--- The node ---------------------------------------------------------===//

FunctionWriter::FunctionWriter(const NodeSite &site, ArrayRef<Binding> inputs,
                               Refuse refuse, ::onnx::FunctionProto &function)
    : site(site), inputs(inputs), refuseNode(refuse), function(function) {
  function.set_name(site.node.op_type());
  function.set_domain(site.node.domain());
  ::onnx::OperatorSetIdProto &opset = *function.add_opset_import();
  opset.set_domain("");
  opset.set_version(kNewestOpset);
  ::onnx::OperatorSetIdProto &mlOpset = *function.add_opset_import();
  mlOpset.set_domain("ai.onnx.ml");
  mlOpset.set_version(5);
  for (unsigned index = 0; index < inputs.size(); ++index)
    function.add_input("input" + std::to_string(index));
}

bool FunctionWriter::has(unsigned index) const {
  return index < inputs.size() && inputs[index].kind == Binding::Present;
}

Name FunctionWriter::input(unsigned index) const {
  return has(index) ? function.input(index) : Name();
}

Value FunctionWriter::getValue(unsigned index) const {
  return has(index) ? inputs[index].value : Value();
}

Type FunctionWriter::getElementType(unsigned index) const {
  return onnx::getElementType(inputs[index].value);
}

int64_t FunctionWriter::getRank(unsigned index) const {
  return has(index) ? onnx::getRank(inputs[index].value).value_or(-1) : -1;
}

int64_t FunctionWriter::getSize(unsigned index, int64_t dim) const {
  int64_t rank = getRank(index);
  if (dim < 0)
    dim += rank;
  if (dim < 0 || dim >= rank)
    return -1;
  int64_t size =
      cast<RankedTensorType>(inputs[index].value.getType()).getDimSize(dim);
  return ShapedType::isDynamic(size) ? -1 : size;
}

std::optional<std::string> FunctionWriter::getBytes(unsigned index) const {
  Value value = getValue(index);
  auto constant =
      value ? value.getDefiningOp<onnx::ConstantOp>() : onnx::ConstantOp();
  if (!constant || !onnx::getElementType(value).isUnsignedInteger(8))
    return std::nullopt;
  if (auto blob = dyn_cast<DenseResourceElementsAttr>(constant.getValue())) {
    AsmResourceBlob *data = blob.getRawHandle().getBlob();
    if (!data)
      return std::nullopt;
    return std::string(data->getData().begin(), data->getData().end());
  }
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements)
    return std::nullopt;
  std::string bytes;
  for (const APInt &element : elements.getValues<APInt>())
    bytes.push_back(static_cast<char>(element.getZExtValue()));
  return bytes;
}

bool FunctionWriter::wants(unsigned output) const {
  return output < static_cast<unsigned>(site.node.output_size()) &&
         !site.node.output(output).empty();
}

const ::onnx::AttributeProto *FunctionWriter::find(StringRef name) const {
  for (const ::onnx::AttributeProto &attribute : site.node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

int64_t FunctionWriter::getInt(StringRef name, int64_t otherwise) const {
  const ::onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->i() : otherwise;
}

float FunctionWriter::getFloat(StringRef name, float otherwise) const {
  const ::onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->f() : otherwise;
}

std::string FunctionWriter::getString(StringRef name,
                                      StringRef otherwise) const {
  const ::onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->s() : otherwise.str();
}

std::vector<std::string> FunctionWriter::getStrings(StringRef name) const {
  const ::onnx::AttributeProto *attribute = find(name);
  if (!attribute)
    return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

void FunctionWriter::warn(const Twine &text) {
  emitWarning(site.loc) << "node '" << site.node.name() << "' ("
                        << site.node.op_type() << "): " << text;
}

Name FunctionWriter::strings(ArrayRef<std::string> values) {
  ::onnx::AttributeProto list;
  list.set_type(::onnx::AttributeProto::STRINGS);
  for (const std::string &value : values)
    list.add_strings(value);
  return add("Constant", {}, {NodeAttribute("value_strings", list)});
}

SmallVector<int64_t> FunctionWriter::getInts(StringRef name) const {
  const ::onnx::AttributeProto *attribute = find(name);
  if (!attribute)
    return {};
  return SmallVector<int64_t>(attribute->ints().begin(),
                              attribute->ints().end());
}

FailureOr<SmallVector<double>> FunctionWriter::getNumbers(StringRef name) {
  if (const ::onnx::AttributeProto *attribute = find(name))
    return SmallVector<double>(attribute->floats().begin(),
                               attribute->floats().end());
  std::string tensorName = (name + "_as_tensor").str();
  const ::onnx::AttributeProto *attribute = find(tensorName);
  if (!attribute)
    return SmallVector<double>();
  return readTensor(tensorName, attribute->t());
}

/// Numbers that lie in the file as T.
template <typename T>
static SmallVector<double> readRaw(const std::string &raw) {
  SmallVector<double> values(raw.size() / sizeof(T));
  for (auto [index, value] : llvm::enumerate(values)) {
    T number;
    std::memcpy(&number, raw.data() + index * sizeof(T), sizeof(T));
    value = number;
  }
  return values;
}

FailureOr<SmallVector<double>>
FunctionWriter::readTensor(StringRef name, const ::onnx::TensorProto &tensor) {
  using Proto = ::onnx::TensorProto;
  SmallVector<double> values;
  bool isRaw = tensor.has_raw_data(), isKnown = true;
  switch (tensor.data_type()) {
  case Proto::FLOAT:
    values = isRaw ? readRaw<float>(tensor.raw_data())
                   : SmallVector<double>(tensor.float_data().begin(),
                                         tensor.float_data().end());
    break;
  case Proto::DOUBLE:
    values = isRaw ? readRaw<double>(tensor.raw_data())
                   : SmallVector<double>(tensor.double_data().begin(),
                                         tensor.double_data().end());
    break;
  case Proto::UINT8:
    values = isRaw ? readRaw<uint8_t>(tensor.raw_data())
                   : SmallVector<double>(tensor.int32_data().begin(),
                                         tensor.int32_data().end());
    break;
  default:
    isKnown = false;
  }
  int64_t count = values.size();
  if (!isKnown || tensor.data_location() == Proto::EXTERNAL ||
      tensor.dims_size() > 1 ||
      (tensor.dims_size() == 1 && tensor.dims(0) != count))
    return FailureOr<SmallVector<double>>(
        refuse("attribute '" + name + "' is not a list of floats or bytes"));
  return values;
}

std::vector<NodeAttribute>
FunctionWriter::pick(ArrayRef<StringRef> names) const {
  std::vector<NodeAttribute> picked;
  for (StringRef name : names)
    if (const ::onnx::AttributeProto *attribute = find(name))
      picked.emplace_back(name, *attribute);
  return picked;
}

//===--- The body ---------------------------------------------------------===//

SmallVector<Name> FunctionWriter::addMany(
    StringRef op, const std::vector<Name> &operands, unsigned numOutputs,
    const std::vector<NodeAttribute> &attributes, StringRef domain) {
  ::onnx::NodeProto &node = inner ? *inner->add_node() : *function.add_node();
  node.set_op_type(op.str());
  node.set_domain(domain.str());
  for (const Name &operand : operands)
    node.add_input(operand);
  for (const NodeAttribute &attribute : attributes)
    *node.add_attribute() = attribute.proto;
  SmallVector<Name> outputs;
  for (unsigned index = 0; index < numOutputs; ++index) {
    outputs.push_back(makeName());
    node.add_output(outputs.back());
  }
  return outputs;
}

Name FunctionWriter::add(StringRef op, const std::vector<Name> &operands,
                         const std::vector<NodeAttribute> &attributes,
                         StringRef domain) {
  return addMany(op, operands, 1, attributes, domain).front();
}

static NodeAttribute
makeTensor(int64_t type, llvm::function_ref<void(::onnx::TensorProto &)> fill) {
  NodeAttribute attribute("value", 0);
  attribute.proto = makeAttribute("value", ::onnx::AttributeProto::TENSOR);
  attribute.proto.mutable_t()->set_data_type(type);
  fill(*attribute.proto.mutable_t());
  return attribute;
}

Name FunctionWriter::integers(ArrayRef<int64_t> values) {
  return add(
      "Constant", {},
      {makeTensor(::onnx::TensorProto::INT64, [&](::onnx::TensorProto &tensor) {
        tensor.add_dims(values.size());
        tensor.mutable_int64_data()->Add(values.begin(), values.end());
      })});
}

Name FunctionWriter::integer(int64_t value) {
  return add(
      "Constant", {},
      {makeTensor(::onnx::TensorProto::INT64, [&](::onnx::TensorProto &tensor) {
        tensor.add_int64_data(value);
      })});
}

Name FunctionWriter::tensor(ArrayRef<double> values, ArrayRef<int64_t> shape,
                            Type type) {
  return add("Constant", {},
             {makeTensor(getDataType(type), [&](::onnx::TensorProto &tensor) {
               tensor.mutable_dims()->Add(shape.begin(), shape.end());
               for (double value : values) {
                 if (type.isF32())
                   tensor.add_float_data(value);
                 else if (type.isF64())
                   tensor.add_double_data(value);
                 else if (type.isInteger(64))
                   tensor.add_int64_data(value);
                 else
                   tensor.add_int32_data(value);
               }
             })});
}

Name FunctionWriter::bytes(std::string values, ArrayRef<int64_t> shape,
                           Type type) {
  return add("Constant", {},
             {makeTensor(getDataType(type), [&](::onnx::TensorProto &tensor) {
               tensor.mutable_dims()->Add(shape.begin(), shape.end());
               tensor.set_raw_data(std::move(values));
             })});
}

Name FunctionWriter::number(double value, Type type) {
  if (type.isF32())
    return add("Constant", {}, {{"value_float", static_cast<float>(value)}});
  Name constant = add("Constant", {},
                      {makeTensor(::onnx::TensorProto::DOUBLE,
                                  [&](::onnx::TensorProto &tensor) {
                                    tensor.add_double_data(value);
                                  })});
  return convert(constant, type);
}

int64_t FunctionWriter::getDataType(Type type) const {
  return onnx::getDataTypeOf(type).value_or(0);
}

Name FunctionWriter::convert(const Name &value, Type type) {
  return add("Cast", {value}, {{"to", getDataType(type)}});
}

Name FunctionWriter::reshape(const Name &value, ArrayRef<int64_t> shape) {
  return add("Reshape", {value, integers(shape)});
}

Name FunctionWriter::transpose(const Name &value,
                               ArrayRef<int64_t> permutation) {
  return add("Transpose", {value}, {{"perm", permutation}});
}

Name FunctionWriter::slice(const Name &value, int64_t axis, int64_t first,
                           int64_t last) {
  return add("Slice",
             {value, integers({first}), integers({last}), integers({axis})});
}

Name FunctionWriter::sizes(const Name &value, int64_t first, int64_t last) {
  return add("Shape", {value}, {{"start", first}, {"end", last}});
}

SmallVector<Name> FunctionWriter::split(const Name &value, int64_t axis,
                                        ArrayRef<int64_t> sizes) {
  return addMany("Split", {value, integers(sizes)}, sizes.size(),
                 {{"axis", axis}});
}

Name FunctionWriter::plus(const Name &a, const Name &b) {
  return b.empty() ? a : add("Add", {a, b});
}

NodeAttribute
FunctionWriter::graph(StringRef name, ArrayRef<std::pair<Name, Type>> inputs,
                      llvm::function_ref<std::vector<Name>()> write) {
  NodeAttribute attribute(name, 0);
  attribute.proto = makeAttribute(name, ::onnx::AttributeProto::GRAPH);
  ::onnx::GraphProto &graph = *attribute.proto.mutable_g();
  graph.set_name(name.str());
  for (const auto &[input, type] : inputs) {
    ::onnx::ValueInfoProto &info = *graph.add_input();
    info.set_name(input);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(
        getDataType(type));
  }
  ::onnx::GraphProto *outer = std::exchange(inner, &graph);
  for (const Name &output : write())
    graph.add_output()->set_name(output);
  inner = outer;
  return attribute;
}

void FunctionWriter::result(unsigned output, const Name &value) {
  if (results.size() <= output)
    results.resize(output + 1);
  results[output] = value;
}

LogicalResult FunctionWriter::finish() {
  for (unsigned output = 0; output < results.size(); ++output)
    if (results[output].empty() && wants(output))
      return refuse("output #" + Twine(output) + " is not supported");
  Name any = results.empty() ? Name() : results.front();
  for (const Name &name : results)
    if (any.empty())
      any = name;
  // One that nobody wants may be anything.
  for (const Name &name : results)
    function.add_output(name.empty() ? any : name);
  return success();
}

} // namespace onnx_aot::importer
