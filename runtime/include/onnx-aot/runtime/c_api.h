/*===- c_api.h - C interface of the runtime library ---------------*- C -*-===//
//
// Loads compiled modules and runs them. This header is the manual. C99, C++17.
//
//   OnnxAotError error;
//   OnnxAotLoadedModule *module;
//   OnnxAotSession *session;
//   if (onnxAotModuleLoad("model.so", NULL, &module, &error) ||
//       onnxAotSessionCreate(module, NULL, &session, &error))
//     return fprintf(stderr, "%s\n", error.message), 1;
//   OnnxAotTensor x = {pixels, sizeof pixels, ONNX_AOT_FLOAT32, 4,
//                      {1, 3, 224, 224}};
//   OnnxAotTensor y = {0};                      // the session owns the memory
//   if (onnxAotSessionRun(session, &x, 1, &y, 1, &error))
//     return fprintf(stderr, "%s\n", error.message), 1;
//   use((const float *)y.data, y.dims);         // until the session's next run
//   onnxAotSessionRelease(session);
//   onnxAotModuleRelease(module);
//
// Errors: a function that can fail returns an OnnxAotCode and, if `error` is
// not null, writes the code and one sentence there that names what was found
// and what was expected. A refused call has no effect: no result, no output
// buffer, no state of the session is changed. Nothing aborts the process.
//
// Threads: a loaded module is immutable and may be used by any number of
// threads at once. A session runs one model at a time; a second run while one
// is in progress is refused. Use one session for each concurrent run: sessions
// share the module's weights and the process-wide worker threads.
//
// Results are bit-identical for every number of threads. Floating-point control
// (flush-to-zero, rounding) is the caller's: it is neither set nor changed, and
// the worker threads compute under the caller's setting too.
//
//===----------------------------------------------------------------------===*/
#ifndef ONNX_AOT_RUNTIME_C_API_H
#define ONNX_AOT_RUNTIME_C_API_H

#include "onnx-aot/abi/Abi.h"

/** What the shared library exports. */
#define ONNX_AOT_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/*===--- Errors -----------------------------------------------------------===*/

/** What went wrong, in classes that a program can act on. */
typedef enum OnnxAotCode {
  ONNX_AOT_OK = 0,
  /** The call is wrong (a null, a type, a rank, a size, ...): fix the caller.
   */
  ONNX_AOT_INVALID_ARGUMENT = 1,
  /** The file is not a module that this runtime can run, or its weights file
   *  is not the one that it was compiled with. */
  ONNX_AOT_INVALID_MODULE = 2,
  /** A file could not be read or a thread could not be started. */
  ONNX_AOT_SYSTEM_ERROR = 3,
  ONNX_AOT_OUT_OF_MEMORY = 4,
  /** The model stopped: a tensor's value is outside an operator's domain (an
   *  index out of range, ...). The outputs' contents are unspecified. */
  ONNX_AOT_EXECUTION_FAILED = 5,
  /** The module was compiled for a device, and there is none, or no driver, or
   *  one of another architecture. */
  ONNX_AOT_NO_DEVICE = 6,
  /** The device reported an error; its memory may be lost. */
  ONNX_AOT_DEVICE_FAILED = 7
} OnnxAotCode;

/** Filled by a failing call; lives with the caller, owns nothing. */
typedef struct OnnxAotError {
  int32_t code;       /**< OnnxAotCode */
  char message[1020]; /**< one line of UTF-8, NUL-terminated */
} OnnxAotError;

/** Version of the library, as in "0.1.0". */
ONNX_AOT_API const char *onnxAotVersion(void);

/*===--- Modules ----------------------------------------------------------===*/

/** A module together with its weights. */
typedef struct OnnxAotLoadedModule OnnxAotLoadedModule;

/** Loads a shared object made by onnx-aot-compile. `path` is a file name (never
 *  searched for in the library path). `prefix` selects the module when the file
 *  holds several (`--prefix=`); null takes the only one.
 *
 *  When the weights lie in a file of their own, it must be in the module's
 *  folder; it is mapped read-only and its size and hash are verified. It must
 *  not be modified while the module is loaded. */
ONNX_AOT_API OnnxAotCode onnxAotModuleLoad(const char *path, const char *prefix,
                                           OnnxAotLoadedModule **module,
                                           OnnxAotError *error);

/** Uses a module that is linked into the program: `&<prefix>_module` of the
 *  generated header. `weights_folder` is where its weights file lies; null if
 *  the weights are embedded. */
ONNX_AOT_API OnnxAotCode onnxAotModuleFromLinked(
    const OnnxAotModule *descriptor, const char *weights_folder,
    OnnxAotLoadedModule **module, OnnxAotError *error);

/** Frees the handle; null is allowed. A session keeps its module loaded. */
ONNX_AOT_API void onnxAotModuleRelease(OnnxAotLoadedModule *module);

/** Everything there is to ask about a module: the inputs', outputs' and
 * symbols' names, types and dimensions, the bytes of weights and arena; see
 * Abi.h. Valid while the module is. */
