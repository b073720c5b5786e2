//===- RunServices.cpp - what a running module may call -------------------===//
#include "RunServices.h"

#include "CheckCall.h"
#include "Text.h"

#include <cstdio>
#include <cstring>

namespace onnx_aot::runtime {

/// Precedes each block given to the module.
struct alignas(ONNX_AOT_ALIGNMENT) RunServices::Allocation {
  Allocation *previous, *next;
};

RunServices::~RunServices() {
  while (allocations) {
    Allocation *next = allocations->next;
    freeAligned(allocations);
    allocations = next;
  }
}

OnnxAotRuntime RunServices::table() {
  OnnxAotRuntime runtime = {};
  runtime.user = this;
  runtime.parallel_for = threads > 1 ? parallelFor : nullptr;
  runtime.allocate = allocate;
  runtime.release = release;
  runtime.allocate_output = allocateOutput;
  runtime.fail = fail;
  runtime.device = device ? &deviceTable : nullptr;
  runtime.text = texts ? text : nullptr;
  return runtime;
}

void RunServices::parallelFor(void *user, OnnxAotTask task, void *context,
                              int64_t count) noexcept {
  auto &self = *static_cast<RunServices *>(user);
  self.pool->parallelFor(task, context, count, self.threads);
}

void *RunServices::allocate(void *user, uint64_t bytes) noexcept {
  auto &self = *static_cast<RunServices *>(user);
  void *memory = bytes <= UINT64_MAX - sizeof(Allocation)
                     ? allocateAligned(bytes + sizeof(Allocation))
                     : nullptr;
  if (!memory) {
    char text[80];
    std::snprintf(text, sizeof(text), "no memory for %llu bytes",
                  static_cast<unsigned long long>(bytes));
    self.report(ONNX_AOT_OUT_OF_MEMORY, text);
    return nullptr;
  }
  auto *allocation = static_cast<Allocation *>(memory);
  // What the host writes there it does not announce before a kernel reads it.
  if (self.device)
    self.device->add(allocation + 1, bytes, /*isValid=*/true);
  std::lock_guard<std::mutex> lock(self.mutex);
  allocation->previous = nullptr;
  allocation->next = self.allocations;
  if (self.allocations)
    self.allocations->previous = allocation;
  self.allocations = allocation;
  return allocation + 1;
}

void RunServices::release(void *user, void *memory) noexcept {
  if (!memory)
    return;
  auto &self = *static_cast<RunServices *>(user);
  Allocation *allocation = static_cast<Allocation *>(memory) - 1;
  if (self.device)
    self.device->remove(memory);
  {
    std::lock_guard<std::mutex> lock(self.mutex);
    (allocation->previous ? allocation->previous->next : self.allocations) =
        allocation->next;
    if (allocation->next)
      allocation->next->previous = allocation->previous;
  }
  freeAligned(allocation);
}

void *RunServices::allocateOutput(void *user, int32_t index, int32_t rank,
                                  const int64_t *dims) noexcept {
  auto &self = *static_cast<RunServices *>(user);
  try {
    return self.place(index, rank, dims);
  } catch (...) {
    self.report(ONNX_AOT_OUT_OF_MEMORY, "no memory for an error message");
    return nullptr;
  }
}

/// Checks the final shape of an output and finds memory for it.
void *RunServices::place(int32_t index, int32_t rank, const int64_t *dims) {
  if (index < 0 || index >= module.num_outputs ||
      !outputs[index].dependsOnData || outputs[index].data ||
      rank != module.outputs[index].rank) {
    report(ONNX_AOT_INVALID_MODULE,
           concat("it asks for output ", index, " of rank ", rank,
                  " at a wrong time")
               .c_str());
    return nullptr;
  }
  OutputSlot &slot = outputs[index];
  std::string who = concat("output ", quoted(module.outputs[index].name));
  for (int32_t d = 0; d < rank; ++d)
    if (dims[d] < 0 || (slot.planned[d] >= 0 && dims[d] != slot.planned[d])) {
      report(ONNX_AOT_INVALID_MODULE,
             concat(who, " got shape ", shapeText(dims, rank), ", planned was ",
                    shapeText(slot.planned, rank))
                 .c_str());
      return nullptr;
    }
  std::optional<uint64_t> bytes = plannedBytes(module.outputs[index], dims);
  if (slot.buffer && bytes && *bytes > slot.capacity) {
    report(ONNX_AOT_INVALID_ARGUMENT,
           concat(who, ": the buffer has ", slot.capacity,
                  " bytes, the tensor of shape ", shapeText(dims, rank),
                  " needs ", *bytes)
               .c_str());
    return nullptr;
  }
  if (!bytes || (!slot.buffer && !slot.block->reserve(*bytes))) {
    report(ONNX_AOT_OUT_OF_MEMORY,
           concat("no memory for ", who, " of shape ", shapeText(dims, rank))
               .c_str());
    return nullptr;
  }
  std::copy(dims, dims + rank, slot.dims);
  slot.data = slot.buffer ? slot.buffer : slot.block->data();
  if (!slot.data)
    slot.data = emptyTensorAddress();
  if (device)
    device->add(slot.data, *bytes, /*isValid=*/false);
  return slot.data;
}

void RunServices::fail(void *user, const char *message) noexcept {
  static_cast<RunServices *>(user)->report(ONNX_AOT_EXECUTION_FAILED,
                                           message ? message : "no reason");
}

int32_t RunServices::text(void *user, int32_t function,
                          const OnnxAotOpCall *call) noexcept {
  auto &self = *static_cast<RunServices *>(user);
  try {
    Status status = computeText(function, *call, *self.texts);
    if (status.ok())
      return 0;
    self.report(status);
  } catch (...) {
    self.report(ONNX_AOT_OUT_OF_MEMORY, "no memory for strings");
  }
  return 1;
}

/// Keeps the first reason.
void RunServices::report(OnnxAotCode reason, const char *text) {
  std::lock_guard<std::mutex> lock(mutex);
  if (code != ONNX_AOT_OK)
    return;
  code = reason;
  std::snprintf(message, sizeof(message), "%s", text);
}

Status RunServices::result(int32_t answer) {
  size_t made = 0;
  while (made < outputs.size() && outputs[made].data)
    ++made;
  if (answer == ONNX_AOT_RUN_OK && made == outputs.size())
    return Status(); // without an allocation
  std::string who = concat(
      "model ", quoted(module.name ? module.name : "without a name"), " ");
  if (answer == ONNX_AOT_RUN_OK)
    return invalidModule(who, "did not make output ",
                         quoted(module.outputs[made].name));
  if (code != ONNX_AOT_OK)
    return Status(code, concat(who, "stopped: ", message));
  switch (answer) {
  case ONNX_AOT_RUN_FAILED:
    return Status(ONNX_AOT_EXECUTION_FAILED,
                  concat(who, "stopped without a reason"));
  case ONNX_AOT_RUN_NO_ALLOCATOR:
    return Status(ONNX_AOT_OUT_OF_MEMORY, concat(who, "ran out of memory"));
  case ONNX_AOT_RUN_BAD_SHAPE:
    return invalidArgument(who, "cannot run with these input sizes");
  default:
    return invalidModule(who, "returned unknown status ", answer);
  }
}

} // namespace onnx_aot::runtime
