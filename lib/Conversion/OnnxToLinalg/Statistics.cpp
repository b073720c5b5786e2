//===- Statistics.cpp - statistics of normalizations ----------------------===//

#include "Statistics.h"

using namespace mlir;
using namespace onnx_aot;

Value Statistics::call(OpBuilder &b, Location l, ValueRange args,
                       Scalar function) const {
  ScalarBuilder s(b, l, false);
  SmallVector<Value> wide;
  for (Value arg : args)
    wide.push_back(s.convert(arg, computeType, false));
  return function(s, wide);
}

Value Statistics::createMeanOf(ValueRange keptInputs, Scalar element) {
  SmallVector<GenericInput> inputs{x};
  for (Value input : keptInputs)
    inputs.push_back(kept(input));
  Value sum = createReduction(
      builder, loc, sizes, reduced,
      createScalarConstant(builder, loc, 0, computeType), inputs,
      [&](OpBuilder &b, Location l, ValueRange args) {
        ScalarBuilder s(b, l, false);
        return s.add(args.back(), call(b, l, args.drop_back(), element));
      });
  Value count = createReducedCount(builder, loc, sizes, reduced, computeType);
  return mapKept({sum}, computeType, [&](ScalarBuilder &s, ValueRange args) {
    return s.div(args[0], count);
  });
}

Value Statistics::createMean() {
  return createMeanOf({},
                      [](ScalarBuilder &, ValueRange args) { return args[0]; });
}

Value Statistics::createVariance(Value mean) {
  return createMeanOf(mean ? ValueRange(mean) : ValueRange(),
                      [&](ScalarBuilder &s, ValueRange args) {
                        Value d = mean ? s.sub(args[0], args[1]) : args[0];
                        return s.mul(d, d);
                      });
}

Value Statistics::createInverseDeviation(Value variance, double epsilon) {
  return mapKept({variance}, computeType,
                 [&](ScalarBuilder &s, ValueRange args) {
                   Value sum = s.add(args[0], s.like(args[0], epsilon));
                   return s.div(s.like(sum, 1), s.sqrt(sum));
                 });
}

Value Statistics::mapKept(ArrayRef<GenericInput> inputs, Type elementType,
                          Scalar function) {
  return createMap(builder, loc, keptSizes, elementType, inputs,
                   [&](OpBuilder &b, Location l, ValueRange args) {
                     return ScalarBuilder(b, l, false)
                         .convert(call(b, l, args, function), elementType,
                                  false);
                   });
}

Value Statistics::mapAll(ArrayRef<GenericInput> inputs, Type elementType,
                         Scalar function) {
  SmallVector<GenericInput> all{x};
  llvm::append_range(all, inputs);
  return createMap(builder, loc, sizes, elementType, all,
                   [&](OpBuilder &b, Location l, ValueRange args) {
                     return ScalarBuilder(b, l, false)
                         .convert(call(b, l, args, function), elementType,
                                  false);
                   });
}
