//===- Kernels.h - kernels of CUDA on the CPU -----------------------------===//
//
// The PTX that the driver is given, compiled for this machine: what the CPU
// does not have becomes calls of the emulator, which sees every load and store.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_KERNELS_H
#define ZEROGRAPH_TESTS_EMULATOR_KERNELS_H

#include "tests/emulator/Accesses.h"
#include "tests/emulator/PtxCode.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace zerograph::emulator {

class Kernels {
public:
  /// Compiles the kernels of a text.
  static absl::StatusOr<Kernels> compile(llvm::StringRef ptx);
  Kernels(Kernels &&);
  ~Kernels();

  /// Returns the architecture that the text is for: 80 for sm_80.
  unsigned target() const { return architecture; }

  /// Returns how many parameters a kernel has, of 64 bits each; nothing if
  /// there is no such kernel.
  std::optional<size_t> parameters(const std::string &symbol) const;

  /// Returns the variables in global memory.
  std::vector<Buffer> counters() const;

  /// Runs a launch, whose parameters are where the buffers begin: its blocks
  /// one after the other in an order that `seed` draws, and so the threads of
  /// each. The first thing that no GPU defines is an error.
  /// `traffic` is added to, and may be null.
  absl::Status launch(const std::string &symbol, uint32_t grid, uint32_t block,
                      const std::vector<Buffer> &buffers, uint32_t seed,
                      Traffic *traffic = nullptr) const;
  /// Does so with other parameters than where the buffers begin: addresses, and
  /// numbers.
  absl::Status launch(const std::string &symbol, uint32_t grid, uint32_t block,
                      const std::vector<uint64_t> &parameters,
                      const std::vector<Buffer> &buffers, uint32_t seed,
                      Traffic *traffic = nullptr) const;

private:
  struct Kernel {
    ptx::ThreadFunction function = nullptr;
    size_t parameters = 0;
    uint32_t threads = 0; // of a block; 0: any
    std::vector<SharedArray> shared;
  };
  Kernels();
  absl::Status add(const ptx::Text &text);
  Accesses watch(const std::vector<Buffer> &buffers) const;

  unsigned architecture = 0;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::map<std::string, Kernel> kernels;
  /// Arrays of global memory: those that kernels only read, and those whose
  /// words they count in, from launch to launch.
  using Arrays = std::map<std::string, std::vector<uint8_t>>;
  Arrays constants;
  mutable Arrays variables;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_KERNELS_H
