//===- SharedMemory.h - a block's shared memory, watched -------*- C++ -*-===//
#ifndef ONNX_AOT_EMULATOR_SHAREDMEMORY_H
#define ONNX_AOT_EMULATOR_SHAREDMEMORY_H

#include <cstdint>
#include <string>
#include <vector>

namespace onnx_aot::emulator {

/// Ends the block with a reason; called on a thread's fiber, does not return.
void fail(const std::string &what);
/// Number of the running thread in its launch.
uint32_t currentThread();
/// Counts an access of the running thread, if that is wanted.
void noteTraffic(const void *site, bool isShared, const void *address,
                 uint32_t bytes);
/// Number of the running launch.
extern uint32_t launchNumber;

/// Knows for each byte who accessed it last, and between which barriers.
class SharedMemory {
public:
  void reset(uint64_t bytes) {
    // What is read before it is written is no number.
    memory.assign(bytes, char(0xff));
    marks.assign(bytes, Mark());
    interval = 1;
  }
  void passBarrier() { ++interval; }
  void *at(uint64_t offset) { return memory.data() + offset; }

  /// Null, or what is wrong with the access.
  const char *read(const void *address, uint32_t bytes, uint32_t thread) {
    uint64_t offset = 0;
    if (const char *what = place(address, bytes, offset))
      return what;
    for (uint64_t i = offset; i < offset + bytes; ++i) {
      Mark &mark = marks[i];
      if (mark.isAwaited)
        return "it reads shared memory that a copy is on its way to";
      if (!mark.written)
        return "it reads shared memory that no thread has written";
      if (mark.written == interval && mark.writer != thread)
        return "it reads shared memory that another thread wrote, without a "
               "barrier between";
      if (mark.read == interval && mark.reader != thread)
        mark.readers = true;
      if (mark.read != interval)
        mark.readers = false;
      mark.read = interval;
      mark.reader = thread;
    }
    return nullptr;
  }

  const char *write(const void *address, uint32_t bytes, uint32_t thread) {
    uint64_t offset = 0;
    if (const char *what = place(address, bytes, offset))
      return what;
    for (uint64_t i = offset; i < offset + bytes; ++i) {
      Mark &mark = marks[i];
      if (mark.isAwaited)
        return "it writes shared memory that a copy is on its way to";
      if (mark.written == interval && mark.writer != thread)
        return "it writes shared memory that another thread wrote, without a "
               "barrier between";
      if (mark.read == interval && (mark.readers || mark.reader != thread))
        return "it writes shared memory that another thread read, without a "
               "barrier between";
      mark.written = interval;
      mark.writer = thread;
    }
    return nullptr;
  }

  /// A copy by `thread` has begun: until it is waited for, nobody may look.
  const char *beginCopy(const void *address, uint32_t bytes, uint32_t thread) {
    if (const char *what = write(address, bytes, thread))
      return what;
    setAwaited(address, bytes, true);
    return nullptr;
  }
  /// The copy is there, as if its thread had written just now.
  void endCopy(const void *address, uint32_t bytes, uint32_t thread) {
    setAwaited(address, bytes, false);
    (void)write(address, bytes, thread);
  }

private:
  struct Mark {
    uint32_t written = 0, read = 0; ///< interval of the last access, 0 for none
    uint16_t writer = 0, reader = 0;
    bool readers = false;   ///< more than one
    bool isAwaited = false; ///< of a copy
  };

  void setAwaited(const void *address, uint32_t bytes, bool isAwaited) {
    uint64_t offset = static_cast<const char *>(address) - memory.data();
    for (uint64_t i = offset; i < offset + bytes; ++i)
      marks[i].isAwaited = isAwaited;
  }

  const char *place(const void *address, uint32_t bytes, uint64_t &offset) {
    auto *byte = static_cast<const char *>(address);
    if (byte < memory.data() || byte + bytes > memory.data() + memory.size())
      return "it accesses shared memory outside of what the kernel has";
    offset = byte - memory.data();
    return offset % bytes ? "its access to shared memory is not aligned"
                          : nullptr;
  }

  std::vector<char> memory;
  std::vector<Mark> marks;
  uint32_t interval = 1; ///< barriers passed, from 1 on
};

} // namespace onnx_aot::emulator

#endif // ONNX_AOT_EMULATOR_SHAREDMEMORY_H
