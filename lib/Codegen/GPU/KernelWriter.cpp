//===- KernelWriter.cpp - functions, indices and memory of kernels --------===//

#include "KernelWriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace onnx_aot::gpu_kernel {

KernelWriter::KernelWriter(const KernelAnalysis &kernel,
                           gpu::GPUModuleOp module, StringRef name,
                           int64_t threads, const KernelForm &form)
    : kernel(kernel),
      builder(kernel.getKernel().getLoc(), kernel.getKernel().getContext()) {
  createFunction(module, name, threads, form);
}

//===--- The function -----------------------------------------------------===//

SmallVector<Type> KernelWriter::getParameterTypes(Type operand) {
  auto buffer = dyn_cast<MemRefType>(operand);
  if (!buffer) {
    if (isa<IndexType>(operand))
      return {builder.getI64Type()};
    return {operand.isInteger(1) ? builder.getI8Type() : operand};
  }
  SmallVector<Type> types{
      LLVM::LLVMPointerType::get(builder.getContext(), kGlobalSpace)};
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)buffer.getStridesAndOffset(strides, offset);
  types.append(buffer.getNumDynamicDims(), builder.getI32Type());
  if (!buffer.getLayout().isIdentity())
    types.append(llvm::count_if(strides, ShapedType::isDynamic),
                 builder.getI32Type());
  return types;
}

void KernelWriter::createFunction(gpu::GPUModuleOp module, StringRef name,
                                  int64_t threads, const KernelForm &form) {
  Type i32 = builder.getI32Type();
  SmallVector<SmallVector<Type>> operands;
  SmallVector<Type> types, own;
  for (auto [index, type] : llvm::enumerate(kernel.getTypes())) {
    operands.push_back(getParameterTypes(type));
    llvm::append_range(form.isCommon(index) ? types : own, operands.back());
  }
  const size_t numCommon = types.size();
  if (form.isSplit)
    types.append(
        {LLVM::LLVMPointerType::get(builder.getContext(), kGlobalSpace), i32});
  if (form.launches > 1) {
    own.push_back(i32);
    for (int64_t i = 0; i < form.launches; ++i)
      llvm::append_range(types, own);
  }
  builder.setInsertionPointToEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(builder.getContext()), types);
  function = LLVM::LLVMFuncOp::create(builder, name, type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    builder.getDenseI32ArrayAttr({(int32_t)threads, 1, 1}));
  // Without a bound ptxas may spill so that as many blocks as possible fit.
  constexpr int64_t kLeastBlocks = 2;
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    builder.getI32IntegerAttr(kLeastBlocks));
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  thread = NVVM::ThreadIdXOp::create(builder, i32);
  blockId = NVVM::BlockIdXOp::create(builder, i32);
  grid = NVVM::GridDimXOp::create(builder, i32);

  SmallVector<Value> parameters(function.getArguments());
  ArrayRef<Value> common = ArrayRef(parameters).take_front(numCommon), rest;
  SmallVector<Value> selected;
  if (form.launches > 1) {
    selected = enterLaunch(ArrayRef(parameters).drop_front(numCommon),
                           own.size(), form.launches);
    rest = selected;
  }
  for (auto [index, type] : llvm::enumerate(kernel.getTypes())) {
    ArrayRef<Value> &from = form.isCommon(index) ? common : rest;
    readOperand(type, from.take_front(operands[index].size()));
    from = from.drop_front(operands[index].size());
  }
}

