//===- CoordinatorServer.h - the thread of rank 0 for all -----------------===//
//------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_TCP_COORDINATORSERVER_H
#define ZEROGRAPH_RUNTIME_COMM_TCP_COORDINATORSERVER_H

#include "runtime/comm/tcp/Connection.h"
#include "runtime/comm/tcp/Rendezvous.h"

#include <functional>
#include <memory>
#include <thread>

namespace zerograph::tcp {

struct CoordinatorOptions {
  unsigned world = 1;
  std::string run;
  std::string place; // for messages
  Rendezvous::Clock::duration deadline = {};
  std::string process; // this one, for messages
  /// Called with connections that were refused, by the coordinator's thread.
  std::function<void(const std::string &)> say;
};

class CoordinatorServer {
public:
  /// Starts the thread. `local` is the connection of rank 0 itself, which is
  /// taken for granted; the thread ends after it has ended, and after the
  /// others have been told, or a while.
  static absl::StatusOr<std::unique_ptr<CoordinatorServer>>
  start(Socket listening, Socket local, CoordinatorOptions options);
  /// Waits for the thread. Rank 0's connection must have ended.
  ~CoordinatorServer();

private:
  using Clock = Rendezvous::Clock;
  /// A connection that has not said hello.
  struct Newcomer {
    Connection connection;
    std::string peer;
    Clock::time_point since;
    bool refused = false; // until it closes
  };

  CoordinatorServer(Socket listening, Socket local, CoordinatorOptions options);
  void serve();
  /// Waits for something to do, and returns how late it is.
  Clock::duration wait(Clock::time_point until);
  void accept(Clock::time_point now);
  void greet(Clock::time_point now);
  /// Returns whether the newcomer is done with: became a rank, was refused, has
  /// gone.
  bool greet(Newcomer &newcomer, Clock::time_point now);
  void refuse(Newcomer &newcomer, const absl::Status &why);
  void listen(unsigned rank, Clock::time_point now);
  void beat(Clock::time_point now);
  void send();
  void end();

  Socket listening;
  CoordinatorOptions options;
  Rendezvous rendezvous;
  std::vector<std::unique_ptr<Connection>> ranks; // null: not here
  std::vector<Newcomer> newcomers;
  Clock::time_point last_beat;
  unsigned refusals = 0;
  bool full = false; // the system gives no more connections
  std::thread thread;
};

} // namespace zerograph::tcp

#endif // ZEROGRAPH_RUNTIME_COMM_TCP_COORDINATORSERVER_H
