//===- CudaRun.h - compiles and runs kernels for CUDA in tests ------------===//

#ifndef ZEROGRAPH_TESTS_CODEGEN_CUDARUN_H
#define ZEROGRAPH_TESTS_CODEGEN_CUDARUN_H

#include "codegen/cuda/CudaModule.h"
#include "tests/emulator/Kernels.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir::zg::testing {

using Bytes = std::vector<char>;

/// Some nn.kernel and nn.matmul for CUDA: as PTX, and to be run by the
/// emulator.
class CudaKernels {
public:
  /// Reports failures to GoogleTest; then `ok()` is false.
  explicit CudaKernels(ArrayRef<Operation *> ops, bool tensorCores = false,
                       bool fastMath = false);

  bool ok() const { return kernels != nullptr; }
  const std::string &ptx(StringRef architecture) const {
    return texts.at(architecture.str());
  }

  /// The results of a kernel, which begin filled with 0xA5. `inPlace`: result
  /// `result` lies on the argument `operand`.
  struct InPlace {
    unsigned operand, result;
  };
  std::vector<Bytes> run(size_t kernel, ArrayRef<Bytes> arguments,
                         uint32_t seed = 1,
                         std::optional<InPlace> inPlace = {});
  /// Expects that the emulator finds what nothing orders wherever one
  /// `instruction` is taken out of the text, and returns how many there were.
  size_t expectNeeded(StringRef instruction, size_t kernel,
                      ArrayRef<Bytes> arguments);
  /// Returns what the last run touched of its operands, then of its results.
  const std::vector<zerograph::emulator::Touched> &touched() const {
    return noted;
  }

private:
  /// Has the bytes of a kernel's results and, with `inPlace`, of its operands.
  struct Run {
    std::vector<Bytes> operands, results;
    std::optional<InPlace> inPlace{};
  };
  absl::Status launch(const zerograph::emulator::Kernels &compiled,
                      size_t kernel, Run &run, uint32_t seed);

  std::vector<Operation *> ops;
  std::vector<CudaKernelInfo> infos;
  std::map<std::string, std::string> texts;
  std::unique_ptr<zerograph::emulator::Kernels> kernels;
  std::vector<zerograph::emulator::Touched> noted;
};

/// The lines of PTX that are not exact or that call something: none, if it has
/// the host's bits.
std::vector<std::string> inexactLines(StringRef ptx);

/// Two tensors' bytes agree, except what NaNs hold besides being NaNs.
bool sameBits(Type element, ArrayRef<char> one, ArrayRef<char> other);

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_CODEGEN_CUDARUN_H
