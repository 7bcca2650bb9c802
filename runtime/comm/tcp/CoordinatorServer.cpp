//===- CoordinatorServer.cpp - the thread of rank 0 for all ---------------===//
//----------===//

#include "runtime/comm/tcp/CoordinatorServer.h"

#include "runtime/comm/tcp/Timing.h"

#include <algorithm>
#include <poll.h>
#include <sys/resource.h>
#include <system_error>

using namespace zerograph;
using namespace zerograph::tcp;

namespace {

using Clock = Rendezvous::Clock;

/// The time in which a newcomer says hello.
constexpr std::chrono::seconds kHello(10);
/// The most newcomers at a time, beside the ranks; more wait for a place.
constexpr unsigned kStrangers = 64;
/// The most refusals that are said: a port may be scanned, or another run goes
/// on trying.
constexpr unsigned kRefusalsSaid = 8;
/// The time in which the others hear, in the end, what they have not heard.
constexpr std::chrono::seconds kLastWords(2);

/// Allows so many connections. Each is a file to the system, of which a process
/// may have few unless it asks for more.
void allowFiles(unsigned count) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < count) {
    limit.rlim_cur = std::min<rlim_t>(count, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

} // namespace

CoordinatorServer::CoordinatorServer(Socket listening, Socket local,
                                     CoordinatorOptions given)
    : listening(std::move(listening)), options(std::move(given)),
      rendezvous(options.world, options.run, options.place, options.deadline),
      ranks(options.world), last_beat(Clock::now()) {
  ranks[0] = std::make_unique<Connection>(std::move(local));
  (void)rendezvous.enter({options.run, 0, options.world, options.process},
                         Clock::now());
}

absl::StatusOr<std::unique_ptr<CoordinatorServer>>
CoordinatorServer::start(Socket listening, Socket local,
                         CoordinatorOptions options) {
  allowFiles(options.world + kStrangers + 256);
  std::unique_ptr<CoordinatorServer> server(new CoordinatorServer(
      std::move(listening), std::move(local), std::move(options)));
  try {
    server->thread = std::thread([&server = *server] { server.serve(); });
  } catch (const std::system_error &error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the system gives no thread for the connections of the "
                     "other ranks (",
                     error.what(), ")"));
  }
  return server;
}

CoordinatorServer::~CoordinatorServer() {
  if (thread.joinable()) {
    thread.join();
  }
}

Clock::duration CoordinatorServer::wait(Clock::time_point until) {
  std::vector<pollfd> entries;
  if (newcomers.size() < options.world + kStrangers && !full) {
    entries.push_back({listening.get(), POLLIN, 0});
  }
  auto add = [&](const Connection &connection) {
    entries.push_back(
        {connection.descriptor(),
         short(connection.hasToSend() ? POLLIN | POLLOUT : POLLIN), 0});
  };
  for (const auto &rank : ranks) {
    if (rank) {
      add(*rank);
    }
  }
  for (const Newcomer &newcomer : newcomers) {
    add(newcomer.connection);
  }
  auto left = std::chrono::ceil<std::chrono::milliseconds>(
      std::max(until - Clock::now(), Clock::duration(0)));
  poll(entries.data(), entries.size(), int(left.count()));
  return Clock::now() - until;
}

void CoordinatorServer::accept(Clock::time_point now) {
  while (newcomers.size() < options.world + kStrangers && !full) {
    std::string peer;
    absl::StatusOr<Socket> socket = acceptFrom(listening, peer);
    if (!socket.ok()) {
      full = true;
      return rendezvous.expel(0, socket.status());
    }
    if (!socket->isOpen()) {
      return;
    }
    newcomers.push_back(
        {Connection(*std::move(socket), kLongestHello), peer, now});
  }
}

void CoordinatorServer::refuse(Newcomer &newcomer, const absl::Status &why) {
  newcomer.refused = true;
  newcomer.connection.send(encode(absl::IsNotFound(why) ? FrameKind::kElsewhere
                                                        : FrameKind::kRefused,
                                  pack(Text{std::string(why.message())})));
  if (refusals++ < kRefusalsSaid) {
    options.say(absl::StrCat("rank 0 refused a connection from ", newcomer.peer,
                             " to its port for ranks: ", why.message()));
  }
}

