//===- Socket.h - TCP connections that never block ------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_TCP_SOCKET_H
#define ZEROGRAPH_RUNTIME_COMM_TCP_SOCKET_H

#include "runtime/base/Status.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace zerograph::tcp {

/// Owns a file descriptor; not inherited by programs that this one starts,
/// which would keep a dead rank's connection open.
class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor(descriptor) {}
  Socket(Socket &&other) noexcept
      : descriptor(std::exchange(other.descriptor, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~Socket();

  bool isOpen() const { return descriptor >= 0; }
  int get() const { return descriptor; }

private:
  int descriptor = -1;
};

/// Listens on `port`, of this host alone where `host`, by which others come, is
/// such a name ("localhost", "127.0.0.1", "::1"), else of all its networks.
absl::StatusOr<Socket> listenOn(const std::string &host, uint16_t port);

/// Returns the next connection, or a closed socket where none waits. `peer` is
/// set to where it comes from, for messages. An error where the system gives no
/// more.
absl::StatusOr<Socket> acceptFrom(const Socket &listening, std::string &peer);

/// Tries every address of `host` once. Returns by `end`, except that the system
/// may take longer to look up the name.
absl::StatusOr<Socket> connectTo(const std::string &host, uint16_t port,
                                 std::chrono::steady_clock::time_point end);

/// Returns two ends within this process.
absl::StatusOr<std::pair<Socket, Socket>> makePair();

/// A descriptor that a thread waits for beside its sockets: readable once
/// `wake` was called, until `drain`.
class WakeUp {
public:
  static absl::StatusOr<WakeUp> make();
  int get() const { return socket.get(); }
  void wake() const;
  void drain() const;

private:
  Socket socket;
};

/// Waits until `descriptor` can be read (or written), at most until `end`.
/// Returns whether it can.
bool waitFor(int descriptor, bool write,
             std::chrono::steady_clock::time_point end);

} // namespace zerograph::tcp

#endif // ZEROGRAPH_RUNTIME_COMM_TCP_SOCKET_H