void KernelWriter::readOperand(Type type, ValueRange parameters) {
  Argument argument;
  argument.value = parameters.front();
  auto next = std::next(parameters.begin());
  auto buffer = dyn_cast<MemRefType>(type);
  if (!buffer) {
    if (isa<IndexType>(type))
      argument.value =
          arith::IndexCastOp::create(builder, type, argument.value);
    else if (type.isInteger(1))
      argument.value = arith::TruncIOp::create(builder, type, argument.value);
    arguments.push_back(argument);
    return;
  }
  argument.element = buffer.getElementType();
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)buffer.getStridesAndOffset(strides, offset);
  for (int64_t size : buffer.getShape())
    argument.sizes.push_back(ShapedType::isDynamic(size) ? Value(*next++)
                                                         : constant(size));
  argument.strides.resize(strides.size());
  if (buffer.getLayout().isIdentity()) {
    Value stride = constant(1);
    for (int64_t axis = strides.size() - 1; axis >= 0; --axis) {
      argument.strides[axis] = stride;
      if (axis)
        stride = mul(stride, argument.sizes[axis]);
    }
  } else {
    for (auto [axis, stride] : llvm::enumerate(strides))
      argument.strides[axis] =
          ShapedType::isDynamic(stride) ? Value(*next++) : constant(stride);
  }
  arguments.push_back(argument);
}

SmallVector<Value> KernelWriter::enterLaunch(ValueRange parameters,
                                             int64_t each, int64_t launches) {
  Value count = parameters.back();
  auto loop = scf::ForOp::create(builder, blockId, count, grid, ValueRange());
  builder.setInsertionPointToStart(loop.getBody());
  Value block = loop.getInductionVar();
  SmallVector<Value> selected =
      selectLaunch(parameters, each, 0, launches, block);
  Value begin = selected.pop_back_val(), end = selected.pop_back_val();
  blockId = sub(block, begin);
  grid = sub(end, begin);
  return selected;
}

SmallVector<Value> KernelWriter::selectLaunch(ValueRange parameters,
                                              int64_t each, int64_t first,
                                              int64_t end, Value block) {
  auto getEnd = [&](int64_t launch) -> Value {
    return launch ? parameters[launch * each - 1] : constant(0);
  };
  if (end - first == 1) {
    SmallVector<Value> values(parameters.slice(first * each, each));
    values.push_back(getEnd(first));
    return values;
  }
  int64_t middle = first + (end - first) / 2;
  SmallVector<Type> types(
      ValueRange(parameters.slice(first * each, each)).getTypes());
  types.push_back(builder.getI32Type());
  auto branch = scf::IfOp::create(builder, types, less(block, getEnd(middle)),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder,
                       selectLaunch(parameters, each, first, middle, block));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder,
                       selectLaunch(parameters, each, middle, end, block));
  return SmallVector<Value>(branch.getResults());
}

void KernelWriter::finish() {
  builder.setInsertionPointToEnd(&function.getBody().front());
  LLVM::ReturnOp::create(builder, ValueRange{});
}

//===--- Index arithmetic -------------------------------------------------===//

Value KernelWriter::constant(int64_t value) {
  Value &made = constants[value];
  if (!made) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    made = arith::ConstantIntOp::create(builder, value, 32);
  }
  return made;
}

static std::optional<int64_t> getConstant(Value value) {
  return getConstantIntValue(value);
}

Value KernelWriter::add(Value a, Value b) {
  std::optional<int64_t> x = getConstant(a), y = getConstant(b);
  if (x && y)
    return constant(*x + *y);
  if (x == 0)
    return b;
  if (y == 0)
    return a;
  return arith::AddIOp::create(builder, a, b);
}

Value KernelWriter::sub(Value a, Value b) {
  std::optional<int64_t> x = getConstant(a), y = getConstant(b);
  if (x && y)
    return constant(*x - *y);
  return y == 0 ? a : arith::SubIOp::create(builder, a, b).getResult();
}

Value KernelWriter::mul(Value a, Value b) {
  std::optional<int64_t> x = getConstant(a), y = getConstant(b);
  if (x && y)
    return constant(*x * *y);
  if (x == 0 || y == 0)
    return constant(0);
  if (x == 1)
    return b;
  if (y == 1)
    return a;
  return arith::MulIOp::create(builder, a, b);
}

Value KernelWriter::div(Value a, Value b) {
  std::optional<int64_t> x = getConstant(a), y = getConstant(b);
  if (x && y && *y)
    return constant(*x / *y);
  return y == 1 ? a : arith::DivUIOp::create(builder, a, b).getResult();
}

