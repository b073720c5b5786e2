/*===- CustomOp.h - operators that a user writes ------------------*- C -*-===//
//
// What a function that computes an operator of a user's own domain is given
// (docs/CustomOps.md). C99 and C++17.
//
//===----------------------------------------------------------------------===*/
#ifndef ONNX_AOT_ABI_CUSTOMOP_H
#define ONNX_AOT_ABI_CUSTOMOP_H

#include "onnx-aot/abi/Abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A tensor: dense, row-major, aligned to its element. An input that the node
 *  leaves out has no data, type 0 and rank 0. */
typedef struct OnnxAotOpTensor {
  void *data;    /**< inputs and attributes must not be written */
  int64_t *dims; /**< `rank` sizes */
  int32_t type;  /**< OnnxAotType */
  int32_t rank;
} OnnxAotOpTensor;

/** An attribute of the node as a tensor: FLOAT, INT and STRING of rank 0, their
 *  lists of rank 1 (float32, int64, and OnnxAotString). */
typedef struct OnnxAotOpAttribute {
  const char *name;
  OnnxAotOpTensor value;
} OnnxAotOpAttribute;

/** One call. All of it is valid until the function returns. */
typedef struct OnnxAotOpCall {
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_attributes;
  int32_t reserved;
  const OnnxAotOpTensor *inputs;
  /** A function that computes writes `data`, all of it; sizes are decided. A
   *  shape function writes `dims`; there is no data yet. */
  const OnnxAotOpTensor *outputs;
  const OnnxAotOpAttribute *attributes;
  /** What the run's caller lends, or null. */
  const OnnxAotRuntime *runtime;
} OnnxAotOpCall;

/** Returns 0; anything else ends the run with ONNX_AOT_RUN_FAILED. */
typedef int32_t (*OnnxAotOp)(const OnnxAotOpCall *call);

/** What OnnxAotRuntime::text computes: attributes are those of ONNX's
 * operators. A function on `_SHAPE` writes the outputs' sizes. */
typedef enum OnnxAotTextFunction {
  ONNX_AOT_TEXT_CONCAT = 0, /**< StringConcat of inputs of one shape */
  ONNX_AOT_TEXT_SPLIT_SHAPE = 1,
  ONNX_AOT_TEXT_SPLIT = 2, /**< StringSplit */
  ONNX_AOT_TEXT_NORMALIZE_SHAPE = 3,
  ONNX_AOT_TEXT_NORMALIZE = 4, /**< StringNormalizer */
  ONNX_AOT_TEXT_PARSE = 5,     /**< Cast from strings to the output's type */
  ONNX_AOT_TEXT_FORMAT = 6     /**< Cast to strings */
} OnnxAotTextFunction;

#ifdef __cplusplus
}
#endif

#endif /* ONNX_AOT_ABI_CUSTOMOP_H */
