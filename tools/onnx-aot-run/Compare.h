//===- Compare.h - how far two tensors are apart ---------------*- C++ -*-===//
#ifndef ONNX_AOT_TOOLS_RUN_COMPARE_H
#define ONNX_AOT_TOOLS_RUN_COMPARE_H

#include "Npy.h"

namespace onnx_aot::run {

/// An element is inside when |found - expected| <= atol + rtol * |expected|, or
/// both are NaN, or both are the same infinity. Integers and bools have no
/// relative tolerance: |found - expected| <= atol.
struct Tolerance {
  double rtol = 1e-4;
  double atol = 1e-5;
};

/// The distance of one output from what was expected.
struct Difference {
  /// Type or shape differ: a sentence; nothing else is then filled in.
  std::string mismatch;
  double maxAbs = 0;   ///< infinite when only one is NaN, or infinities differ
  double maxRel = 0;   ///< of the elements that are expected not to be 0
  uint64_t maxUlp = 0; ///< representable numbers apart; UINT64_MAX as above
  double scale = 0;    ///< largest finite |expected|
  int64_t elements = 0;
  int64_t outside = 0; ///< elements outside the tolerance
  int64_t worst = 0;   ///< flat index of the element with maxAbs
  double worstFound = 0, worstExpected = 0;

  bool ok() const { return mismatch.empty() && outside == 0; }
};

/// Whether elements of this type are codes of at most a byte that numpy lacks.
bool isNarrow(int32_t type);

/// Compares; types and shapes must be the same (bfloat16 may be expected as
/// uint16, numpy's stand-in, and codes of at most a byte as uint8).
Difference compare(const OnnxAotTensor &found, const Tensor &expected,
                   const Tolerance &tolerance);

/// Element `index` of a tensor as a number; a complex one has two each.
double elementAsDouble(int32_t type, const void *data, int64_t index);

} // namespace onnx_aot::run

#endif // ONNX_AOT_TOOLS_RUN_COMPARE_H
