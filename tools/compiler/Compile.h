//===- Compile.h - from a model file to a plan ----------------------------===//
//
// The whole compiler behind one function: import, passes, code generation. No
// MLIR in this header, so that a tool that compiles does not have to know it.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_COMPILE_H
#define ZEROGRAPH_TOOLS_COMPILER_COMPILE_H

#include "absl/status/statusor.h"
#include "options/Options.h"
#include "runtime/plan/plan.pb.h"
#include "tools/compiler/LargestThatFits.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace zerograph {

struct SavedImport;

/// Everything that `zerograph compile` takes, also what is not an option of it.
struct CompileOptions : options::Compile {
  std::string model; ///< path of the .onnx file

  std::map<std::string, int64_t> dims; ///< made of `dim`
  int64_t samples = 0;                 ///< made of `micro_batch`; 0: unknown
  /// Values of inputs of one element, by name: constants of the plan.
  std::map<std::string, std::string> inputs; ///< made of `input`
  /// `accumulate` is nobody's wish: it follows from `global_batch`.
  bool open_accumulate = true;
  /// The model is only run, on one rank: of the options, those of the model,
  /// `target` and `dump_ir` count.
  bool forward = false;
  /// `precision` is nobody's wish: the model's own is taken, if it has one.
  bool own_precision = false;
  /// How far it goes: until every buffer has its place, and there is no plan;
  /// to a plan to look at, which is not proved and has no machine code; or to
  /// the whole one.
  enum class Until { Packed, Costed, Complete } until = Until::Complete;
  /// The model, where it was imported before; of the same options, as far as
  /// the importer asks for them. Null: its file is read.
  std::shared_ptr<const SavedImport> imported;
  /// The option that set the limits of `memory`, where that was another, as
  /// "--recompute 40GiB": for messages.
  std::string limited_by;
  /// See TrainingOptions. Tests set it: a model that has tiles by its shapes
  /// takes a test too long.
  std::optional<int64_t> hidden_tile;
  /// To be run forward: names of initializers that --load-weights holds.
  std::set<std::string> replaced;
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
  uint64_t device_bytes = 0; ///< that a rank's arena has of its device
  std::vector<std::string> warnings;
  std::vector<std::string> notes;   ///< worth knowing, nothing is wrong
  std::vector<std::string> remarks; ///< nothing to do about it
  /// Parameter -> whether it was chosen to be trained, and why.
  std::map<std::string, std::pair<bool, std::string>> decisions;
  /// Phase -> seconds, in order.
  std::vector<std::pair<std::string, double>> seconds;
};

/// Compiles. Errors name the ONNX node or tensor, or the option, at fault.
absl::StatusOr<CompileResult> compile(const CompileOptions &options);

/// Says what a rank needs of its device, and whether `--memory`, which is
/// given, allows that and what it needs of the host. Compiles until every
/// buffer has its place; with `--recompute auto`, with all that it can compute
/// again.
absl::StatusOr<Room> roomFor(const CompileOptions &options);

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
