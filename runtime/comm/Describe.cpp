//===- Describe.cpp - a collective in messages ----------------------------===//

#include "runtime/comm/Collectives.h"

using namespace zerograph;

std::string zerograph::describe(const CollectiveSite &site, const char *what) {
  return absl::StrCat(what, " ", site.step, " of program \"", site.program,
                      "\" (", site.tensor, ", sequence ", site.sequence, ")");
}
