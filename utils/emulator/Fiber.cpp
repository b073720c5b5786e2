//===- Fiber.cpp - a stack to run on --------------------------------------===//
#include "Fiber.h"

#include <cstdint>
#include <sys/mman.h>

#if defined(__x86_64__)
// The system's own contexts save the signal mask by a system call: far slower
// than all the work between two switches.
asm(R"(.text
.globl onnx_aot_emu_switch
.hidden onnx_aot_emu_switch
.type onnx_aot_emu_switch,@function
onnx_aot_emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size onnx_aot_emu_switch,.-onnx_aot_emu_switch
)");
extern "C" void onnx_aot_emu_switch(void **save, void *load);
#endif

namespace onnx_aot::emulator {

Fiber::~Fiber() {
  if (stack)
    munmap(stack - kGuardBytes, kStackBytes + kGuardBytes);
}

bool Fiber::prepare(void (*entry)()) {
  if (!stack) {
    void *memory =
        mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return false;
    mprotect(memory, kGuardBytes, PROT_NONE);
    stack = static_cast<char *>(memory) + kGuardBytes;
  }
#if defined(__x86_64__)
  auto *top = reinterpret_cast<uintptr_t *>(stack + kStackBytes);
  *--top = 0; // the entry's return address: it never returns
  *--top = reinterpret_cast<uintptr_t>(entry);
  for (int saved = 0; saved < 6; ++saved)
    *--top = 0;
  pointer = top;
#else
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  makecontext(&context, entry, 0);
#endif
  return true;
}

void Fiber::switchTo(Fiber &from, Fiber &to) {
#if defined(__x86_64__)
  onnx_aot_emu_switch(&from.pointer, to.pointer);
#else
  swapcontext(&from.context, &to.context);
#endif
}

} // namespace onnx_aot::emulator
