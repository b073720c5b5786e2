//===- CommandQueue.h - work for the device, as graphs ---------*- C++ -*-===//
//
// Launches and copies are gathered until the host has to see a result. What
// was gathered before in the same form is then one CUDA graph, recorded the
// second time that it comes and launched as a whole from then on. Host code
// runs each time and says what it wants, so a graph is never stale: another
// shape, address or kernel is another graph.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_RUNTIME_SRC_CUDA_COMMANDQUEUE_H
#define ONNX_AOT_RUNTIME_SRC_CUDA_COMMANDQUEUE_H

#include "Staging.h"

#include <list>
#include <string>
#include <unordered_set>
#include <vector>

namespace onnx_aot::runtime {

/// The work of one session or trainer, on one stream.
class CommandQueue {
public:
  explicit CommandQueue(const CudaDriver &driver)
      : driver(driver), staging(driver) {}
  CommandQueue(const CommandQueue &) = delete;
  CommandQueue &operator=(const CommandQueue &) = delete;
  /// The device has to be entered.
  ~CommandQueue();

  /// Works on the caller's stream, or on one of its own where that is null.
  Status open(CudaStream stream);
  bool ownsStream() const { return isOwned; }

  /// Each returns before the work is done, and may report what went wrong in
  /// work that was asked for before. `arguments` are words in the order of the
  /// kernel's parameters; `name` lives as long as the kernel.
  void launch(CudaFunction kernel, const char *name, unsigned blocks,
              unsigned threads, const uint64_t *arguments, size_t count);
  /// The host's bytes may change afterwards.
  Status toDevice(CudaPointer to, const void *from, uint64_t bytes);
  /// The host's bytes are there after synchronize().
  Status toHost(void *to, CudaPointer from, uint64_t bytes);
  void onDevice(CudaPointer to, CudaPointer from, uint64_t bytes);

  /// Gives the device all that was gathered.
  Status flush();
  /// True while copies may still read the host's own bytes.
  bool readsHost() const { return isReading; }
  /// Waits until all is done.
  Status synchronize();
  bool isEmpty() const { return commands.empty() && landings.empty(); }
  /// Forgets what was gathered, after a run that failed, and waits.
  void abandon();

private:
  enum class Kind : uint64_t { Launch, ToDevice, ToHost, OnDevice };
  /// What is done; arguments of launches are in `words`.
  struct Command {
    Kind kind;
    uint64_t to, from, bytes; ///< of copies
    CudaFunction kernel;
    const char *name;
    uint64_t blocks, threads, firstWord, numWords; ///< of launches
  };
  struct Graph {
    std::string key;
    CudaGraphExec exec;
  };

  Status issue(const Command &command, CudaStream on);
  Status issueAll(CudaStream on);
  std::string getKey() const;
  /// The graph of what was gathered; null where it comes for the first time or
  /// cannot be recorded.
  CudaGraphExec findGraph();
  CudaGraphExec record();
  void forget(const Graph &graph);

  const CudaDriver &driver;
  Staging staging;
  CudaStream stream = nullptr, recorder = nullptr;
  bool isOwned = false, isReading = false;
  std::vector<Command> commands;
  std::vector<uint64_t> words;
  std::vector<void *> pointers;
  /// Where bytes go from staging memory once they are there.
  struct Landing {
    void *to;
    const void *from;
    uint64_t bytes;
  };
  std::vector<Landing> landings;
  /// The latest used first.
  std::list<Graph> graphs;
  /// Hashes of what has come once.
  std::unordered_set<size_t> seen;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_CUDA_COMMANDQUEUE_H
