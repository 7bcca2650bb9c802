//===- Fibers.cpp - functions that run in turn ----------------------------===//

#include "tests/emulator/Fibers.h"

#include <cstdlib>
#include <new>
#include <sys/mman.h>

using namespace zerograph::emulator;

/// Keeps what a called function must keep (System V ABI for x86-64) on the
/// stack, whose top goes to `*save`, and goes on with the stack at `load`.
extern "C" void zerograph_switch_stack(void **save, void *load);

asm(R"(
.text
.globl zerograph_switch_stack
.type zerograph_switch_stack, @function
zerograph_switch_stack:
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
)");

namespace {

constexpr size_t kGuard = 4096;
constexpr size_t kStack = 64 * 1024;

/// The fibers whose function this thread runs.
thread_local Fibers *current = nullptr;

/// With a page below it that nothing may touch.
char *allocateStack() {
  void *memory = mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, kGuard, PROT_NONE) != 0) {
    throw std::bad_alloc();
  }
  return static_cast<char *>(memory);
}

} // namespace

Fibers::~Fibers() {
  for (Fiber &fiber : fibers) {
    munmap(fiber.stack, kGuard + kStack);
  }
}

void Fibers::enter() {
  Fibers *fibers = current;
  fibers->function(fibers->argument);
  fibers->running->ended = true;
  fibers->yield();
  abort(); // nobody resumes what has ended
}

void Fibers::begin(size_t count, Function newFunction, void *newArgument) {
  function = newFunction;
  argument = newArgument;
  while (fibers.size() < count) {
    fibers.emplace_back().stack = allocateStack();
  }
  for (size_t i = 0; i < fibers.size(); ++i) {
    Fiber &fiber = fibers[i];
    fiber.ended = i >= count;
    // Six registers, where to go, and where that would return to: a function
    // finds the stack 8 bytes off 16.
    auto **top = reinterpret_cast<void **>(fiber.stack + kGuard + kStack);
    *--top = nullptr;
    *--top = reinterpret_cast<void *>(&Fibers::enter);
    for (int reg = 0; reg < 6; ++reg) {
      *--top = nullptr;
    }
    fiber.top = top;
  }
}

bool Fibers::resume(size_t index) {
  Fiber &fiber = fibers[index];
  if (fiber.ended) {
    return false;
  }
  current = this;
  running = &fiber;
  zerograph_switch_stack(&resumer, fiber.top);
  return !fiber.ended;
}

void Fibers::yield() { zerograph_switch_stack(&running->top, resumer); }
