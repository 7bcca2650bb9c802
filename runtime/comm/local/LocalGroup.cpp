//===- LocalGroup.cpp - ranks that are threads of one process -------------===//

#include "runtime/comm/local/LocalGroup.h"

#include "runtime/comm/CollectiveOrder.h"
#include "runtime/comm/Fold.h"
#include "runtime/comm/local/Rendezvous.h"
#include "runtime/plan/Supported.h"

#include <algorithm>
#include <cstring>

using namespace zerograph;

namespace {

using Duration = Rendezvous::Clock::duration;

/// The part of its call that a rank shows the others. It is the group's and not
/// the caller's: a rank that gives up returns while others may still read it.
/// The buffers that it points to live as long as the run.
struct Shown {
  std::vector<GatherSegment> segments;
  ReduceScatterCall call;
  std::vector<ReduceArray> arrays;
  std::string text;
};

struct Group {
  explicit Group(const LocalGroupOptions &options)
      : options(options), meeting(options.world, deadline()),
        shown(options.world) {}

  Duration deadline() const {
    return std::chrono::duration_cast<Duration>(
        std::min(options.deadline, kLongestDeadline));
  }

  LocalGroupOptions options;
  Rendezvous meeting;
  std::vector<Shown> shown; // by rank; each written by its rank in `meet`
};

constexpr auto kNothing = [] {};

class LocalCommunicator final : public HostCommunicator {
public:
  LocalCommunicator(std::shared_ptr<Group> group, unsigned rank)
      : group(std::move(group)), self(rank),
        contributions(this->group->options.world) {}
  ~LocalCommunicator() override { group->meeting.end(self); }

  unsigned world() const override { return group->options.world; }
  unsigned rank() const override { return self; }
  void beginProgram() override { order.restart(); }

  absl::Status allGather(const CollectiveSite &site,
                         absl::Span<const GatherSegment> segments) override;
  absl::Status reduceScatter(const CollectiveSite &site,
                             const ReduceScatterCall &call) override;
  absl::Status allReduce(const CollectiveSite &site, plan::ElementType type,
                         absl::Span<const ReduceArray> arrays) override;

  absl::Status barrier(const std::string &what) override {
    return group->meeting.meet(self, kNothing, [&] { return what; });
  }
  absl::StatusOr<std::vector<std::string>>
  exchange(const std::string &what, const std::string &text) override {
    return texts(what, text, world());
  }
  absl::StatusOr<std::vector<std::string>>
  collect(const std::string &what, const std::string &text) override {
    return texts(what, text, self == 0 ? world() : 0);
  }
  absl::StatusOr<std::string> broadcast(const std::string &what,
                                        const std::string &text) override {
    ZG_ASSIGN_OR_RETURN(std::vector<std::string> first, texts(what, text, 1));
    return first[0];
  }
  bool inOneProcess() const override { return true; }
  absl::Status failure() override { return group->meeting.failure(); }

  void abort(const absl::Status &status) override {
    group->meeting.fail(self, status);
    order.fail();
  }

  TrafficCount traffic() const override { return count; }

private:
  /// Waits for this rank's turn and for all ranks to have called `publish`.
  template <typename Publish>
  absl::Status enter(const CollectiveSite &site, const char *what,
                     const Publish &publish);
  /// Waits until no rank reads this rank's memory any more.
  absl::Status leave(const CollectiveSite &site, const char *what);
  /// Returns the texts of the first `count` ranks.
  absl::StatusOr<std::vector<std::string>>
  texts(const std::string &what, const std::string &text, unsigned count);
  void met() const {
    if (group->options.on_met) {
      group->options.on_met(self);
    }
  }
  Shown &shown() { return group->shown[self]; }
  const Shown &shownBy(unsigned peer) const { return group->shown[peer]; }

