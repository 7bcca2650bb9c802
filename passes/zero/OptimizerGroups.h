//===- OptimizerGroups.h - which parameters have which hyperparameters ----===//

#ifndef ZEROGRAPH_PASSES_ZERO_OPTIMIZERGROUPS_H
#define ZEROGRAPH_PASSES_ZERO_OPTIMIZERGROUPS_H

#include "options/Groups.h"
#include "passes/ir/zero/ZeroDialect.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::zg::zero {

/// The groups of `zero-layout`'s options: group 0 has all that no other one
/// takes, then there is one a pattern, in their order, then that of parameters
/// without decay. The first that matches a parameter has it.
class OptimizerGroups {
public:
  /// Parses `texts`, as `--group` takes them, separated by semicolons. Returns
  /// nothing where it set `error` to what is wrong with them.
  static std::optional<OptimizerGroups> parse(StringRef texts, bool noDecay,
                                              std::string &error);

  int64_t of(StringAttr parameter, RankedTensorType type) const;
  /// Returns entries of `zero.layout`, with what they change of the optimizer's
  /// options.
  ArrayAttr attributes(MLIRContext *context) const;

private:
  struct Group {
    std::string name;
    /// A pattern as of `--train`. If empty, the group has parameters of at most
    /// one dimension, which are biases and the scales of norms.
    std::string pattern;
    decltype(zerograph::options::Group::numbers) numbers;
  };
  std::vector<Group> groups; // without the first
};

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_OPTIMIZERGROUPS_H
