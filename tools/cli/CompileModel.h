//===- CompileModel.h - compiling as the commands do it -------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_COMPILEMODEL_H
#define ZEROGRAPH_TOOLS_CLI_COMPILEMODEL_H

#include "absl/status/statusor.h"
#include "runtime/io/TensorFile.h"
#include "tools/cli/CompileFlags.h"

#include <optional>

namespace zerograph {

/// Binds dims as bindSizes, compiles, prints warnings on standard error, and
/// writes the weights that the plan needs beside `plan_path`.
absl::StatusOr<CompileResult> compileModel(CompileOptions options,
                                           const std::vector<std::string> &data,
                                           const std::string &plan_path);

/// Binds the dims that the micro-batch (0: not given) and the arrays in `data`
/// (empty: none), those of its first file, decide.
absl::Status bindSizes(CompileOptions &options,
                       const std::vector<std::string> &data);

/// Arrays that a run will be given, and what errors call them.
struct ExampleArrays {
  std::string name;
  TensorFile arrays;
};
/// Does the same with arrays that are open; nothing: none. They are a batch of
/// a step, which says how large a micro-batch is where no option does.
absl::Status bindExample(CompileOptions &options,
                         const std::optional<ExampleArrays> &example);

/// Refuses a model to be run here that is compiled for a device that this
/// machine lacks, before time is spent on it.
absl::Status checkDevice(const CompileOptions &options);

/// Removes the plan at `path`, which a compile of `model` was to replace: if it
/// stayed after a refusal, it would be trained by mistake. Leaves alone what is
/// no plan, and `model` itself.
void removeOldPlan(const std::string &path, const std::string &model);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_COMPILEMODEL_H
