//===- Compile.h - emitted loops to a shared object -----------------------===//

#ifndef ZEROGRAPH_CODEGEN_HOST_COMPILE_H
#define ZEROGRAPH_CODEGEN_HOST_COMPILE_H

#include "codegen/host/HostTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <vector>

namespace mlir::zg::host {

using Object = std::vector<char>;

/// Lowers modules of scf, arith, math, vector and llvm ops in place and
/// generates an x86-64 ELF object of each, in their order, several at once.
/// Errors are reported on a module.
FailureOr<std::vector<Object>>
compileToObjects(MutableArrayRef<OwningOpRef<ModuleOp>> modules,
                 const HostTarget &target);

/// Links objects into a shared object without dependencies. An undefined
/// symbol is refused by name. Errors are reported at `location`.
FailureOr<std::vector<char>> linkSharedObject(ArrayRef<Object> objects,
                                              Location location);

} // namespace mlir::zg::host

#endif // ZEROGRAPH_CODEGEN_HOST_COMPILE_H
