//===- ReshapeUtils.cpp - views of the same elements ----------------------===//

#include "ReshapeUtils.h"
#include "Generate.h"

#include "onnx-aot/Dialect/Onnx/IR/ShapeInference.h"

using namespace mlir;
using onnx_aot::onnx::Dim;

namespace onnx_aot {

/// Dimensions [fromBegin, fromEnd) of the one shape are [toBegin, toEnd) of the
/// other.
struct Group {
  int64_t fromBegin, fromEnd, toBegin, toEnd;
};

/// Whether a is b times something: constants, or symbols that cancel.
static bool isMultiple(Dim a, Dim b) {
  if (a.isStatic() && b.isStatic())
    return a.getStatic() > b.getStatic();
  Dim quotient = onnx::divideExactly(a, b);
  return quotient.isKnown() && quotient * b == a;
}

/// The smallest groups of equal size. What cannot be proved ends up in the last
/// group: the whole is equal by the op's contract.
static SmallVector<Group> getGroups(MLIRContext *context, ArrayRef<Dim> from,
                                    ArrayRef<Dim> to) {
  SmallVector<Group> groups;
  int64_t fromRank = from.size(), toRank = to.size(), i = 0, j = 0;
  while (i < fromRank && j < toRank) {
    Group group{i, i + 1, j, j + 1};
    Dim left = from[i++], right = to[j++];
    while (left != right) {
      if (isMultiple(left, right) && j < toRank) {
        right = right * to[j++];
      } else if (isMultiple(right, left) && i < fromRank) {
        left = left * from[i++];
      } else {
        i = fromRank;
        j = toRank;
        break;
      }
    }
    group.fromEnd = i;
    group.toEnd = j;
    groups.push_back(group);
  }
  if (!groups.empty()) {
    // Trailing dimensions of size 1.
    groups.back().fromEnd = fromRank;
    groups.back().toEnd = toRank;
  }
  return groups;
}

Value createCast(OpBuilder &builder, Location loc, Value tensor, Type type) {
  return tensor.getType() == type
             ? tensor
             : tensor::CastOp::create(builder, loc, type, tensor).getResult();
}

static int64_t getProductSize(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (ShapedType::isDynamic(size))
      return ShapedType::kDynamic;
    product *= size;
  }
  return product;
}

/// Between rank 0 and a shape of ones.
static Value createScalarReshape(OpBuilder &builder, Location loc, Value tensor,
                                 RankedTensorType toType) {
  Type elementType = toType.getElementType();
  int64_t fromRank = cast<RankedTensorType>(tensor.getType()).getRank();
  SmallVector<ReassociationIndices> none;
  if (fromRank > 0) {
    SmallVector<int64_t> ones(fromRank, 1);
    tensor = createCast(builder, loc, tensor,
                        RankedTensorType::get(ones, elementType));
    return tensor::CollapseShapeOp::create(builder, loc, toType, tensor, none);
  }
  if (toType.getRank() == 0)
    return tensor;
  SmallVector<int64_t> ones(toType.getRank(), 1);
  Value expanded = tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(ones, elementType), tensor, none);
  return createCast(builder, loc, expanded, toType);
}

/// A copy under a shape of which no view can be made: an expansion has one
/// run-time size per group at most.
static Value copyToShape(OpBuilder &builder, Location loc, Value tensor,
                         ArrayRef<OpFoldResult> sizes, Type type) {
  Value flat = createFlat(builder, loc, tensor);
  SmallVector<Value> strides;
  for (OpFoldResult size : sizes)
    strides.push_back(getValueOrCreateConstantIndexOp(builder, loc, size));
  Value copy = createGenerated(
      builder, loc, sizes, getElementTypeOrSelf(type), {},
      [&](OpBuilder &b, Location l, ArrayRef<Value> at, ValueRange) -> Value {
        Value position = arith::ConstantIndexOp::create(b, l, 0);
        for (auto [index, size] : llvm::zip_equal(at, strides))
          position = arith::AddIOp::create(
              b, l, arith::MulIOp::create(b, l, position, size), index);
        return tensor::ExtractOp::create(b, l, flat, position);
      });
  return createCast(builder, loc, copy, type);
}

