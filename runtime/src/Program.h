//===- Program.h - one program of a training module ------------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_PROGRAM_H
#define ONNX_AOT_RUNTIME_SRC_PROGRAM_H

#include "CheckCall.h"
#include "DeviceRun.h"
#include "RunServices.h"
#include "TrainerMemory.h"

#include <set>

namespace onnx_aot::runtime {

/// The numbers that programs are given and give back; see OnnxAotRole.
struct StepNumbers {
  int64_t seed[2] = {0, 0};
  int64_t step = 0;
  float learningRate = 0, lossScale = 1, gradientScale = 1;
  float gradientNorm = 0;
  uint8_t accumulate = 0, updated = 1;
};

/// What all programs of a trainer share.
struct ProgramMemory {
  TrainerMemory state;
  StepNumbers numbers;
  GrowingBlock arena;
  std::vector<GrowingBlock> outputs; ///< what the caller leaves to the trainer
  std::shared_ptr<ThreadPool> pool;  ///< null with one thread
  /// Null without device code, or before the first run.
  std::unique_ptr<DeviceMemory> device;
  void *stream = nullptr;      ///< the caller's, or null
  std::set<const void *> lent; ///< state that the caller may write to
  int threads = 1;
};

/// Runs one program of a training module on the trainer's memory and the
/// caller's tensors. Steady runs allocate nothing.
class Program {
public:
  Program(std::shared_ptr<const LoadedModule> module,
          const OnnxAotProgram &program, const OnnxAotTraining &training,
          ProgramMemory &memory);

  /// Runs on the caller's inputs, in the order of OnnxAotTraining::inputs.
  /// `started` is set when the program was called: a failure before it has no
  /// effect.
  Status run(const OnnxAotTensor *users, size_t numUsers,
             OnnxAotTensor *outputs, size_t numOutputs, bool &started);

  /// True if an output has this role.
  bool gives(OnnxAotRole role) const;
  /// True if it multiplies the loss by a scale.
  bool scales() const;
  /// The loss, if there is one, then the model's outputs.
  std::vector<std::string> outputNames() const;

private:
  const OnnxAotModule &descriptor() const { return module->get(); }
  void bindState();
  void keepState(DeviceMemory &device) const;
  void *stateOf(const OnnxAotBinding &binding) const;
  Status takeInputs(const OnnxAotTensor *users, size_t numUsers);
  Status plan();
  Status placeOutputs(const OnnxAotTensor *outputs, size_t numOutputs);
  Status checkMemory();
  Status reserve();
  void giveOutputs(OnnxAotTensor *outputs, size_t numOutputs);

  std::shared_ptr<const LoadedModule> module;
  const OnnxAotProgram &program;
  const OnnxAotTraining &training;
  ProgramMemory &memory;

  /// For each input of the module: its tensor, and the caller's place or -1.
  std::vector<OnnxAotTensor> inputs;
  std::vector<int32_t> userInput;
  bool takesUsers = false;
  /// For each output that the caller gets: the module's place of it.
  std::vector<int32_t> callerOutputs;

  std::vector<int64_t> symbols, plannedSymbols, declaredDims, outputDims;
  bool planned = false;
  uint64_t neededArena = 0;
  std::vector<OutputSlot> slots;
  std::vector<OnnxAotTensor> requested;
  std::vector<MemoryUse> uses;
  std::vector<const void *> inputPointers;
  std::vector<void *> outputPointers;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_PROGRAM_H
