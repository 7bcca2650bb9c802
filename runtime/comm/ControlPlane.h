//===- ControlPlane.h - what ranks tell each other outside of programs ----===//
//
// The control plane of one rank, between threads or processes. Every wait has
// a deadline, past which the error says who waits for whom; a rank that fails
// ends all of them. Ranks make the same calls in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_CONTROLPLANE_H
#define ZEROGRAPH_RUNTIME_COMM_CONTROLPLANE_H

#include "runtime/base/Status.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace zerograph {

/// Longer deadlines are as good as this one, eleven days, and would overflow
/// clocks.
constexpr std::chrono::duration<double> kLongestDeadline(1e6);

class ControlPlane {
public:
  virtual ~ControlPlane() = default;

  virtual unsigned world() const = 0;
  virtual unsigned rank() const = 0;

  /// Waits for all ranks. `what` is for messages, here and below.
  virtual absl::Status barrier(const std::string &what) = 0;
  /// Every rank's text, in rank order.
  virtual absl::StatusOr<std::vector<std::string>>
  exchange(const std::string &what, const std::string &text) = 0;
  /// The same for rank 0 alone; the others get nothing.
  virtual absl::StatusOr<std::vector<std::string>>
  collect(const std::string &what, const std::string &text) = 0;
  /// Rank 0's text, for every rank.
  virtual absl::StatusOr<std::string> broadcast(const std::string &what,
                                                const std::string &text) = 0;

  /// Whether ranks are in one process: what one opened, all can use.
  virtual bool inOneProcess() const = 0;
  /// While true this rank does something that no plan bounds, as compiling or
  /// putting a file on the disk: others that wait for it do so as long as its
  /// process is alive. Nothing for ranks that are threads, which do such things
  /// before they begin or after they met.
  virtual void setBusy(bool busy) {}
  /// At once: another rank's failure as far as this one has been told, for who
  /// waits for something else than its calls; or OK.
  virtual absl::Status failure() { return absl::OkStatus(); }
  /// This rank failed: every wait of every rank ends with an error that
  /// carries this one. The first call counts.
  virtual void abort(const absl::Status &status) = 0;
};

/// An error on every rank unless all of them hold the same plan; it names the
/// ranks that differ from rank 0 and the hashes.
absl::Status compareHashes(ControlPlane &control, const std::string &hash_hex);

/// An error on every rank unless all of them have the same `choices` of a
/// device's module; it names those that differ from rank 0.
absl::Status compareChoices(ControlPlane &control, const std::string &choices);

/// An error on every rank where any has one before the run: rank 0's says what
/// failed where, the others' is Cancelled, to be passed on and not to be said.
absl::Status agree(ControlPlane &control, const std::string &what,
                   const absl::Status &own);

/// An error, as those of `agree`, unless every rank has the same values by the
/// same names.
absl::Status compareSettings(ControlPlane &control,
                             const std::map<std::string, std::string> &values);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_CONTROLPLANE_H
