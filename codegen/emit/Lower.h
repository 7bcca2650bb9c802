//===- Lower.h - emitted code to LLVM's -----------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOWER_H
#define ZEROGRAPH_CODEGEN_EMIT_LOWER_H

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace mlir::zg::emit {

/// Loads what emission and lowering need into the context.
void loadEmitDialects(MLIRContext *context);

/// Lowers a module of scf, arith, math, vector and llvm ops in place, in one
/// conversion, and gives it to LLVM. Ops of `deviceDialect` stay as they are
/// for their translation, which is the device's to register. Null on an error,
/// which is reported on the module.
std::unique_ptr<llvm::Module> toLLVM(ModuleOp module,
                                     llvm::LLVMContext &context,
                                     StringRef deviceDialect = {});

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOWER_H
