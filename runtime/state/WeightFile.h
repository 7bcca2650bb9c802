//===- WeightFile.h - parameters and gradients as files -------------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_WEIGHTFILE_H
#define ZEROGRAPH_RUNTIME_STATE_WEIGHTFILE_H

#include "runtime/io/SafetensorsWriter.h"
#include "runtime/state/Layout.h"

namespace zerograph {

/// What a file of states holds.
struct WeightFileOptions {
  std::string role = "param"; // "grad" for gradients
  bool trainable_only = false;
  /// Every F32 or F64 element is multiplied by it, rounded once to its type;
  /// 1 copies the bits of any type.
  double scale = 1;
};

/// Reserves a file for every parameter, keyed by its initializer's name.
absl::StatusOr<std::unique_ptr<SafetensorsWriter>>
createWeightFile(const std::string &path, const plan::Plan &plan,
                 const WeightFileOptions &options);

/// Writes what this rank owns. After all ranks did, one commits.
absl::Status writeWeights(SafetensorsWriter &writer, const plan::Plan &plan,
                          const WeightFileOptions &options,
                          const RankMemory &memory);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_WEIGHTFILE_H
