//===- Describe.cpp - a collective in messages ----------------------------===//

#include "runtime/comm/Collectives.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Supported.h"

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

absl::Status zerograph::needRankOrder(const plan::ReduceScatter &reduce,
                                      const char *where) {
  if (!reduce.any_order()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the plan leaves the order of sums to NCCL (--reduction nccl), and ranks "
      "on ",
      where, " do without it: compile it with --reduction exact"));
}

uint64_t zerograph::sumOffset(const plan::ReduceScatter &reduce,
                              uint64_t begin) {
  return begin / elementSize(reduce.wire()) * elementSize(reduce.accumulator());
}

absl::StatusOr<std::vector<uint64_t>>
zerograph::bytesOfPairs(const plan::Step &step,
                        const std::vector<DeviceRange> &ranges) {
  bool staged = step.has_all_reduce() && ranges.size() % 2 != 0;
  size_t paired = ranges.size() - (staged ? 1 : 0);
  if (paired == 0 || paired % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it has ", ranges.size(), " accesses, expected pairs of them"));
  }
  std::vector<uint64_t> bytes;
  for (size_t i = 0; i < paired; i += 2) {
    bytes.push_back(ranges[i].bytes);
  }
  return bytes;
}