  std::shared_ptr<Group> group;
  unsigned self;
  CollectiveOrder order;
  TrafficCount count;
  std::vector<const std::byte *> contributions; // one a rank, for folds
};

template <typename Publish>
absl::Status LocalCommunicator::enter(const CollectiveSite &site,
                                      const char *what,
                                      const Publish &publish) {
  auto where = [&] { return describe(site, what); };
  absl::Status turn = order.await(site.sequence);
  if (!turn.ok()) {
    absl::Status failure = group->meeting.failure();
    return failure.ok()
               ? annotate(turn, absl::StrCat("rank ", self, ", ", where()))
               : failure;
  }
  if (group->options.on_enter) {
    group->options.on_enter(self, site);
  }
  ZG_RETURN_IF_ERROR(group->meeting.meet(self, publish, where));
  noteBegin(site, Clock::now());
  met();
  return absl::OkStatus();
}

absl::Status LocalCommunicator::leave(const CollectiveSite &site,
                                      const char *what) {
  noteEnd(site, Clock::now());
  ZG_RETURN_IF_ERROR(group->meeting.meet(
      self, kNothing, [&] { return "end of " + describe(site, what); }));
  order.done();
  return absl::OkStatus();
}

absl::Status
LocalCommunicator::allGather(const CollectiveSite &site,
                             absl::Span<const GatherSegment> segments) {
  ZG_RETURN_IF_ERROR(enter(site, "all_gather", [&] {
    shown().segments.assign(segments.begin(), segments.end());
  }));
  // Every rank begins with another peer, so that they do not all read the
  // same memory at once.
  for (unsigned i = 0; i < world(); ++i) {
    unsigned peer = (self + i) % world();
    const std::vector<GatherSegment> &shards = shownBy(peer).segments;
    for (size_t s = 0; s < segments.size(); ++s) {
      uint64_t bytes = segments[s].shard_bytes;
      std::byte *place = segments[s].whole + peer * bytes;
      if (place != shards[s].shard) {
        std::memmove(place, shards[s].shard, bytes);
      }
      count.gather += peer != self ? bytes : 0;
    }
  }
  return leave(site, "all_gather");
}

absl::Status LocalCommunicator::reduceScatter(const CollectiveSite &site,
                                              const ReduceScatterCall &call) {
  ZG_RETURN_IF_ERROR(needReducible(call.wire, call.type));
  ZG_RETURN_IF_ERROR(
      enter(site, "reduce_scatter", [&] { shown().call = call; }));
  for (uint64_t begin = 0; begin < call.shard_bytes;
       begin += call.chunk_bytes) {
    uint64_t bytes = std::min(call.chunk_bytes, call.shard_bytes - begin);
    for (unsigned peer = 0; peer < world(); ++peer) {
      std::byte *place = call.staging + peer * call.chunk_bytes;
      const std::byte *whole = shownBy(peer).call.whole;
      // The own contribution goes through staging too: the shard may lie where
      // it is. A peer reads only its own part of this rank's segment.
      std::memcpy(place, whole + self * call.shard_bytes + begin, bytes);
      contributions[peer] = place;
      count.reduce += peer != self ? bytes : 0;
    }
    foldContributions(call.wire, call.type, call.sumAt(begin), call.accumulate,
                      contributions, call.elements(bytes));
  }
  return leave(site, "reduce_scatter");
}

absl::Status
LocalCommunicator::allReduce(const CollectiveSite &site, plan::ElementType type,
                             absl::Span<const ReduceArray> arrays) {
  ZG_RETURN_IF_ERROR(needReducible(type, type));
  ZG_RETURN_IF_ERROR(enter(site, "all_reduce", [&] {
    shown().arrays.assign(arrays.begin(), arrays.end());
  }));
  for (size_t i = 0; i < arrays.size(); ++i) {
    for (unsigned peer = 0; peer < world(); ++peer) {
      contributions[peer] = shownBy(peer).arrays[i].values;
      count.scalar += peer != self ? arrays[i].bytes : 0;
    }
    foldContributions(type, type, arrays[i].sum, /*accumulate=*/true,
                      contributions, arrays[i].bytes / elementSize(type));
  }
  return leave(site, "all_reduce");
}

absl::StatusOr<std::vector<std::string>>
LocalCommunicator::texts(const std::string &what, const std::string &text,
                         unsigned count) {
  auto where = [&] { return what; };
  ZG_RETURN_IF_ERROR(group->meeting.meet(
      self, [&] { shown().text = text; }, where));
  met();
  std::vector<std::string> result;
  for (unsigned peer = 0; peer < count; ++peer) {
    result.push_back(shownBy(peer).text);
  }
  ZG_RETURN_IF_ERROR(group->meeting.meet(self, kNothing, where));
  return result;
}

} // namespace

std::vector<std::unique_ptr<HostCommunicator>>
zerograph::makeLocalGroup(const LocalGroupOptions &options) {
  auto group = std::make_shared<Group>(options);
  std::vector<std::unique_ptr<HostCommunicator>> ranks;
  for (unsigned rank = 0; rank < options.world; ++rank) {
    ranks.push_back(std::make_unique<LocalCommunicator>(group, rank));
  }
  return ranks;
}
