//===- HostTarget.h - the processors a kernel module may run on -----------===//

#ifndef ZEROGRAPH_CODEGEN_HOST_HOSTTARGET_H
#define ZEROGRAPH_CODEGEN_HOST_HOSTTARGET_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace mlir::zg {

/// Says how attention multiplies bf16: in f32, or by these instructions, which
/// add up in other orders.
enum class Bf16Products { none, avx512, amx };

/// The instructions that generated code may use.
struct HostTarget {
  /// A processor name for tuning alone; empty means generic. Never derived
  /// from the machine: virtual ones lie about it.
  std::string cpu;
  /// LLVM's list, such as "+avx2,+fma", sorted.
  std::string features;
  /// The instruction set that the library is held to, as oneDNN calls it;
  /// empty: nothing.
  std::string isa = "";
  /// True if plans call the library at all.
  bool library = true;
  /// Says which of the features attention multiplies bf16 by.
  Bf16Products bf16 = Bf16Products::none;
};

/// Parses "native" (this machine's features), "x86-64-v3" or "x86-64-v4".
/// `error` says what was wrong: an unknown name, or no AVX2 and FMA, which
/// every kernel needs.
FailureOr<HostTarget> parseHostTarget(StringRef text, std::string &error);

/// The same, with the error on stderr.
FailureOr<HostTarget> parseHostTarget(StringRef text);

/// Lets attention multiply bf16 where this machine, and the target, can: by AMX
/// if `amx`, which a process must have asked the system for, as the library
/// does when it starts.
void multiplyBf16(HostTarget &target, bool amx);

namespace host {
/// LLVM's view of the target; null, with `error` set, if LLVM has none.
std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const HostTarget &target,
                                                       std::string &error);
} // namespace host
} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_HOST_HOSTTARGET_H