ONNX_AOT_API const OnnxAotModule *
onnxAotModuleDescriptor(const OnnxAotLoadedModule *module);

/** Index of the input, output or symbolic dimension called `name`; -1 if there
 *  is none. Names are exactly those of the ONNX file. */
ONNX_AOT_API int32_t onnxAotModuleFindInput(const OnnxAotLoadedModule *module,
                                            const char *name);
ONNX_AOT_API int32_t onnxAotModuleFindOutput(const OnnxAotLoadedModule *module,
                                             const char *name);
ONNX_AOT_API int32_t onnxAotModuleFindSymbol(const OnnxAotLoadedModule *module,
                                             const char *name);

/** What a run with these values of the symbolic dimensions needs, before
 *  running it. `output_dims` receives the dimensions of all outputs one after
 *  the other (-1 where only a run can tell), `arena_bytes` the scratch memory;
 *  either may be null. */
ONNX_AOT_API OnnxAotCode onnxAotModulePlan(const OnnxAotLoadedModule *module,
                                           const int64_t *symbols,
                                           int32_t num_symbols,
                                           int64_t *output_dims,
                                           uint64_t *arena_bytes,
                                           OnnxAotError *error);

/*===--- Tensors ----------------------------------------------------------===*/

/** A dense row-major tensor in memory that somebody else owns. */
typedef struct OnnxAotTensor {
  /** Aligned to its element. Not written when an input, unless the module says
   *  ONNX_AOT_VALUE_IN_OUT of it: that one holds its new value after the run.
   *  A module with device code also takes device memory here, which it uses in
   *  place. */
  void *data;
  uint64_t bytes; /**< size of the memory at `data` */
  int32_t type;   /**< OnnxAotType */
  int32_t rank;
  int64_t dims[ONNX_AOT_MAX_RANK];
} OnnxAotTensor;

/** Bytes of one element, 0 for a type without a fixed size (strings). */
ONNX_AOT_API uint64_t onnxAotTypeBytes(int32_t type);

/** Name of an element type as in "float32"; "unknown" for no type. */
ONNX_AOT_API const char *onnxAotTypeName(int32_t type);

/*===--- Sessions ---------------------------------------------------------===*/

/** A module with the memory for one run at a time. */
typedef struct OnnxAotSession OnnxAotSession;

/** Number of cores this process may use: its affinity and its cgroup's quota.
 */
ONNX_AOT_API int32_t onnxAotUsableCores(void);

/** Highest value of OnnxAotSessionOptions::threads. */
#define ONNX_AOT_MAX_THREADS 256

typedef struct OnnxAotSessionOptions {
  uint32_t struct_bytes; /**< set by onnxAotSessionOptionsInit */
  int32_t threads;       /**< 1 to ONNX_AOT_MAX_THREADS; usable cores */
  void *arena;           /**< scratch memory for all runs, aligned to
                              ONNX_AOT_ALIGNMENT; null: the session's own */
  uint64_t
      arena_bytes; /**< size of `arena`; a run that needs more is refused */
  /** For modules with device code: the CUstream, of the device's primary
   *  context, that all work goes to. It must outlive the session. Null: one of
   *  the session's own. */
  void *stream;
} OnnxAotSessionOptions;

/** Fills in the defaults: always start from them. */
ONNX_AOT_API void onnxAotSessionOptionsInit(OnnxAotSessionOptions *options);

/** Makes a session; `options` null means the defaults. */
ONNX_AOT_API OnnxAotCode onnxAotSessionCreate(
    OnnxAotLoadedModule *module, const OnnxAotSessionOptions *options,
    OnnxAotSession **session, OnnxAotError *error);

/** Frees a session and the outputs it owns; null is allowed. */
ONNX_AOT_API void onnxAotSessionRelease(OnnxAotSession *session);

/** Runs the model.
 *
 *  `inputs` in the model's order: all fields filled in. Sizes of 0 are legal
 *  (then `data` may be null).
 *
 *  `outputs` in the model's order. An output with `data` null gets memory of
 *  the session, valid until its next run or release. An output with `data` set
 *  is written there if `bytes` suffice; it must not overlap an input, another
 *  output or the arena. `type` is 0 or what the caller expects; `rank` and
 *  `dims` are not read. After a successful run every field is filled in
 *  (`bytes` is then the size of the tensor).
 *
 *  The run is over when this returns, with one exception: if all inputs and
 *  outputs lie in device memory and the session works on the caller's stream,
 *  then the results are there for what follows on that stream, and a failure of
 *  the device is told by the next call that waits for it. */
ONNX_AOT_API OnnxAotCode onnxAotSessionRun(
    OnnxAotSession *session, const OnnxAotTensor *inputs, int32_t num_inputs,
    OnnxAotTensor *outputs, int32_t num_outputs, OnnxAotError *error);

/** Bytes of scratch memory that the session holds now. */
ONNX_AOT_API uint64_t onnxAotSessionArenaBytes(const OnnxAotSession *session);

#ifdef __cplusplus
}
#endif

#endif /* ONNX_AOT_RUNTIME_C_API_H */
