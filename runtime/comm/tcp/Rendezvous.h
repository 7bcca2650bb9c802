//===- Rendezvous.h - what rank 0 knows of all ranks ----------------------===//
//
// The whole protocol on rank 0's side, without sockets or a clock of its own:
// who is there, what each waits for, who is late. The coordinator's thread
// gives it what arrives and sends what it leaves.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_TCP_RENDEZVOUS_H
#define ZEROGRAPH_RUNTIME_COMM_TCP_RENDEZVOUS_H

#include "runtime/comm/tcp/Messages.h"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace zerograph::tcp {

class Rendezvous {
public:
  using Clock = std::chrono::steady_clock;

  /// `place` is "node1:24500 (MASTER_ADDR and MASTER_PORT)", for messages.
  Rendezvous(unsigned world, std::string run, std::string place,
             Clock::duration deadline);

  /// Lets a rank in that says hello; an error says why it does not belong here:
  /// NotFound where another run meets, and its own may meet elsewhere.
  absl::Status enter(const Hello &hello, Clock::time_point now);
  /// Takes a frame of a rank that has entered.
  void take(unsigned rank, const Frame &frame, Clock::time_point now);
  /// Notes that bytes of a rank came. `call` says that they are of a call that
  /// is not complete yet, which may take longer than the deadline.
  void hear(unsigned rank, bool call, Clock::time_point now);
  /// Notes that a rank's connection is gone: `why`, as "has ended".
  void lose(unsigned rank, const std::string &why);
  /// Fails all ranks: this one sent what the protocol does not have.
  void expel(unsigned rank, const absl::Status &why);
  /// Fails the ranks that are late by the deadline.
  void look(Clock::time_point now);
  /// Begins the others' times anew: this process was itself stopped or starved,
  /// which is no fault of theirs.
  void excuse(Clock::time_point now);

  /// The messages to be sent to each rank, in this order; the caller takes them
  /// away.
  std::vector<std::pair<unsigned, Bytes>> outgoing;

  /// Returns what ended all ranks, or OK.
  absl::Status failure() const;
  /// Returns whether a rank has entered and not left.
  bool isHere(unsigned rank) const { return ranks[rank].here; }

private:
  struct Rank {
    bool here = false;
    bool left = false; // in good order, or lost
    bool busy = false;
    std::string process;
    Clock::time_point heard;   // any sign of life
    Clock::time_point excused; // when it was last known not to be late
    std::optional<Call> call;  // of this round
  };

  void arrive(unsigned rank, Call call, Clock::time_point now);
  void answer();
  void fail(const Failure &failure);
  /// Fails on behalf of a rank that waits, if one does: the first that came,
  /// where it is still there.
  void failWaiting(absl::StatusCode code, const std::string &message);
  std::string nameOf(unsigned rank) const;
  /// Returns "rank 1 (process 2 on a), rank 3 (...)".
  std::string namesOf(const std::vector<unsigned> &which) const;

  const std::string run, place;
  const Clock::duration deadline;
  std::vector<Rank> ranks;
  uint64_t round = 0;
  unsigned come = 0;             // to this round
  unsigned first = 0;            // of them
  Clock::time_point first_comes; // when
  std::optional<Failure> failed;
};

} // namespace zerograph::tcp

#endif // ZEROGRAPH_RUNTIME_COMM_TCP_RENDEZVOUS_H
