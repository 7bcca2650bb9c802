//===- TcpControlPlane.cpp - ranks that are processes without MPI ---------===//

#include "runtime/comm/tcp/TcpControlPlane.h"

#include "runtime/comm/tcp/Client.h"
#include "runtime/comm/tcp/CoordinatorServer.h"
#include "runtime/comm/tcp/Timing.h"

#include <algorithm>
#include <cstdio>
#include <thread>
#include <unistd.h>

using namespace zerograph;
using namespace zerograph::tcp;

namespace {

using Clock = Client::Clock;

/// The pauses between tries, which become rarer.
constexpr std::chrono::milliseconds kFirstPause(50), kLongestPause(1000);
/// The time after which a user may want to know why nothing happens.
constexpr std::chrono::seconds kPatience(10);

Clock::duration durationOf(std::chrono::duration<double> seconds) {
  return std::chrono::duration_cast<Clock::duration>(
      std::min(seconds, kLongestDeadline));
}

/// Returns "process 12 on host".
std::string nameOfThisProcess() {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat("process ", getpid(), " on ", host);
}

std::string describe(const MeetingPlace &place, uint16_t port) {
  return absl::StrCat(place.host, ":", port, " (", place.source, ")");
}

/// A connection to the coordinator, and what it said.
struct Admission {
  Connection connection;
  std::vector<Frame> said; // the welcome first
};

/// Tries once. Unavailable where another try may succeed, FailedPrecondition
/// where rank 0 of this run refuses.
absl::StatusOr<Admission> tryOnce(const Launch &launch, uint16_t port,
                                  Clock::time_point end) {
  absl::StatusOr<Socket> socket = connectTo(launch.place->host, port, end);
  if (!socket.ok()) {
    return absl::UnavailableError(socket.status().message());
  }
  Admission admission{Connection(*std::move(socket)), {}};
  admission.connection.send(encode(
      FrameKind::kHello, pack(Hello{launch.place->run, launch.rank,
                                    launch.world, nameOfThisProcess()})));
  while (true) {
    admission.connection.write();
    bool came = false;
    absl::Status status = admission.connection.read(admission.said, came);
    if (!admission.said.empty()) {
      break;
    }
    if (!status.ok()) {
      return absl::IsUnavailable(status)
                 ? absl::UnavailableError("it hangs up")
                 : annotate(status, "who listens there is no rank 0");
    }
    if (!waitFor(admission.connection.descriptor(),
                 admission.connection.hasToSend(), end)) {
      return absl::DeadlineExceededError(
          "somebody listens, and says nothing: if it is not this run's rank 0, "
          "set ZEROGRAPH_PORT to a free port, on every rank");
    }
  }
  const Frame &first = admission.said.front();
  if (first.kind == FrameKind::kWelcome) {
    return admission;
  }
  Text why;
  bool elsewhere = first.kind == FrameKind::kElsewhere;
  absl::Status status = unpack(first.payload, why);
  if ((first.kind != FrameKind::kRefused && !elsewhere) || !status.ok()) {
    return absl::InternalError("who listens there is no rank 0: it does not "
                               "answer as one");
  }
  std::string text = absl::StrCat("refused by rank 0: ", why.text);
  return elsewhere ? absl::NotFoundError(text)
                   : absl::FailedPreconditionError(text);
}

/// Tries each port once. Unavailable while rank 0 may still come to one.
absl::StatusOr<Admission> tryEach(const Launch &launch, Clock::time_point end,
                                  Clock::duration deadline) {
  const MeetingPlace &place = *launch.place;
  absl::Status nobody, stranger;
  for (uint16_t port : place.ports) {
    // It tries also past the end, so that it can be said who was met.
    absl::StatusOr<Admission> admission = tryOnce(
        launch, port,
        place.ports.size() == 1 ? end : Clock::now() + answer(deadline));
    if (admission.ok()) {
      return admission;
    }
    absl::Status status = annotate(admission.status(), describe(place, port));
    if (absl::IsFailedPrecondition(status)) {
      return status;
    }
    absl::Status &first = absl::IsUnavailable(status) ? nobody : stranger;
    first.Update(status);
  }
  if (nobody.ok()) {
    return stranger;
  }
  return stranger.ok() ? nobody
                       : absl::UnavailableError(absl::StrCat(
                             nobody.message(), "; ", stranger.message()));
}

absl::StatusOr<Admission> connectToHub(const Launch &launch,
                                       Clock::duration deadline,
                                       const TcpOptions &options) {
  Clock::time_point begin = Clock::now();
  Clock::duration pause = kFirstPause;
  bool said = false;
  while (true) {
    absl::StatusOr<Admission> admission =
        tryEach(launch, begin + deadline, deadline);
    Clock::duration waited = Clock::now() - begin;
    if (admission.ok() || !absl::IsUnavailable(admission.status())) {
      return admission;
    }
    if (waited >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          "waited ", seconds(deadline), " s for rank 0 to listen at ",
          admission.status().message(),
          ". Rank 0 has ended, its host is another, or a firewall is between"));
    }
    if (waited >= kPatience && !said) {
      said = true;
      options.say(absl::StrCat("rank ", launch.rank,
                               " still waits for rank 0 to listen at ",
                               admission.status().message()));
    }
    std::this_thread::sleep_for(std::min(pause, deadline - waited));
    pause = std::min<Clock::duration>(pause * 3 / 2, kLongestPause);
  }
}

