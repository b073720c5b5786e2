//===- Trainer.h - trains a model ------------------------------*- C++ -*-===//
//
// The loop of a training:
//
//   Expected<TrainingModule> module = TrainingModule::load("net.so");
//   Expected<Trainer> trainer = Trainer::create(*module);
//   trainer->load("net.safetensors");
//   trainer->setSchedule("cosine:T_max=1000");
//   for (...) {
//     trainer->step(inputs, numInputs, outputs, 1);   // outputs[0]: the loss
//     trainer->schedulerStep();
//   }
//   trainer->save("net.safetensors");
//
// `step` is trainStep, optimizerStep and lazyResetGrad in one. A refused call
// has no effect. A step that the model stops (a label out of range) says what
// is left of the state.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_RUNTIME_TRAINER_H
#define ONNX_AOT_RUNTIME_TRAINER_H

#include "onnx-aot/runtime/Checkpoint.h"
#include "onnx-aot/runtime/Schedule.h"
#include "onnx-aot/runtime/Session.h"
#include "onnx-aot/runtime/TrainingModule.h"

#include <functional>

namespace onnx_aot::runtime {

class TrainerState;

/// How a trainer works; the defaults are the good ones.
struct TrainerOptions {
  int threads = usableCores();
  int64_t seed = 0;
  float learningRate = 0.001f;
  /// Gradients of several training steps are averaged instead of summed.
  bool meanAccumulation = false;
  /// `step` keeps the gradients, and with them their norm, also where the
  /// module can update each parameter as soon as its gradient is known.
  bool keepGradients = false;
  /// For modules with device code: the CUstream that all work goes to, or null.
  void *stream = nullptr;
};

/// How a checkpoint is loaded.
struct LoadOptions {
  /// Take only the parameters; the training begins anew with them.
  bool parametersOnly = false;
  /// The checkpoint may lack parameters (those keep their values), may be of
  /// another model, and may have more than this one.
  bool partial = false;
};

/// Sums or averages `count` numbers of `type` at `data` over all processes, in
/// place. A message other than empty stops the update.
using ReduceFunction =
    std::function<std::string(void *data, uint64_t count, int32_t type)>;

/// Trains a model. Not for use by two threads at once: that is refused.
class Trainer {
public:
  ONNX_AOT_API static Expected<Trainer>
  create(const TrainingModule &module, const TrainerOptions &options = {});

  //===--- Steps ----------------------------------------------------------===//

  /// Computes loss and gradients of a batch. `inputs` in the order of
  /// OnnxAotTraining::inputs. Outputs: the loss, then the model's outputs that
  /// the module gives; at most that many are written, as by onnxAotSessionRun.
  /// Gradients are added to those of the steps before until lazyResetGrad.
  ONNX_AOT_API Status trainStep(const OnnxAotTensor *inputs, size_t numInputs,
                                OnnxAotTensor *outputs, size_t numOutputs);

  /// Computes the loss as in inference; changes nothing.
  ONNX_AOT_API Status evalStep(const OnnxAotTensor *inputs, size_t numInputs,
                               OnnxAotTensor *outputs, size_t numOutputs);

  /// Updates the parameters. `updated`, if not null, says whether: a gradient
  /// that is not finite leaves everything as it was.
  ONNX_AOT_API Status optimizerStep(bool *updated = nullptr);

  /// The next training step overwrites the gradients.
  ONNX_AOT_API Status lazyResetGrad();

  /// trainStep, optimizerStep and lazyResetGrad. By the module's fused program
  /// if it has one and nothing needs the gradients: no reduction, no loss
  /// scale, no `keepGradients`.
  ONNX_AOT_API Status step(const OnnxAotTensor *inputs, size_t numInputs,
                           OnnxAotTensor *outputs, size_t numOutputs,
                           bool *updated = nullptr);

  /// Sets the learning rate to what the schedule gives after one more step.
  ONNX_AOT_API Status schedulerStep();

  //===--- Settings -------------------------------------------------------===//