Value KernelWriter::rem(Value a, Value b) {
  std::optional<int64_t> x = getConstant(a), y = getConstant(b);
  if (x && y && *y)
    return constant(*x % *y);
  return y == 1 ? constant(0)
                : arith::RemUIOp::create(builder, a, b).getResult();
}

Value KernelWriter::minimum(Value a, Value b) {
  return arith::MinSIOp::create(builder, a, b);
}

Value KernelWriter::less(Value a, Value b) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, a, b);
}

Value KernelWriter::both(Value a, Value b) {
  return arith::AndIOp::create(builder, a, b);
}

Value KernelWriter::isZero(Value value) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, value,
                               constant(0));
}

Value KernelWriter::ceilDiv(Value a, int64_t divisor) {
  return div(add(a, constant(divisor - 1)), constant(divisor));
}

Value KernelWriter::size(unsigned dim) {
  const SizeSource &source = kernel.getSize(dim);
  if (source.isConstant())
    return constant(source.constant);
  const Argument &argument = arguments[source.argument];
  if (source.axis >= 0)
    return argument.sizes[source.axis];
  Value &value = sizeValues[dim];
  if (!value) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(argument.value);
    value = arith::IndexCastOp::create(builder, builder.getI32Type(),
                                       argument.value);
  }
  return value;
}

Value KernelWriter::product(ArrayRef<unsigned> dims) {
  Value result = constant(1);
  for (unsigned dim : dims)
    result = mul(result, size(dim));
  return result;
}

Value KernelWriter::linearize(ArrayRef<unsigned> dims, const Point &point) {
  Value linear = constant(0);
  for (unsigned dim : dims)
    linear = add(mul(linear, size(dim)), point[dim]);
  return linear;
}

void KernelWriter::delinearize(Value linear, ArrayRef<unsigned> dims,
                               Point &point) {
  for (unsigned i = dims.size(); i-- > 0;) {
    if (i == 0) {
      point[dims[0]] = linear;
      break;
    }
    Value extent = size(dims[i]);
    point[dims[i]] = rem(linear, extent);
    linear = div(linear, extent);
  }
}

//===--- Control flow -----------------------------------------------------===//

SmallVector<Value>
KernelWriter::loop(Value lower, Value upper, Value step, ValueRange carried,
                   function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(builder, lower, upper, step, carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Scope scope(*this);
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(builder, next);
  return SmallVector<Value>(loop.getResults());
}

void KernelWriter::when(Value condition, function_ref<void()> body) {
  auto branch = scf::IfOp::create(builder, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  Scope scope(*this);
  body();
}

Value KernelWriter::choose(Value condition, Value otherwise,
                           function_ref<Value()> body) {
  auto branch = scf::IfOp::create(builder, otherwise.getType(), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  {
    builder.setInsertionPointToStart(branch.thenBlock());
    Scope scope(*this);
    scf::YieldOp::create(builder, body());
  }
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, otherwise);
  return branch.getResult(0);
}

Value KernelWriter::search(Value lower, Value upper,
                           function_ref<Value(Value)> isFound) {
  Type i1 = builder.getI1Type();
  auto loop = scf::WhileOp::create(
      builder, TypeRange{builder.getI32Type()}, ValueRange{lower},
      [&](OpBuilder &, Location loc, ValueRange values) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToEnd(values.front().getParentBlock());
        Scope scope(*this);
        Value stop = arith::ConstantIntOp::create(builder, i1, 0);
        Value goOn = choose(less(values.front(), upper), stop, [&]() -> Value {
          Value yes = arith::ConstantIntOp::create(builder, i1, 1);
          return arith::XOrIOp::create(builder, isFound(values.front()), yes);
        });
        scf::ConditionOp::create(builder, goOn, values);
      },
      [&](OpBuilder &, Location loc, ValueRange values) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToEnd(values.front().getParentBlock());
        scf::YieldOp::create(builder, add(values.front(), constant(1)));
      });
  return loop.getResult(0);
}

