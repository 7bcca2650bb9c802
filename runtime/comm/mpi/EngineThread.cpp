//===- EngineThread.cpp - the only code that calls MPI --------------------===//

#include "runtime/comm/mpi/EngineState.h"

#include <algorithm>
#include <csignal>
#include <sched.h>
#include <thread>

using namespace zerograph;

namespace {

/// The time between looks while nothing is under way; messages that this rank
/// failed, or another did, are handled in this time.
constexpr std::chrono::milliseconds kTick(10);
/// The tests without a result before the processor is left to others for longer
/// than a yield.
constexpr unsigned kYields = 200;
constexpr std::chrono::microseconds kPause(20);
/// The time in which others that can be told of a failure are told.
constexpr std::chrono::milliseconds kTelling(500);

constexpr int kControlTag = 1, kFirstTag = 2;
// Every MPI has tags up to 32767.
constexpr uint32_t kTags = 32000;

// The first byte of a control message.
constexpr char kBusy = 'B', kWaits = 'W', kFailed = 'F';

} // namespace

/// Makes an error of MPI one of this rank.
bool Engine::State::succeeded(int code, const char *call,
                              std::optional<unsigned> peer) {
  if (code == 0) {
    return true;
  }
  std::array<char, kMpiText> text;
  mpi->explain(code, text.data());
  std::lock_guard<std::mutex> lock(mutex);
  setFailure(rank, absl::UnavailableError(absl::StrCat(
                       "rank ", rank, ", ", call,
                       peer ? absl::StrCat(*peer) : "", ": ", text.data())));
  return false;
}

bool Engine::State::begin() {
  int threads = 0, size = 1, own = 0;
  // Open MPI may write to the connection of a process that was killed; that is
  // an error to speak of, not a signal that ends this one without a word.
  std::signal(SIGPIPE, SIG_IGN);
  bool able = succeeded(mpi->start(&own, &size, &threads), "MPI_Init_thread");
  {
    std::lock_guard<std::mutex> lock(mutex);
    start_error = failed;
    if (able && !threads) {
      able = false;
      start_error = absl::UnimplementedError(
          "this MPI allows no threads (MPI_THREAD_FUNNELED)");
    }
    rank = unsigned(own);
    world = unsigned(size);
    pending.resize(world);
    heard.resize(world);
    waiting.resize(world);
    started = true;
    changed.notify_all();
  }
  if (able) {
    listen();
  }
  return able;
}

void Engine::State::listen() {
  succeeded(mpi->receive(control.data(), int(control.size()), kMpiAnyPeer,
                         kControlTag, &listening, 0),
            "MPI_Irecv");
}

/// Begins the job that was waiting. Called without `mutex`: where a peer's
/// connection has broken, MPI may stay in the call that sends to it, and the
/// caller goes on looking at its deadline. Where the caller has given up
/// meanwhile, its memory may be gone: no message is begun any more.
void Engine::State::post(int tag, const std::vector<Message> &in,
                         const std::vector<Message> &out) {
  requests.clear();
  peer_of.clear();
  int code = 0;
  const char *call = ""; // that gave it
  unsigned peer = 0;
  auto add = [&](const Message &message, const char *name, auto &&start) {
    for (uint64_t at = 0; at < message.bytes && !hasFailed(); at += kPiece) {
      int bytes = int(std::min(kPiece, message.bytes - at));
      peer_of.push_back(message.peer);
      requests.emplace_back();
      int result = start(message.data + at, bytes, int(message.peer), tag,
                         requests.data(), int(requests.size() - 1));
      if (code == 0 && result != 0) {
        code = result;
        call = name;
        peer = unsigned(message.peer);
      }
    }
  };
  // Receives come first: what comes early then needs no place of MPI's own.
  for (const Message &message : in) {
    add(message, "MPI_Irecv from rank ", mpi->receive);
  }
  incoming = requests.size();
  for (const Message &message : out) {
    add(message, "MPI_Isend to rank ", mpi->send);
  }
  indices.resize(requests.size());
  succeeded(code, call, peer);
}

/// Returns whether anything was done.
bool Engine::State::testRequests() {
  if (requests.empty()) {
    return false;
  }
  int done = 0;
  if (!succeeded(mpi->testSome(int(requests.size()), requests.data(), &done,
                               indices.data()),
                 "MPI_Testsome") ||
      done == 0) {
    return false;
  }
  Clock::time_point now = Clock::now();
  std::lock_guard<std::mutex> lock(mutex);
  for (int i = 0; i < done; ++i) {
    auto request = size_t(indices[size_t(i)]);
    unsigned peer = peer_of[request];
    if (request < incoming && !here[peer]) {
      here[peer] = true;
      met = now;
    }
    --pending[peer];
    heard[peer] = now;
  }
  left -= uint64_t(done);
  if (left == 0) {
    requests.clear();
    job = kNone;
    changed.notify_all();
  }
  return true;
}

