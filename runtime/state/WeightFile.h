//===- WeightFile.h - parameters, gradients and states as files -----------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_WEIGHTFILE_H
#define ZEROGRAPH_RUNTIME_STATE_WEIGHTFILE_H

#include "runtime/io/SafetensorsWriter.h"
#include "runtime/plan/UnitParts.h"
#include "runtime/state/Adapters.h"
#include "runtime/state/Layout.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace zerograph {

/// The content of a file of states. Parameters are their masters, where there
/// are some.
struct WeightFileOptions {
  Role role = Role::Param;
  bool trainable_only = false;
  /// Every F32 or F64 element is multiplied by it, rounded once to its type;
  /// 1 copies the bits of any type.
  double scale = 1;
  /// True if, of parameters, those of adapters alone are written.
  bool adapters_only = false;
  /// Not null: of parameters, weights with what their adapters add, and no
  /// adapters. It outlives the writing.
  const AdapterValues *merged = nullptr;
};

/// Returns the arrays of such a file: every parameter by its initializer's
/// name; what an optimizer keeps of it by that name, a point and the state's,
/// as "fc1.weight.exp_avg".
std::vector<SafetensorsWriter::Entry>
weightEntries(const plan::Plan &plan, const WeightFileOptions &options);

/// Returns the name of one of them.
std::string weightName(const plan::Parameter &parameter,
                       const plan::State &state);

/// Reserves a file for them.
absl::StatusOr<std::unique_ptr<SafetensorsWriter>>
createWeightFile(const std::string &path, const plan::Plan &plan,
                 const WeightFileOptions &options);

/// Takes bytes [offset, offset + bytes) of the array `name`.
using WeightSink =
    std::function<absl::Status(const std::string &name, uint64_t offset,
                               uint64_t bytes, const void *data)>;

/// Gives `sink` what this rank owns: all ranks together, each byte once.
absl::Status writeWeights(const WeightSink &sink, const plan::Plan &plan,
                          const WeightFileOptions &options,
                          const RankMemory &memory);
/// Returns the memory of those arrays that this rank has whole, as they would
/// be written: name -> bytes.
std::map<std::string, DeviceRange>
wholeWeights(const plan::Plan &plan, const WeightFileOptions &options,
             const RankMemory &memory);
/// Writes what this rank owns. After all ranks did, one commits.
absl::Status writeWeights(SafetensorsWriter &writer, const plan::Plan &plan,
                          const WeightFileOptions &options,
                          const RankMemory &memory);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_WEIGHTFILE_H
