//===- Engine.cpp - handing work to the thread that calls MPI -------------===//

#include "runtime/comm/mpi/EngineState.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <thread>
#include <utility>

using namespace zerograph;

namespace {

using Clock = Engine::Clock;

/// How often a waiting thread looks whether a process has ended.
constexpr std::chrono::milliseconds kLook(50);
/// A thread that looks so late was itself stopped, or starved: that is no fault
/// of the others.
constexpr std::chrono::seconds kLate(1);
/// The time in which what a process may have said before it ended arrives.
constexpr std::chrono::milliseconds kLastWords(200);
/// The silence after which a rank that was told to end says that it hears of no
/// other.
constexpr std::chrono::milliseconds kSilence(300);
/// The time in which the thread answers, or it is stuck in a call of MPI.
constexpr std::chrono::seconds kAnswer(3);

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

} // namespace

absl::StatusOr<std::unique_ptr<Engine>>
Engine::start(Clock::duration deadline, std::function<bool()> told_to_end) {
  auto state = std::make_shared<State>();
  ZG_ASSIGN_OR_RETURN(state->mpi, mpiCalls());
  state->deadline = deadline;
  state->told_to_end = std::move(told_to_end);
  try {
    // The thread is not joined: it may never come back from a call.
    std::thread([state] { state->serve(); }).detach();
  } catch (const std::system_error &error) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the system gives no thread for MPI (", error.what(), ")"));
  }
  std::unique_ptr<Engine> engine(new Engine(state));
  std::unique_lock<std::mutex> lock(state->mutex);
  if (!state->changed.wait_for(lock, deadline,
                               [&] { return state->started; })) {
    return absl::DeadlineExceededError(absl::StrCat(
        "waited ", seconds(deadline),
        " s in MPI_Init for the processes of the other ranks: one has ended, "
        "is stopped, or is no `train`"));
  }
  ZG_RETURN_IF_ERROR(state->start_error);
  engine->self = state->rank;
  engine->size = state->world;
  return engine;
}

Engine::~Engine() { end(State::kLeave, kAnswer); }

void Engine::watch(absl::Span<const std::string> processes) {
  std::lock_guard<std::mutex> lock(state->mutex);
  state->peers.watch(self, processes);
}

const Peers &Engine::peers() const { return state->peers; }

struct Engine::Wait {
  Clock::time_point looked;
  std::vector<Clock::time_point> gone; // by rank: when its end was seen
  bool said = false;
};

absl::Status Engine::look(Wait &wait, Describe describe) {
  State &s = *state;
  Clock::time_point now = Clock::now();
  if (now - std::exchange(wait.looked, now) > kLate) {
    std::fill(s.heard.begin(), s.heard.end(), now);
  }
  // A rank that waits for another itself is not to blame, and may have begun to
  // wait later than this rank: it has half a deadline more to say for whom.
  auto waits = [&](unsigned peer) {
    return s.waiting[peer] + 2 * s.beatInterval() > now;
  };
  std::vector<std::string> late, ended, silent;
  Clock::duration waited = s.deadline;
  for (unsigned peer = 0; peer < size; ++peer) {
    if (s.pending[peer] == 0) {
      continue;
    }
    std::string name =
        absl::StrCat("rank ", peer, " (", s.peers.name(peer), ")");
    Clock::duration patience =
        waits(peer) ? s.deadline + s.deadline / 2 : s.deadline;
    if (s.heard[peer] + patience <= now) {
      late.push_back(name);
      waited = std::max(waited, patience);
    }
    if (s.heard[peer] + kSilence <= now) {
      silent.push_back(name);
    }
    if (wait.gone[peer] > now && s.peers.hasEnded(peer)) {
      wait.gone[peer] = now;
    }
    if (now - kLastWords >= wait.gone[peer]) {
      ended.push_back(name);
    }
  }
  auto where = [&] { return absl::StrCat("rank ", self, ", ", describe()); };
  if (!ended.empty()) {
    return absl::UnavailableError(
        absl::StrCat(where(), ": ", absl::StrJoin(ended, ", "),
                     " has ended, and was waited for"));
  }
  if (!late.empty()) {
    return absl::DeadlineExceededError(absl::StrCat(where(), ": waited ",
                                                    seconds(waited), " s for ",
                                                    absl::StrJoin(late, ", ")));
  }
  if (!wait.said && !silent.empty() && s.told_to_end && s.told_to_end()) {
    wait.said = true;
    std::fprintf(stderr, "note: %s: told to end while it waits for %s\n",
                 where().c_str(), absl::StrJoin(silent, ", ").c_str());
  }
  return absl::OkStatus();
}

