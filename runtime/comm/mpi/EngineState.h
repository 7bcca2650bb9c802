//===- EngineState.h - what the engine's thread and its callers share -----===//

#ifndef ZEROGRAPH_RUNTIME_COMM_MPI_ENGINESTATE_H
#define ZEROGRAPH_RUNTIME_COMM_MPI_ENGINESTATE_H

#include "runtime/comm/mpi/Engine.h"
#include "runtime/comm/mpi/MpiLibrary.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace zerograph {

struct Engine::State {
  enum Job { kNone, kWaiting, kRunning };
  enum Ending { kGoOn, kFinalize, kAbort, kLeave };

  /// The bytes of a piece. Longer messages go in pieces: MPI counts in an int,
  /// and a deadline moves with each piece.
  static constexpr uint64_t kPiece = 4 << 20;
  static uint64_t piecesOf(uint64_t bytes) {
    return (bytes + kPiece - 1) / kPiece;
  }

  /// Runs the thread. This is the only code that calls MPI (EngineThread.cpp).
  void serve();

  /// Sets the failure; the first counts. Called with `mutex`.
  void setFailure(unsigned rank, const absl::Status &status) {
    if (failed.ok()) {
      failed = status;
      failed_rank = rank;
      wake.notify_one();
      changed.notify_all();
    }
  }
  absl::Status failureLocked() const {
    return failed.ok()
               ? absl::OkStatus()
               : absl::AbortedError(absl::StrCat(
                     "rank ", failed_rank, " failed: ", failed.message()));
  }

  /// Returns the time between messages that this rank is busy, or waits.
  Clock::duration beatInterval() const {
    return std::min<Clock::duration>(std::chrono::seconds(1), deadline / 5);
  }

  const MpiCalls *mpi = nullptr;
  Clock::duration deadline = {};
  std::function<bool()> told_to_end;

  mutable std::mutex mutex;        // guards all up to the line below
  std::condition_variable wake;    // the thread
  std::condition_variable changed; // the callers
  bool started = false, ended = false;
  absl::Status start_error;
  unsigned rank = 0, world = 1;
  Peers peers;

  Job job = kNone;
  absl::Span<const Message> receives, sends; // while the job waits
  uint64_t left = 0;                         // pieces
  std::vector<uint64_t> pending;             // of them by peer
  std::vector<Clock::time_point> heard;      // by peer: last sign of life
  std::vector<Clock::time_point> waiting;    // by peer: last said that it waits

  std::vector<bool> here; // by peer: something has come
  Clock::time_point met;  // when the last was heard so

  absl::Status failed;
  unsigned failed_rank = 0;
  bool parked = false; // failed, and no MPI call any more but the last
  bool busy = false;
  Ending ending = kGoOn;
  //--------------------------------------------------------------------------
private:
  bool begin();
  void post(int tag, const std::vector<Message> &in,
            const std::vector<Message> &out);
  bool hasFailed() const {
    std::lock_guard<std::mutex> lock(mutex);
    return !failed.ok();
  }
  bool testRequests();
  bool testControl();
  void listen();
  void beat(const char &kind);
  void tellOthers(const std::string &text);
  void park();
  void end(Ending how);
  /// Returns whether the call succeeded. `peer` is the rank that it was about,
  /// after its name.
  bool succeeded(int code, const char *call,
                 std::optional<unsigned> peer = std::nullopt);

  // The rest is the thread's alone.
  /// Room for one of MPI's requests; see MpiCalls.
  using Request = uint64_t;
  std::vector<Request> requests;
  std::vector<unsigned> peer_of; // by request
  size_t incoming = 0;           // of the requests, the first ones
  std::vector<int> indices;
  uint32_t transfers = 0;
  Request listening = 0;
  std::array<char, 4096> control;
  Clock::time_point last_beat, last_progress;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_MPI_ENGINESTATE_H
