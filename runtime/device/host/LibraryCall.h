//===- LibraryCall.h - one step that a library computes -------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_LIBRARYCALL_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_LIBRARYCALL_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>

namespace zerograph {

/// The version of cutMatmul and cutConvolution, on which the bits of a call
/// depend: another number where one of them changes. A plan records it.
inline constexpr uint32_t kCutVersion = 4;

/// "oneDNN 2.6.3".
std::string libraryVersion();
/// oneDNN's effective ISA by its name: "avx512_core_amx".
std::string effectiveIsa();
/// Holds oneDNN to the instructions of `isa`, also where the processor has
/// more; empty: to all that it has. The library decides once per process: an
/// error if it cannot, or already did otherwise.
absl::Status limitIsa(const std::string &isa);

/// Returns whether oneDNN multiplies bf16 by instructions made for it.
bool multipliesBf16();

/// Returns whether oneDNN multiplies by AMX here. It has then asked the system
/// for it on behalf of this process.
bool hasAmx();

/// An operation with its operands' addresses, in parts.
class LibraryCall {
public:
  virtual ~LibraryCall() = default;
  virtual unsigned parts() const = 0;
  /// One part on the calling thread. Different parts may run at once.
  virtual absl::Status run(unsigned part) = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_LIBRARYCALL_H
