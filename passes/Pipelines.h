//===- Pipelines.h - the phases from an imported model to a schedule ------===//

#ifndef ZEROGRAPH_PASSES_PIPELINES_H
#define ZEROGRAPH_PASSES_PIPELINES_H

#include "options/Options.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::zg {

class TargetInfo;

/// The options that decide a training plan's passes.
struct TrainingOptions {
  /// Empty: inferred. See `nn-differentiate`.
  std::string loss;
  zerograph::options::Compile user;
  /// Elements of a tile of a hidden layer, if not those of `nn-tile-hidden`.
  std::optional<int64_t> hidden_tile = std::nullopt;
};

/// A run of passes with a name; the IR between two phases is worth reading,
/// and `--dump-ir` writes it.
struct Phase {
  std::string name;
  std::string summary;
  std::function<void(OpPassManager &)> build;
};

/// The phases, in order. `target` is asked for workspaces and must outlive
/// the passes.
std::vector<Phase> trainingPhases(const TrainingOptions &options,
                                  const TargetInfo &target);

/// Returns the phases of a plan that runs forward: `forward` stands for the
/// first three.
std::vector<Phase> forwardPhases(const TargetInfo &target);

/// Returns the phases of a gradient graph, which is no plan: loss and gradients
/// by core ops.
std::vector<Phase> gradientPhases(const TrainingOptions &options);

/// Registers each phase as the pipeline `zg-NAME`, for textual pipelines: it
/// takes what `--dump-ir` wrote after the phase before. Its options are those
/// of the passes that it configures. `target` must outlive every use.
void registerPhases(const TargetInfo &target);

} // namespace mlir::zg

#endif // ZEROGRAPH_PASSES_PIPELINES_H