absl::Status Engine::lookForEnded() {
  Clock::time_point now = Clock::now();
  if (now < looked + kLook) {
    return absl::OkStatus();
  }
  looked = now;
  gone.resize(size, Clock::time_point::max());
  for (unsigned peer = 0; peer < size; ++peer) {
    if (peer == self || !state->peers.hasEnded(peer)) {
      continue;
    }
    gone[peer] = std::min(gone[peer], now);
    if (now - gone[peer] >= kLastWords) {
      return absl::UnavailableError(
          absl::StrCat("rank ", peer, " (", state->peers.name(peer),
                       ") has ended, and was waited for"));
    }
  }
  return absl::OkStatus();
}

absl::Status Engine::transfer(absl::Span<const Message> receives,
                              absl::Span<const Message> sends,
                              Describe describe) {
  State &s = *state;
  std::unique_lock<std::mutex> lock(s.mutex);
  if (s.failed.ok()) {
    Clock::time_point now = Clock::now();
    std::fill(s.heard.begin(), s.heard.end(), now);
    s.met = now;
    s.here.assign(size, false);
    s.receives = receives;
    s.sends = sends;
    for (const auto &messages : {receives, sends}) {
      for (const Message &message : messages) {
        uint64_t pieces = State::piecesOf(message.bytes);
        s.pending[message.peer] += pieces;
        s.left += pieces;
      }
    }
    s.job = State::kWaiting;
    s.wake.notify_one();
  }
  Wait wait;
  wait.looked = Clock::now();
  wait.gone.assign(size, Clock::time_point::max());
  while (s.failed.ok() && s.job != State::kNone) {
    s.changed.wait_for(lock, std::min<Clock::duration>(kLook, s.deadline / 4));
    if (!s.failed.ok() || s.job == State::kNone) {
      break;
    }
    absl::Status status = look(wait, describe);
    if (!status.ok()) {
      s.setFailure(self, status);
      s.changed.wait_for(lock, kAnswer, [&] { return s.parked; });
      return status;
    }
  }
  if (s.failed.ok()) {
    return absl::OkStatus();
  }
  s.changed.wait_for(lock, kAnswer, [&] { return s.parked; });
  return annotate(s.failureLocked(), describe());
}

Engine::Clock::time_point Engine::met() const {
  std::lock_guard<std::mutex> lock(state->mutex);
  return state->met;
}

void Engine::fail(const absl::Status &status) {
  std::unique_lock<std::mutex> lock(state->mutex);
  state->setFailure(self, status);
  state->changed.wait_for(lock, kAnswer, [&] { return state->parked; });
}

absl::Status Engine::failure() const {
  std::lock_guard<std::mutex> lock(state->mutex);
  return state->failureLocked();
}

void Engine::setBusy(bool busy) {
  std::lock_guard<std::mutex> lock(state->mutex);
  state->busy = busy;
}

bool Engine::end(int ending, Clock::duration limit) {
  std::unique_lock<std::mutex> lock(state->mutex);
  if (state->ending == State::kGoOn) {
    state->ending = State::Ending(ending);
    state->wake.notify_one();
  }
  return state->changed.wait_for(lock, limit, [&] { return state->ended; });
}

absl::Status Engine::finish() {
  if (end(State::kFinalize, state->deadline)) {
    return absl::OkStatus();
  }
  return absl::DeadlineExceededError(
      absl::StrCat("rank ", self, ": waited ", seconds(state->deadline),
                   " s in MPI_Finalize for the processes of the other ranks"));
}

void Engine::abortAll() { end(State::kAbort, kAnswer); }
