//===- Upgrades.cpp - running the adapters, and their tools ---------------===//

#include "Upgrades.h"

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;

namespace onnx_aot::importer {

//===--- Running ----------------------------------------------------------===//

ArrayRef<Upgrade> getUpgrades() {
  static const UpgradeList list = [] {
    UpgradeList all;
    addElementwiseUpgrades(all);
    addIndexingUpgrades(all);
    addMatMulUpgrades(all);
    addNormalizationUpgrades(all);
    addPoolingUpgrades(all);
    addRecurrentUpgrades(all);
    addReductionUpgrades(all);
    addShapeUpgrades(all);
    llvm::stable_sort(all, [](const Upgrade &a, const Upgrade &b) {
      return a.toOpset < b.toOpset;
    });
    return all;
  }();
  return list;
}

FailureOr<ArrayRef<const ::onnx::NodeProto *>> Upgrader::run() {
  opset = kNewestOpset;
  StringRef op = site.node.op_type();
  for (const Upgrade &upgrade : getUpgrades()) {
    if (upgrade.op != op || site.opset >= upgrade.toOpset)
      continue;
    if (!edited)
      edited = &context.storage->nodes.emplace_back(site.node);
    if (failed(upgrade.apply(*this)))
      return failure();
    // The operator may have become another one.
    op = edited->op_type();
  }
  // Once an operator was told which of its inputs it overwrites.
  if (site.opset < 6 && find("consumed_inputs"))
    erase("consumed_inputs");
  llvm::append_range(all, before);
  all.push_back(edited ? edited : &site.node);
  llvm::append_range(all, after);
  return ArrayRef(all);
}

//===--- Inputs -----------------------------------------------------------===//

bool Upgrader::hasInput(unsigned index) const {
  return index < static_cast<unsigned>(edited->input_size()) &&
         !edited->input(index).empty();
}

Value Upgrader::getInput(unsigned index) {
  if (!hasInput(index))
    return {};
  std::optional<Binding> binding = site.scope.lookup(edited->input(index));
  return binding ? binding->value : Value();
}

Type Upgrader::getInputType(unsigned index) {
  Value value = getInput(index);
  return value ? value.getType() : Type();
}

std::optional<int64_t> Upgrader::getInputRank(unsigned index) {
  Value value = getInput(index);
  return value ? onnx::getRank(value) : std::nullopt;
}

std::optional<SmallVector<int64_t>> Upgrader::getIntegers(unsigned index) {
  Value value = getInput(index);
  return value ? onnx::getConstantIntegers(value) : std::nullopt;
}

std::optional<SmallVector<float>> Upgrader::getFloats(unsigned index) {
  Value value = getInput(index);
  auto constant = value ? value.getDefiningOp<onnx::ConstantOp>() : nullptr;
  auto elements =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || !elements.getElementType().isF32())
    return std::nullopt;
  return SmallVector<float>(elements.getValues<float>());
}

void Upgrader::setInput(unsigned index, const std::string &name) {
  while (static_cast<unsigned>(edited->input_size()) <= index)
    edited->add_input();
  edited->set_input(index, name);
}

//===--- Attributes -------------------------------------------------------===//

const ::onnx::AttributeProto *Upgrader::find(StringRef name) const {
  for (const ::onnx::AttributeProto &attribute :
       (edited ? *edited : site.node).attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

int64_t Upgrader::getInt(StringRef name, int64_t otherwise) const {
  const ::onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->i() : otherwise;
}

float Upgrader::getFloat(StringRef name, float otherwise) const {
  const ::onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->f() : otherwise;
}

std::string Upgrader::getString(StringRef name, StringRef otherwise) const {
  const ::onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->s() : otherwise.str();
}

void Upgrader::erase(StringRef name) {
  if (!edited)
    edited = &context.storage->nodes.emplace_back(site.node);
  auto &attributes = *edited->mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i)
    if (attributes[i].name() == name)
      attributes.DeleteSubrange(i, 1);
}

static ::onnx::AttributeProto &
addAttribute(::onnx::NodeProto &node, StringRef name,
             ::onnx::AttributeProto::AttributeType type) {
  ::onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name.str());
  attribute.set_type(type);
  return attribute;
}

void Upgrader::set(StringRef name, int64_t value) {
  erase(name);
  addAttribute(*edited, name, ::onnx::AttributeProto::INT).set_i(value);
}

