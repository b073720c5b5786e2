//===- Slices.cpp - operands of products in shared memory -----------------===//

#include "Slices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace onnx_aot::gpu_kernel {

/// The first architecture that copies to shared memory by itself.
static constexpr unsigned kArchitecture = 80;

/// One operand's element at a point.
static Value evaluate(KernelWriter &w, const Product &product, const Side &side,
                      const Point &point) {
  IRMapping mapping;
  w.bindInputs(product.op, point, mapping, [&](OpOperand &input) {
    return llvm::is_contained(side.inputs, &input);
  });
  w.evaluateBody(product.op, point, mapping,
                 [&](Operation *op) { return !side.ops.contains(op); });
  return w.lookup(mapping, side.value);
}

Slices::Slices(KernelWriter &writer, const Product &product, const Form &form)
    : w(writer), product(product), form(form) {
  rows = w.shared(product.rows.value.getType(), countElements(), "rows");
  columns =
      w.shared(product.columns.value.getType(), countElements(), "columns");
}

Slices::Slices(KernelWriter &writer, const Product &product, const Form &form,
               Value allRows, const Slices &others)
    : w(writer), product(product), form(form), allRows(allRows) {
  Type type = product.columns.value.getType();
  columns = others.product.columns.value.getType() == type &&
                    others.countElements() >= countElements()
                ? others.columns
                : w.shared(type, countElements(), "others");
}

bool Slices::isCopied(const Side &side) const {
  // Elements of 4 bytes are what can be copied one by one.
  return w.analysis().getArchitecture() >= kArchitecture &&
         isa<BlockArgument>(side.value) &&
         isa<TensorType>(side.inputs.front()->get().getType()) &&
         side.value.getType().getIntOrFloatBitWidth() == 32;
}

bool Slices::isDoubled() const {
  return (!allRows && isCopied(product.rows)) || isCopied(product.columns);
}

Value Slices::getSlice(const Side &side, Value memory, Value stage) {
  return w.sharedAt(memory, side.value.getType(),
                    w.mul(stage, w.constant(form.elements)));
}

Value Slices::getRows(const TilePart &part, Value first, Value stage) {
  if (!allRows)
    return getSlice(product.rows, rows, stage);
  Value number = w.div(w.sub(first, part.first), w.constant(form.depth));
  return getSlice(product.rows, allRows, number);
}

void Slices::load(const Side &side, const Point &at, Value begin, Value first,
                  Value slice) {
  Value count = w.product(side.dims), end = w.product(product.depth);
  // Neighbouring threads read neighbouring elements.
  int64_t fast = side.isDeepest ? form.depth : form.lines;
  Value fastIndex = w.rem(w.threadIndex(), w.constant(fast));
  Value slowIndex = w.div(w.threadIndex(), w.constant(fast));
  int64_t slowSteps = form.threads / fast;
  Type type = side.value.getType();
  Value zero = arith::ConstantOp::create(
      w.b(), cast<TypedAttr>(w.b().getZeroAttr(type)));
  w.loop(
      w.constant(0), w.constant(form.lines * form.depth / form.threads),
      w.constant(1), {}, [&](Value step, ValueRange) {
        Value slow = w.add(slowIndex, w.mul(step, w.constant(slowSteps)));
        Value k = side.isDeepest ? fastIndex : slow;
        Value line = side.isDeepest ? slow : fastIndex;
        Value lineIndex = w.add(begin, line), depthIndex = w.add(first, k);
        Value isInside =
            w.both(w.less(lineIndex, count), w.less(depthIndex, end));
        Value place = w.add(w.mul(line, w.constant(form.lineStride)),
                            w.mul(k, w.constant(form.depthStride)));
        auto getPoint = [&] {
          Point point = at;
          w.delinearize(lineIndex, side.dims, point);
          w.delinearize(depthIndex, product.depth, point);
          return point;
        };
        if (isCopied(side))
          w.copyToShared(w.sharedAt(slice, type, place), product.op,
                         *side.inputs.front(), getPoint(), isInside);
        else
          w.storeShared(
              w.choose(isInside, zero,
                       [&] { return evaluate(w, product, side, getPoint()); }),
              slice, place);
        return SmallVector<Value>();
      });
}

void Slices::load(const Point &point, const TilePart &part, Value first,
                  Value stage) {
  if (!allRows)
    load(product.rows, point, part.row, first,
         getSlice(product.rows, rows, stage));
  load(product.columns, point, part.column, first,
       getSlice(product.columns, columns, stage));
}

SmallVector<Value> Slices::sumUp(const Point &point, const TilePart &part,
                                 SmallVector<Value> sums, Multiply multiply) {
  Value zero = w.constant(0), one = w.constant(1),
        depth = w.constant(form.depth);
  if (!isDoubled())
    return w.loop(part.first, part.end, depth, sums,
                  [&](Value first, ValueRange carried) {
                    // Nobody reads the slice of before any longer.
                    w.barrier();
                    load(point, part, first, zero);
                    w.barrier();
                    return multiply(carried, getRows(part, first, zero),
                                    columns);
                  });

  auto begin = [&](Value first, Value stage) {
    w.when(w.less(first, part.end), [&] {
      load(point, part, first, stage);
      w.commitCopies();
    });
  };
  // Nobody reads the last slice of the tile of before any longer.
  w.barrier();
  begin(part.first, zero);
  sums.push_back(zero);
  sums = w.loop(part.first, part.end, depth, sums,
                [&](Value first, ValueRange carried) {
                  Value stage = carried.back(), other = w.sub(one, stage);
                  // Then all have what they copied, and nobody reads the slice
                  // of before any longer.
                  w.waitForCopies();
                  w.barrier();
                  begin(w.add(first, depth), other);
                  SmallVector<Value> next =
                      multiply(carried.drop_back(), getRows(part, first, stage),
                               getSlice(product.columns, columns, stage));
                  next.push_back(other);
                  return next;
                });
  sums.pop_back();
  return sums;
}

} // namespace onnx_aot::gpu_kernel
