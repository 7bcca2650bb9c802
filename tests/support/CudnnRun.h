//===- CudnnRun.h - one convolution by cuDNN ------------------------------===//

#ifndef ZEROGRAPH_TESTS_SUPPORT_CUDNNRUN_H
#define ZEROGRAPH_TESTS_SUPPORT_CUDNNRUN_H

#include "runtime/base/Status.h"
#include "tests/support/ConvolutionCase.h"

namespace zerograph::testing {

/// A plan with one convolution. Its slices follow each other in one arena, in
/// the order of the accesses.
struct OneConvolution : ConvolutionCase {
  OneConvolution(const ConvolutionShape &shape, plan::ConvolutionKind kind,
                 plan::ElementType type = plan::F32, uint64_t workspace = 0,
                 bool tf32 = false);

  uint64_t offset(int access) const { return plan.slices(access).offset(); }
  /// Operands; NaNs in the rest.
  std::string memory() const;
  /// Returns what lies in the memory of a run.
  std::vector<double> result(const std::string &memory) const;

  plan::Plan plan;
  plan::Step *step = nullptr;
  uint64_t arena = 0;

private:
  void add(uint64_t bytes);
  uint64_t elementBytes() const;
};

/// Runs it on the first GPU, by the library that there is: `memory` is the
/// arena, before and after. `algorithms`: a file, or empty. Returns what was
/// chosen.
absl::StatusOr<std::string> runCudnn(const OneConvolution &one,
                                     std::string &memory,
                                     const std::string &algorithms = "");

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_SUPPORT_CUDNNRUN_H
