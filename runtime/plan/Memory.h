//===- Memory.h - where a plan's bytes go ---------------------------------===//
//
// Live bytes, step by step in issue order: a slice counts from the first to
// the last step that touches it, a carried one always. Streams that run ahead
// can have more live at once; the arena's peak covers that, and is what is
// allocated.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_MEMORY_H
#define ZEROGRAPH_RUNTIME_PLAN_MEMORY_H

#include "runtime/plan/plan.pb.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace zerograph {

/// Bytes by plan::SliceClass.
using ClassBytes = std::array<uint64_t, plan::SliceClass_ARRAYSIZE>;

/// The first and the last step of a program that touch a slice.
struct Life {
  uint32_t first = 0;
  uint32_t last = 0;
};

/// By slice; none where it is carried, or no step touches it. The plan must be
/// valid, here and below.
std::vector<std::optional<Life>> livesOf(const plan::Plan &plan, int program);

struct ProgramMemory {
  uint32_t peak_step = 0; // the first with the most bytes live
  uint64_t live = 0;      // bytes then
  ClassBytes by_class{};  // of which
};

struct ArenaMemory {
  std::vector<ProgramMemory> programs; // one a program
  ClassBytes class_peaks{};            // each class at its own peak
};

/// Returns the bytes of a rank's arenas in a space.
uint64_t arenaBytes(const plan::Plan &plan, plan::Space space);

/// Returns the bytes of a rank's parameters and optimizer's states in device
/// memory, which lie there from step to step.
uint64_t statesOnDevice(const plan::Plan &plan);

/// Returns the bytes of activations that lie on the host until backward.
uint64_t activationsOnHost(const plan::Plan &plan);

/// One an arena.
std::vector<ArenaMemory> memoryOf(const plan::Plan &plan);

/// End of the highest slice.
uint64_t peakOf(const plan::Plan &plan, int arena);

/// End of the highest slice that is written to its last byte. What lies above
/// it, up to the arena's peak, is working space (class staging, not carried),
/// of which a library may leave the last bytes unused.
uint64_t writtenEnd(const plan::Plan &plan, int arena);

/// The bytes that ZeRO shards, in device memory, each at its own peak.
struct ModelState {
  uint64_t parameters = 0; // classes param_shard and gathered together
  uint64_t gradients = 0;  // grad and grad_shard together
  uint64_t optimizer = 0;
};
ModelState modelState(const plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_MEMORY_H
