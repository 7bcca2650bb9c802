//===- DeviceCode.h - what a device brings to a plan ----------------------===//

#ifndef ZEROGRAPH_CODEGEN_PLAN_DEVICECODE_H
#define ZEROGRAPH_CODEGEN_PLAN_DEVICECODE_H

#include "mlir/IR/Operation.h"
#include "runtime/plan/plan.pb.h"

namespace mlir::zg {

/// Generates the code of a plan's kernels. Errors are diagnostics on the ops.
class DeviceCode {
public:
  virtual ~DeviceCode() = default;

  /// Generates `op`, an nn.kernel or nn.matmul, each call anew: who calls does
  /// so once for equal ones. Sets the kernel's symbol and how it is launched,
  /// not what launches bring; of its operations, adds an entry for the type
  /// that its products multiply, if that is not the one that they are added in,
  /// with those that it repeats.
  virtual LogicalResult add(Operation *op, zerograph::plan::Kernel &kernel) = 0;

  /// Adds what a machine must have to run the plan, whose steps are there.
  virtual void describe(zerograph::plan::Plan &plan) const = 0;

  /// Adds the module of all kernels that were added. Empty afterwards. The same
  /// kernels in the same order give the same bytes.
  virtual LogicalResult finish(zerograph::plan::Plan &plan) = 0;
};

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_PLAN_DEVICECODE_H
