//===- LibraryWorkspace.h - a library call's memory -----------------------===//
//
// For the compiler, which plans it, and the runtime, which uses it.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_LIBRARYWORKSPACE_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_LIBRARYWORKSPACE_H

#include <cstdint>

namespace zerograph {

/// Bytes at a multiple of which every row of a matrix should begin and end, so
/// that cuBLASLt has its fast kernels for it ("Tensor Core Usage" in its
/// manual). On an H100 it takes up to seven times as long without.
inline constexpr uint64_t kRowAlignment = 16;

/// A library gets memory that begins at a multiple of this, as cuBLASLt asks...
inline constexpr uint64_t kWorkspaceAlignment = 256;
/// ... and slices at multiples of 64: so many bytes are planned besides, and
/// the library is told of what is left, the same wherever the slice lies.
inline constexpr uint64_t kWorkspaceSlack = 192;

/// The next place that something may begin at.
constexpr uint64_t alignWorkspace(uint64_t at) {
  return (at + kWorkspaceAlignment - 1) / kWorkspaceAlignment *
         kWorkspaceAlignment;
}

/// Returns how much of a planned workspace the library is told of; 0 where it
/// has none.
constexpr uint64_t usableWorkspace(uint64_t planned) {
  return planned > kWorkspaceSlack ? planned - kWorkspaceSlack : 0;
}

/// Returns where in a planned workspace it begins; 0 where it has none.
constexpr uint64_t workspaceBegin(uint64_t address, uint64_t planned) {
  return usableWorkspace(planned) == 0 ? 0 : alignWorkspace(address);
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_LIBRARYWORKSPACE_H
