//===- AdviceText.h - advice for people and programs ----------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_ADVICETEXT_H
#define ZEROGRAPH_TOOLS_CLI_ADVICETEXT_H

#include "tools/advise/Advise.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace zerograph {

/// Says what the reader wants to know besides the fastest.
struct AdviceWishes {
  double tokens = 0; ///< to train on; 0: unknown
  double price = 0;  ///< of a rank and hour; 0: unknown, as without tokens
  bool all = false;  ///< every trial, in place of some
};

/// Advice for so many ranks.
struct RanksAdvice {
  simulate::Cluster cluster;
  Advice advice;
};

/// "--zero 3 --micro-batch 4 --accumulate 2".
std::string optionsText(const Trial &trial);

/// Returns the trials of one number of ranks as a table, fastest first, and
/// what does not fit.
std::string adviceText(const RanksAdvice &ranks, const AdviceWishes &wishes);

/// Returns the fastest trial of each number of ranks as a table.
std::string ranksText(const std::vector<RanksAdvice> &all,
                      const AdviceWishes &wishes);

/// Returns everything; plans are for `target`.
nlohmann::ordered_json adviceJson(const RanksAdvice &ranks,
                                  const std::string &target,
                                  const AdviceWishes &wishes);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_ADVICETEXT_H