/// Rank 0's port.
struct Listening {
  Socket socket;
  uint16_t port;
};

absl::StatusOr<Listening> listenOnOne(const MeetingPlace &place,
                                      const TcpOptions &options) {
  absl::Status in_use;
  for (uint16_t port : place.ports) {
    absl::StatusOr<Socket> socket = listenOn(place.host, port);
    if (socket.ok()) {
      if (port != place.ports[0]) {
        options.say(absl::StrCat("port ", place.ports[0],
                                 " is in use; rank 0 listens on ", port));
      }
      return Listening{*std::move(socket), port};
    }
    in_use.Update(socket.status());
    if (!absl::IsAlreadyExists(socket.status())) {
      break;
    }
  }
  return in_use;
}

} // namespace

absl::StatusOr<std::unique_ptr<TcpControlPlane>>
TcpControlPlane::join(const Launch &launch, const TcpOptions &given) {
  TcpOptions options = given;
  if (!options.say) {
    options.say = [](const std::string &text) {
      std::fprintf(stderr, "note: %s\n", text.c_str());
    };
  }
  std::unique_ptr<TcpControlPlane> self(
      new TcpControlPlane(launch.rank, launch.world));
  ZG_RETURN_IF_ERROR(annotate(self->connect(launch, options),
                              absl::StrCat("rank ", launch.rank)));
  ZG_ASSIGN_OR_RETURN(
      std::vector<std::string> processes,
      self->exchange("meeting the other ranks", describeThisProcess()));
  self->processes.watch(launch.rank, processes);
  return self;
}

absl::Status TcpControlPlane::connect(const Launch &launch,
                                      const TcpOptions &options) {
  Clock::duration deadline = durationOf(options.deadline);
  if (launch.rank != 0) {
    ZG_ASSIGN_OR_RETURN(Admission admission,
                        connectToHub(launch, deadline, options));
    ZG_ASSIGN_OR_RETURN(
        client, Client::start(launch.rank, std::move(admission.connection),
                              std::move(admission.said), deadline));
    return absl::OkStatus();
  }
  ZG_ASSIGN_OR_RETURN(Listening listening, listenOnOne(*launch.place, options));
  ZG_ASSIGN_OR_RETURN(auto ends, makePair());
  ZG_ASSIGN_OR_RETURN(server,
                      CoordinatorServer::start(
                          std::move(listening.socket), std::move(ends.first),
                          {launch.world, launch.place->run,
                           describe(*launch.place, listening.port), deadline,
                           nameOfThisProcess(), options.say}));
  ZG_ASSIGN_OR_RETURN(
      client,
      Client::start(0, Connection(std::move(ends.second)), {}, deadline));
  return absl::OkStatus();
}

TcpControlPlane::TcpControlPlane(unsigned rank, unsigned world)
    : self(rank), size(world) {}

TcpControlPlane::~TcpControlPlane() = default;

absl::StatusOr<std::vector<std::string>>
TcpControlPlane::call(Operation operation, const std::string &what,
                      const std::string &text, size_t texts) {
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> result,
                      client->call(operation, what, text));
  if (result.size() != texts) {
    return absl::InternalError(
        absl::StrCat("rank ", self, ", ", what, ": ", result.size(),
                     " texts came from rank 0, where there should be ", texts));
  }
  return result;
}

absl::Status TcpControlPlane::barrier(const std::string &what) {
  return call(Operation::kBarrier, what, "", 0).status();
}

absl::StatusOr<std::vector<std::string>>
TcpControlPlane::exchange(const std::string &what, const std::string &text) {
  return call(Operation::kExchange, what, text, size);
}

absl::StatusOr<std::vector<std::string>>
TcpControlPlane::collect(const std::string &what, const std::string &text) {
  return call(Operation::kCollect, what, text, self == 0 ? size : 0);
}

void TcpControlPlane::setBusy(bool busy) { client->setBusy(busy); }

void TcpControlPlane::abort(const absl::Status &status) {
  client->abort(status);
}

absl::Status TcpControlPlane::failure() { return client->failure(); }

absl::Status TcpControlPlane::finish() { return barrier("the end of the run"); }