void KernelWriter::barrier() { NVVM::Barrier0Op::create(builder); }

Value KernelWriter::shuffle(Value value, int64_t distance) {
  Type type = value.getType(), i32 = builder.getI32Type();
  unsigned width = type.getIntOrFloatBitWidth();
  auto exchange = [&](Value word) -> Value {
    return NVVM::ShflOp::create(builder, i32, constant(-1), word,
                                constant(distance), constant(31),
                                NVVM::ShflKind::bfly, UnitAttr());
  };
  Value bits = value;
  if (!isa<IntegerType>(type))
    bits =
        arith::BitcastOp::create(builder, builder.getIntegerType(width), bits);
  if (width < 32)
    bits = arith::ExtUIOp::create(builder, i32, bits);
  if (width == 64) {
    Type i64 = builder.getI64Type();
    Value half = arith::ConstantIntOp::create(builder, 32, 64);
    Value low = exchange(arith::TruncIOp::create(builder, i32, bits));
    Value high = exchange(arith::TruncIOp::create(
        builder, i32, arith::ShRUIOp::create(builder, bits, half)));
    Value shifted = arith::ShLIOp::create(
        builder, arith::ExtUIOp::create(builder, i64, high), half);
    bits = arith::OrIOp::create(
        builder, arith::ExtUIOp::create(builder, i64, low), shifted);
  } else {
    bits = exchange(bits);
  }
  if (width < 32)
    bits =
        arith::TruncIOp::create(builder, builder.getIntegerType(width), bits);
  return isa<IntegerType>(type)
             ? bits
             : arith::BitcastOp::create(builder, type, bits).getResult();
}

SmallVector<Value> KernelWriter::multiplyFragments(ValueRange a, ValueRange b,
                                                   ValueRange sums,
                                                   NVVM::MMATypes type) {
  bool isInteger = type == NVVM::MMATypes::s8 || type == NVVM::MMATypes::u8;
  int64_t depth = isInteger ? 32 : type == NVVM::MMATypes::tf32 ? 8 : 16;
  std::optional<NVVM::MMAIntOverflow> overflow;
  if (isInteger)
    overflow = NVVM::MMAIntOverflow::wrapped;
  auto result = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(4, sums.front().getType()));
  Value product = NVVM::MmaOp::create(
      builder, result, a, b, sums, ArrayRef<int64_t>{16, 8, depth},
      std::nullopt, overflow, std::array<NVVM::MMATypes, 2>{type, type},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
  SmallVector<Value> values;
  for (int64_t i = 0; i < 4; ++i)
    values.push_back(LLVM::ExtractValueOp::create(builder, product, i));
  return values;
}

Value KernelWriter::roundToTf32(Value value) {
  Type type = value.getType();
  if (!type.isF32())
    value = arith::BitcastOp::create(builder, builder.getF32Type(), value);
  value = NVVM::ConvertFloatToTF32Op::create(
      builder, builder.getI32Type(), value, NVVM::FPRoundingMode::RNA,
      NVVM::SaturationMode::NONE, /*relu=*/false);
  return type.isF32() ? arith::BitcastOp::create(builder, type, value) : value;
}

//===--- Memory -----------------------------------------------------------===//

Value KernelWriter::shared(Type element, int64_t count, StringRef name) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  std::string symbol = (function.getName() + "." + name).str();
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(function);
    LLVM::GlobalOp::create(builder, LLVM::LLVMArrayType::get(element, count),
                           /*isConstant=*/false, LLVM::Linkage::Internal,
                           symbol, Attribute(), /*alignment=*/16, kSharedSpace);
  }
  return LLVM::AddressOfOp::create(builder, pointer, symbol);
}

static Value elementAddress(ImplicitLocOpBuilder &builder, Value base,
                            Type type, Value index) {
  return LLVM::GEPOp::create(builder, base.getType(), type, base,
                             ArrayRef<LLVM::GEPArg>{index});
}

Value KernelWriter::loadShared(Value base, Type type, Value index) {
  return LLVM::LoadOp::create(builder, type,
                              elementAddress(builder, base, type, index));
}

