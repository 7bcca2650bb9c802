//===- HostBackend.cpp - the processor ------------------------------------===//

#include "runtime/backend/Backend.h"
#include "runtime/comm/mpi/MpiLibrary.h"
#include "runtime/device/host/HostDevice.h"
#include "runtime/device/host/HostMemory.h"
#include "runtime/device/host/MatmulLibrary.h"
#include "runtime/device/host/TargetCheck.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <fstream>
#include <sched.h>
#include <set>

using namespace zerograph;

namespace {

std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string text; std::getline(file, text);) {
    if (text.rfind("model name", 0) == 0) {
      return text.substr(text.find(':') + 2);
    }
  }
  return "processor of unknown name";
}

/// Returns how many processors this process may run on.
int usableProcessors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::string vectorFeatures(const std::set<std::string> &flags) {
  std::string found;
  for (const char *flag :
       {"avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl",
        "avx512_bf16", "avx512_fp16", "amx_tile"}) {
    absl::StrAppend(&found, flags.count(flag) != 0 ? " " : "",
                    flags.count(flag) != 0 ? flag : "");
  }
  return found.empty() ? " none" : found;
}

/// Says whether plans for a level of the architecture run here.
std::string runsLevel(const char *level,
                      const std::vector<const char *> &features,
                      const std::set<std::string> &flags) {
  plan::Target target;
  target.mutable_features()->Assign(features.begin(), features.end());
  std::vector<std::string> missing = missingFeatures(target, flags);
  return absl::StrCat("plans for host:", level,
                      missing.empty() ? " run here"
                                      : " do not run here: missing ",
                      absl::StrJoin(missing, " "));
}

std::string memoryText() {
  HostMemory memory = hostMemory();
  auto gib = [](uint64_t bytes) {
    return absl::StrFormat("%.1f GiB", double(bytes) / (1 << 30));
  };
  std::string text = memory.total ? gib(*memory.total) : "unknown";
  if (memory.available) {
    absl::StrAppend(&text, ", ", gib(*memory.available), " available");
  }
  if (memory.limit) {
    absl::StrAppend(&text, ", limited to ", gib(*memory.limit));
  }
  return text;
}

class HostBackend final : public Backend {
public:
  const char *name() const override { return "host"; }

  absl::StatusOr<std::unique_ptr<Driver>> open(const plan::Target &target,
                                               unsigned) const override {
    return openHostDriver(target);
  }

  std::vector<std::pair<std::string, std::string>> describe() const override {
    std::set<std::string> flags = processorFlags();
    absl::StatusOr<std::string> mpi = mpiVersion();
    return {
        {"processor", absl::StrCat(processorName(), ", ", usableProcessors(),
                                   " usable by this process")},
        {"", absl::StrCat("vector features:", vectorFeatures(flags))},
        {"", runsLevel("x86-64-v3",
                       {"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"},
                       flags)},
        {"",
         runsLevel("x86-64-v4",
                   {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
                   flags)},
        {"memory", memoryText()},
        {"libraries",
         absl::StrCat(libraryVersion(), ", instruction set ", effectiveIsa())},
        {"ranks", "threads of one process, exchanging through memory; under "
                  "mpirun, srun or torchrun, processes"},
        {"MPI", mpi.ok() ? *mpi : std::string(mpi.status().message())}};
  }
};

} // namespace

const Backend &zerograph::hostBackend() {
  static const HostBackend backend;
  return backend;
}
