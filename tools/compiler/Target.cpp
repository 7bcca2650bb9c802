//===- Target.cpp - the devices that plans can be compiled for ------------===//

#include "tools/compiler/Target.h"

#include "codegen/cuda/OpenCuda.h"
#include "codegen/host/OpenHost.h"

#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

using namespace zerograph;
namespace zg = mlir::zg;

namespace {

/// A device's name in --target, what may follow it, and who opens it. The
/// device's backend has the same name (runtime/backend).
struct CompiledDevice {
  const char *name;
  std::vector<const char *> architectures;
  absl::StatusOr<zg::Target> (*open)(const zg::TargetOptions &);
};
const CompiledDevice kDevices[] = {
    {"host", {"native", "x86-64-v3", "x86-64-v4"}, zg::openHost},
    {"cuda", {"native", "sm_80", "sm_90"}, zg::openCuda}};

} // namespace

absl::StatusOr<zg::Target>
zerograph::openTarget(const options::Compile &options, bool convolves,
                      mlir::MLIRContext *context) {
  zg::TargetOptions asked{options, "", convolves, context};
  std::string target =
      options.target == "host" ? "host:native" : options.target;
  std::vector<std::string> known;
  for (const auto &[name, architectures, open] : kDevices) {
    absl::string_view rest = target;
    if (absl::ConsumePrefix(&rest, absl::StrCat(name, ":"))) {
      asked.architecture = std::string(rest);
      return open(asked);
    }
    for (const char *architecture : architectures) {
      known.push_back(absl::StrCat(name, ":", architecture));
    }
  }
  std::string last = std::move(known.back());
  known.pop_back();
  return asked.refused(
      absl::StrCat("there are ", absl::StrJoin(known, ", "), " and ", last));
}