Value KernelWriter::loadSharedAs(Value base, Type element, Value index,
                                 Type type) {
  return LLVM::LoadOp::create(builder, type,
                              elementAddress(builder, base, element, index));
}

void KernelWriter::storeShared(Value value, Value base, Value index) {
  LLVM::StoreOp::create(builder, value,
                        elementAddress(builder, base, value.getType(), index));
}

Value KernelWriter::sharedAt(Value base, Type element, Value index) {
  return elementAddress(builder, base, element, index);
}

void KernelWriter::copyToShared(Value target, linalg::GenericOp op,
                                OpOperand &input, const Point &point,
                                Value isInside) {
  constexpr int bytes = 4;
  const Argument &argument =
      arguments[cast<BlockArgument>(input.get()).getArgNumber()];
  Value place = address(
      argument, getIndices(op.getMatchingIndexingMap(&input), op, point));
  // Nothing is read where it is outside, but the address is a valid one.
  place = arith::SelectOp::create(builder, isInside, place, argument.value);
  Value given =
      arith::SelectOp::create(builder, isInside, constant(bytes), constant(0));
  NVVM::CpAsyncOp::create(builder, target, place, bytes,
                          NVVM::LoadCacheModifierKind::CA, given);
}

void KernelWriter::commitCopies() {
  NVVM::CpAsyncCommitGroupOp::create(builder);
}

void KernelWriter::waitForCopies() {
  NVVM::CpAsyncWaitGroupOp::create(builder, builder.getI32IntegerAttr(0));
}

SmallVector<Value> KernelWriter::loadMatrices(Value base, Type element,
                                              Value index) {
  Type i32 = builder.getI32Type();
  auto result = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                                 SmallVector<Type>(4, i32));
  auto shape =
      NVVM::LdStMatrixShapeAttr::get(builder.getContext(), /*m=*/8, /*n=*/8);
  Value loaded = NVVM::LdMatrixOp::create(
      builder, result, elementAddress(builder, base, element, index), 4,
      NVVM::MMALayout::row, shape, NVVM::LdStMatrixEltType::B16);
  SmallVector<Value> words;
  for (int64_t i = 0; i < 4; ++i)
    words.push_back(LLVM::ExtractValueOp::create(builder, loaded, i));
  return words;
}

Value KernelWriter::parts() {
  return function.getArgument(function.getNumArguments() - 1);
}

Value KernelWriter::loadScratch(Type type, Value index) {
  Value scratch = function.getArgument(function.getNumArguments() - 2);
  return LLVM::LoadOp::create(builder, type,
                              elementAddress(builder, scratch, type, index));
}

void KernelWriter::storeScratch(Value value, Value index) {
  Value scratch = function.getArgument(function.getNumArguments() - 2);
  LLVM::StoreOp::create(
      builder, value, elementAddress(builder, scratch, value.getType(), index));
}

Value KernelWriter::address(const Argument &argument, ArrayRef<Value> indices) {
  Value offset = constant(0);
  for (auto [index, stride] : llvm::zip_equal(indices, argument.strides))
    offset = add(offset, mul(index, stride));
  return elementAddress(builder, argument.value, argument.element, offset);
}

Value KernelWriter::load(Value tensor, ArrayRef<Value> indices) {
  const Argument &argument =
      arguments[cast<BlockArgument>(tensor).getArgNumber()];
  return LLVM::LoadOp::create(builder, argument.element,
                              address(argument, indices));
}

void KernelWriter::store(Value value, unsigned number,
                         ArrayRef<Value> indices) {
  LLVM::StoreOp::create(builder, value, address(arguments[number], indices));
}

Value KernelWriter::getScalar(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return arguments[argument.getArgNumber()].value;
  Operation *definer = value.getDefiningOp();
  assert(definer->hasTrait<OpTrait::ConstantLike>() &&
         "a scalar of the kernel");
  return builder.clone(*definer)->getResult(0);
}

} // namespace onnx_aot::gpu_kernel
