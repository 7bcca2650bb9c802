//===- OpenHost.h - --target host:... -------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_HOST_OPENHOST_H
#define ZEROGRAPH_CODEGEN_HOST_OPENHOST_H

#include "codegen/plan/Target.h"

namespace mlir::zg {

/// Opens the processors that `parseHostTarget` knows.
absl::StatusOr<Target> openHost(const TargetOptions &asked);

/// Makes the code of the host that helps a device: it makes updates, and calls
/// no library. `processor` is a name that `parseHostTarget` knows.
absl::StatusOr<std::unique_ptr<DeviceCode>>
makeHelper(const TargetOptions &asked, const std::string &processor);

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_HOST_OPENHOST_H
