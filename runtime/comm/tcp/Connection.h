//===- Connection.h - frames over a socket --------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_TCP_CONNECTION_H
#define ZEROGRAPH_RUNTIME_COMM_TCP_CONNECTION_H

#include "runtime/comm/tcp/Frame.h"
#include "runtime/comm/tcp/Socket.h"

#include <deque>
#include <vector>

namespace zerograph::tcp {

/// A connection of one thread. Nothing blocks: what the other side does not
/// take yet waits.
class Connection {
public:
  explicit Connection(Socket socket, uint64_t longest = kLongestPayload)
      : socket(std::move(socket)), reader(longest) {}

  int descriptor() const { return socket.get(); }
  void setLongest(uint64_t bytes) { reader.setLongest(bytes); }

  /// Appends what has come, as frames. `came` says whether a byte did.
  /// Unavailable where the other side has gone: "has ended", or so; another
  /// error where it sends what no frame is. Nothing is to be read after one.
  absl::Status read(std::vector<Frame> &frames, bool &came);
  /// Drops what has come, whatever it is; false once the other side has gone.
  bool drop();
  bool isWithin(FrameKind kind) const { return reader.isWithin(kind); }

  void send(Bytes bytes) { queue.push_back(std::move(bytes)); }
  bool hasToSend() const { return !queue.empty(); }
  /// Sends what the other side takes now. Where it has gone, nothing is left to
  /// send; `read` says so.
  void write();
  /// Tells the other side that nothing more will come.
  void shutDown();

private:
  Socket socket;
  FrameReader reader;
  std::deque<Bytes> queue;
  size_t sent = 0; // bytes of the first
};

} // namespace zerograph::tcp

#endif // ZEROGRAPH_RUNTIME_COMM_TCP_CONNECTION_H
