/*===- Abi.h - binary interface of a compiled module --------------*- C -*-===//
//
// The one definition of what a compiled module exports and of what it may call
// back. The code generator emits these structures, the runtime library and
// applications that link a generated object read them. C99 and C++17.
//
// A module has no state: weights are read-only, everything a run needs is
// passed to it, so any number of threads may run one module at once. State that
// a run updates, as in training, is an input in the caller's memory.
//
//===----------------------------------------------------------------------===*/
#ifndef ONNX_AOT_ABI_ABI_H
#define ONNX_AOT_ABI_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bumped whenever a structure below changes its meaning or layout. */
#define ONNX_AOT_ABI_VERSION 4

/** Alignment in bytes of the arena and of the weights. */
#define ONNX_AOT_ALIGNMENT 64

/** Highest rank of a tensor at the module's border. */
#define ONNX_AOT_MAX_RANK 16

struct OnnxAotDevice;     /* abi/Device.h */
struct OnnxAotOpCall;     /* abi/CustomOp.h */
struct OnnxAotDeviceCode; /* abi/Device.h */

/** Element types; the values are those of ONNX's TensorProto.DataType. The
 * 8-bit floats and what is smaller take a byte for each element, never two
 * share one: in its low bits lies the element's code, the bits above mean
 * nothing. */
typedef enum OnnxAotType {
  ONNX_AOT_FLOAT32 = 1,
  ONNX_AOT_UINT8 = 2,
  ONNX_AOT_INT8 = 3,
  ONNX_AOT_UINT16 = 4,
  ONNX_AOT_INT16 = 5,
  ONNX_AOT_INT32 = 6,
  ONNX_AOT_INT64 = 7,
  ONNX_AOT_STRING = 8,
  ONNX_AOT_BOOL = 9,
  ONNX_AOT_FLOAT16 = 10,
  ONNX_AOT_FLOAT64 = 11,
  ONNX_AOT_UINT32 = 12,
  ONNX_AOT_UINT64 = 13,
  ONNX_AOT_COMPLEX64 = 14,
  ONNX_AOT_COMPLEX128 = 15,
  ONNX_AOT_BFLOAT16 = 16,
  ONNX_AOT_FLOAT8E4M3FN = 17,
  ONNX_AOT_FLOAT8E4M3FNUZ = 18,
  ONNX_AOT_FLOAT8E5M2 = 19,
  ONNX_AOT_FLOAT8E5M2FNUZ = 20,
  ONNX_AOT_UINT4 = 21,
  ONNX_AOT_INT4 = 22,
  ONNX_AOT_FLOAT4E2M1 = 23,
  ONNX_AOT_FLOAT8E8M0 = 24,
  ONNX_AOT_UINT2 = 25,
  ONNX_AOT_INT2 = 26
} OnnxAotType;

/** An element of a tensor of strings: any bytes, without a zero at the end. A
 *  tensor of them is aligned to 16 bytes. */
typedef struct OnnxAotString {
  const char *data;
  uint64_t size;
} OnnxAotString;

/** Bits of OnnxAotValueInfo::flags. */
typedef enum OnnxAotValueFlag {
  /** An input that the run updates in place: state, such as a parameter. Its
   *  memory must be writable and overlap nothing else; afterwards it holds the
   *  new value, or anything if the run did not return ONNX_AOT_RUN_OK. */
  ONNX_AOT_VALUE_IN_OUT = 1,
  /** A sequence of tensors is two values that follow each other: all elements
   *  one after the other (rank 1), under the sequence's name, ... */
  ONNX_AOT_VALUE_ELEMENTS = 2,
  /** ... and NAME.shapes, int64, with a row for each entry: its rank, then
   * eight sizes, which are 1 from the rank on. */
  ONNX_AOT_VALUE_SHAPES = 4,
  /** NAME.present, a bool of rank 0: whether the optional NAME, which follows
   * as one value or as a sequence's two, is there. Its values mean nothing
   * else. */
  ONNX_AOT_VALUE_PRESENT = 8
} OnnxAotValueFlag;

/** A graph input or output as the model declares it.
 *
 *  dims[i] >= 0 is a fixed size; dims[i] < 0 is symbolic. For an input it is
 *  -(1 + s), where s indexes OnnxAotModule::symbols: equal symbols mean equal
 *  sizes. For an output every symbolic dimension is -1 and its size comes from
 *  OnnxAotModule::plan. */
