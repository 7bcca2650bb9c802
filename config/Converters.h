//===- Converters.h - what kinds of keys mean -----------------------------===//
//
// Keys.def names a kind for each key. Each kind is made in the file of its
// family, which is named below.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CONFIG_CONVERTERS_H
#define ZEROGRAPH_CONFIG_CONVERTERS_H

#include "config/Keys.h"

#include <optional>

namespace zerograph::config {

class FileWriter;

/// How keys of one kind become options, and how options become such keys.
struct Converter {
  /// Gives options their values, for a value that has the key's type and is
  /// neither null nor auto. Null: the key sets none, and is not written.
  void (*read)(const ConfigEntry &found, Translation &to) = nullptr;
  /// Says what auto means. Null: `Translation::sayDefault`.
  void (*automatic)(const ConfigEntry &found, Translation &to) = nullptr;
  /// Writes the key into a DeepSpeed file. Null: `FileWriter::putGiven`.
  void (*write)(const Key &key, FileWriter &file) = nullptr;
  /// Says, of keys that switch a section on, whether the command line does, or
  /// switches it off. Null, or nothing: the file decides.
  std::optional<bool> (*switched)(const Key &key,
                                  const Translation &to) = nullptr;
};

// Converters.cpp

/// The table says all.
extern const Converter none;
/// The option has the key's value.
extern const Converter same;
void readSame(const ConfigEntry &found, Translation &to);
/// The same, unless there is a reason why the key has no effect; empty: none.
void readUnless(const std::string &reason, const ConfigEntry &found,
                Translation &to);

// Batch.cpp

/// Reconciles the four numbers of a batch together.
extern const Converter batch;

// GradientKeys.cpp

/// 0 is no clipping.
extern const Converter clipping;
/// Nothing else than a mean is built.
extern const Converter gradientMean;
/// Nothing else than fp32 is built.
extern const Converter float32;
/// fp32, bf16 or fp16.
extern const Converter wire;

// PrecisionKeys.cpp

/// true: the type that the section is named after.
extern const Converter precision;
/// Converts a dynamic loss scale.
extern const Converter dynamicScale;
/// Decides whether steps that are not finite are skipped: with bf16, if not
/// said.
extern const Converter overflow;
/// Masters and states of bf16: both or none.
extern const Converter masters;

// MemoryKeys.cpp

/// Elements of a bucket to bytes; the smaller of two buckets.
extern const Converter elements;
/// Elements to gather ahead: as units, none or some.
extern const Converter prefetch;
/// With stage 3 alone.
extern const Converter persistence;
/// A key that asks for fewer activations: each unit's are computed again.
extern const Converter recompute;
/// A key that asks for that, and keeps on the host what goes between units.
extern const Converter offloadActivations;

// OffloadKeys.cpp

/// none, cpu or nvme.
extern const Converter offloadOptimizer;
/// Likewise; DeepSpeed uses it with stage 3 alone.
extern const Converter offloadParam;
/// How much of the optimizer's states is offloaded.
extern const Converter offloadRatio;
/// Converts what lies in files: the key's option has its value.
extern const Converter nvme;
/// Likewise, of their folder.
extern const Converter nvmePath;

// OptimizerKeys.cpp

/// The optimizer, and DeepSpeed's defaults of it that are not ours.
extern const Converter optimizerType;
/// The optimizer's rate, unless the schedule has its own.
extern const Converter rate;
/// A list of two numbers, unless the schedule has its own.
extern const Converter betas;
/// Its default is the optimizer's.
extern const Converter weightDecay;

// ScheduleKeys.cpp

/// The schedule, and what must be said of it.
extern const Converter scheduleType;
/// A number of the schedule, which is written with its type alone.
extern const Converter ofSchedule;
/// The rate at the top of a schedule.
extern const Converter peak;
/// The step at which the schedule ends.
extern const Converter total;

// CycleKeys.cpp

/// Convert whether OneCycle changes Adam's betas, the bounds of the first, and
/// what becomes of it after the cycle.
extern const Converter cycleMomentum;
extern const Converter cycleBound;
extern const Converter decayMomentum;

// MonitorKeys.cpp

/// Translates whether files for TensorBoard are written, and to which folder.
extern const Converter tensorboard;

// Questions that converters ask.

/// The optimizer of the run, by its name here: the command line's, or the
/// file's.
std::string optimizerOf(const Translation &to);
/// Returns whether the run has this schedule of DeepSpeed's from the file.
bool isSchedule(const Translation &to, absl::string_view type);
/// Why a key of the file's optimizer has no effect where the command line has
/// another, which does not use it; or empty. Likewise of the schedule, and of
/// the precision.
std::string replacedOptimizer(const Key &key, const Translation &to);
std::string replacedSchedule(const Key &key, const Translation &to);
std::string replacedPrecision(const Key &key, const Translation &to);
/// Why the schedule's rate comes before the optimizer's; or empty.
std::string rateOfSchedule(const Translation &to);
/// Why the loss scale never changes; empty where it is dynamic.
std::string fixedScale(const Translation &to);
/// Returns whether the schedule changes the betas.
bool cyclesBetas(const Translation &to);
/// Returns what Transformers makes of a model's hidden size where the key is
/// auto; 0: of this key nothing.
int64_t ofHiddenSize(absl::string_view path, int64_t size);

} // namespace zerograph::config

#endif // ZEROGRAPH_CONFIG_CONVERTERS_H
