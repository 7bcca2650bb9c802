//===- Describe.cpp - a collective in messages ----------------------------===//

#include "runtime/comm/Collectives.h"

using namespace zerograph;

std::string zerograph::describe(const CollectiveSite &site, const char *what) {
  return absl::StrCat(what, " ", site.step, " of program \"", site.program,
                      "\" (", site.tensor, ", sequence ", site.sequence, ")");
}

absl::Status zerograph::needAllRanks(absl::Span<const unsigned> group,
                                     unsigned world) {
  bool all = group.size() == world;
  for (unsigned i = 0; all && i < group.size(); ++i) {
    all = group[i] == i;
  }
  if (all) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      absl::StrCat("a collective of ", group.size(), " of ", world,
                   " ranks was asked for; here all ranks take part in each"));
}
