//===- BlockOrder.cpp - what blocks of a launch know of each other --------===//

#include "tests/emulator/BlockOrder.h"

using namespace zerograph::emulator;

void BlockOrder::fence(const Moment &moment) {
  Thread thread(moment.block, moment.thread);
  fenced[thread] = moment.barriers;
  for (const Release &release : seen[thread]) {
    acquired.try_emplace({moment.block, release.block},
                         Acquired{release.barriers, moment});
  }
  seen[thread].clear();
}

void BlockOrder::arrive(const Moment &moment, uint64_t address) {
  Thread thread(moment.block, moment.thread);
  std::vector<Release> &releases = arrived[address];
  seen[thread] = releases;
  auto found = fenced.find(thread);
  if (found != fenced.end()) {
    releases.push_back({moment.block, found->second});
  }
}

bool BlockOrder::isOrdered(const Moment &before, const Moment &now) const {
  auto found = acquired.find({now.block, before.block});
  if (found == acquired.end()) {
    return false;
  }
  const auto &[barriers, since] = found->second;
  return before.barriers < barriers &&
         (since.thread == now.thread || since.barriers < now.barriers);
}