bool CoordinatorServer::greet(Newcomer &newcomer, Clock::time_point now) {
  if (newcomer.refused) {
    // The newcomer closes first: closing before could destroy the reason on its
    // way.
    return !newcomer.connection.drop() || now - newcomer.since > kHello;
  }
  std::vector<Frame> frames;
  bool came = false;
  absl::Status status = newcomer.connection.read(frames, came);
  if (frames.empty()) {
    if (absl::IsUnavailable(status)) {
      return true;
    }
    if (status.ok() && now - newcomer.since > kHello) {
      status = absl::DeadlineExceededError("it said nothing");
    }
    if (!status.ok()) {
      refuse(newcomer, status);
    }
    return false;
  }
  Hello hello;
  status = frames[0].kind == FrameKind::kHello
               ? unpack(frames[0].payload, hello)
               : absl::InvalidArgumentError("it did not say hello");
  if (status.ok()) {
    status = rendezvous.enter(hello, now);
  }
  if (!status.ok()) {
    refuse(newcomer, status);
    return false;
  }
  newcomer.connection.setLongest(kLongestCall);
  ranks[hello.rank] =
      std::make_unique<Connection>(std::move(newcomer.connection));
  for (size_t i = 1; i < frames.size(); ++i) {
    rendezvous.take(hello.rank, frames[i], now);
  }
  return true;
}

void CoordinatorServer::greet(Clock::time_point now) {
  auto done = [&](Newcomer &newcomer) { return greet(newcomer, now); };
  newcomers.erase(std::remove_if(newcomers.begin(), newcomers.end(), done),
                  newcomers.end());
}

void CoordinatorServer::listen(unsigned rank, Clock::time_point now) {
  std::vector<Frame> frames;
  bool came = false;
  absl::Status status = ranks[rank]->read(frames, came);
  if (came) {
    rendezvous.hear(rank, ranks[rank]->isWithin(FrameKind::kCall), now);
  }
  for (const Frame &frame : frames) {
    rendezvous.take(rank, frame, now);
  }
  if (absl::IsUnavailable(status)) {
    rendezvous.lose(rank, std::string(status.message()));
  } else if (!status.ok()) {
    rendezvous.expel(rank, status);
    rendezvous.lose(rank, "was dropped");
  }
  if (!rendezvous.isHere(rank)) { // it has said goodbye, or cannot any more
    ranks[rank].reset();
  }
}

void CoordinatorServer::beat(Clock::time_point now) {
  if (now - last_beat < beatInterval(options.deadline)) {
    return;
  }
  last_beat = now;
  Bytes alive = encode(FrameKind::kAlive, pack(Alive()));
  for (const auto &rank : ranks) {
    // A rank that does not take them has enough already.
    if (rank && !rank->hasToSend()) {
      rank->send(alive);
    }
  }
}

void CoordinatorServer::send() {
  for (auto &[rank, bytes] : rendezvous.outgoing) {
    if (ranks[rank]) {
      ranks[rank]->send(std::move(bytes));
    }
  }
  rendezvous.outgoing.clear();
  // Rank 0 is last: once it hears of a failure its process may end, and this
  // thread with it.
  for (auto rank = ranks.rbegin(); rank != ranks.rend(); ++rank) {
    if (*rank) {
      (*rank)->write();
    }
  }
  for (Newcomer &newcomer : newcomers) {
    newcomer.connection.write();
  }
}

void CoordinatorServer::serve() {
  send(); // rank 0's welcome
  while (rendezvous.isHere(0)) {
    Clock::duration late =
        wait(Clock::now() + beatInterval(options.deadline) / 2);
    Clock::time_point now = Clock::now();
    if (late > lateness(options.deadline)) {
      rendezvous.excuse(now);
    }
    accept(now);
    greet(now);
    for (unsigned rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank]) {
        listen(rank, now);
      }
    }
    rendezvous.look(now);
    // The beat comes after: what a rank hears first is its welcome.
    send();
    beat(now);
  }
  end();
}

/// Ends the connections after rank 0 has ended. The others may not have taken
/// yet what they were sent, and closing now could destroy it on its way: they
/// close first.
void CoordinatorServer::end() {
  listening = Socket();
  newcomers.clear();
  for (const auto &rank : ranks) {
    if (rank) {
      rank->send(encode(FrameKind::kBye, ""));
    }
  }
  Clock::time_point limit = Clock::now() + kLastWords;
  auto any = [&] {
    return std::any_of(ranks.begin(), ranks.end(),
                       [](const auto &rank) { return rank != nullptr; });
  };
  while (any() && Clock::now() < limit) {
    send();
    wait(std::min(limit, Clock::now() + std::chrono::milliseconds(50)));
    for (auto &rank : ranks) {
      std::vector<Frame> frames;
      bool came = false;
      if (rank && !rank->read(frames, came).ok()) {
        rank.reset();
      }
    }
  }
}
