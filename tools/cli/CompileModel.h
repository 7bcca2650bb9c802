//===- CompileModel.h - compiling as the commands do it -------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_COMPILEMODEL_H
#define ZEROGRAPH_TOOLS_CLI_COMPILEMODEL_H

#include "absl/status/statusor.h"
#include "frontend/Import.h"
#include "runtime/io/TensorFile.h"
#include "tools/cli/CompileFlags.h"
#include "tools/cli/MicroBatch.h"

#include <optional>

namespace zerograph {

/// Arrays that a run will be given, and what errors call them.
struct ExampleArrays {
  std::string name;
  TensorFile arrays;
  bool is_step = false; ///< they are a batch of one step, not of a whole run
  std::vector<std::string> data = {}; ///< files that they are the first of
};

/// Returns the arrays of the first file of `data`; nothing where there is none.
/// An error of the model's file comes before one of the data.
absl::StatusOr<std::optional<ExampleArrays>>
exampleOf(const std::string &model, const std::vector<std::string> &data);

/// Returns how many samples all these files have for a model of such inputs; 0:
/// no array has an axis of them.
absl::StatusOr<uint64_t>
samplesIn(const std::vector<std::string> &data,
          const std::vector<frontend::InputSignature> &inputs);

/// Returns the samples of a step. Where the example is a batch of one, its own
/// are, unless an option says how many a step or a micro-batch has.
GlobalBatch globalBatch(const CompileOptions &options,
                        const std::vector<frontend::InputSignature> &inputs,
                        const std::optional<ExampleArrays> &example);

/// Decides the micro-batch, where options leave it open, and binds the dims
/// that it and the example, of which there may be none, decide.
absl::Status bindSizes(CompileOptions &options,
                       const std::vector<frontend::InputSignature> &inputs,
                       const std::optional<ExampleArrays> &example);

/// Binds dims as bindSizes, compiles, prints warnings on standard error, and
/// writes the weights that the plan needs beside `plan_path`.
absl::StatusOr<CompileResult>
compileModel(CompileOptions options,
             const std::optional<ExampleArrays> &example,
             const std::string &plan_path);

/// Refuses a model to be run here that is compiled for a device that this
/// machine lacks, before time is spent on it.
absl::Status checkDevice(const CompileOptions &options);

/// Removes the plan at `path`, which a compile of `model` was to replace: if it
/// stayed after a refusal, it would be trained by mistake. Leaves alone what is
/// no plan, and `model` itself.
void removeOldPlan(const std::string &path, const std::string &model);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_COMPILEMODEL_H
