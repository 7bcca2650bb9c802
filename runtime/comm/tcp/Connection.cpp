//===- Connection.cpp - frames over a socket ------------------------------===//

#include "runtime/comm/tcp/Connection.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>

using namespace zerograph;
using namespace zerograph::tcp;

namespace {

/// The bytes that are read at a time, and how many times before others have
/// their turn.
constexpr size_t kPart = 256 << 10;
constexpr int kParts = 16;

} // namespace

absl::Status Connection::read(std::vector<Frame> &frames, bool &came) {
  thread_local std::array<char, kPart> buffer;
  came = false;
  for (int part = 0; part < kParts; ++part) {
    ssize_t bytes = recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (bytes < 0 && errno == EINTR) {
      continue;
    }
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      break;
    }
    if (bytes == 0 || (bytes < 0 && errno == ECONNRESET)) {
      return absl::UnavailableError("has ended");
    }
    if (bytes < 0) {
      return absl::UnavailableError(absl::StrCat("cannot be reached any more (",
                                                 std::strerror(errno), ")"));
    }
    came = true;
    ZG_RETURN_IF_ERROR(
        reader.take(absl::string_view(buffer.data(), size_t(bytes)), frames));
  }
  return absl::OkStatus();
}

bool Connection::drop() {
  std::array<char, 4096> buffer;
  for (int part = 0; part < kParts; ++part) {
    ssize_t bytes = recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (bytes < 0) {
      return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
    }
    if (bytes == 0) {
      return false;
    }
  }
  return true;
}

void Connection::write() {
  while (!queue.empty()) {
    const std::string &first = *queue.front();
    ssize_t bytes = ::send(socket.get(), first.data() + sent,
                           first.size() - sent, MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR) {
      continue;
    }
    if (bytes < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) {
        queue.clear();
        sent = 0;
      }
      return;
    }
    sent += size_t(bytes);
    if (sent == first.size()) {
      queue.pop_front();
      sent = 0;
    }
  }
}

void Connection::shutDown() { shutdown(socket.get(), SHUT_WR); }
