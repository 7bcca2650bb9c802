//===- CudnnConvolution.h - a convolution by cuDNN ------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNCONVOLUTION_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNCONVOLUTION_H

#include "runtime/device/cuda/CudnnEngine.h"
#include "runtime/plan/plan.pb.h"

#include <memory>
#include <string>

namespace zerograph {

/// The GPU that convolutions are for: one that is here, by its handle, or one
/// that is described, by a descriptor of its properties, which suffices to
/// choose.
struct CudnnDevice {
  const CudnnApi &api;
  cudnnHandle_t handle = nullptr;
  const CudnnDescriptor *properties = nullptr; ///< where there is no handle
};

/// All that the library may choose by. It follows from the model, the type and
/// the target alone: two plans that differ in stage, ranks or buckets have the
/// same convolutions.
struct ConvolutionKind {
  plan::Convolution shape;
  bool allow_tf32 = false; ///< for convolutions of f32
  uint64_t workspace = 0;  ///< bytes that the library may use

  /// "forward f32 8 x 3 x 32 x 32 by 16 x 3 x 3 x 3 to 8 x 16 x 32 x 32,
  /// strides 1 1, low 1 1, dilations 1 1, groups 1, without TF32, workspace
  /// 4194304": one line, other for another kind.
  std::string text() const;
};

/// A convolution with its descriptors and the engine that computes it. Its
/// device outlives it. Where that has a handle, the handle's context is to be
/// the thread's.
class CudnnConvolution {
public:
  /// The bytes of which a tensor begins at a multiple: no access is wider.
  static constexpr uint64_t kAlignment = 16;

  static absl::StatusOr<std::unique_ptr<CudnnConvolution>>
  create(const CudnnDevice &device, const ConvolutionKind &kind);

  /// The first that the library's heuristic names among those that may be used:
  /// they give the same bits each time, round only the result to the type (or
  /// operands to TF32 where the kind allows it), and need no more than its
  /// workspace. Sums of 16-bit numbers are made in f32.
  absl::Status choose();
  /// One that was chosen before; an error where the library does not take it
  /// here, or where it would break what `choose` keeps.
  absl::Status take(const CudnnEngine &engine);
  /// Returns the engine of `choose` or `take`.
  const CudnnEngine &engine() const { return chosen; }
  uint64_t workspaceBytes() const { return needed; }

  /// Packs what it is executed with: addresses of input, weights and output;
  /// the workspace has the kind's bytes, 0 where these are 0.
  absl::StatusOr<CudnnDescriptor> pack(const CUdeviceptr (&tensors)[3],
                                       CUdeviceptr workspace) const;
  /// On the stream of the device's handle, which nobody else uses meanwhile.
  absl::Status execute(const CudnnDescriptor &pack) const;

private:
  CudnnConvolution(const CudnnDevice &device, const ConvolutionKind &kind)
      : device(device), kind(kind) {}

  absl::Status describe();
  absl::Status describeOperation();
  absl::StatusOr<std::vector<CudnnDescriptor>> named(int32_t mode) const;
  /// Says why an engine is not to be used; where it may, it is the chosen one,
  /// and the text is empty.
  absl::StatusOr<std::string> tryEngine(CudnnDescriptor config);
  absl::StatusOr<std::string> whyNot(const CudnnDescriptor &engine) const;
  absl::StatusOr<CudnnDescriptor> configOf(const CudnnEngine &engine);

  const CudnnDevice device;
  const ConvolutionKind kind;
  // Each is made of those before it.
  CudnnDescriptor tensors[3], windows, operation, graph;
  /// The parts of a config that was not named.
  std::vector<CudnnDescriptor> parts;
  CudnnDescriptor config, plan; ///< the engine's
  CudnnEngine chosen;
  uint64_t needed = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNCONVOLUTION_H
