//===- Ptxas.h - what NVIDIA's assembler says of kernels ------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_PTXAS_H
#define ZEROGRAPH_TOOLS_CLI_PTXAS_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <map>
#include <string>

namespace zerograph {

/// The resources that a thread and a block of a kernel take.
struct KernelResources {
  uint64_t registers = 0;     // of a thread
  uint64_t shared_bytes = 0;  // of a block, what the text declares
  uint64_t spilled_bytes = 0; // of a thread, stores and loads together
};

/// Returns ptxas, looked for in PATH, in a CUDA toolkit and where PyPI's wheels
/// put it; an error says what to install.
absl::StatusOr<std::string> findPtxas();

/// Assembles a plan's text for the architecture that it names, and returns the
/// resources of each kernel by its symbol. The driver may assemble it otherwise
/// for a newer GPU.
absl::StatusOr<std::map<std::string, KernelResources>>
assembleKernels(const std::string &ptxas, const plan::Ptx &text);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_PTXAS_H
