//===- Compile.h - emitted loops to a shared object -----------------------===//

#ifndef ZEROGRAPH_CODEGEN_HOST_COMPILE_H
#define ZEROGRAPH_CODEGEN_HOST_COMPILE_H

#include "codegen/host/HostTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace mlir::zg::host {

/// Lowers a module of scf, arith, math, vector and llvm ops in place and
/// generates an x86-64 ELF object. Errors are reported on the module.
FailureOr<std::vector<char>> compileToObject(ModuleOp module,
                                             const HostTarget &target);

/// Links an object into a shared object without dependencies. An undefined
/// symbol is refused by name. Errors are reported at `location`.
FailureOr<std::vector<char>> linkSharedObject(ArrayRef<char> object,
                                              Location location);

} // namespace mlir::zg::host

#endif // ZEROGRAPH_CODEGEN_HOST_COMPILE_H
