//===- Rendezvous.cpp - what rank 0 knows of all ranks --------------------===//

#include "runtime/comm/tcp/Rendezvous.h"

#include "runtime/base/Text.h"
#include "runtime/comm/tcp/Timing.h"

#include "absl/strings/escaping.h"

#include <algorithm>

using namespace zerograph;
using namespace zerograph::tcp;

namespace {

/// The most names of a list; the others are counted.
constexpr size_t kNames = 16;

/// Returns the name escaped: anybody may have sent it, and it goes to
/// terminals.
std::string nameOfRun(const std::string &run) {
  return run.empty() ? "one without a name"
                     : absl::StrCat("'", absl::CHexEscape(run), "'");
}

template <typename Message>
Bytes frameOf(FrameKind kind, const Message &message) {
  return encode(kind, pack(message));
}

} // namespace

Rendezvous::Rendezvous(unsigned world, std::string run, std::string place,
                       Clock::duration deadline)
    : run(std::move(run)), place(std::move(place)), deadline(deadline),
      ranks(world) {}

std::string Rendezvous::nameOf(unsigned rank) const {
  const Rank &it = ranks[rank];
  return absl::StrCat(
      "rank ", rank, " (",
      it.here || it.left ? it.process : absl::StrCat("has not come to ", place),
      ")");
}

std::string Rendezvous::namesOf(const std::vector<unsigned> &which) const {
  std::vector<std::string> names;
  for (unsigned rank : which) {
    names.push_back(nameOf(rank));
  }
  return listOf(names, kNames);
}

absl::Status Rendezvous::failure() const {
  return failed ? absl::Status(failed->code, failed->message)
                : absl::OkStatus();
}

void Rendezvous::fail(const Failure &failure) {
  if (failed) {
    return;
  }
  failed = failure;
  Bytes frame = frameOf(FrameKind::kFailure, failure);
  for (unsigned rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].here) {
      outgoing.emplace_back(rank, frame);
    }
  }
}

void Rendezvous::failWaiting(absl::StatusCode code,
                             const std::string &message) {
  for (unsigned i = 0; i < ranks.size() && come > 0; ++i) {
    unsigned rank = unsigned((first + i) % ranks.size());
    if (ranks[rank].here && ranks[rank].call) {
      return fail({rank, code,
                   absl::StrCat("rank ", rank, ", ", ranks[rank].call->what,
                                ": ", message)});
    }
  }
  fail({Failure::kNobody, code, message});
}

absl::Status Rendezvous::enter(const Hello &hello, Clock::time_point now) {
  if (hello.run != run) {
    return absl::NotFoundError(absl::StrCat(
        "another run meets there (", nameOfRun(run), ", and this one is ",
        nameOfRun(hello.run),
        "): give each a port of its own by the variable ZEROGRAPH_PORT"));
  }
  if (hello.world != ranks.size() || hello.rank >= ranks.size()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "rank 0 was started as one of ", ranks.size(),
        " ranks, and this is "
        "rank ",
        hello.rank, " of ", hello.world,
        ": start all alike, or give each run a port of its own by the "
        "variable ZEROGRAPH_PORT"));
  }
  Rank &rank = ranks[hello.rank];
  if (rank.here || rank.left) {
    return absl::AlreadyExistsError(absl::StrCat(
        nameOf(hello.rank),
        " has come already: two processes were started as "
        "one rank, or another run meets there; give each a port of its own by "
        "the variable ZEROGRAPH_PORT"));
  }
  if (failed) {
    return absl::AbortedError(failed->message);
  }
  rank.here = true;
  rank.process = absl::CHexEscape(hello.process);
  rank.heard = rank.excused = now;
  outgoing.emplace_back(hello.rank,
                        frameOf(FrameKind::kWelcome, Text{ranks[0].process}));
  return absl::OkStatus();
}

void Rendezvous::hear(unsigned rank, bool call, Clock::time_point now) {
  ranks[rank].heard = now;
  if (call) {
    ranks[rank].excused = now;
  }
}

void Rendezvous::excuse(Clock::time_point now) {
  for (Rank &rank : ranks) {
    rank.heard = rank.excused = now;
  }
}

void Rendezvous::lose(unsigned rank, const std::string &why) {
  if (!ranks[rank].here) {
    return;
  }
  ranks[rank].here = false;
  ranks[rank].left = true;
  bool awaited = come > 0 && !ranks[rank].call;
  failWaiting(absl::StatusCode::kUnavailable,
              absl::StrCat(nameOf(rank), " ", why,
                           awaited ? ", and was waited for" : ""));
}

void Rendezvous::expel(unsigned rank, const absl::Status &why) {
  failWaiting(absl::StatusCode::kInternal,
              absl::StrCat("of ", nameOf(rank), ": ", why.message()));
}

