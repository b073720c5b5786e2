//===- LinearIndex.cpp - indices as sums of loop variables ----------------===//

#include "LinearIndex.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace onnx_aot::cpu {

bool LinearIndex::operator==(const LinearIndex &other) const {
  return constant == other.constant && lane == other.lane &&
         terms.size() == other.terms.size() &&
         llvm::all_of(terms, [&](auto &term) {
           return llvm::is_contained(other.terms, term);
         });
}

LinearIndex LinearIndex::operator+(const LinearIndex &other) const {
  LinearIndex sum = *this;
  for (auto [value, coefficient] : other.terms) {
    auto *place = llvm::find_if(
        sum.terms, [v = value](auto &term) { return term.first == v; });
    if (place == sum.terms.end())
      sum.terms.push_back({value, coefficient});
    else if ((place->second += coefficient) == 0)
      sum.terms.erase(place);
  }
  sum.constant += other.constant;
  sum.lane += other.lane;
  return sum;
}

LinearIndex LinearIndex::operator+(int64_t offset) const {
  LinearIndex sum = *this;
  sum.constant += offset;
  return sum;
}

LinearIndex LinearIndex::operator*(int64_t factor) const {
  if (factor == 0)
    return of(0);
  LinearIndex product = *this;
  for (auto &term : product.terms)
    term.second *= factor;
  product.constant *= factor;
  product.lane *= factor;
  return product;
}

static LinearIndex withoutConstant(LinearIndex index) {
  index.constant = 0;
  return index;
}

std::optional<LinearIndex> evaluate(AffineExpr expr, ArrayRef<LinearIndex> dims,
                                    DivideFn divide) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return LinearIndex::of(constant.getValue());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<LinearIndex> lhs = evaluate(binary.getLHS(), dims, divide);
  std::optional<LinearIndex> rhs = evaluate(binary.getRHS(), dims, divide);
  if (!lhs || !rhs)
    return std::nullopt;
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return *lhs + *rhs;
  case AffineExprKind::Mul:
    if (rhs->isConstant())
      return *lhs * rhs->constant;
    if (lhs->isConstant())
      return *rhs * lhs->constant;
    return std::nullopt;
  case AffineExprKind::FloorDiv:
    // One point: exact. A vector starts at a multiple of its length, and so
    // does the panel it lies in: its constant part is divided by itself.
    if (!lhs->lane)
      return divide(*lhs, rhs->constant, false);
    return divide(withoutConstant(*lhs), rhs->constant, false) +
           lhs->constant / rhs->constant;
  case AffineExprKind::Mod: {
    if (!lhs->lane)
      return divide(*lhs, rhs->constant, true);
    LinearIndex rest = divide(withoutConstant(*lhs), rhs->constant, true) +
                       lhs->constant % rhs->constant;
    rest.lane = lhs->lane;
    return rest;
  }
  default:
    return std::nullopt;
  }
}

} // namespace onnx_aot::cpu
