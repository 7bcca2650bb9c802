//===- Converters.h - from a key's value to options -----------------------===//
//
// By name in Keys.def. Each is called for a value that has the key's type and
// is neither null nor auto.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CONFIG_CONVERTERS_H
#define ZEROGRAPH_CONFIG_CONVERTERS_H

#include "config/Keys.h"

namespace zerograph::config {

inline constexpr Convert none = nullptr;

/// The option has the key's value.
void same(const Given &found, Translation &to);
/// A list of two numbers.
void pair(const Given &found, Translation &to);

/// Of the four numbers of a batch, which are reconciled together.
void batch(const Given &found, Translation &to);
/// 0 is no clipping.
void clipping(const Given &found, Translation &to);
/// Nothing else than a mean is built.
void gradientMean(const Given &found, Translation &to);
/// Nothing else than fp32 is built.
void float32(const Given &found, Translation &to);
/// true: the type that the section is named after.
void precision(const Given &found, Translation &to);

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
/// DeepSpeed uses it with stage 3 alone.
void offloadParam(const Given &found, Translation &to);

/// The optimizer, and DeepSpeed's defaults of it that are not ours.
void optimizerType(const Given &found, Translation &to);
/// The optimizer's rate, unless the schedule has its own.
void rate(const Given &found, Translation &to);
/// The schedule, and what must be said of it.
void scheduleType(const Given &found, Translation &to);
/// The rate at the top of a schedule.
void peak(const Given &found, Translation &to);
void cycleMomentum(const Given &found, Translation &to);

} // namespace zerograph::config

#endif // ZEROGRAPH_CONFIG_CONVERTERS_H