typedef struct OnnxAotValueInfo {
  const char *name; /**< exactly as in the ONNX file (may be any UTF-8) */
  int32_t type;     /**< OnnxAotType */
  int32_t rank;
  const int64_t *dims;
  uint32_t flags; /**< OnnxAotValueFlag */
  uint32_t reserved;
} OnnxAotValueInfo;

/** Body of a parallel loop: performs the tasks begin <= i < end. */
typedef void (*OnnxAotTask)(void *context, int64_t begin, int64_t end);

/** What the caller lends a running module. Every pointer may be null: then
 *  loops run on the calling thread, and a module that needs the missing
 *  service stops with ONNX_AOT_RUN_NO_ALLOCATOR. */
typedef struct OnnxAotRuntime {
  void *user; /**< handed to each function below */
  /** Runs `task` over 0 <= i < count in any split, returns when all is done.
   *  Results do not depend on the split. */
  void (*parallel_for)(void *user, OnnxAotTask task, void *context,
                       int64_t count);
  /** Memory whose size depends on tensor values; null on failure. */
  void *(*allocate)(void *user, uint64_t bytes);
  void (*release)(void *user, void *memory);
  /** Called once for each output whose shape depends on tensor values, with
   *  its final shape; returns where to write it, or null on failure. */
  void *(*allocate_output)(void *user, int32_t index, int32_t rank,
                           const int64_t *dims);
  /** Receives the reason before `run` returns ONNX_AOT_RUN_FAILED or
   *  ONNX_AOT_RUN_BAD_SHAPE. */
  void (*fail)(void *user, const char *message);
  /** Needed by modules with device code (abi/Device.h), else null. */
  const struct OnnxAotDevice *device;
  /** Functions on strings (OnnxAotTextFunction), for modules with operators
   * that make or read them. What an output's strings refer to stays valid for
   * as long as the caller wants the outputs. Not 0 ends the run. */
  int32_t (*text)(void *user, int32_t function,
                  const struct OnnxAotOpCall *call);
} OnnxAotRuntime;

/** What `plan` and `run` return. */
typedef enum OnnxAotRunStatus {
  ONNX_AOT_RUN_OK = 0,
  ONNX_AOT_RUN_FAILED = 1, /**< a value is outside the operator's domain */
  ONNX_AOT_RUN_NO_ALLOCATOR = 2, /**< allocate missing or out of memory */
  ONNX_AOT_RUN_BAD_SHAPE = 3     /**< symbol values the model cannot take */
} OnnxAotRunStatus;

/** Descriptor of a compiled module, exported as `<prefix>_module`. */
typedef struct OnnxAotModule {
  uint32_t abi_version;
  uint32_t struct_bytes; /**< sizeof(OnnxAotModule) when it was compiled */
  const char *name;      /**< graph name of the model */
  const char *target;    /**< triple, cpu, features (a,b) it needs */
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_symbols;
  int32_t reserved;
  const OnnxAotValueInfo *inputs;
  const OnnxAotValueInfo *outputs;
  const char *const *symbols; /**< names of the symbolic dimensions */
  uint64_t weight_bytes;
  const void *weights;      /**< null when they lie in weights_file */
  const char *weights_file; /**< file name beside the module, or null */
  uint64_t weights_hash;    /**< XXH3-64 of the weight bytes */
  uint64_t arena_bytes;     /**< exact when num_symbols is 0; else use plan */
  /** From the symbols' values: each output's dims, one after the other, in
   *  output_dims (-1 where they depend on tensor values), and the arena size.
   *  Either result pointer may be null. */
  int32_t (*plan)(const int64_t *symbols, int64_t *output_dims,
                  uint64_t *arena_bytes);
  /** Runs the model. Inputs and outputs are dense, row-major and aligned to
   *  their element type; arena is ONNX_AOT_ALIGNMENT-aligned; weights is the
   *  module's own or the loaded file. Outputs must not overlap anything, nor
   *  may inputs that are updated in place (ONNX_AOT_VALUE_IN_OUT).
   *  An output whose shape depends on values is null here and is asked for
   *  through allocate_output. */
  int32_t (*run)(const OnnxAotRuntime *runtime, const void *weights,
                 const int64_t *symbols, const void *const *inputs,
                 void *const *outputs, void *arena);
  /** Kernels for a device (abi/Device.h); null in modules for the CPU. */
  const struct OnnxAotDeviceCode *device_code;
} OnnxAotModule;

#ifdef __cplusplus
}
#endif

#endif /* ONNX_AOT_ABI_ABI_H */
