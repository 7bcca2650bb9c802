//===- Kernels.h - kernels of CUDA on the CPU -----------------------------===//
//
// The very code that becomes PTX, compiled for this machine: instructions of
// the GPU become calls of the emulator, which sees every load and store.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_KERNELS_H
#define ZEROGRAPH_TESTS_EMULATOR_KERNELS_H

#include "tests/emulator/Accesses.h"
#include "tests/emulator/Twin.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Module;
namespace orc {
class LLJIT;
} // namespace orc
} // namespace llvm

namespace zerograph::emulator {

class Kernels {
public:
  /// Kernels of a module, which stays as it is.
  static absl::StatusOr<Kernels> compile(const llvm::Module &module);
  /// Compiles the text of LLVM's code, as a plan for `cuda:emulated` has it.
  static absl::StatusOr<Kernels> compile(const char *text);
  Kernels(Kernels &&);
  ~Kernels();

  /// Returns, of each parameter of a kernel, whether it is a pointer; nothing
  /// if there is no such kernel.
  std::optional<std::vector<bool>> parameters(const std::string &symbol) const;

  /// Runs a launch, whose parameters are where the buffers begin: its blocks
  /// one after the other in an order that `seed` draws, and so the threads of
  /// each. The first thing that no GPU defines is an error.
  absl::Status launch(const std::string &symbol, uint32_t grid, uint32_t block,
                      const std::vector<Buffer> &buffers, uint32_t seed) const;
  /// The same with other parameters than where the buffers begin: addresses,
  /// and numbers.
  absl::Status launch(const std::string &symbol, uint32_t grid, uint32_t block,
                      const std::vector<uint64_t> &parameters,
                      const std::vector<Buffer> &buffers, uint32_t seed) const;

private:
  explicit Kernels(std::unique_ptr<llvm::orc::LLJIT> jit);
  std::vector<SharedArray> sharedOf(const std::string &symbol) const;

  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::map<std::string, std::vector<bool>> kernels; // as `parameters`
  std::map<std::string, std::vector<SharedArray>> shared;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_KERNELS_H
