//===- Origins.h - where the parameters' first values lie -----------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_ORIGINS_H
#define ZEROGRAPH_RUNTIME_STATE_ORIGINS_H

#include "runtime/plan/plan.pb.h"
#include "runtime/state/LoadedWeights.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace zerograph {

struct InitializeOptions {
  /// A .safetensors file whose arrays replace what the plan names; or empty.
  std::string load_weights;
  /// The names that this file has for them, a map as StateDictNames reads it;
  /// or empty.
  std::string names;
  /// Deviation of the normals for parameters without a source or whose file is
  /// not there; else they are an error.
  std::optional<double> init_missing;
  uint64_t seed = 0;
  /// The folder where the plan's own weight file is looked for.
  std::string plan_folder;
  /// The model that the user gave, of which the plan was made just now; or
  /// empty.
  std::string model_path;
};

/// The places where a plan's parameters have their values, and what was found
/// on the way.
struct Origins {
  /// By parameter, of those that a file holds. The others are made up.
  std::map<std::string, FileWeight> values;
  /// Parameters, in the plan's order: that the file of weights lacks; that it
  /// has, and that are rounded to 16 bits; that are made up by `init_missing`;
  /// of adapters, that begin anew; that have no values at all.
  std::vector<std::string> absent, rounded, made, adapters, missing;
  /// The faults of parameters' values, one text each.
  std::vector<std::string> unfit;
  /// See SourceFiles.
  std::set<std::string> absent_files;
  std::map<std::string, std::string> moved_files;
};

/// Finds all of them. `loaded`: the file of `load_weights`; may be empty.
Origins findOrigins(const plan::Plan &plan, const InitializeOptions &options,
                    const LoadedWeights &loaded);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_ORIGINS_H
