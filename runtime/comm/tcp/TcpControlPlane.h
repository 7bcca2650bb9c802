//===- TcpControlPlane.h - ranks that are processes without MPI -----------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_TCP_TCPCONTROLPLANE_H
#define ZEROGRAPH_RUNTIME_COMM_TCP_TCPCONTROLPLANE_H

#include "runtime/comm/ControlPlane.h"
#include "runtime/comm/Launch.h"
#include "runtime/comm/Peers.h"

#include <functional>
#include <memory>

namespace zerograph {
namespace tcp {
class Client;
class CoordinatorServer;
enum class Operation : uint8_t;
} // namespace tcp

struct TcpOptions {
  /// The longest that a rank waits for others without a sign of them, and for
  /// rank 0 to listen.
  std::chrono::duration<double> deadline = std::chrono::seconds(300);
  /// Called with what a user should know while ranks meet, by any thread; if
  /// null, that goes to standard error.
  std::function<void(const std::string &)> say;
};

/// This process's rank. Rank 0 listens at the launch's place, and what ranks
/// tell each other goes through it.
class TcpControlPlane final : public ControlPlane {
public:
  /// Meets the processes that were started beside this one. The launch has a
  /// place, and says how many they are. An error names this rank.
  static absl::StatusOr<std::unique_ptr<TcpControlPlane>>
  join(const Launch &launch, const TcpOptions &options);
  /// Ends this rank: those that wait for it are told. Rank 0 returns when the
  /// others have heard what there was to say, or after a while.
  ~TcpControlPlane() override;

  unsigned world() const override { return size; }
  unsigned rank() const override { return self; }

  absl::Status barrier(const std::string &what) override;
  absl::StatusOr<std::vector<std::string>>
  exchange(const std::string &what, const std::string &text) override;
  absl::StatusOr<std::vector<std::string>>
  collect(const std::string &what, const std::string &text) override;

  bool inOneProcess() const override { return false; }
  void setBusy(bool busy) override;
  void abort(const absl::Status &status) override;
  absl::Status failure() override;

  const Peers &peers() const { return processes; }
  /// Ends the run, with all ranks.
  absl::Status finish();

private:
  TcpControlPlane(unsigned rank, unsigned world);
  /// Begins to listen on rank 0, which welcomes the other ranks.
  absl::Status connect(const Launch &launch, const TcpOptions &options);
  /// Returns the `texts` texts that answer it.
  absl::StatusOr<std::vector<std::string>> call(tcp::Operation operation,
                                                const std::string &what,
                                                const std::string &text,
                                                size_t texts);

  unsigned self, size;
  std::unique_ptr<tcp::CoordinatorServer>
      server; // rank 0's; it outlives the client
  std::unique_ptr<tcp::Client> client;
  Peers processes;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_TCP_TCPCONTROLPLANE_H
