/*===- Training.h - binary interface of a compiled training module -*- C
-*-===//
//
// A training module is a few programs, each an OnnxAotModule, that share the
// model's state: parameters, gradients, optimizer slots. The state is the
// caller's memory; every program says which of its inputs and outputs is which
// piece of it. What a program updates is an input of it, flagged
// ONNX_AOT_VALUE_IN_OUT, and no output: the new value is in the same memory
// after the run. Bindings may be in any order; a program has only those it
needs.
// Exported as `<prefix>_training`. C99 and C++17.
//
//===----------------------------------------------------------------------===*/
#ifndef ONNX_AOT_ABI_TRAINING_H
#define ONNX_AOT_ABI_TRAINING_H

#include "onnx-aot/abi/Abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What an input or output of a program stands for. */
typedef enum OnnxAotRole {
  /** Input or target of the model, or one of its outputs. index: position among
   *  the values that the caller of a step gives or gets. */
  ONNX_AOT_ROLE_USER = 0,
  /** State of the model. index: position in OnnxAotTraining::parameters.
   *  In-out where the program updates it. */
  ONNX_AOT_ROLE_PARAMETER = 1,
  /** Gradient of parameter `index`, of its shape and type; in-out in the
   *  training program: accumulated over steps. */
  ONNX_AOT_ROLE_GRADIENT = 2,
  /** Optimizer state number `slot` of parameter `index`; in-out. */
  ONNX_AOT_ROLE_SLOT = 3,
  /** bool scalar: false overwrites the gradients, true adds to them. */
  ONNX_AOT_ROLE_ACCUMULATE = 4,
  /** float scalar. */
  ONNX_AOT_ROLE_LEARNING_RATE = 5,
  /** int64 scalar: number of this update, counted from 1. */
  ONNX_AOT_ROLE_STEP = 6,
  /** int64[2]: the seed and the number of the training step, counted from 0:
   *  all that random operators depend on. */
  ONNX_AOT_ROLE_SEED = 7,
  /** float scalar: factor of the loss before the backward pass. */
  ONNX_AOT_ROLE_LOSS_SCALE = 8,
  /** float scalar: factor of the gradients before clipping and the update
   *  (1 / loss scale, 1 / number of accumulated steps for a mean). */
  ONNX_AOT_ROLE_GRADIENT_SCALE = 9,
  /** Output: the loss, as --loss reduces it. */
  ONNX_AOT_ROLE_LOSS = 10,
  /** Output, float scalar: norm of all gradients before clipping. */
  ONNX_AOT_ROLE_GRADIENT_NORM = 11,
  /** Output, bool scalar: false when a gradient was not finite and the update
   *  left all state as it was. */
  ONNX_AOT_ROLE_UPDATED = 12
} OnnxAotRole;

/** Which piece of state an input or output is; unused fields are -1. */
typedef struct OnnxAotBinding {
  int32_t role; /**< OnnxAotRole */
  int32_t index;
  int32_t slot;
} OnnxAotBinding;

/** One program: bindings[i] belongs to module->inputs[i] or outputs[i]. */
typedef struct OnnxAotProgram {
  const OnnxAotModule *module; /**< null: the module has no such program */
  const OnnxAotBinding *inputs;
  const OnnxAotBinding *outputs;
} OnnxAotProgram;

typedef enum OnnxAotParameterKind {
  ONNX_AOT_PARAMETER_TRAINABLE = 0, /**< has a gradient and optimizer slots */
  ONNX_AOT_PARAMETER_FROZEN = 1,    /**< read only */
  ONNX_AOT_PARAMETER_STATE =
      2 /**< written by the training program: running statistics */
} OnnxAotParameterKind;

/** One tensor of the model's state. */
typedef struct OnnxAotParameterInfo {
  const char *name; /**< the initializer's name in the ONNX file */
  int32_t type;     /**< OnnxAotType */
  int32_t rank;
  const int64_t *dims;
  int32_t kind;  /**< OnnxAotParameterKind */
  int32_t group; /**< parameter group of the optimizer; -1 if not trainable */
} OnnxAotParameterInfo;

/** A weight W that is not trained and its low-rank update: the model computes
 *  as if W were W + scale * b a, of the parameters a (rank x in) and
 *  b (out x rank). An export writes that sum in W's place. */
typedef struct OnnxAotAdapter {
  const char *weight; /**< the initializer's name in the ONNX file */
  int32_t a, b;       /**< positions in OnnxAotTraining::parameters */
  int32_t transposed; /**< not 0: W lies in x out, else out x in */
  int32_t reserved;
  double scale;
} OnnxAotAdapter;

/** Descriptor of a training module. */
typedef struct OnnxAotTraining {
  uint32_t abi_version;
  uint32_t struct_bytes; /**< sizeof(OnnxAotTraining) when it was compiled */
  const char *name;
  const char *loss;      /**< as given to --loss */
  const char *optimizer; /**< as given to --optimizer, defaults filled in */
  /** XXH3-128 of what a checkpoint must agree with: parameters' names, types
   *  and shapes, and the graph's operators. */
  uint64_t fingerprint[2];
  int32_t num_parameters;
  int32_t num_slots;
  const OnnxAotParameterInfo *parameters;
  const char *const *slots; /**< names of the optimizer state: "exp_avg", ... */
  /** Names of the values that the caller of a step gives: the model's inputs,
   *  then the targets that the loss added. */
  int32_t num_inputs;
  int32_t num_targets; /**< how many of them, the last ones, are targets */
  const char *const *inputs;
  OnnxAotProgram train;  /**< forward, loss, backward; gradients accumulated */
  OnnxAotProgram eval;   /**< forward and loss as in inference */
  OnnxAotProgram update; /**< clipping and the optimizer's step */
  /** Forward, backward and update in one, without gradient buffers; null where
   *  clipping by norm or accumulation needs the whole gradient. */
  OnnxAotProgram fused;
  /** The model alone, as in inference: neither loss nor targets. Its inputs are
   *  the model's in their order, then parameters; it updates nothing. */
  OnnxAotProgram infer;
  /** The ONNX file that was compiled, where the data of initializers that are
   *  parameters may be left out: what an export fills in. Null: not kept, then
   *  the exporting caller gives the file. */
  const void *model;
  uint64_t model_bytes;
  const OnnxAotAdapter *adapters;
  int32_t num_adapters;
  int32_t reserved;
} OnnxAotTraining;

#ifdef __cplusplus
}
#endif

#endif /* ONNX_AOT_ABI_TRAINING_H */