void Rendezvous::take(unsigned rank, const Frame &frame,
                      Clock::time_point now) {
  auto read = [&](auto &message) {
    absl::Status status = unpack(frame.payload, message);
    if (!status.ok()) {
      expel(rank, status);
    }
    return status.ok();
  };
  Rank &it = ranks[rank];
  switch (frame.kind) {
  case FrameKind::kCall:
    if (Call call; read(call)) {
      arrive(rank, std::move(call), now);
    }
    return;
  case FrameKind::kAlive:
    if (Alive alive; read(alive)) {
      it.excused = it.busy || alive.busy ? now : it.excused;
      it.busy = alive.busy;
    }
    return;
  case FrameKind::kFailure:
    if (Failure failure; read(failure)) {
      failure.rank = rank;
      if (failure.message.empty()) {
        failure.message =
            absl::StrCat(nameOf(rank), " failed and gave no reason");
      }
      fail(failure);
    }
    return;
  case FrameKind::kBye:
    it.here = false;
    it.left = true;
    return look(now);
  default:
    return expel(rank, absl::InternalError("it sent what rank 0 sends"));
  }
}

void Rendezvous::arrive(unsigned rank, Call call, Clock::time_point now) {
  if (failed) {
    return; // it will be told, or has been
  }
  if (call.round != round || ranks[rank].call) {
    return expel(rank, absl::InternalError(absl::StrCat(
                           "it makes call ", call.round, ", '", call.what,
                           "', where call ", round, " is due")));
  }
  if (come == 0) {
    first = rank;
    first_comes = now;
  } else if (const Call &other = *ranks[first].call;
             other.operation != call.operation) {
    return fail(
        {rank, absl::StatusCode::kInternal,
         absl::StrCat("rank ", rank, " is out of step: it comes to the ",
                      tcp::nameOf(call.operation), " '", call.what,
                      "', and rank ", first, " to the ",
                      tcp::nameOf(other.operation), " '", other.what, "'")});
  }
  ranks[rank].call = std::move(call);
  if (++come == ranks.size()) {
    answer();
  } else {
    look(now); // one that is missing may have left
  }
}

/// Answers the call: all have come.
void Rendezvous::answer() {
  Operation operation = ranks[0].call->operation;
  Result none = {round, {}}, all = {round, {}};
  uint64_t bytes = 0;
  for (unsigned rank = 0; rank < ranks.size(); ++rank) {
    bytes += ranks[rank].call->text.size() + sizeof(uint64_t);
    if (operation != Operation::kBarrier) {
      all.texts.push_back(std::move(ranks[rank].call->text));
    }
  }
  if (bytes > kLongestPayload / 2) {
    return failWaiting(absl::StatusCode::kResourceExhausted,
                       absl::StrCat("the ranks' texts have ", bytes,
                                    " bytes together, more than one message "
                                    "takes (",
                                    kLongestPayload / 2, ")"));
  }
  Bytes empty = frameOf(FrameKind::kResult, none);
  Bytes full = frameOf(FrameKind::kResult, all);
  for (unsigned rank = 0; rank < ranks.size(); ++rank) {
    bool some = operation != Operation::kCollect || rank == 0;
    outgoing.emplace_back(rank, some ? full : empty);
    ranks[rank].call.reset();
  }
  come = 0;
  ++round;
}

void Rendezvous::look(Clock::time_point now) {
  if (failed) {
    return;
  }
  std::vector<unsigned> late, left;
  for (unsigned rank = 0; rank < ranks.size() && come > 0; ++rank) {
    const Rank &it = ranks[rank];
    if (it.call) {
      continue;
    }
    if (it.left) {
      left.push_back(rank);
    } else if (!it.busy &&
               now - std::max(first_comes, it.excused) >= deadline) {
      late.push_back(rank);
    }
  }
  if (!left.empty()) {
    return failWaiting(
        absl::StatusCode::kUnavailable,
        absl::StrCat(namesOf(left), left.size() == 1 ? " has" : " have",
                     " ended, and ", left.size() == 1 ? "was" : "were",
                     " waited for"));
  }
  if (!late.empty()) {
    return failWaiting(
        absl::StatusCode::kDeadlineExceeded,
        absl::StrCat("waited ", seconds(deadline), " s for ", namesOf(late)));
  }
  std::vector<unsigned> silent;
  for (unsigned rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].here && now - ranks[rank].heard >= silence(deadline)) {
      silent.push_back(rank);
    }
  }
  if (!silent.empty()) {
    failWaiting(absl::StatusCode::kDeadlineExceeded,
                absl::StrCat("heard nothing for ", seconds(silence(deadline)),
                             " s of ", namesOf(silent),
                             ": stopped, or not reachable any more"));
  }
}
