//===- Initialize.h - the parameters' first values ------------------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_INITIALIZE_H
#define ZEROGRAPH_RUNTIME_STATE_INITIALIZE_H

#include "runtime/io/TensorFile.h"
#include "runtime/state/Layout.h"

#include <optional>
#include <set>

namespace zerograph {

struct InitializeOptions {
  /// A .safetensors file whose arrays replace what the plan names; or empty.
  std::string load_weights;
  /// Deviation of the normals for parameters without a source or whose file is
  /// not there; else they are an error.
  std::optional<double> init_missing;
  uint64_t seed = 0;
  /// Where the plan's own weight file is looked for.
  std::string plan_folder;
};

/// The deviation in "normal:0.02", as the command takes it.
absl::StatusOr<double> parseInitMissing(const std::string &text);

/// Where every parameter's values come from, checked once for all ranks.
class ParameterSources {
public:
  /// One error lists all parameters without a source, another all that do not
  /// fit theirs. The plan outlives it.
  static absl::StatusOr<std::unique_ptr<ParameterSources>>
  open(const plan::Plan &plan, const InitializeOptions &options);

  /// Fills this rank's part of every state of every unit: masters by their
  /// sources, parameters rounded from the same, all else and padding with
  /// zeros. Thread-safe.
  absl::Status initialize(const RankMemory &memory) const;

  /// What the user should know: unused arrays, parameters made up.
  const std::vector<std::string> &notes() const { return said; }

private:
  ParameterSources() = default;
  absl::Status resolve(const plan::Unit &unit, const plan::Parameter &parameter,
                       const TensorFile &loaded);
  absl::Status write(const ParameterPart &part) const;
  /// Of the values that `valuesOf` gives.
  plan::ElementType typeOf(const plan::Unit &unit,
                           const plan::Parameter &parameter) const;
  absl::Status valuesOf(const plan::Unit &unit,
                        const plan::Parameter &parameter, uint64_t first,
                        uint64_t count, std::byte *to) const;
  std::string sourcePath(const plan::Parameter &parameter);
  absl::StatusOr<std::shared_ptr<File>> open(const plan::Source &source,
                                             const std::string &path);

  const plan::Plan *plan = nullptr;
  InitializeOptions options;
  std::map<std::string, std::shared_ptr<File>> files;
  std::set<std::string> absent_files;
  std::map<std::string, std::string> moved_files; // to where they are
  std::map<std::string, TensorExtent> extents;    // by parameter
  std::vector<std::string> made;                  // by init_missing
  std::vector<std::string> adapters;              // that begin anew
  std::vector<std::string> missing;
  std::vector<std::string> rounded; // to 16 bits
  std::vector<std::string> said;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_INITIALIZE_H
