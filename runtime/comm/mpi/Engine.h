//===- Engine.h - the one thread that calls MPI ---------------------------===//
//
// MPI's calls cannot be given a time. So no thread that must end in time makes
// one: a thread of its own does, from MPI_Init to the end, and never blocks in
// between; the others hand it messages and wait, at most until the deadline.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_MPI_ENGINE_H
#define ZEROGRAPH_RUNTIME_COMM_MPI_ENGINE_H

#include "runtime/comm/HostCommunicator.h"
#include "runtime/comm/Peers.h"

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "runtime/base/Status.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace zerograph {

class Engine {
public:
  using Clock = std::chrono::steady_clock;
  using Describe = absl::FunctionRef<std::string()>;

  /// Opens MPI and starts the thread, which initializes it. One engine a
  /// process, once. For `told_to_end` see MpiOptions; it may be null.
  static absl::StatusOr<std::unique_ptr<Engine>>
  start(Clock::duration deadline, std::function<bool()> told_to_end);
  /// Leaves MPI as it is without `finish` or `abortAll` before: the launcher
  /// sees a process that ended without finalizing.
  ~Engine();

  unsigned rank() const { return self; }
  unsigned world() const { return size; }

  /// Sees the ends of these processes from now on.
  void watch(absl::Span<const std::string> processes);
  const Peers &peers() const;

  /// Sends and receives all of it. All ranks make these calls in the same
  /// order, one at a time. After an error MPI does not touch the memory any
  /// more. `describe` is called for the message of an error only.
  absl::Status transfer(absl::Span<const Message> receives,
                        absl::Span<const Message> sends, Describe describe);

  /// Returns when, in the last transfer, which is over, something had come from
  /// every rank that it received from. A short message comes at once.
  Clock::time_point met() const;

  /// Tells the others that this rank failed, and ends every transfer. The first
  /// failure counts. Returns once MPI touches no memory of a transfer.
  void fail(const absl::Status &status);
  /// Returns the failure as others of this rank are told it, or OK.
  absl::Status failure() const;
  /// Returns an error that names the ranks whose processes have ended, as far
  /// as it is known, or OK; for a thread that waits for other ranks without a
  /// transfer. Only one thread calls it.
  absl::Status lookForEnded();

  /// Says whether this rank tells the others from time to time that it is
  /// alive, which moves their deadlines.
  void setBusy(bool busy);

  /// Ends MPI. All ranks call it, after they have met.
  absl::Status finish();
  /// Ends all ranks' processes, this one included. Returns where MPI does not
  /// answer.
  void abortAll();

private:
  struct State;
  explicit Engine(std::shared_ptr<State> state) : state(std::move(state)) {}
  /// Ends the thread; returns whether it has ended within `limit`.
  bool end(int ending, Clock::duration limit);
  /// Returns what is wrong with the ranks that a transfer waits for, or OK.
  struct Wait;
  absl::Status look(Wait &wait, Describe describe);

  std::shared_ptr<State> state; // the thread's too: it may be left behind
  unsigned self = 0, size = 1;
  // The state of `lookForEnded`.
  Clock::time_point looked = {};
  std::vector<Clock::time_point> gone; // by rank: when its end was seen
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_MPI_ENGINE_H
