//===- SavedImport.cpp - a model that is imported once --------------------===//

#include "tools/compiler/SavedImport.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Verifier.h"
#include "passes/differentiate/Passes.h"
#include "runtime/base/Status.h"
#include "tools/compiler/CompilerContext.h"
#include "tools/compiler/EqualBlocks.h"
#include "tools/compiler/Import.h"

#include "llvm/Support/raw_ostream.h"

namespace zerograph {
namespace {

using namespace mlir::zg;

absl::StatusOr<std::string> bytecodeOf(mlir::ModuleOp module) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  return mlir::succeeded(mlir::writeBytecodeToFile(module, stream))
             ? absl::StatusOr<std::string>(std::move(bytes))
             : absl::InternalError("a model cannot be written as bytecode");
}

} // namespace

absl::StatusOr<std::shared_ptr<const SavedImport>>
saveImport(const CompileOptions &given) {
  CompilerContext context;
  auto saved = std::make_shared<SavedImport>();
  CompileOptions options = given;
  ZG_ASSIGN_OR_RETURN(ImportedModel model,
                      importForPlan(context, options, saved->said));
  ZG_ASSIGN_OR_RETURN(saved->bytecode, bytecodeOf(*model.module));
  saved->loss_output = model.loss_output;
  saved->precision = options.precision;
  return saved;
}

absl::StatusOr<ShortImport> keepBlocks(const SavedImport &whole,
                                       uint64_t kept) {
  CompilerContext context;
  auto shorter = std::make_shared<SavedImport>(whole);
  ZG_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module,
                      parseImport(context, whole));
  if (module->lookupSymbol(nn::kEvaluateFunction)) {
    return ShortImport{std::move(shorter), 0};
  }
  uint64_t blocks = keepBlocks(
      module->lookupSymbol<nn::ProgramOp>(nn::kForwardFunction), kept);
  if (mlir::failed(mlir::verify(*module))) {
    return absl::InternalError("a model of fewer layers is none");
  }
  ZG_ASSIGN_OR_RETURN(shorter->bytecode, bytecodeOf(*module));
  return ShortImport{std::move(shorter), blocks};
}

} // namespace zerograph
