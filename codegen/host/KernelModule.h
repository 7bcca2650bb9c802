//===- KernelModule.h - kernels of a plan as one shared object ------------===//

#ifndef ZEROGRAPH_CODEGEN_HOST_KERNELMODULE_H
#define ZEROGRAPH_CODEGEN_HOST_KERNELMODULE_H

#include "codegen/host/HostTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/ir/nn/NNDialect.h"
#include <vector>

namespace mlir::zg {

namespace host {
struct WorkRange;
}

/// A kernel as the runtime calls it:
///
///     void symbol(void *const *buffers, int64_t begin, int64_t end)
///
/// `buffers` are the operands, then the results, each contiguous and
/// row-major, an i1 in a byte. Calls on ranges that partition [0, extent) may
/// run at the same time. A result may lie exactly on an operand of the same
/// element type that is read elementwise; otherwise buffers do not overlap.
struct KernelInfo {
  std::string symbol;
  /// Work items: rows, elements or columns.
  int64_t extent = 0;
  /// Ranges begin at multiples of this. The bits do not depend on it.
  int64_t grain = 1;
  /// The type of 16 bits in which it multiplies matrices; null: in none.
  Type multiplied = {};
};

/// Collects kernels and compiles them into one shared object.
class KernelModuleBuilder {
public:
  /// Loads the dialects code generation needs into the context.
  KernelModuleBuilder(MLIRContext *context, HostTarget target);

  /// Emits an nn.kernel, or an nn.matmul as a plain loop: fixed order over k,
  /// buffers lhs, rhs, result, work items rows of the result, all batches
  /// together. Each call gives another symbol. Errors are reported on the op.
  FailureOr<KernelInfo> add(Operation *op);

  /// Compiles all kernels: the bytes of an ELF shared object that needs no
  /// symbol of any other. Equal kernels added in the same order give equal
  /// bytes. The builder is empty afterwards.
  FailureOr<std::vector<char>> finish();

private:
  MLIRContext *context;
  HostTarget target;
  /// Modules of some kernels each, so that they are compiled side by side.
  std::vector<OwningOpRef<ModuleOp>> modules;
  unsigned count = 0;
};

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_HOST_KERNELMODULE_H
