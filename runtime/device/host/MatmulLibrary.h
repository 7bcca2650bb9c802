//===- MatmulLibrary.h - matrix products by oneDNN ------------------------===//
//
// The compiler asks here how a product is cut and what scratch it needs; the
// runtime makes the calls. Nothing depends on environment variables, affinity
// or the number of threads: the cut follows from the shape, and every part is
// one single-threaded library call.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_MATMULLIBRARY_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_MATMULLIBRARY_H

#include "runtime/base/Status.h"
#include "runtime/device/host/LibraryCall.h"
#include "runtime/plan/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace zerograph {

/// A block of C: ranges of matrices, rows and columns.
struct MatmulPart {
  uint64_t batch_begin = 0, batch_end = 0;
  uint64_t m_begin = 0, m_end = 0;
  uint64_t n_begin = 0, n_end = 0;
};

/// Returns the parts of a product, by its shape alone, which cover C exactly
/// once: at most 8, each of about 8 MFLOP or more. The matrices of a batch
/// are divided first; where there are fewer of them than parts, rows of C at
/// multiples of 16 and columns at multiples of 64, so that the parts together
/// read the least of A and B. None has less than 192 columns unless C has:
/// oneDNN multiplies narrower ones at 0.8 of its speed (measured on an EPYC
/// with AVX-512). Whoever changes the rule counts kCutVersion up.
std::vector<MatmulPart> cutMatmul(uint64_t batch, uint64_t m, uint64_t n,
                                  uint64_t k);

/// Says whether B is first copied into the layout that the library likes best.
/// It changes speed and scratch, not bits; plans take `automatic`, a rule by
/// shape and ISA.
enum class Packing { automatic, always, never };

/// Scratch of all parts, a multiple of 64. Of types, only F32 and BF16 are this
/// library's. It depends on the library's version and ISA, which the plan
/// records.
absl::StatusOr<uint64_t> scratchBytes(const plan::Matmul &matmul,
                                      Packing packing = Packing::automatic);

/// Points to the matrices of a product and to its bias, null without one.
struct MatmulAddresses {
  void *a, *b, *c, *bias = nullptr;
};

/// Makes (or finds) the primitives and binds them. Other `scratch_bytes` than
/// scratchBytes are refused.
absl::StatusOr<std::unique_ptr<LibraryCall>>
bindMatmul(const plan::Matmul &matmul, const MatmulAddresses &at, void *scratch,
           uint64_t scratch_bytes, Packing packing = Packing::automatic);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_MATMULLIBRARY_H
