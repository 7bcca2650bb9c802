//===- ConvolutionLibrary.h - convolutions by oneDNN ----------------------===//
//
// As MatmulLibrary.h: the compiler asks for cuts and scratch, the runtime makes
// the calls. Tensors are dense outside; inside, the library chooses the layout
// of each, and what differs is copied through scratch (10 % of a forward with
// 64 channels of 32 x 32 places, where plain layouts cost twice the time).
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_CONVOLUTIONLIBRARY_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_CONVOLUTIONLIBRARY_H

#include "runtime/base/Status.h"
#include "runtime/device/host/LibraryCall.h"
#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <memory>

namespace zerograph {

/// Scratch of all parts, a multiple of 64. It depends on the library's version
/// and ISA, which the plan records.
absl::StatusOr<uint64_t> scratchBytes(const plan::Convolution &convolution);

/// Makes (or finds) the primitives and binds them to the operands `a` and `b`,
/// the result `c` and `scratch`. Other `scratch_bytes` than scratchBytes are
/// refused.
absl::StatusOr<std::unique_ptr<LibraryCall>>
bindConvolution(const plan::Convolution &convolution, void *a, void *b, void *c,
                void *scratch, uint64_t scratch_bytes);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_CONVOLUTIONLIBRARY_H
