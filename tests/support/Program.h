//===- Program.h - parses, transforms and runs textual IR in tests --------===//

#ifndef ZEROGRAPH_TESTS_SUPPORT_PROGRAM_H
#define ZEROGRAPH_TESTS_SUPPORT_PROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/Pass.h"
#include "passes/ir/nn/NNDialect.h"

#include <memory>
#include <string>

namespace mlir::zg::testing {

/// A module of nn functions with a context of its own, in which the gradient
/// rules are registered.
class Program {
public:
  /// Parses; on an error `ok()` is false and `diagnostics()` says why.
  explicit Program(StringRef text);

  bool ok() const { return static_cast<bool>(module); }
  /// Runs one pass on the module, or on each function, as it is anchored.
  LogicalResult run(std::unique_ptr<Pass> pass);
  /// The function of a name; null if there is none.
  nn::ProgramOp function(StringRef name);
  /// Everything reported so far, one diagnostic a line.
  const std::string &diagnostics() const { return messages; }
  std::string text();

  MLIRContext *getContext() { return &context; }
  ModuleOp getModule() { return *module; }

private:
  MLIRContext context;
  std::string messages;
  OwningOpRef<ModuleOp> module;
};

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_SUPPORT_PROGRAM_H