bool Engine::State::testControl() {
  int arrived = 0, peer = 0, bytes = 0;
  if (!succeeded(mpi->testMessage(&listening, &arrived, &peer, &bytes),
                 "MPI_Test") ||
      !arrived) {
    return false;
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto from = unsigned(peer);
    if (bytes > 0 && control[0] == kFailed) {
      setFailure(from, absl::UnknownError(absl::string_view(
                           control.data() + 1, size_t(bytes) - 1)));
    }
    if (bytes > 0 && control[0] == kWaits) {
      waiting[from] = Clock::now(); // moves no deadline
    } else {
      heard[from] = Clock::now();
    }
  }
  listen();
  return true;
}

/// Tells all, from time to time, what this rank does.
void Engine::State::beat(const char &kind) {
  Clock::time_point now = Clock::now();
  if (now - last_beat < beatInterval()) {
    return;
  }
  last_beat = now;
  for (unsigned peer = 0; peer < world; ++peer) {
    Request request = 0;
    if (peer != rank &&
        succeeded(mpi->send(&kind, 1, int(peer), kControlTag, &request, 0),
                  "MPI_Isend to rank ", unsigned(peer))) {
      mpi->release(&request);
    }
  }
}

void Engine::State::tellOthers(const std::string &text) {
  std::string message = kFailed + text.substr(0, control.size() - 1);
  std::vector<Request> sends;
  for (unsigned peer = 0; peer < world; ++peer) {
    if (peer != rank) {
      sends.emplace_back();
      mpi->send(message.data(), int(message.size()), int(peer), kControlTag,
                sends.data(), int(sends.size() - 1));
    }
  }
  int all = 0;
  Clock::time_point limit = Clock::now() + kTelling;
  while (!all && Clock::now() < limit &&
         mpi->testAll(int(sends.size()), sends.data(), &all) == 0) {
    std::this_thread::sleep_for(kPause);
  }
}

/// Parks the thread after a failure: MPI moves bytes in its calls alone, so
/// without any more of them the memory of transfers may go.
void Engine::State::park() {
  std::string text;
  bool own = false;
  {
    std::lock_guard<std::mutex> lock(mutex);
    own = failed_rank == rank;
    text = std::string(failed.message());
  }
  if (own) {
    tellOthers(text);
  }
  std::lock_guard<std::mutex> lock(mutex);
  parked = true;
  changed.notify_all();
}

void Engine::State::end(Ending how) {
  if (how == kAbort) {
    mpi->abort();
  }
  if (how == kFinalize) {
    mpi->cancel(&listening);
    mpi->finish();
  }
  std::lock_guard<std::mutex> lock(mutex);
  ended = true;
  changed.notify_all();
}

void Engine::State::serve() {
  bool able = begin();
  unsigned fruitless = 0;
  while (true) {
    std::unique_lock<std::mutex> lock(mutex);
    auto needed = [&] {
      return ending != kGoOn || (!parked && (job == kWaiting || !failed.ok()));
    };
    if (job != kRunning || parked || !able) {
      wake.wait_for(lock, kTick, needed);
    }
    if (ending != kGoOn) {
      Ending how = ending;
      lock.unlock();
      end(how);
      return;
    }
    if (parked || !able) {
      continue;
    }
    if (!failed.ok()) {
      lock.unlock();
      park();
      continue;
    }
    std::vector<Message> in, out;
    bool begins = job == kWaiting;
    int tag = 0;
    if (begins) {
      // Transfers are counted on every rank, also where this one has nothing to
      // move.
      tag = kFirstTag + int(transfers++ % kTags);
      // The caller may go while they are posted.
      in.assign(receives.begin(), receives.end());
      out.assign(sends.begin(), sends.end());
      job = left > 0 ? kRunning : kNone;
      changed.notify_all();
    }
    bool is_busy = busy;
    bool running = job == kRunning;
    lock.unlock();
    if (begins && running) {
      post(tag, in, out);
      last_progress = Clock::now();
      if (hasFailed()) {
        continue; // and no call of MPI before the others are told
      }
    }
    bool any = testRequests();
    if (any) {
      last_progress = Clock::now();
    }
    if (is_busy) {
      beat(kBusy);
    } else if (running && !any && fruitless >= kYields &&
               Clock::now() - last_progress > beatInterval()) {
      beat(kWaits);
    }
    any |= testControl();
    fruitless = any ? 0 : fruitless + 1;
    if (running && !any) {
      if (fruitless < kYields) {
        sched_yield();
      } else {
        std::this_thread::sleep_for(kPause);
      }
    }
  }
}
