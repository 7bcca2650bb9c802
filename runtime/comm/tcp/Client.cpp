//===- Client.cpp - a rank's end of its connection to the coordinator -----===//

#include "runtime/comm/tcp/Client.h"

#include "runtime/comm/tcp/Timing.h"

#include <algorithm>
#include <poll.h>
#include <system_error>

using namespace zerograph;
using namespace zerograph::tcp;

namespace {

/// The time in which a failure is told; it is no reason to stay.
constexpr std::chrono::milliseconds kTelling(500);
/// The time in which the last words are sent, and the coordinator closes.
constexpr std::chrono::seconds kLeaving(1);

} // namespace

Client::Client(unsigned rank, Connection connection, std::vector<Frame> early,
               Clock::duration deadline, WakeUp wake_up)
    : rank(rank), deadline(deadline), wake_up(std::move(wake_up)),
      connection(std::move(connection)), frames(std::move(early)),
      last_beat(Clock::now()), heard(last_beat), last_look(last_beat) {}

absl::StatusOr<std::unique_ptr<Client>>
Client::start(unsigned rank, Connection connection, std::vector<Frame> early,
              Clock::duration deadline) {
  ZG_ASSIGN_OR_RETURN(WakeUp wake_up, WakeUp::make());
  std::unique_ptr<Client> client(new Client(rank, std::move(connection),
                                            std::move(early), deadline,
                                            std::move(wake_up)));
  try {
    client->thread = std::thread([&client = *client] { client.serve(); });
  } catch (const std::system_error &error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the system gives no thread for the connection to rank 0 "
                     "(",
                     error.what(), ")"));
  }
  return client;
}

Client::~Client() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    send(FrameKind::kBye, "");
    ending = true;
  }
  if (thread.joinable()) {
    thread.join();
  }
}

/// Puts a frame into the queue. Called with `mutex`.
void Client::send(FrameKind kind, const std::string &payload) {
  to_send.push_back(encode(kind, payload));
  wake_up.wake();
}

absl::Status Client::failureLocked() const {
  if (!failed) {
    return absl::OkStatus();
  }
  if (failed->rank == Failure::kNobody) {
    return absl::Status(failed->code, failed->message);
  }
  return absl::AbortedError(
      absl::StrCat("rank ", failed->rank, " failed: ", failed->message));
}

/// Returns the failure as a call ends with it. Where no rank says where it was,
/// this one does.
absl::Status Client::failureOf(const std::string &what) const {
  return failed->rank == Failure::kNobody
             ? annotate(failureLocked(),
                        absl::StrCat("rank ", rank, ", ", what))
             : failureLocked();
}

absl::Status Client::failure() const {
  std::lock_guard<std::mutex> lock(mutex);
  return failureLocked();
}

absl::StatusOr<std::vector<std::string>> Client::call(Operation operation,
                                                      const std::string &what,
                                                      const std::string &text) {
  std::lock_guard<std::mutex> one(calls);
  // A message has room for what else is in it.
  uint64_t most = rank == 0 ? kLongestPayload / 4 : kLongestCall / 2;
  if (text.size() > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("rank ", rank, ", ", what, ": a text of ", text.size(),
                     " bytes, and a message takes ", most));
  }
  std::string payload = pack(Call{round, operation, what, text});
  std::unique_lock<std::mutex> lock(mutex);
  if (failed) {
    return failureOf(what);
  }
  answer.reset();
  waits_for = what;
  waiting = true;
  send(FrameKind::kCall, payload);
  changed.wait(lock, [&] { return answer || failed; });
  waiting = false;
  if (answer) {
    ++round;
    return *std::move(answer);
  }
  // A rank that waited in vain is the one to say so.
  return failed->rank == rank && !own
             ? absl::Status(failed->code, failed->message)
             : failureOf(what);
}

void Client::setBusy(bool now_busy) {
  std::lock_guard<std::mutex> lock(mutex);
  busy = now_busy;
  send(FrameKind::kAlive, pack(Alive{busy}));
}

void Client::abort(const absl::Status &status) {
  std::unique_lock<std::mutex> lock(mutex);
  if (failed) {
    return;
  }
  own = true;
  failed =
      Failure{rank, status.ok() ? absl::StatusCode::kUnknown : status.code(),
              std::string(status.message())};
  send(FrameKind::kFailure, pack(*failed));
  changed.notify_all();
  changed.wait_for(lock, kTelling, [&] { return all_told; });
}

