//===- HostTarget.cpp - the processors a kernel module may run on ---------===//

#include "codegen/host/HostTarget.h"

#include "codegen/emit/Lower.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include <set>

using namespace mlir;
using namespace mlir::zg;

namespace {

constexpr llvm::StringLiteral kV3[] = {
    "avx",  "avx2", "bmi",  "bmi2",   "cmov",   "crc32", "cx16",   "cx8",
    "f16c", "fma",  "fxsr", "lzcnt",  "mmx",    "movbe", "popcnt", "sahf",
    "sse",  "sse2", "sse3", "sse4.1", "sse4.2", "ssse3", "xsave"};
constexpr llvm::StringLiteral kV4[] = {"avx512bw", "avx512cd", "avx512dq",
                                       "avx512f", "avx512vl"};

std::string join(const std::set<std::string> &features) {
  std::string text;
  for (const std::string &feature : features) {
    text += (text.empty() ? "+" : ",+") + feature;
  }
  return text;
}

} // namespace

FailureOr<HostTarget> zg::parseHostTarget(StringRef text, std::string &error) {
  std::set<std::string> features;
  std::string isa;
  if (text == "native") {
    // Takes, of what the processor has, only what generated kernels can use: a
    // plan should not demand more of a machine than it needs.
    llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
    for (llvm::StringRef feature :
         llvm::concat<const llvm::StringLiteral>(kV3, kV4)) {
      if (host.lookup(feature)) {
        features.insert(feature.str());
      }
    }
  } else if (text == "x86-64-v3" || text == "x86-64-v4") {
    features.insert(std::begin(kV3), std::end(kV3));
    isa = "avx2";
    if (text == "x86-64-v4") {
      features.insert(std::begin(kV4), std::end(kV4));
      isa = "avx512_core";
    }
  } else {
    error = ("unknown host target '" + text +
             "'; known are native, x86-64-v3 and x86-64-v4")
                .str();
    return failure();
  }
  if (!features.count("avx2") || !features.count("fma") ||
      !features.count("f16c")) {
    error = ("host target '" + text +
             "' lacks AVX2, FMA or F16C, which generated kernels need")
                .str();
    return failure();
  }
  return HostTarget{"", join(features), isa};
}

void zg::multiplyBf16(HostTarget &target, bool amx) {
  SmallVector<StringRef> names;
  StringRef(target.features).split(names, ",");
  std::set<std::string> features;
  for (StringRef name : names) {
    features.insert(name.drop_front().str());
  }
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  if (!features.count("avx512f") || !host.lookup("avx512bf16")) {
    return;
  }
  features.insert("avx512bf16"); // which rounds, too
  target.bf16 = Bf16Products::avx512;
  if (amx && host.lookup("amx-bf16")) {
    features.insert({"amx-bf16", "amx-tile"});
    target.bf16 = Bf16Products::amx;
  }
  target.features = join(features);
}

FailureOr<HostTarget> zg::parseHostTarget(StringRef text) {
  std::string error;
  FailureOr<HostTarget> target = parseHostTarget(text, error);
  if (failed(target)) {
    llvm::errs() << "error: " << error << "\n";
  }
  return target;
}

std::unique_ptr<llvm::TargetMachine>
zg::host::makeTargetMachine(const HostTarget &target, std::string &error) {
  static const bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)initialized;
  return emit::openTargetMachine("x86_64-unknown-linux-gnu",
                                 target.cpu.empty() ? "x86-64" : target.cpu,
                                 target.features, error);
}
