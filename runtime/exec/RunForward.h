//===- RunForward.h - what a model computes for some data -----------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_RUNFORWARD_H
#define ZEROGRAPH_RUNTIME_EXEC_RUNFORWARD_H

#include "runtime/plan/PlanFile.h"

#include <functional>
#include <optional>
#include <string>

namespace zerograph {

struct ForwardOptions {
  /// .safetensors files, folders of these, or folders of .npy files, whose
  /// samples follow one another.
  std::vector<std::string> data;
  /// FILE.safetensors for the outputs.
  std::string output;
  /// The plan's file, beside which its own weights lie; and the model, which is
  /// not read here and not written over.
  std::string plan_path, model_path;
  /// The threads of the compute stream; 0: the machine's processors.
  unsigned threads = 0;
  /// A file of weights, and a map of what it calls them; or empty.
  std::string load_weights, names;
  /// The deviation of made up parameters.
  std::optional<double> init_missing;
  /// The seed of made up parameters and of random numbers.
  uint64_t seed = 0;
  /// Called with what the user should know; may be null.
  std::function<void(const std::string &)> say;
};

struct ForwardResult {
  uint64_t runs = 0;    // of "forward"
  uint64_t samples = 0; // whose outputs were written
};

/// Runs a plan that trains nothing over all samples and writes its outputs. One
/// that has samples in front gets as many rows as there are samples: the last
/// micro-batch may begin among those before. Any other output is that of the
/// one run, or has one row a run; then samples that fill no micro-batch are
/// left out, which is said.
absl::StatusOr<ForwardResult> runForward(const LoadedPlan &loaded,
                                         const ForwardOptions &options);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_RUNFORWARD_H
