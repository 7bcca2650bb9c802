//===- Ptxas.h - NVIDIA's assembler, where there is one -------------------===//

#ifndef ZEROGRAPH_TESTS_CODEGEN_PTXAS_H
#define ZEROGRAPH_TESTS_CODEGEN_PTXAS_H

#include <string>
#include <vector>

namespace mlir::zg::testing {

/// The result of ptxas for a text.
struct Assembly {
  /// Empty, or what it says of a text that it does not assemble, or not without
  /// spills and local memory.
  std::string error;
  /// The registers of each kernel, ascending.
  std::vector<int> registers;
  double seconds = 0;

  /// Kernels, time of each, registers.
  std::string summary() const;
};
Assembly assemble(const std::string &ptxas, const std::string &architecture,
                  const std::string &ptx);

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_CODEGEN_PTXAS_H
