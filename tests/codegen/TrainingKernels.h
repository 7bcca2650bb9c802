//===- TrainingKernels.h - the kernels of training steps in tests ---------===//

#ifndef ZEROGRAPH_TESTS_CODEGEN_TRAININGKERNELS_H
#define ZEROGRAPH_TESTS_CODEGEN_TRAININGKERNELS_H

#include "frontend/Import.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/Pipelines.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir::zg::testing {

/// The schedule of a training step of a model, with generated products.
class TrainingKernels {
public:
  /// On an error, of the import or of a phase, there are no kernels.
  TrainingKernels(const std::string &model,
                  const zerograph::frontend::ImportOptions &import,
                  TrainingOptions options);

  /// Empty, or what is wrong.
  const std::string &error() const { return wrong; }
  /// Distinct ones: nn.kernel and nn.matmul.
  std::vector<Operation *> ops();

private:
  DialectRegistry registry;
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  std::string wrong;
};

/// Runs each kernel on random data on the host and on the emulator, also with
/// results in the place of operands: they have the same bits, the PTX of both
/// architectures is exact, and the cost of each is what the emulator counts.
void expectHostsBits(ArrayRef<Operation *> ops);

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_CODEGEN_TRAININGKERNELS_H
