//===- Fibers.h - functions that run in turn ------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_FIBERS_H
#define ZEROGRAPH_TESTS_EMULATOR_FIBERS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zerograph::emulator {

/// Some stacks, on each of which one function runs until it yields, on the
/// thread that resumes it. A function that is not resumed again leaves nothing
/// behind: what runs here must own nothing.
class Fibers {
public:
  using Function = void (*)(void *argument);

  Fibers() = default;
  ~Fibers();
  Fibers(const Fibers &) = delete;
  Fibers &operator=(const Fibers &) = delete;

  /// `count` fibers that begin with function(argument).
  void begin(size_t count, Function function, void *argument);
  /// Runs a fiber until it yields or ends. False once it has ended.
  bool resume(size_t fiber);
  /// Goes back to `resume`, from the fiber.
  void yield();

private:
  struct Fiber {
    char *stack = nullptr;
    /// The place of the registers of a fiber that does not run.
    void *top = nullptr;
    bool ended = true;
  };
  static void enter();

  std::vector<Fiber> fibers;
  Function function = nullptr;
  void *argument = nullptr;
  Fiber *running = nullptr;
  void *resumer = nullptr;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_FIBERS_H
