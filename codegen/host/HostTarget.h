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
  /// True if attention multiplies bf16, as the library does, by AVX512-BF16,
  /// which is among the features: other bits than those of f32.
  bool multipliesBf16 = false;
};

/// Parses "native" (this machine's features), "x86-64-v3" or "x86-64-v4".
/// `error` says what was wrong: an unknown name, or no AVX2 and FMA, which
/// every kernel needs.
FailureOr<HostTarget> parseHostTarget(StringRef text, std::string &error);

/// The same, with the error on stderr.
FailureOr<HostTarget> parseHostTarget(StringRef text);

/// Lets attention multiply bf16 where this machine, and the target, can.
void multiplyBf16(HostTarget &target);

namespace host {
/// LLVM's view of the target; null, with `error` set, if LLVM has none.
std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const HostTarget &target,
                                                       std::string &error);
} // namespace host
} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_HOST_HOSTTARGET_H
