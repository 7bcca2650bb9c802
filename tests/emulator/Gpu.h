//===- Gpu.h - NVIDIA's driver and a GPU, on the CPU ----------------------===//
//
// Streams are queues. What is in them runs when somebody waits, and before
// other calls perhaps, in an order that a seed draws and that obeys the streams
// and the events alone. Two tasks that touch the same memory and that neither
// of these puts in order are an error, whatever order was drawn; what one
// thread of the host has waited for counts as known to all of them. What a real
// driver may get away with is an error here: an event that is awaited before it
// is recorded, memory that is not there, a context that is not the thread's.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_GPU_H
#define ZEROGRAPH_TESTS_EMULATOR_GPU_H

#include "runtime/device/cuda/CudaApi.h"
#include "tests/emulator/Kernels.h"
#include "tests/emulator/Memory.h"

#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <set>

namespace zerograph::emulator {

/// While it lives, `cudaApi` of this process gives the emulator. One at a time.
class Gpu {
public:
  explicit Gpu(uint32_t seed);
  ~Gpu();
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;

  /// What a program left: "2 streams, 1 allocation"; empty if nothing.
  std::string leftovers() const;
  /// The first thing that was wrong; empty if nothing was.
  const std::string &complaint() const { return wrong; }
  uint64_t launches() const { return launch_count; }

  /// How often each function of the driver was called.
  std::map<std::string, uint64_t> calls() const;
  /// Call `number`, from 1, of a function returns an error, once.
  void failCall(const std::string &function, uint64_t number);

private:
  friend struct Calls;
  /// Counts a call; whether it is the one to fail.
  bool countCall(const std::string &function);

  struct Event {
    uint64_t recorded = 0, done = 0;
    VectorClock clock;
  };
  /// What a task has touched, by where the allocations begin.
  using Touched = std::map<uint64_t, Lines>;
  struct Task {
    std::string name;
    /// Null: a task that awaits `version` of `event`.
    std::function<absl::Status(Touched &)> run{};
    Event *event = nullptr;
    uint64_t version = 0;
    /// What the host knew when it issued the task.
    VectorClock issued{};
  };
  struct Stream {
    uint32_t number = 0;
    VectorClock clock;
    std::deque<Task> tasks;
  };
  struct Module;
  struct Function {
    const Module *module;
    std::string symbol;
  };
  struct Module {
    Kernels kernels;
    std::map<std::string, Function> functions;
  };

  /// Notes what is wrong, once.
  int complain(const std::string &what);
  bool isReady(const Task &task) const;
  void runTask(Stream &stream, Task &task);
  /// Runs one task of one stream that can go on; false if none can.
  bool advance();
  void advanceSome();
  /// Until a stream is empty, which the host knows then.
  int drain(Stream &stream);
  /// The emulator's bytes of the GPU's, noted as touched; null, with a
  /// complaint, where they are not of one allocation.
  char *reach(uint64_t address, uint64_t bytes, bool write, Touched &touched,
              const char *call);
  absl::Status launch(const Function &function, uint32_t grid, uint32_t block,
                      const std::vector<uint64_t> &parameters,
                      Touched &touched);

  mutable std::mutex mutex;
  std::mt19937 random;
  Memory memory;
  /// In the order of their making, so that a seed means the same each time;
  /// the first is the default one, for which no other waits.
  std::vector<std::unique_ptr<Stream>> streams;
  uint32_t stream_count = 0;
  Conflicts conflicts;
  VectorClock host;
  std::map<Event *, std::unique_ptr<Event>> events;
  std::map<Module *, std::unique_ptr<Module>> modules;
  int contexts = 0;
  uint64_t launch_count = 0;
  std::string wrong;
  std::map<std::string, uint64_t> call_counts;
  std::string failing;
  uint64_t failing_number = 0;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_GPU_H
