//===- Converters.h - from a key's value to options -----------------------===//
//
// By name in Keys.def. Each is called for a value that has the key's type and
// is neither null nor auto.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CONFIG_CONVERTERS_H
#define ZEROGRAPH_CONFIG_CONVERTERS_H

#include "config/Keys.h"

#include <utility>

namespace zerograph::config {

/// What schedules are called here, and there.
inline constexpr std::pair<const char *, const char *> kSchedules[] = {
    {"warmup", "WarmupLR"},
    {"warmup-decay", "WarmupDecayLR"},
    {"warmup-cosine", "WarmupCosineLR"},
    {"one-cycle", "OneCycle"}};

inline constexpr Convert none = nullptr;

/// The option has the key's value.
void same(const Given &found, Translation &to);

/// Of the four numbers of a batch, which are reconciled together.
void batch(const Given &found, Translation &to);
/// 0 is no clipping.
void clipping(const Given &found, Translation &to);
/// Nothing else than a mean is built.
void gradientMean(const Given &found, Translation &to);
/// Nothing else than fp32 is built.
void float32(const Given &found, Translation &to);
/// fp32, bf16 or fp16.
void wire(const Given &found, Translation &to);
/// true: the type that the section is named after.
void precision(const Given &found, Translation &to);

/// Of a dynamic loss scale.
void dynamicScale(const Given &found, Translation &to);
/// Whether steps that are not finite are skipped: with bf16, if not said.
void overflow(const Given &found, Translation &to);
/// Masters and states of bf16: both or none.
void masters(const Given &found, Translation &to);
/// A key that asks for fewer activations: each unit's are computed again.
void recompute(const Given &found, Translation &to);

/// Elements of a bucket to bytes; the smaller of two buckets.
void elements(const Given &found, Translation &to);
/// Elements to gather ahead: as units, none or some.
void prefetch(const Given &found, Translation &to);
/// With stage 3 alone.
void persistence(const Given &found, Translation &to);
/// none or cpu.
void offloadOptimizer(const Given &found, Translation &to);
/// Likewise; DeepSpeed uses it with stage 3 alone.
void offloadRatio(const Given &found, Translation &to);
void offloadParam(const Given &found, Translation &to);
/// Of what lies in files: the key's option has its value.
void nvme(const Given &found, Translation &to);
/// Likewise, of their folder.
void nvmePath(const Given &found, Translation &to);

/// The optimizer, and DeepSpeed's defaults of it that are not ours.
void optimizerType(const Given &found, Translation &to);
/// The optimizer's rate, unless the schedule has its own.
void rate(const Given &found, Translation &to);
/// A list of two numbers, unless the schedule has its own.
void betas(const Given &found, Translation &to);
/// The schedule, and what must be said of it.
void scheduleType(const Given &found, Translation &to);
/// The rate at the top of a schedule.
void peak(const Given &found, Translation &to);
/// Whether OneCycle changes Adam's betas, the bounds of the first, and what
/// becomes of it behind the cycle.
void cycleMomentum(const Given &found, Translation &to);
void cycleBound(const Given &found, Translation &to);
void decayMomentum(const Given &found, Translation &to);

// What converters ask.

/// The optimizer of the run, by its name here: the command line's, or the
/// file's.
std::string optimizerOf(const Translation &to);
/// That the command line has another schedule than the file; or empty.
std::string scheduleGivenInstead(const Translation &to);
/// Why a key of the file's optimizer, schedule or precision has no effect where
/// the command line has another, which does not use it; or empty.
std::string replacedBecause(const Key &key, const Translation &to);
/// Why the schedule's rate comes before the optimizer's; or empty.
std::string rateOfSchedule(const Translation &to);
/// Why the loss scale never changes; empty where it is dynamic.
std::string fixedScale(const Translation &to);
/// Whether the schedule changes the betas.
bool cyclesBetas(const Translation &to);

} // namespace zerograph::config

#endif // ZEROGRAPH_CONFIG_CONVERTERS_H
