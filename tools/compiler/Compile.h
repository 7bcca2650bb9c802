//===- Compile.h - from a model file to a plan ----------------------------===//
//
// The whole compiler behind one function: import, passes, code generation. No
// MLIR in this header, so that a tool that compiles does not have to know it.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_COMPILE_H
#define ZEROGRAPH_TOOLS_COMPILER_COMPILE_H

#include "absl/status/statusor.h"
#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace zerograph {

/// What `zerograph compile` takes.
struct CompileOptions {
  std::string model; ///< path of the .onnx file

  std::map<std::string, int64_t> dims;
  /// Values of inputs of one element, by name: constants of the plan.
  std::map<std::string, std::string> inputs;
  /// Samples of a micro-batch, where the file fixes it: compared; 0: any.
  int64_t micro_batch = 0;
  std::vector<std::string> train, freeze;
  std::string loss_output;
  bool allow_exporter_damage = false;
  /// The ratio of every dropout of the model; none: those of the file.
  std::optional<double> dropout;
  /// The model is only run, on one rank: of what follows, `target` and
  /// `dump_ir` count.
  bool forward = false;
  /// To be run forward: names of initializers that --load-weights holds.
  std::set<std::string> replaced;

  int64_t ranks = 1;
  int64_t zero_stage = 0;
  int64_t accumulate = 1;
  int64_t bucket_bytes = 32 << 20;
  int64_t persistence_threshold = 0;
  int64_t prefetch = 1;
  std::string units;
  bool dump_gradients = false;

  plan::OptimizerGroup optimizer;

  std::string target = "host:native"; ///< "host:native", "host:x86-64-v3", ...
  /// Numbered IR files, one after each phase; empty: none.
  std::string dump_ir;
};

/// Bytes of a parameter that the model file does not hold in plain form.
struct ExtraWeight {
  std::string name;
  std::string bytes;
};

struct CompileResult {
  plan::Plan plan;
  /// To be written by `writeExtraWeights`; the plan's parameters of these
  /// names have no source until then.
  std::vector<ExtraWeight> extra_weights;
  std::vector<std::string> warnings;
  std::vector<std::string> notes; ///< worth knowing, nothing is wrong
  /// Parameter -> whether it was chosen to be trained, and why.
  std::map<std::string, std::pair<bool, std::string>> decisions;
  /// Phase -> seconds, in order.
  std::vector<std::pair<std::string, double>> seconds;
};

/// Compiles. Errors name the ONNX node or tensor, or the option, at fault.
absl::StatusOr<CompileResult> compile(const CompileOptions &options);

/// "PLAN.weights.safetensors", for a plan that goes to `plan_path`.
std::string extraWeightsPath(const std::string &plan_path);

/// Writes `result.extra_weights` to "PLAN.weights.safetensors" beside
/// `plan_path` (nothing if there are none) and enters their places into the
/// plan.
absl::Status writeExtraWeights(CompileResult &result,
                               const std::string &plan_path);

/// Deletes what `writeExtraWeights` wrote: its plan could not be written.
void removeExtraWeights(const CompileResult &result,
                        const std::string &plan_path);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_COMPILE_H