void Client::failHere(absl::StatusCode code, const std::string &message) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!failed) {
    failed = waiting ? Failure{rank, code,
                               absl::StrCat("rank ", rank, ", ", waits_for,
                                            ": ", message)}
                     : Failure{Failure::kNobody, code, message};
    send(FrameKind::kFailure,
         pack(*failed)); // the coordinator may only be late
  }
  all_told = true; // as far as they can be
  changed.notify_all();
}

/// Returns what is wrong with a frame. Called with `mutex`.
absl::Status Client::takeLocked(const Frame &frame) {
  switch (frame.kind) {
  case FrameKind::kWelcome: {
    Text text;
    ZG_RETURN_IF_ERROR(unpack(frame.payload, text));
    coordinator = absl::StrCat("rank 0 (", text.text, ")");
    return absl::OkStatus();
  }
  case FrameKind::kResult: {
    Result result;
    ZG_RETURN_IF_ERROR(unpack(frame.payload, result));
    if (!waiting || result.round != round) {
      return absl::InternalError("sent an answer that nobody waits for");
    }
    answer = std::move(result.texts);
    waiting = false;
    changed.notify_all();
    return absl::OkStatus();
  }
  case FrameKind::kFailure: {
    Failure failure;
    ZG_RETURN_IF_ERROR(unpack(frame.payload, failure));
    failed = failed ? failed : failure;
    all_told = true;
    changed.notify_all();
    return absl::OkStatus();
  }
  case FrameKind::kAlive:
    return absl::OkStatus();
  case FrameKind::kBye:
    return absl::UnavailableError("has ended");
  default:
    return absl::InternalError("sent what ranks send");
  }
}

void Client::listen() {
  bool came = false;
  absl::Status status;
  if (!closed) {
    status = connection.read(frames, came);
  }
  if (came) {
    heard = Clock::now();
  }
  auto fail = [&](const absl::Status &why) {
    closed = true; // nothing that it says makes sense any more
    failHere(why.code(), absl::StrCat(coordinator, " ", why.message()));
  };
  for (const Frame &frame : frames) {
    std::unique_lock<std::mutex> lock(mutex);
    absl::Status taken = takeLocked(frame);
    lock.unlock();
    if (!taken.ok()) {
      connection.shutDown(); // the coordinator waits for that, in the end
      fail(taken);
      break;
    }
  }
  frames.clear();
  if (!status.ok() && !closed) {
    fail(status);
  }
}

/// Tells the coordinator that this process lives, and looks whether the
/// coordinator's does.
void Client::beat(Clock::time_point now) {
  if (now - last_look > lateness(deadline)) {
    heard = now; // it was this process that did nothing
  }
  last_look = now;
  if (now - last_beat >= beatInterval(deadline) && !connection.hasToSend()) {
    last_beat = now;
    std::lock_guard<std::mutex> lock(mutex);
    connection.send(encode(FrameKind::kAlive, pack(Alive{busy})));
  }
  if (!closed && now - heard >= silence(deadline)) {
    failHere(absl::StatusCode::kDeadlineExceeded,
             absl::StrCat("heard nothing for ", seconds(silence(deadline)),
                          " s of ", coordinator,
                          ", through which all ranks speak: stopped, or not "
                          "reachable any more"));
  }
}

bool Client::ends(Clock::time_point now) {
  std::lock_guard<std::mutex> lock(mutex);
  for (Bytes &bytes : to_send) {
    connection.send(std::move(bytes));
  }
  to_send.clear();
  connection.write();
  if (!ending) {
    return false;
  }
  if (!told_to_end) {
    told_to_end = now;
  }
  // The coordinator closes once it has read the last word: closing now could
  // destroy that on its way.
  return closed || now - *told_to_end > kLeaving;
}

void Client::serve() {
  listen(); // to what came early
  while (!ends(Clock::now())) {
    pollfd entries[] = {
        {wake_up.get(), POLLIN, 0},
        {closed ? -1 : connection.descriptor(),
         short(connection.hasToSend() ? POLLIN | POLLOUT : POLLIN), 0}};
    auto interval = std::chrono::ceil<std::chrono::milliseconds>(
        beatInterval(deadline) / 2);
    poll(entries, 2, int(interval.count()));
    wake_up.drain();
    listen();
    beat(Clock::now());
  }
}
