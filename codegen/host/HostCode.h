//===- HostCode.h - what the host brings to a plan ------------------------===//

#ifndef ZEROGRAPH_CODEGEN_HOST_HOSTCODE_H
#define ZEROGRAPH_CODEGEN_HOST_HOSTCODE_H

#include "codegen/host/KernelModule.h"
#include "codegen/plan/DeviceCode.h"

namespace mlir::zg {

/// One shared object for the processors of `target`; the plan asks for their
/// instructions, and for this machine's oneDNN and the instructions it uses.
class HostCode final : public DeviceCode {
public:
  /// Loads the dialects code generation needs into the context.
  HostCode(MLIRContext *context, HostTarget target)
      : target(target), kernels(context, std::move(target)) {}

  LogicalResult add(Operation *op, zerograph::plan::Kernel &kernel) override;
  void describe(zerograph::plan::Plan &plan) const override;
  LogicalResult finish(zerograph::plan::Plan &plan) override;

private:
  HostTarget target;
  KernelModuleBuilder kernels;
};

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_HOST_HOSTCODE_H
