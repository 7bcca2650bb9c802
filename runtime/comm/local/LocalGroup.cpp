//===- LocalGroup.cpp - ranks that are threads of one process -------------===//

#include "runtime/comm/local/LocalGroup.h"

#include "runtime/comm/local/Rendezvous.h"

#include <algorithm>
#include <cstring>

using namespace zerograph;

namespace {

using Duration = Rendezvous::Clock::duration;

/// The part of its call that a rank shows the others. It is the group's and not
/// the caller's: a rank that gives up returns while others may still read it.
/// The buffers that it points to live as long as the run.
struct Shown {
  /// Holds the messages of this exchange and, as some may still read it, those
  /// of the one before, by turns.
  std::vector<Message> sends[2];
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
  LocalCommunicator(std::shared_ptr<Group> of, unsigned rank)
      : HostCommunicator(of->options.on_enter), group(std::move(of)),
        self(rank) {}
  ~LocalCommunicator() override { group->meeting.end(self); }

  unsigned world() const override { return group->options.world; }
  unsigned rank() const override { return self; }

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
  bool inOneProcess() const override { return true; }
  absl::Status failure() override { return group->meeting.failure(); }

  void abort(const absl::Status &status) override {
    group->meeting.fail(self, status);
    order.fail();
  }

private:
  absl::StatusOr<Clock::time_point>
  transfer(const CollectiveSite &site, const char *what,
           absl::Span<const Message> receives,
           absl::Span<const Message> sends) override;
  absl::Status awaitReaders(const CollectiveSite &site,
                            const char *what) override;
  absl::Status lostTurn(const absl::Status &turn,
                        const std::string &where) override;
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
  int turn = 0;
  std::vector<size_t> next; // by peer, the first of its sends not yet seen
};

absl::StatusOr<HostCommunicator::Clock::time_point>
LocalCommunicator::transfer(const CollectiveSite &site, const char *what,
                            absl::Span<const Message> receives,
                            absl::Span<const Message> sends) {
  turn = !turn;
  ZG_RETURN_IF_ERROR(group->meeting.meet(
      self, [&] { shown().sends[turn].assign(sends.begin(), sends.end()); },
      [&] { return describe(site, what); }));
  Clock::time_point time = Clock::now();
  met();
  next.assign(world(), 0);
  for (const Message &message : receives) {
    const std::vector<Message> &sent = shownBy(message.peer).sends[turn];
    size_t &number = next[message.peer];
    while (number < sent.size() && sent[number].peer != self) {
      ++number;
    }
    if (number == sent.size() || sent[number].bytes != message.bytes) {
      return absl::InternalError(
          absl::StrCat("rank ", message.peer, " sends rank ", self,
                       " something else in ", describe(site, what)));
    }
    std::copy_n(sent[number++].data, message.bytes, message.data);
  }
  return time;
}

absl::Status LocalCommunicator::awaitReaders(const CollectiveSite &site,
                                             const char *what) {
  return group->meeting.meet(self, kNothing,
                             [&] { return "end of " + describe(site, what); });
}

absl::Status LocalCommunicator::lostTurn(const absl::Status &turn,
                                         const std::string &where) {
  absl::Status failure = group->meeting.failure();
  return failure.ok() ? annotate(turn, absl::StrCat("rank ", self, ", ", where))
                      : failure;
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
