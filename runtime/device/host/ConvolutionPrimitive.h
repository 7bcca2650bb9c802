//===- ConvolutionPrimitive.h - oneDNN's calls for a part -----------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_CONVOLUTIONPRIMITIVE_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_CONVOLUTIONPRIMITIVE_H

#include "runtime/device/host/ConvolutionParts.h"
#include "runtime/device/host/OneDnn.h"

namespace zerograph::onednn {

/// The shapes that the calls of a part depend on: the part, which is a
/// convolution of its own, and the whole, whose strides the part's tensors
/// have. The samples of the whole are unset: no stride depends on them.
struct PartShape {
  plan::Convolution part, whole;
};

/// Input, weights or output of a part: how it lies in the arena, and how the
/// library wants it.
struct PartTensor {
  dnnl::memory::desc outside, inside;
  bool moves() const { return outside != inside; }
  uint64_t bytes() const { return moves() ? roundUp(inside.get_size()) : 0; }
};

/// The calls of a part: operands move in, the convolution, the result moves
/// out. Arrays go by kInput, kWeights and kOutput. Shared by all parts of the
/// same shape.
struct ConvolutionPrimitive {
  std::array<PartTensor, 3> tensors;
  std::array<dnnl::reorder, 3> moves; ///< for the tensors that move
  std::array<dnnl::memory::desc, 3> move_scratch;
  dnnl::primitive compute;
  dnnl::memory::desc scratch; ///< needed by `compute`

  uint64_t movedBytes() const;
  /// Returns the scratch of moved tensors, and of the calls, which come one
  /// after the other.
  uint64_t scratchBytes() const;
};

/// Makes the primitive, or finds it. An error where the library has none.
absl::StatusOr<std::shared_ptr<const ConvolutionPrimitive>>
convolutionPrimitive(const PartShape &shape);

/// The tensor that a kind writes.
int convolutionResult(plan::ConvolutionKind kind);

} // namespace zerograph::onednn

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_CONVOLUTIONPRIMITIVE_H
