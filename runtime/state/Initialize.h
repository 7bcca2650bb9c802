//===- Initialize.h - the parameters' first values ------------------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_INITIALIZE_H
#define ZEROGRAPH_RUNTIME_STATE_INITIALIZE_H

#include "runtime/state/Layout.h"
#include "runtime/state/Origins.h"

#include <memory>

namespace zerograph {

/// The sources of every parameter's values, checked once for all ranks.
class ParameterSources {
public:
  /// One error lists all parameters without a source, and all that do not fit
  /// theirs. The plan outlives it.
  static absl::StatusOr<std::unique_ptr<ParameterSources>>
  open(const plan::Plan &plan, const InitializeOptions &options);

  /// Fills this rank's part of every state of every unit: masters by their
  /// sources, parameters rounded from the same, all else and padding with
  /// zeros. Thread-safe.
  absl::Status initialize(const RankMemory &memory) const;

  /// Returns what the user should know: unused arrays, parameters made up.
  const std::vector<std::string> &notes() const { return said; }
  /// Returns a warning of a likely mistake in the weights file, or "".
  const std::string &warning() const { return warned; }

private:
  ParameterSources() = default;
  /// Null where the values are made up.
  const FileWeight *weightOf(const plan::Parameter &parameter) const;
  absl::Status write(const ParameterPart &part) const;
  absl::Status writeMade(const ParameterPart &part) const;
  absl::Status writeTransposed(const FileWeight &weight,
                               const std::vector<ParameterPart> &parts) const;

  const plan::Plan *plan = nullptr;
  InitializeOptions options;
  Origins origins;
  std::vector<std::string> said;
  std::string warned;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_INITIALIZE_H
