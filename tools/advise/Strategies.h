//===- Strategies.h - ways to train the same model ------------------------===//

#ifndef ZEROGRAPH_TOOLS_ADVISE_STRATEGIES_H
#define ZEROGRAPH_TOOLS_ADVISE_STRATEGIES_H

#include "options/Options.h"

#include <functional>
#include <string>
#include <vector>

namespace zerograph {

/// Options of compile that change memory and time, never what is computed.
struct Strategy {
  int64_t zero_stage = 0;
  std::string recompute = "none", offload_optimizer = "none",
              offload_param = "none";

  bool operator==(const Strategy &) const = default;
  /// Returns the options without dashes, and their values.
  std::vector<std::pair<std::string, std::string>> settings() const;
  /// "--zero 3 --recompute units": without those that do nothing.
  std::string text() const;
  void apply(options::Compile &options) const;
};

/// Returns the options of `to` that `from` has otherwise: "--zero 1 --recompute
/// none".
std::vector<std::string> changesBetween(const Strategy &from,
                                        const Strategy &to);

/// Returns all of them for so many ranks, those that need less memory last. An
/// option that `isGiven` keeps its value in `asked`.
std::vector<Strategy>
strategiesOf(const options::Compile &asked,
             const std::function<bool(const std::string &)> &isGiven);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_ADVISE_STRATEGIES_H