void Upgrader::set(StringRef name, StringRef value) {
  erase(name);
  addAttribute(*edited, name, ::onnx::AttributeProto::STRING)
      .set_s(value.str());
}

void Upgrader::set(StringRef name, ArrayRef<int64_t> values) {
  erase(name);
  ::onnx::AttributeProto &attribute =
      addAttribute(*edited, name, ::onnx::AttributeProto::INTS);
  attribute.mutable_ints()->Add(values.begin(), values.end());
}

void Upgrader::setFloat(StringRef name, float value) {
  erase(name);
  addAttribute(*edited, name, ::onnx::AttributeProto::FLOAT).set_f(value);
}

//===--- Helper nodes -----------------------------------------------------===//

std::string Upgrader::makeName() {
  // No name in a model has a zero byte: definitions are checked.
  std::string name = "upgrade" + std::to_string(context.storage->nodes.size()) +
                     "_" + std::to_string(numNames++);
  name.insert(name.begin(), '\0');
  return name;
}

std::string
Upgrader::addBefore(StringRef opType, ArrayRef<std::string> inputs,
                    llvm::function_ref<void(::onnx::NodeProto &)> edit) {
  ::onnx::NodeProto &node = context.storage->nodes.emplace_back();
  node.set_op_type(opType.str());
  for (const std::string &input : inputs)
    node.add_input(input);
  std::string output = makeName();
  node.add_output(output);
  if (edit)
    edit(node);
  before.push_back(&node);
  return output;
}

void Upgrader::addAfter(StringRef opType, unsigned index,
                        ArrayRef<std::string> moreInputs,
                        llvm::function_ref<void(::onnx::NodeProto &)> edit) {
  ::onnx::NodeProto &node = context.storage->nodes.emplace_back();
  node.set_op_type(opType.str());
  std::string between = makeName();
  node.add_input(between);
  for (const std::string &input : moreInputs)
    node.add_input(input);
  node.add_output(edited->output(index));
  edited->set_output(index, between);
  if (edit)
    edit(node);
  // What is added later stands nearer to the node.
  after.insert(after.begin(), &node);
}

/// Adds a node that makes one constant.
static std::string
addTensor(Upgrader &upgrader,
          llvm::function_ref<void(::onnx::TensorProto &)> edit) {
  return upgrader.addBefore("Constant", {}, [&](::onnx::NodeProto &node) {
    edit(*addAttribute(node, "value", ::onnx::AttributeProto::TENSOR)
              .mutable_t());
  });
}

std::string Upgrader::addIntegers(ArrayRef<int64_t> values) {
  return addTensor(*this, [&](::onnx::TensorProto &tensor) {
    tensor.set_data_type(::onnx::TensorProto::INT64);
    tensor.add_dims(values.size());
    tensor.mutable_int64_data()->Add(values.begin(), values.end());
  });
}

std::string Upgrader::addInteger(int64_t value) {
  return addTensor(*this, [&](::onnx::TensorProto &tensor) {
    tensor.set_data_type(::onnx::TensorProto::INT64);
    tensor.add_int64_data(value);
  });
}

std::string Upgrader::addFloats(ArrayRef<float> values) {
  return addTensor(*this, [&](::onnx::TensorProto &tensor) {
    tensor.set_data_type(::onnx::TensorProto::FLOAT);
    tensor.add_dims(values.size());
    tensor.mutable_float_data()->Add(values.begin(), values.end());
  });
}

std::string Upgrader::addScalarLike(unsigned index, float value) {
  std::string scalar = addTensor(*this, [&](::onnx::TensorProto &tensor) {
    tensor.set_data_type(::onnx::TensorProto::FLOAT);
    tensor.add_float_data(value);
  });
  Value input = getInput(index);
  std::optional<int64_t> type =
      input ? onnx::getDataTypeOf(onnx::getElementType(input)) : std::nullopt;
  if (!type || *type == ::onnx::TensorProto::FLOAT)
    return scalar;
  return addBefore("Cast", {scalar}, [&](::onnx::NodeProto &node) {
    addAttribute(node, "to", ::onnx::AttributeProto::INT).set_i(*type);
  });
}

void Upgrader::moveToInput(StringRef name, unsigned index) {
  const ::onnx::AttributeProto *attribute = find(name);
  if (!attribute)
    return;
  SmallVector<int64_t> values(attribute->ints().begin(),
                              attribute->ints().end());
  erase(name);
  setInput(index, addIntegers(values));
}

} // namespace onnx_aot::importer
