//===- Client.h - a rank's end of its connection to the coordinator -------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_TCP_CLIENT_H
#define ZEROGRAPH_RUNTIME_COMM_TCP_CLIENT_H

#include "runtime/comm/tcp/Connection.h"
#include "runtime/comm/tcp/Messages.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace zerograph::tcp {

/// A rank's connection to the coordinator. A thread of its own keeps it, so
/// that rank 0 knows that this process lives whatever its other threads do, and
/// this one learns of a failure at once. All of it may be called by any thread.
class Client {
public:
  using Clock = std::chrono::steady_clock;

  /// Starts the thread; `early` is what came before it was there, the welcome
  /// first.
  static absl::StatusOr<std::unique_ptr<Client>>
  start(unsigned rank, Connection connection, std::vector<Frame> early,
        Clock::duration deadline);
  /// Says goodbye, unless there was a failure.
  ~Client();

  /// Returns the answer once all ranks have made the same call.
  absl::StatusOr<std::vector<std::string>>
  call(Operation operation, const std::string &what, const std::string &text);
  void setBusy(bool busy);
  /// Tells that this rank failed. Returns when the coordinator has told all, or
  /// soon after: the process may end.
  void abort(const absl::Status &status);
  /// Returns what ended all ranks, as this one is told it, or OK.
  absl::Status failure() const;

private:
  Client(unsigned rank, Connection connection, std::vector<Frame> early,
         Clock::duration deadline, WakeUp wake_up);
  void serve();
  void listen();
  absl::Status takeLocked(const Frame &frame);
  void beat(Clock::time_point now);
  /// Ends this rank where the coordinator cannot say why.
  void failHere(absl::StatusCode code, const std::string &message);
  /// Returns whether the thread is done.
  bool ends(Clock::time_point now);
  void send(FrameKind kind, const std::string &payload);
  absl::Status failureLocked() const;
  absl::Status failureOf(const std::string &what) const;

  const unsigned rank;
  const Clock::duration deadline;
  const WakeUp wake_up;

  // The next ones are the thread's alone.
  Connection connection;
  std::vector<Frame> frames;
  bool closed = false;                // by the coordinator
  std::string coordinator = "rank 0"; // with its process
  Clock::time_point last_beat, heard, last_look;
  std::optional<Clock::time_point> told_to_end;

  mutable std::mutex mutex; // guards what follows
  std::condition_variable changed;
  std::vector<Bytes> to_send; // until the thread takes it
  bool all_told = false;      // of a failure, by the coordinator
  bool ending = false;
  bool busy = false;
  uint64_t round = 0;
  std::string waits_for; // `what` of the call under way
  bool waiting = false;
  std::optional<std::vector<std::string>> answer;
  std::optional<Failure> failed;
  bool own = false; // by `abort`
  std::mutex calls; // one at a time

  std::thread thread;
};

} // namespace zerograph::tcp

#endif // ZEROGRAPH_RUNTIME_COMM_TCP_CLIENT_H
