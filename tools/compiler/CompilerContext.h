//===- CompilerContext.h - MLIR's context of a compilation ----------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_COMPILERCONTEXT_H
#define ZEROGRAPH_TOOLS_COMPILER_COMPILERCONTEXT_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/Registration.h"

namespace zerograph {

/// A context that has the compiler's dialects. It has one thread: a plan is a
/// function of its input. Kernels are compiled by several (see
/// codegen/host/Compile.cpp), none of which is MLIR's.
class CompilerContext : public mlir::MLIRContext {
public:
  CompilerContext() : MLIRContext(dialects(), Threading::DISABLED) {
    loadAllAvailableDialects();
  }

private:
  static mlir::DialectRegistry dialects() {
    mlir::DialectRegistry registry;
    mlir::zg::registerDialects(registry);
    return registry;
  }
};

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_COMPILERCONTEXT_H