Value createReshape(OpBuilder &builder, Location loc, Value tensor,
                    ArrayRef<Dim> from, ArrayRef<Dim> to,
                    ArrayRef<OpFoldResult> sizes) {
  auto fromType = cast<RankedTensorType>(tensor.getType());
  Type elementType = fromType.getElementType();
  SmallVector<int64_t> toSizes;
  SmallVector<OpFoldResult> mixed;
  for (auto [dim, size] : llvm::zip_equal(to, sizes)) {
    bool isStatic = dim.isStatic();
    toSizes.push_back(isStatic ? dim.getStatic() : ShapedType::kDynamic);
    mixed.push_back(isStatic
                        ? OpFoldResult(builder.getIndexAttr(dim.getStatic()))
                        : getValueOrCreateConstantIndexOp(builder, loc, size));
  }
  auto toType = RankedTensorType::get(toSizes, elementType);
  if (fromType == toType && llvm::equal(from, to))
    return tensor;
  // A shape tensor stays a list of scalars.
  if (auto made = tensor.getDefiningOp<tensor::FromElementsOp>())
    if (toType.hasStaticShape())
      return tensor::FromElementsOp::create(
          builder, loc, toType, SmallVector<Value>(made.getElements()));
  if (llvm::is_contained(toSizes, 0) ||
      llvm::is_contained(fromType.getShape(), 0))
    return createCast(builder, loc,
                      createEmpty(builder, loc, mixed, elementType), toType);
  if (from.empty() || to.empty())
    return createScalarReshape(builder, loc, tensor, toType);
  SmallVector<Group> groups = getGroups(builder.getContext(), from, to);
  if (llvm::any_of(groups, [&](const Group &group) {
        return llvm::count(ArrayRef(toSizes).slice(group.toBegin,
                                                   group.toEnd - group.toBegin),
                           ShapedType::kDynamic) > 1;
      }))
    return copyToShape(builder, loc, tensor, mixed, toType);
  // The form in the middle: one dimension per group, static where its part of
  // the result is, since an expansion must be static on both sides or neither.
  SmallVector<int64_t> collapsed, middle;
  SmallVector<ReassociationIndices> fromGroups, toGroups;
  for (const Group &group : groups) {
    ArrayRef<int64_t> fromSizes = fromType.getShape().slice(
        group.fromBegin, group.fromEnd - group.fromBegin);
    ArrayRef<int64_t> part =
        ArrayRef(toSizes).slice(group.toBegin, group.toEnd - group.toBegin);
    collapsed.push_back(getProductSize(fromSizes));
    middle.push_back(getProductSize(part));
    fromGroups.push_back(
        llvm::to_vector<2>(llvm::seq<int64_t>(group.fromBegin, group.fromEnd)));
    toGroups.push_back(
        llvm::to_vector<2>(llvm::seq<int64_t>(group.toBegin, group.toEnd)));
  }
  Value result = tensor;
  if (fromType.getRank() != static_cast<int64_t>(groups.size()))
    result = tensor::CollapseShapeOp::create(
        builder, loc, RankedTensorType::get(collapsed, elementType), result,
        fromGroups);
  result = createCast(builder, loc, result,
                      RankedTensorType::get(middle, elementType));
  if (to.size() != groups.size())
    result = tensor::ExpandShapeOp::create(builder, loc, toType, result,
                                           toGroups, mixed);
  return result;
}

/// Dimensions of a converted tensor: constants and nothing else.
static onnx::Shape getStaticDims(MLIRContext *context,
                                 ArrayRef<int64_t> sizes) {
  onnx::Shape dims;
  for (int64_t size : sizes)
    dims.push_back(ShapedType::isDynamic(size) ? Dim::unknown()
                                               : Dim::constant(context, size));
  return dims;
}

Value createReshape(OpBuilder &builder, Location loc, Value tensor,
                    ArrayRef<int64_t> shape) {
  MLIRContext *context = builder.getContext();
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : shape)
    sizes.push_back(builder.getIndexAttr(size));
  return createReshape(
      builder, loc, tensor,
      getStaticDims(context,
                    cast<RankedTensorType>(tensor.getType()).getShape()),
      getStaticDims(context, shape), sizes);
}

Value createFlat(OpBuilder &builder, Location loc, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getRank() == 1)
    return tensor;
  if (type.getRank() == 0)
    return createReshape(builder, loc, tensor, {1});
  ReassociationIndices all =
      llvm::to_vector<2>(llvm::seq<int64_t>(0, type.getRank()));
  return tensor::CollapseShapeOp::create(builder, loc, tensor,
                                         ArrayRef<ReassociationIndices>(all));
}

Value createUnflat(OpBuilder &builder, Location loc, Value tensor,
                   ArrayRef<OpFoldResult> sizes) {
  MLIRContext *context = builder.getContext();
  onnx::Shape to;
  for (OpFoldResult size : sizes) {
    std::optional<int64_t> constant = getConstantIntValue(size);
    to.push_back(constant ? Dim::constant(context, *constant) : Dim::unknown());
  }
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tensor.getType()).getShape();
  return createReshape(builder, loc, tensor, getStaticDims(context, shape), to,
                       sizes);
}

Value createTransposed(OpBuilder &builder, Location loc, Value tensor,
                       ArrayRef<int64_t> perm) {
  SmallVector<OpFoldResult> from = getRuntimeSizes(builder, loc, tensor), to;
  for (int64_t axis : perm)
    to.push_back(from[axis]);
  Value empty =
      createEmpty(builder, loc, to,
                  cast<RankedTensorType>(tensor.getType()).getElementType());
  return linalg::TransposeOp::create(builder, loc, tensor, empty, perm)
      ->getResult(0);
}

bool isEmptySlice(ArrayRef<OpFoldResult> sizes) {
  return llvm::any_of(
      sizes, [](OpFoldResult size) { return isConstantIntValue(size, 0); });
}

Value createSlice(OpBuilder &builder, Location loc, Value tensor,
                  ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
                  ArrayRef<OpFoldResult> strides) {
  // What starts at the end has no elements; so much is known of a constant
  // start.
  auto startsAtEnd = [&](auto pair) {
    auto [offset, size] = pair;
    std::optional<int64_t> constant = getConstantIntValue(offset);
    return constant && !ShapedType::isDynamic(size) && *constant >= size;
  };
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tensor.getType()).getShape();
  if (isEmptySlice(sizes) ||
      llvm::any_of(llvm::zip_equal(offsets, shape), startsAtEnd))
    return createEmpty(builder, loc, sizes,
                       getElementTypeOrSelf(tensor.getType()));
  return tensor::ExtractSliceOp::create(builder, loc, tensor, offsets, sizes,
                                        strides);
}

} // namespace onnx_aot
