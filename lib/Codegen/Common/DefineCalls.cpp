//===- DefineCalls.cpp - the structures a C function is called with -------===//
//
// Each place has a function of its own, so that the stack it takes is given
// back however often a loop comes by.
//
//===----------------------------------------------------------------------===//

#include "AbiBuilder.h"
#include "CallInfo.h"
#include "FailService.h"

#include "onnx-aot/Codegen/Common/Passes.h"
#include "onnx-aot/abi/CustomOp.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace onnx_aot;
using namespace onnx_aot::codegen;

namespace onnx_aot {
#define GEN_PASS_DEF_DEFINECALLS
#include "onnx-aot/Codegen/Common/Passes.h.inc"
} // namespace onnx_aot

namespace {

/// Words of OnnxAotOpTensor, OnnxAotOpAttribute and OnnxAotOpCall.
constexpr int64_t kTensorWords = 3, kAttributeWords = 4, kCallWords = 6;
static_assert(sizeof(OnnxAotOpTensor) == 8 * kTensorWords);
static_assert(sizeof(OnnxAotOpAttribute) == 8 * kAttributeWords);
static_assert(sizeof(OnnxAotOpCall) == 8 * kCallWords);

struct DefineCalls : onnx_aot::impl::DefineCallsBase<DefineCalls> {
  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> functions;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (function.isExternal() && function.getName().starts_with(kCall) &&
          function->getAttrOfType<DictionaryAttr>(kCallAttr))
        functions.push_back(function);
    for (LLVM::LLVMFuncOp function : functions)
      if (failed(define(function)))
        return signalPassFailure();
  }

private:
  /// The declaration of a C function of abi/CustomOp.h.
  FailureOr<LLVM::LLVMFuncOp> declare(LLVM::LLVMFuncOp caller, StringRef name) {
    AbiBuilder b(&getContext(), caller.getLoc());
    auto type = LLVM::LLVMFunctionType::get(b.i32, {b.ptr});
    if (Operation *other = getOperation().lookupSymbol(name)) {
      auto function = dyn_cast<LLVM::LLVMFuncOp>(other);
      if (function && function.isExternal() &&
          function.getFunctionType() == type)
        return function;
      return FailureOr<LLVM::LLVMFuncOp>(
          caller.emitError(
              "the function of a custom operator cannot be named '")
          << name << "': the module uses that name itself");
    }
    b.setInsertionPointToStart(getOperation().getBody());
    return LLVM::LLVMFuncOp::create(b, b.loc, name, type);
  }

