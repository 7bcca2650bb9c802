//===- CompileFlags.h - the options of compile ----------------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_COMPILEFLAGS_H
#define ZEROGRAPH_TOOLS_CLI_COMPILEFLAGS_H

#include "absl/status/status.h"
#include "tools/compiler/Compile.h"

#include <CLI/App.hpp>

#include <memory>

namespace zerograph {

/// Sizes by name, of "NAME=SIZE" each.
absl::StatusOr<std::map<std::string, int64_t>>
parseDims(const std::vector<std::string> &dims);

/// Values by name, of "NAME=VALUE" each.
absl::StatusOr<std::map<std::string, std::string>>
parseInputs(const std::vector<std::string> &inputs);

/// Declares compile's options on a command (`compile`, and `train` of a
/// model), and turns what was given into CompileOptions.
class CompileFlags {
public:
  explicit CompileFlags(CLI::App &command);

  /// The compile options that were given, as "--zero, --ranks"; a plan takes
  /// none.
  std::string given() const;

  /// Checks the options against each other; `model` and the dims that data
  /// decides are the caller's. Says on standard error which have no effect.
  absl::StatusOr<CompileOptions> resolve() const;

  /// For as many ranks as processes were started; an error where --ranks says
  /// otherwise.
  absl::Status setRanks(CompileOptions &options, unsigned processes) const;

  /// 0 where --micro-batch was not given.
  int64_t microBatch() const { return micro_batch; }

private:
  bool isGiven(const std::string &option) const;
  absl::Status checkBuilt() const;
  absl::Status resolveOptimizer(plan::OptimizerGroup &optimizer) const;
  void sayWithoutEffect() const;

  CLI::App &command;
  CLI::Option_group *group;
  CompileOptions options;
  std::vector<std::string> dims, inputs;
  int64_t micro_batch = 0;
  std::string kind = "adamw", betas = "0.9,0.999", reduce = "each";
  double lr = 1e-3, momentum = 0, eps = 1e-8, weight_decay = 0;
  bool nesterov = false;
  std::string clip_norm, config, memory;
};

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_COMPILEFLAGS_H
