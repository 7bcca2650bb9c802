//===- OptimizerGroups.h - which parameters have which hyperparameters ----===//

#ifndef ZEROGRAPH_PASSES_ZERO_OPTIMIZERGROUPS_H
#define ZEROGRAPH_PASSES_ZERO_OPTIMIZERGROUPS_H

#include "passes/ir/zero/ZeroDialect.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::zg::zero {

/// The groups of `zero-layout`'s options: group 0, of all that no other one
/// takes, then one a pattern, in their order, then that of parameters without
/// decay. The first that matches a parameter has it.
class OptimizerGroups {
public:
  /// `texts`: as `--group` takes them, separated by semicolons. Nothing where
  /// `error` was set, to what is wrong with them.
  static std::optional<OptimizerGroups> parse(StringRef texts, bool noDecay,
                                              std::string &error);

  int64_t of(StringAttr parameter, RankedTensorType type) const;
  /// Entries of `zero.layout`, with what they change of the optimizer's
  /// options.
  ArrayAttr attributes(MLIRContext *context) const;

private:
  struct Group {
    std::string name;
    /// As of `--train`. Empty: parameters of at most one dimension, which are
    /// biases and the scales of norms.
    std::string pattern;
    std::vector<std::pair<std::string, double>> numbers;
  };
  std::vector<Group> groups; // without the first
};

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_OPTIMIZERGROUPS_H