  void store32(AbiBuilder &b, int64_t value, Value base, int64_t index) {
    Value place =
        LLVM::GEPOp::create(b, b.loc, b.ptr, b.i32, base,
                            ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(index)});
    LLVM::StoreOp::create(b, b.loc, b.constant32(value), place);
  }

  /// Fills the tensor at word `at`.
  void describe(AbiBuilder &b, Value words, int64_t at, Value data, Value dims,
                int32_t type, int32_t rank) {
    b.store(data, words, at);
    b.store(dims, words, at + 1);
    store32(b, type, words, 2 * (at + 2));
    store32(b, rank, words, 2 * (at + 2) + 1);
  }

  /// A constant of the module.
  Value createGlobal(AbiBuilder &b, Type type, Attribute value) {
    OpBuilder start = OpBuilder::atBlockBegin(getOperation().getBody());
    auto global = LLVM::GlobalOp::create(
        start, b.loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
        ("onnx_aot.attribute_" + Twine(numGlobals++)).str(), value,
        /*alignment=*/8);
    return LLVM::AddressOfOp::create(b, b.loc, global);
  }

  Value createText(AbiBuilder &b, StringRef text) {
    std::string bytes = text.str();
    bytes.push_back('\0');
    return createGlobal(b,
                        LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size()),
                        b.getStringAttr(bytes));
  }

  template <typename T>
  Value createList(AbiBuilder &b, Type element, ArrayRef<T> values) {
    if (values.empty())
      return b.null();
    auto type = RankedTensorType::get(values.size(), element);
    return createGlobal(b, LLVM::LLVMArrayType::get(element, values.size()),
                        DenseElementsAttr::get(type, values));
  }

  /// An array of OnnxAotString on the stack.
  Value createStrings(AbiBuilder &b, ArrayRef<StringRef> texts) {
    Value words = b.allocaOf(std::max<int64_t>(1, 2 * texts.size()));
    for (auto [index, text] : llvm::enumerate(texts)) {
      b.store(createText(b, text), words, 2 * index);
      b.store(b.constant(text.size()), words, 2 * index + 1);
    }
    return words;
  }

  Value createDims(AbiBuilder &b, ArrayRef<int64_t> sizes) {
    return createList(b, b.i64, sizes);
  }

  /// Describes an attribute's value as a tensor; fails for a kind there is no
  /// form for.
  LogicalResult describeAttribute(AbiBuilder &b, Value words, int64_t at,
                                  Attribute value) {
    auto scalar = [&](Value data, int32_t type) {
      describe(b, words, at, data, b.null(), type, 0);
      return success();
    };
    auto list = [&](Value data, int64_t size, int32_t type) {
      describe(b, words, at, data, createDims(b, size), type, 1);
      return success();
    };
    if (auto integer = dyn_cast<IntegerAttr>(value))
      return scalar(createList<int64_t>(b, b.i64, integer.getInt()),
                    ONNX_AOT_INT64);
    if (auto number = dyn_cast<FloatAttr>(value))
      return scalar(createList<float>(b, b.getF32Type(),
                                      number.getValue().convertToFloat()),
                    ONNX_AOT_FLOAT32);
    if (auto text = dyn_cast<StringAttr>(value))
      return scalar(createStrings(b, text.getValue()), ONNX_AOT_STRING);
    if (auto integers = dyn_cast<DenseI64ArrayAttr>(value))
      return list(createList<int64_t>(b, b.i64, integers.asArrayRef()),
                  integers.size(), ONNX_AOT_INT64);
    if (auto numbers = dyn_cast<DenseF32ArrayAttr>(value))
      return list(createList<float>(b, b.getF32Type(), numbers.asArrayRef()),
                  numbers.size(), ONNX_AOT_FLOAT32);
    if (auto texts = dyn_cast<ArrayAttr>(value)) {
      SmallVector<StringRef> strings;
      for (Attribute text : texts) {
        if (!isa<StringAttr>(text))
          return failure();
        strings.push_back(cast<StringAttr>(text).getValue());
      }
      return list(createStrings(b, strings), strings.size(), ONNX_AOT_STRING);
    }
    return failure();
  }

  LogicalResult define(LLVM::LLVMFuncOp function) {
    auto info = function->getAttrOfType<DictionaryAttr>(kCallAttr);
    ArrayRef<int32_t> inputs = info.getAs<DenseI32ArrayAttr>("inputs"),
                      outputs = info.getAs<DenseI32ArrayAttr>("outputs"),
                      ranks = info.getAs<DenseI32ArrayAttr>("ranks");
    auto asked = info.getAs<DenseI32ArrayAttr>("asked");
    StringRef name = info.getAs<StringAttr>("callee");
    StringRef number = name;
    int64_t textFunction = -1;
    if (number.consume_front(kTextCallee))
      (void)number.getAsInteger(10, textFunction);
    FailureOr<LLVM::LLVMFuncOp> callee = LLVM::LLVMFuncOp();
    if (textFunction < 0)
      callee = declare(function, name);
    if (failed(callee))
      return failure();
    AbiBuilder b(&getContext(), function.getLoc());
    function.setLinkage(LLVM::Linkage::Internal);
    b.setInsertionPointToStart(function.addEntryBlock(b));
    ValueRange addresses = function.getArguments().slice(1, ranks.size());
    ValueRange sizes = function.getArguments().drop_front(1 + ranks.size());

    auto makeTensors = [&](size_t count) {
      return b.allocaOf(std::max<int64_t>(1, count * kTensorWords));
    };
    auto toPointer = [&](Value address) -> Value {
      return LLVM::IntToPtrOp::create(b, b.loc, b.ptr, address);
    };
    // The next operand as the tensor at `at`.
    size_t operand = 0;
    auto describeOperand = [&](Value words, int64_t at, int32_t type) {
      int32_t rank = ranks[operand];
      Value dims = b.allocaOf(std::max(rank, 1));
      for (int32_t dim = 0; dim < rank; ++dim)
        b.store(sizes[dim], dims, dim);
      sizes = sizes.drop_front(rank);
      describe(b, words, at, toPointer(addresses[operand++]), dims, type, rank);
    };
    Value in = makeTensors(inputs.size()), out = makeTensors(outputs.size());
    for (auto [index, type] : llvm::enumerate(inputs)) {
      if (type != 0)
        describeOperand(in, index * kTensorWords, type);
      else
        describe(b, in, index * kTensorWords, b.null(), b.null(), 0, 0);
    }
    int64_t place = 0;
    for (auto [index, type] : llvm::enumerate(outputs)) {
      if (!asked) {
        describeOperand(out, index * kTensorWords, type);
        continue;
      }
      // Where the sizes go: nothing that a function leaves out is one.
      Value dims = b.element(toPointer(addresses[operand]), place);
      int32_t rank = asked.asArrayRef()[index];
      for (int32_t dim = 0; dim < rank; ++dim)
        b.store(b.constant(-1), dims, dim);
      describe(b, out, index * kTensorWords, b.null(), dims, type, rank);
      place += rank;
    }
    auto attributes = info.getAs<DictionaryAttr>("attributes");
    Value named =
        b.allocaOf(std::max<int64_t>(1, attributes.size() * kAttributeWords));
    for (auto [index, attribute] : llvm::enumerate(attributes)) {
      int64_t at = index * kAttributeWords;
      b.store(createText(b, attribute.getName()), named, at);
      if (failed(describeAttribute(b, named, at + 1, attribute.getValue())))
        return function.emitError("attribute '")
               << attribute.getName().getValue()
               << "' of a custom operator is of a kind that cannot be passed "
                  "(supported: numbers, strings, lists of them)";
    }
    Value call = b.allocaOf(kCallWords);
    int64_t counts[] = {static_cast<int64_t>(inputs.size()),
                        static_cast<int64_t>(outputs.size()),
                        static_cast<int64_t>(attributes.size()), 0};
    for (auto [index, count] : llvm::enumerate(counts))
      store32(b, count, call, index);
    b.store(in, call, 2);
    b.store(out, call, 3);
    b.store(named, call, 4);
    Value runtime = b.load(b.ptr, function.getArgument(0), kRuntime);
    b.store(runtime, call, 5);
    Value status =
        *callee ? LLVM::CallOp::create(b, b.loc, *callee, ValueRange{call})
                      .getResult()
                : callText(b, function, runtime, textFunction, call);
    LLVM::ReturnOp::create(b, b.loc, status);
    return success();
  }

  /// Calls the function on strings that the caller lends; 1 where it lends
  /// none.
  Value callText(AbiBuilder &b, LLVM::LLVMFuncOp function, Value runtime,
                 int64_t number, Value call) {
    Region &body = function.getBody();
    Block *some = &body.emplaceBlock(), *lent = &body.emplaceBlock(),
          *none = &body.emplaceBlock();
    LLVM::CondBrOp::create(b, b.loc, b.isNull(runtime), none, some);
    b.setInsertionPointToStart(some);
    Value service = b.load(b.ptr, runtime, kText);
    LLVM::CondBrOp::create(b, b.loc, b.isNull(service), none, lent);
    b.setInsertionPointToStart(none);
    LLVM::ReturnOp::create(b, b.loc, b.constant32(1));
    b.setInsertionPointToStart(lent);
    Value user = b.load(b.ptr, runtime, kUser);
    auto type = LLVM::LLVMFunctionType::get(b.i32, {b.ptr, b.i32, b.ptr});
    return LLVM::CallOp::create(
               b, b.loc, type,
               ValueRange{service, user, b.constant32(number), call})
        .getResult();
  }

  unsigned numGlobals = 0;
};

} // namespace
