//===- Lower.h - emitted code to LLVM's -----------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOWER_H
#define ZEROGRAPH_CODEGEN_EMIT_LOWER_H

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
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

/// LLVM's generator for a triple, whose target is initialized; null, with
/// `error` set, if it has none. Nothing is contracted that is not marked, and
/// nothing is marked.
std::unique_ptr<llvm::TargetMachine>
openTargetMachine(const std::string &triple, StringRef cpu, StringRef features,
                  std::string &error);

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOWER_H
