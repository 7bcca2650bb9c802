//===- EngineThread.cpp - the only code that calls MPI --------------------===//

#include "runtime/comm/mpi/EngineState.h"

#include <algorithm>
#include <csignal>
#include <sched.h>
#include <thread>

using namespace zerograph;

namespace {

/// Between looks while nothing is under way; messages that this rank failed, or
/// another did, are handled in this time.
constexpr std::chrono::milliseconds kTick(10);
/// Tests without a result before the processor is left to others for longer
/// than a yield.
constexpr unsigned kYields = 200;
constexpr std::chrono::microseconds kPause(20);
/// Others that can be told of a failure are told in this time.
constexpr std::chrono::milliseconds kTelling(500);

constexpr int kControlTag = 1, kFirstTag = 2;
// Every MPI has tags up to 32767.
constexpr uint32_t kTags = 32000;

// The first byte of a control message.
constexpr char kBusy = 'B', kWaits = 'W', kFailed = 'F';

} // namespace

std::string zerograph::mpiVersion() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string version(text, size_t(length));
  return version.substr(0, version.find_first_of(",\n"));
}

/// An error of MPI is one of this rank.
bool Engine::State::succeeded(int code, const char *call,
                              std::optional<unsigned> peer) {
  if (code == MPI_SUCCESS) {
    return true;
  }
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::lock_guard<std::mutex> lock(mutex);
  setFailure(rank, absl::UnavailableError(absl::StrCat(
                       "rank ", rank, ", ", call,
                       peer ? absl::StrCat(*peer) : "", ": ", text)));
  return false;
}

bool Engine::State::begin() {
  int provided = 0, size = 1, own = 0;
  // Open MPI may write to the connection of a process that was killed; that is
  // an error to speak of, not a signal that ends this one without a word.
  std::signal(SIGPIPE, SIG_IGN);
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (provided < MPI_THREAD_FUNNELED) {
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
  listen();
  return provided >= MPI_THREAD_FUNNELED;
}

void Engine::State::listen() {
  succeeded(MPI_Irecv(control.data(), int(control.size()), MPI_BYTE,
                      MPI_ANY_SOURCE, kControlTag, MPI_COMM_WORLD, &listening),
            "MPI_Irecv");
}

/// Begins the job that was waiting. Without `mutex`: where a peer's connection
/// has broken, MPI may stay in the call that sends to it, and the caller goes
/// on looking at its deadline. Where it has given up meanwhile, its memory may
/// be gone: no message is begun any more.
void Engine::State::post(int tag, const std::vector<Message> &in,
                         const std::vector<Message> &out) {
  requests.clear();
  peer_of.clear();
  int code = MPI_SUCCESS;
  const char *call = ""; // that gave it
  unsigned peer = 0;
  auto add = [&](const Message &message, const char *name, auto &&start) {
    for (uint64_t at = 0; at < message.bytes && !hasFailed(); at += kPiece) {
      int bytes = int(std::min(kPiece, message.bytes - at));
      peer_of.push_back(message.peer);
      int result = start(message.data + at, bytes, int(message.peer),
                         &requests.emplace_back(MPI_REQUEST_NULL));
      if (code == MPI_SUCCESS && result != MPI_SUCCESS) {
        code = result;
        call = name;
        peer = unsigned(message.peer);
      }
    }
  };
  // Receives first: what comes early then needs no place of MPI's own.
  for (const Message &message : in) {
    add(message, "MPI_Irecv from rank ",
        [&](void *data, int bytes, int peer, MPI_Request *request) {
          return MPI_Irecv(data, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD,
                           request);
        });
  }
  incoming = requests.size();
  for (const Message &message : out) {
    add(message, "MPI_Isend to rank ",
        [&](void *data, int bytes, int peer, MPI_Request *request) {
          return MPI_Isend(data, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD,
                           request);
        });
  }
  indices.resize(requests.size());
  succeeded(code, call, peer);
}

/// Whether anything was done.
bool Engine::State::testRequests() {
  if (requests.empty()) {
    return false;
  }
  int done = 0;
  if (!succeeded(MPI_Testsome(int(requests.size()), requests.data(), &done,
                              indices.data(), MPI_STATUSES_IGNORE),
                 "MPI_Testsome") ||
      done == MPI_UNDEFINED || done == 0) {
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
  int arrived = 0, bytes = 0;
  MPI_Status status;
  if (!succeeded(MPI_Test(&listening, &arrived, &status), "MPI_Test") ||
      !arrived) {
    return false;
  }
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto from = unsigned(status.MPI_SOURCE);
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
    MPI_Request request = MPI_REQUEST_NULL;
    if (peer != rank &&
        succeeded(MPI_Isend(&kind, 1, MPI_BYTE, int(peer), kControlTag,
                            MPI_COMM_WORLD, &request),
                  "MPI_Isend to rank ", unsigned(peer))) {
      MPI_Request_free(&request);
    }
  }
}

void Engine::State::tellOthers(const std::string &text) {
  std::string message = kFailed + text.substr(0, control.size() - 1);
  std::vector<MPI_Request> sends;
  for (unsigned peer = 0; peer < world; ++peer) {
    if (peer != rank) {
      MPI_Isend(message.data(), int(message.size()), MPI_BYTE, int(peer),
                kControlTag, MPI_COMM_WORLD,
                &sends.emplace_back(MPI_REQUEST_NULL));
    }
  }
  int all = 0;
  Clock::time_point limit = Clock::now() + kTelling;
  while (!all && Clock::now() < limit &&
         MPI_Testall(int(sends.size()), sends.data(), &all,
                     MPI_STATUSES_IGNORE) == MPI_SUCCESS) {
    std::this_thread::sleep_for(kPause);
  }
}

/// After a failure: MPI moves bytes in its calls alone, so without any more of
/// them the memory of transfers may go.
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
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (how == kFinalize) {
    MPI_Cancel(&listening);
    MPI_Wait(&listening, MPI_STATUS_IGNORE);
    MPI_Finalize();
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
      // Counted on every rank, also where this one has nothing to move.
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
