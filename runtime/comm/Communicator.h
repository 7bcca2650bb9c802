//===- Communicator.h - a transport for data and control ------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_COMMUNICATOR_H
#define ZEROGRAPH_RUNTIME_COMM_COMMUNICATOR_H

#include "runtime/comm/Collectives.h"
#include "runtime/comm/ControlPlane.h"

namespace zerograph {

/// One rank's end of a transport that is both. What uses one of them alone
/// takes that: other transports are one of the two.
class Communicator : public Collectives, public ControlPlane {
public:
  unsigned world() const override = 0;
  unsigned rank() const override = 0;
  /// Tells both planes of one failure.
  void abort(const absl::Status &status) override = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_COMMUNICATOR_H
