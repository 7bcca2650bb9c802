//===- MpiCommunicator.h - ranks that are MPI processes -------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H
#define ZEROGRAPH_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H

#include "runtime/comm/HostCommunicator.h"
#include "runtime/comm/Launch.h"
#include "runtime/comm/mpi/Engine.h"

#include <functional>
#include <memory>

namespace zerograph {

struct MpiOptions {
  /// The longest that a rank waits for others without a sign of them; what it
  /// computes before is not counted.
  std::chrono::duration<double> deadline = std::chrono::seconds(300);
  /// Returns whether this process was told to end. A launcher does so before it
  /// kills, without a word, the processes beside one that has died on another
  /// host: a rank that is waiting then says for whom.
  std::function<bool()> told_to_end;
  /// Called by each rank as it enters a collective, for tests that delay some.
  std::function<void(unsigned rank, const CollectiveSite &site)> on_enter;
};

/// This process's rank. There is one a process.
class MpiCommunicator final : public HostCommunicator {
public:
  /// Meets the processes that the launcher started beside this one.
  static absl::StatusOr<std::unique_ptr<MpiCommunicator>>
  join(const Launch &launch, const MpiOptions &options);

  unsigned world() const override { return engine->world(); }
  unsigned rank() const override { return engine->rank(); }

  absl::Status barrier(const std::string &what) override;
  absl::StatusOr<std::vector<std::string>>
  exchange(const std::string &what, const std::string &text) override;
  absl::StatusOr<std::vector<std::string>>
  collect(const std::string &what, const std::string &text) override;

  bool inOneProcess() const override { return false; }
  absl::Status failure() override {
    absl::Status told = engine->failure();
    return told.ok() ? engine->lookForEnded() : told;
  }
  void setBusy(bool busy) override { engine->setBusy(busy); }
  void abort(const absl::Status &status) override {
    engine->fail(status);
    order.fail();
  }

  const Peers &peers() const { return engine->peers(); }

  /// Ends MPI in good order, with all ranks.
  absl::Status finish();
  /// Ends all ranks' processes, this one included, unless MPI is stuck.
  void abortAll() { engine->abortAll(); }

private:
  explicit MpiCommunicator(const MpiOptions &options)
      : HostCommunicator(options.on_enter) {}

  absl::StatusOr<Clock::time_point>
  transfer(const CollectiveSite &site, const char *what,
           absl::Span<const Message> receives,
           absl::Span<const Message> sends) override;
  absl::Status awaitReaders(const CollectiveSite &, const char *) override {
    return absl::OkStatus(); // what is sent has been copied
  }
  absl::Status lostTurn(const absl::Status &turn,
                        const std::string &where) override;
  /// Sends `text` to `to` and returns the texts of `from`, by rank.
  absl::StatusOr<std::vector<std::string>>
  transferTexts(const std::string &what, const std::string &text,
                absl::Span<const unsigned> to, absl::Span<const unsigned> from);
  std::vector<unsigned> others() const;

  std::unique_ptr<Engine> engine;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H
