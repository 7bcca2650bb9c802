//===- StopSignal.h - ending a run in good order --------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_STOPSIGNAL_H
#define ZEROGRAPH_RUNTIME_EXEC_STOPSIGNAL_H

#include <csignal>

namespace zerograph {

/// While it lives, SIGINT asks the run to stop after the step; a second one
/// ends the process as usual. One at a time.
class StopSignal {
public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal &) = delete;
  StopSignal &operator=(const StopSignal &) = delete;

  bool requested() const;

private:
  struct sigaction before = {};
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_STOPSIGNAL_H
