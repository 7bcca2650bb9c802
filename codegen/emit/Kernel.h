//===- Kernel.h - what every device asks of a kernel ----------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_KERNEL_H
#define ZEROGRAPH_CODEGEN_EMIT_KERNEL_H

#include "passes/ir/nn/NNDialect.h"

#include <string>

namespace mlir::zg::emit {

/// Refuses a kernel that reads or makes a tensor without elements.
LogicalResult checkNotEmpty(Operation *op);

/// Returns the name of kernel `number` of a module: "k0_rows", "k1_matmul".
std::string kernelSymbol(unsigned number, Operation *op);

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_KERNEL_H
