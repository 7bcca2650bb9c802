//===- AdviseModel.h - advice for a model ---------------------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_ADVISEMODEL_H
#define ZEROGRAPH_TOOLS_CLI_ADVISEMODEL_H

#include "tools/cli/AdviceText.h"
#include "tools/cli/CompileModel.h"
#include "tools/cli/MachineFlags.h"

#include <optional>
#include <string>
#include <vector>

namespace zerograph {

/// Declares the options of `advise` on a command: those of `compile`, those
/// that name a machine, and its own. Outlives the command.
struct AdviseFlags {
  explicit AdviseFlags(CLI::App &command);

  CLI::App &command;
  CompileFlags compile;
  MachineFlags machine;
  std::vector<uint32_t> or_ranks;
  AdviceWishes wishes;
};

/// A question, and its answer for each number of ranks that was asked for.
struct ModelAdvice {
  Question question;
  std::vector<RanksAdvice> ranks;

  /// Returns the advice whose fastest trial is the fastest; null if nothing
  /// fits.
  const RanksAdvice *fastest() const;
  nlohmann::ordered_json json(const AdviceWishes &wishes) const;
};

/// Is told of a strategy that was tried on so many ranks.
using Tried = std::function<void(uint32_t ranks, const Trial &trial)>;

/// Answers for MODEL.onnx. The example, if there is one, says how large the
/// model's symbolic dims are and, where no option does, how many samples a step
/// has. `tried` is called after each strategy, one at a time; it may be empty.
absl::StatusOr<ModelAdvice>
adviseModel(AdviseFlags &flags, const std::string &model,
            const std::optional<ExampleArrays> &example, const Tried &tried);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_ADVISEMODEL_H