  float learningRate() const { return progress().learningRate; }
  ONNX_AOT_API Status setLearningRate(float rate);
  /// Begins a schedule: the learning rate is at once that of its step 0. The
  /// text form takes the current learning rate for `lr` if it names none.
  ONNX_AOT_API Status setSchedule(const Schedule &schedule);
  ONNX_AOT_API Status setSchedule(const std::string &text);
  /// All that random operators depend on, with the number of steps.
  ONNX_AOT_API Status setSeed(int64_t seed);
  /// Multiplies the loss before the backward pass. With an `interval` above 0
  /// the scale is halved by an update that is left out, and doubled after so
  /// many in a row that are not.
  ONNX_AOT_API Status setLossScale(float scale, int64_t interval = 0);
  /// Called by each update on the gradients, which are one run of memory for
  /// each element type (padded with zeros). Null: no longer.
  ONNX_AOT_API Status setReduce(ReduceFunction reduce);

  //===--- State ----------------------------------------------------------===//

  /// Parameter, gradient or optimizer state in the trainer's own memory, to be
  /// read and written between steps. `data` is null where there is none. On a
  /// device a piece that was asked for is copied in each step: setParameter and
  /// copyParametersTo are cheaper.
  ONNX_AOT_API OnnxAotTensor parameter(int32_t index);
  ONNX_AOT_API OnnxAotTensor gradient(int32_t index);
  ONNX_AOT_API OnnxAotTensor slot(int32_t index, int32_t slot);
  /// Copies a tensor of the parameter's type and shape.
  ONNX_AOT_API Status setParameter(const std::string &name,
                                   const OnnxAotTensor &value);

  /// Parameters one after the other, in their order and without padding.
  ONNX_AOT_API uint64_t parameterBytes(bool trainableOnly) const;
  ONNX_AOT_API Status copyParametersTo(void *buffer, uint64_t bytes,
                                       bool trainableOnly) const;
  ONNX_AOT_API Status copyParametersFrom(const void *buffer, uint64_t bytes,
                                         bool trainableOnly);

  /// Counts of steps, learning rate, schedule.
  ONNX_AOT_API const Progress &progress() const;
  /// Norm of all gradients at the last update, before clipping; NaN if there
  /// was none, if a training step followed, or if the module neither gives it
  /// nor keeps gradients.
  ONNX_AOT_API double gradientNorm() const;
  /// Bytes of parameters, optimizer state and gradients, and of the memory that
  /// steps compute in.
  ONNX_AOT_API uint64_t stateBytes() const;
  ONNX_AOT_API uint64_t arenaBytes() const;
  /// Names of the values that trainStep and evalStep give.
  ONNX_AOT_API std::vector<std::string> outputNames(bool training) const;
  /// What the user keeps in checkpoints.
  ONNX_AOT_API std::map<std::string, Property> &properties();

  //===--- Files ----------------------------------------------------------===//

  /// Takes over a checkpoint, all of it or nothing.
  ONNX_AOT_API Status load(const Checkpoint &checkpoint,
                           const LoadOptions &options = {});
  ONNX_AOT_API Status load(const std::string &path,
                           const LoadOptions &options = {});
  /// The state as a checkpoint whose tensors are the trainer's memory; on a
  /// device they are what they were until the next step.
  ONNX_AOT_API Expected<Checkpoint> snapshot(Checkpoint::Contents contents);
  ONNX_AOT_API Status
  save(const std::string &path,
       Checkpoint::Contents contents = Checkpoint::Training);
  /// Writes the trained model as an ONNX file. `source` is the file that was
  /// compiled; empty if the module keeps it.
  ONNX_AOT_API Status exportModel(const std::string &path,
                                  const std::string &source = "");
  /// Whether `exportModel` can: a training need not end to find out.
  ONNX_AOT_API Status checkExport(const std::string &source = "");

  /// The model with the current parameters, which are copied, for sessions.
  ONNX_AOT_API Expected<Module> inferenceModule();

  const TrainingModule &module() const { return theModule; }

  ONNX_AOT_API Trainer(Trainer &&);
  ONNX_AOT_API Trainer &operator=(Trainer &&);
  ONNX_AOT_API ~Trainer();

private:
  Trainer(TrainingModule module, std::unique_ptr<TrainerState> state);
  Status exportTo(const std::string *path, const std::string &source);
  TrainingModule theModule;
  std::unique_ptr<TrainerState> state;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_TRAINER_H
