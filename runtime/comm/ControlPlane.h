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
#include <optional>
#include <string>
#include <vector>

namespace zerograph {

/// The longest deadline, eleven days: longer ones are as good, and would
/// overflow clocks.
constexpr std::chrono::duration<double> kLongestDeadline(1e6);

class ControlPlane {
public:
  virtual ~ControlPlane() = default;

  virtual unsigned world() const = 0;
  virtual unsigned rank() const = 0;

  /// Waits for all ranks. `what` is for messages, here and below.
  virtual absl::Status barrier(const std::string &what) = 0;
  /// Returns every rank's text, in rank order.
  virtual absl::StatusOr<std::vector<std::string>>
  exchange(const std::string &what, const std::string &text) = 0;
  /// Returns the same on rank 0 alone; the others get nothing.
  virtual absl::StatusOr<std::vector<std::string>>
  collect(const std::string &what, const std::string &text) = 0;
  /// Returns rank 0's text on every rank.
  absl::StatusOr<std::string> broadcast(const std::string &what,
                                        const std::string &text);

  /// Returns whether ranks are in one process: what one opened, all can use.
  virtual bool inOneProcess() const = 0;
  /// Says whether this rank does something that no plan bounds, as compiling or
  /// putting a file on the disk: others that wait for it then do so as long as
  /// its process is alive. It does nothing for ranks that are threads, which do
  /// such things before they begin or after they met.
  virtual void setBusy(bool busy) {}
  /// Returns at once another rank's failure, as far as this one has been told,
  /// or OK. It is for those who wait for something else than this object's
  /// calls.
  virtual absl::Status failure() { return absl::OkStatus(); }
  /// Ends every wait of every rank with an error that carries this one: this
  /// rank failed. The first call counts.
  virtual void abort(const absl::Status &status) = 0;
};

/// Returns an error on every rank unless all of them hold the same plan; it
/// names the ranks that differ from rank 0 and the hashes.
absl::Status compareHashes(ControlPlane &control, const std::string &hash_hex);

/// Returns an error on every rank unless all of them have arrays of the same
/// digest.
absl::Status compareArrays(ControlPlane &control, const std::string &digest);

/// Returns an error on every rank unless the batches of all of them are of the
/// same one of a run's plans, which count from 0, or of none.
absl::Status comparePlans(ControlPlane &control, std::optional<size_t> number);

/// Returns an error on every rank unless all of them have the same `choices` of
/// a device's module; it names those that differ from rank 0.
absl::Status compareChoices(ControlPlane &control, const std::string &choices);

/// Returns an error on every rank where any has one before the run: rank 0's
/// says what failed where, the others' is Cancelled, to be passed on and not to
/// be said.
absl::Status agree(ControlPlane &control, const std::string &what,
                   const absl::Status &own);

/// Returns an error, as those of `agree`, unless every rank has the same values
/// by the same names.
absl::Status compareSettings(ControlPlane &control,
                             const std::map<std::string, std::string> &values);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_CONTROLPLANE_H
