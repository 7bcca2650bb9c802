//===- Socket.cpp - TCP connections that never block ----------------------===//

#include "runtime/comm/tcp/Socket.h"

#include "absl/strings/match.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace zerograph;
using namespace zerograph::tcp;

namespace {

using Clock = std::chrono::steady_clock;

/// The time for one address: where packets are lost, the next one may still
/// answer.
constexpr std::chrono::seconds kOneAddress(5);

std::string lastError() { return std::strerror(errno); }

void set(int descriptor, int level, int option, int value) {
  setsockopt(descriptor, level, option, &value, sizeof(value));
}

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
  sockaddr_storage storage;
};

std::string describe(const Address &address) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address.any.sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof(text));
    return absl::StrCat("[", text, "]:", ntohs(address.v6.sin6_port));
  }
  inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof(text));
  return absl::StrCat(text, ":", ntohs(address.v4.sin_port));
}

struct Addresses {
  ~Addresses() {
    if (first) {
      freeaddrinfo(first);
    }
  }
  addrinfo *first = nullptr;
};

/// Returns whether a port is connected to itself, as the system may do where a
/// port of those that it gives away is tried and nobody listens.
bool isToItself(int descriptor) {
  Address own = {}, other = {};
  socklen_t own_size = sizeof(own), other_size = sizeof(other);
  getsockname(descriptor, &own.any, &own_size);
  getpeername(descriptor, &other.any, &other_size);
  return own_size == other_size && std::memcmp(&own, &other, own_size) == 0;
}

absl::StatusOr<Socket> connectTo(const addrinfo &address,
                                 Clock::time_point end) {
  Socket socket(::socket(address.ai_family,
                         SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.isOpen()) {
    return absl::ResourceExhaustedError(lastError());
  }
  set(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) {
      return absl::UnavailableError(lastError());
    }
    end = std::min(end, Clock::now() + kOneAddress);
    if (!waitFor(socket.get(), /*write=*/true, end)) {
      return absl::DeadlineExceededError("no answer");
    }
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      return absl::UnavailableError(std::strerror(error));
    }
  }
  if (isToItself(socket.get())) {
    return absl::UnavailableError("nobody listens");
  }
  return socket;
}

/// Listens on this host alone, or on all networks, in one family of addresses.
absl::StatusOr<Socket> listenOn(int family, bool here, uint16_t port) {
  Socket socket(
      ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  Address address = {};
  socklen_t size = sizeof(address.v4);
  address.any.sa_family = sa_family_t(family);
  if (family == AF_INET6) {
    address.v6.sin6_port = htons(port);
    address.v6.sin6_addr = here ? in6addr_loopback : in6addr_any;
    size = sizeof(address.v6);
    set(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, here);
  } else {
    address.v4.sin_port = htons(port);
    address.v4.sin_addr.s_addr = htonl(here ? INADDR_LOOPBACK : INADDR_ANY);
  }
  // A run that has just ended leaves its connections behind for a minute.
  set(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (socket.isOpen() && bind(socket.get(), &address.any, size) == 0 &&
      listen(socket.get(), SOMAXCONN) == 0) {
    return socket;
  }
  return errno == EADDRINUSE ? absl::AlreadyExistsError(lastError())
                             : absl::UnavailableError(lastError());
}

} // namespace

Socket::~Socket() {
  if (descriptor >= 0) {
    close(descriptor);
  }
}

bool tcp::waitFor(int descriptor, bool write, Clock::time_point end) {
  while (true) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(
        std::max(end - Clock::now(), Clock::duration(0)));
    pollfd entry = {descriptor, short(write ? POLLOUT : POLLIN), 0};
    int ready = poll(&entry, 1, int(std::min<int64_t>(left.count(), 60'000)));
    if (ready > 0) {
      return true;
    }
    if (Clock::now() >= end || (ready < 0 && errno != EINTR)) {
      return false;
    }
  }
}

absl::StatusOr<Socket> tcp::listenOn(const std::string &host, uint16_t port) {
  bool six = host == "::1";
  bool here = six || host == "localhost" || absl::StartsWith(host, "127.");
  // One socket takes both families, unless this system has no IPv6.
  absl::StatusOr<Socket> socket =
      ::listenOn(here && !six ? AF_INET : AF_INET6, here, port);
  if (!socket.ok() && !here && !absl::IsAlreadyExists(socket.status())) {
    socket = ::listenOn(AF_INET, here, port);
  }
  if (socket.ok()) {
    return socket;
  }
  return annotate(socket.status(),
                  absl::StrCat("rank 0 cannot listen on port ", port,
                               " of this host, which may be in use: set the "
                               "variable ZEROGRAPH_PORT to one that is free, "
                               "on every rank"));
}

absl::StatusOr<Socket> tcp::acceptFrom(const Socket &listening,
                                       std::string &peer) {
  Address address = {};
  socklen_t size = sizeof(address);
  Socket socket(accept4(listening.get(), &address.any, &size,
                        SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.isOpen()) {
    set(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    peer = describe(address);
  } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
             errno == ENOMEM) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the system gives no connection for another rank: ", lastError(),
        " (ulimit -n says how many)"));
  }
  return socket; // of one that has gone again, too
}

absl::StatusOr<Socket> tcp::connectTo(const std::string &host, uint16_t port,
                                      Clock::time_point end) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  Addresses addresses;
  int error = getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints,
                          &addresses.first);
  if (error != 0) {
    return absl::NotFoundError(
        error == EAI_SYSTEM ? lastError() : std::string(gai_strerror(error)));
  }
  absl::StatusOr<Socket> socket = absl::NotFoundError("it has no address");
  for (addrinfo *address = addresses.first; address && !socket.ok();
       address = address->ai_next) {
    socket = ::connectTo(*address, end);
  }
  return socket;
}

absl::StatusOr<std::pair<Socket, Socket>> tcp::makePair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                 ends) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the system gives no sockets: ", lastError()));
  }
  return std::make_pair(Socket(ends[0]), Socket(ends[1]));
}

absl::StatusOr<WakeUp> WakeUp::make() {
  WakeUp made;
  made.socket = Socket(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!made.socket.isOpen()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the system gives no event: ", lastError()));
  }
  return made;
}

void WakeUp::wake() const {
  uint64_t one = 1;
  (void)!write(socket.get(), &one, sizeof(one));
}

void WakeUp::drain() const {
  uint64_t count = 0;
  (void)!read(socket.get(), &count, sizeof(count));
}
