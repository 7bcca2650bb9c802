//===- Forms.h - the loops of each form of kernel -------------------------===//

#ifndef ZEROGRAPH_CODEGEN_HOST_FORMS_FORMS_H
#define ZEROGRAPH_CODEGEN_HOST_FORMS_FORMS_H

#include "codegen/host/HostTarget.h"
#include "codegen/host/forms/HostBody.h"
#include "passes/ir/nn/Numerics.h"

namespace mlir::zg::host {

/// The work items of an emitted kernel; see KernelInfo.
struct WorkRange {
  int64_t extent = 0;
  int64_t grain = 1;
  Type multiplied = {};
};

/// Each emits `void name(void *const *buffers, int64_t begin, int64_t end)`
/// at the builder, or an error that names the op.
FailureOr<WorkRange> emitRows(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                              StringRef name);
FailureOr<WorkRange> emitColumns(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                                 StringRef name);
FailureOr<WorkRange> emitScan(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                              StringRef name);
FailureOr<WorkRange> emitScatter(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                                 StringRef name);

/// A work item is a block of queries, of keys, or of the gradient of a bias.
FailureOr<WorkRange> emitAttention(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                                   StringRef name, const HostTarget &target);

/// A work item is a row of the result.
FailureOr<WorkRange> emitMatmul(ImplicitLocOpBuilder &b, nn::MatmulOp matmul,
                                StringRef name);

} // namespace mlir::zg::host

#endif // ZEROGRAPH_CODEGEN_HOST_FORMS_FORMS_H
