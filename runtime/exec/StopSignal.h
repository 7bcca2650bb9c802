//===- StopSignal.h - ending a run in good order --------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_STOPSIGNAL_H
#define ZEROGRAPH_RUNTIME_EXEC_STOPSIGNAL_H

#include <array>
#include <csignal>

namespace zerograph {

/// While it lives, SIGINT, SIGTERM and SIGUSR1, which batch systems and mpirun
/// send, ask the run to stop after the step; the one that comes over a second
/// later ends the process as usual. One object at a time.
class StopSignal {
public:
  /// Says nothing of the signal when it comes, unless `speaks`.
  explicit StopSignal(bool speaks = true);
  ~StopSignal();
  StopSignal(const StopSignal &) = delete;
  StopSignal &operator=(const StopSignal &) = delete;

  static bool requested() { return number() != 0; }
  /// Returns the signal that asked; 0 if none did.
  static int number();

  /// Takes signals for granted from now on, also when this object is gone: the
  /// run is over, and the process about to end. A launcher sends ranks the same
  /// signal one after the other, and all stop with the first.
  void keep();

private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGUSR1};
  std::array<struct sigaction, kSignals.size()> before = {};
  bool kept = false;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_STOPSIGNAL_H
