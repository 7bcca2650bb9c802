//===- ShadowDevice.cpp - a device that shows what is wrong with a plan ---===//

#include "tests/shadow/ShadowDevice.h"

#include "tests/shadow/ShadowMemory.h"

#include <chrono>
#include <random>
#include <thread>

namespace zerograph::testing {
namespace {

/// The pauses of one stream: mostly none, of some streams many.
class Pauses {
public:
  explicit Pauses(uint64_t seed)
      : random(seed), one_in(random() % 3 == 0 ? 3 : 16) {}

  void maybe() {
    if (random() % one_in == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 1200));
    }
  }

private:
  std::mt19937_64 random;
  uint64_t one_in;
};

class ShadowOperation final : public Operation {
public:
  ShadowOperation(ShadowMemory &memory, Pauses &pauses, int program, int step,
                  std::unique_ptr<Operation> inner)
      : memory(memory), pauses(pauses), program(program), step(step),
        inner(std::move(inner)) {}

  absl::Status issue() override {
    absl::Status status = run();
    if (!status.ok()) {
      memory.fail();
    }
    return status;
  }

private:
  absl::Status run() {
    pauses.maybe();
    ZG_RETURN_IF_ERROR(memory.begin(program, step));
    pauses.maybe();
    ZG_RETURN_IF_ERROR(inner->issue());
    return memory.end(program, step);
  }

  ShadowMemory &memory;
  Pauses &pauses;
  int program, step;
  std::unique_ptr<Operation> inner;
};

/// Which step the next operation is of.
class Position {
public:
  explicit Position(const plan::Plan &plan) : plan(plan) {}
  std::pair<int, int> next() {
    while (step == plan.programs(program).steps_size()) {
      ++program;
      step = 0;
    }
    return {program, step++};
  }

private:
  const plan::Plan &plan;
  int program = 0, step = 0;
};

class ShadowStream final : public Stream {
public:
  ShadowStream(ShadowMemory &memory, Position &position, uint64_t seed,
               std::unique_ptr<Stream> inner)
      : memory(memory), position(position), pauses(seed),
        inner(std::move(inner)) {}

  using Made = absl::StatusOr<std::unique_ptr<Operation>>;

  Made launch(const KernelModule &module, const plan::Kernel &kernel,
              unsigned index, absl::Span<void *const> buffers) override {
    return wrap(inner->launch(module, kernel, index, buffers));
  }
  Made matmul(const plan::Matmul &matmul, absl::Span<void *const> buffers,
              uint64_t scratch_bytes) override {
    return wrap(inner->matmul(matmul, buffers, scratch_bytes));
  }
  Made convolution(const plan::Convolution &convolution,
                   absl::Span<void *const> buffers,
                   uint64_t scratch_bytes) override {
    return wrap(inner->convolution(convolution, buffers, scratch_bytes));
  }
  Made copy(const void *source, void *destination, uint64_t bytes) override {
    return wrap(inner->copy(source, destination, bytes));
  }
  Made fill(void *destination, uint64_t bytes) override {
    return wrap(inner->fill(destination, bytes));
  }
  std::unique_ptr<Operation>
  call(std::function<absl::Status()> function) override {
    return *wrap(inner->call(std::move(function)));
  }
  void start(const StreamProgram &program, EntryTime *times) override {
    inner->start(program, times);
  }
  absl::Status finish(uint32_t &failed_step) override {
    return inner->finish(failed_step);
  }

private:
  Made wrap(Made made) {
    if (!made.ok()) {
      return made;
    }
    auto [program, step] = position.next();
    return std::make_unique<ShadowOperation>(memory, pauses, program, step,
                                             *std::move(made));
  }

  ShadowMemory &memory;
  Position &position;
  Pauses pauses;
  std::unique_ptr<Stream> inner; // its thread uses the rest
};

class ShadowDevice final : public Device {
public:
  ShadowDevice(const plan::Plan &plan, uint32_t rank, uint64_t seed,
               std::unique_ptr<Device> inner)
      : memory(plan, rank), position(plan), seed(seed * 65536 + rank * 16),
        inner(std::move(inner)) {}

  absl::StatusOr<std::unique_ptr<Arena>> allocate(uint64_t bytes,
                                                  uint64_t alignment) override {
    auto arena = inner->allocate(bytes, alignment);
    if (arena.ok()) {
      memory.addArena((*arena)->data(), (*arena)->bytes());
    }
    return arena;
  }
  std::unique_ptr<Stream> makeStream(unsigned index, const std::string &name,
                                     unsigned workers) override {
    return std::make_unique<ShadowStream>(
        memory, position, seed + index,
        inner->makeStream(index, name, workers));
  }
  void beginProgram() override { inner->beginProgram(); }
  void onFailure(std::function<void(const absl::Status &)> callback) override {
    inner->onFailure(std::move(callback));
  }

private:
  ShadowMemory memory;
  Position position;
  uint64_t seed;
  std::unique_ptr<Device> inner;
};

} // namespace

std::unique_ptr<Device> makeShadowDevice(const plan::Plan &plan, uint32_t rank,
                                         uint64_t seed,
                                         std::unique_ptr<Device> inner) {
  return std::make_unique<ShadowDevice>(plan, rank, seed, std::move(inner));
}

} // namespace zerograph::testing
