//===- Environment.cpp - `env`: what this machine has ---------------------===//

#include "runtime/comm/mpi/MpiLibrary.h"
#include "runtime/comm/nccl/NcclApi.h"
#include "runtime/device/cuda/CublasLtApi.h"
#include "runtime/device/cuda/CudaDriver.h"
#include "runtime/device/cuda/CudnnApi.h"
#include "runtime/device/host/HostMemory.h"
#include "runtime/device/host/MatmulLibrary.h"
#include "runtime/device/host/TargetCheck.h"
#include "tools/cli/CommandLine.h"

#include "absl/strings/str_format.h"

#include <cstdio>
#include <fstream>
#include <sched.h>
#include <set>
#include <sstream>

namespace zerograph {
namespace {

void line(const char *what, const std::string &found) {
  std::printf("%-12s %s\n", what, found.c_str());
}

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

void printProcessor() {
  line("processor", processorName() + ", " +
                        std::to_string(usableProcessors()) +
                        " usable by this process");
  std::set<std::string> flags = processorFlags();
  std::string vectors;
  for (const char *flag :
       {"avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl",
        "avx512_bf16", "avx512_fp16", "amx_tile"}) {
    vectors += flags.count(flag) != 0 ? std::string(" ") + flag : "";
  }
  line("", "vector features:" + (vectors.empty() ? " none" : vectors));
  const std::pair<const char *, std::vector<const char *>> kLevels[] = {
      {"x86-64-v3", {"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}},
      {"x86-64-v4",
       {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}}};
  for (const auto &[level, features] : kLevels) {
    plan::Target target;
    for (const char *feature : features) {
      target.add_features(feature);
    }
    std::string missing;
    for (const std::string &name : missingFeatures(target, flags)) {
      missing += " " + name;
    }
    line("", std::string("plans for host:") + level +
                 (missing.empty() ? " run here"
                                  : " do not run here: missing" + missing));
  }
}

void printMemory() {
  HostMemory memory = hostMemory();
  auto gib = [](uint64_t bytes) {
    return absl::StrFormat("%.1f GiB", double(bytes) / (1 << 30));
  };
  std::string text = memory.total ? gib(*memory.total) : "unknown";
  if (memory.available) {
    text += ", " + gib(*memory.available) + " available";
  }
  if (memory.limit) {
    text += ", limited to " + gib(*memory.limit);
  }
  line("memory", text);
}

/// Returns the driver's version and the first GPU's name.
absl::StatusOr<std::string> describeGpu() {
  ZG_ASSIGN_OR_RETURN(const CudaApi *api, cudaApi());
  int version = 0, count = 0;
  ZG_CUDA(*api, cuDriverGetVersion, &version);
  ZG_CUDA(*api, cuDeviceGetCount, &count);
  std::string text =
      absl::StrFormat("driver for CUDA %d.%d, %d GPU%s", version / 1000,
                      version % 1000 / 10, count, count == 1 ? "" : "s");
  if (count > 0) {
    CUdevice device = 0;
    char name[256] = "";
    ZG_CUDA(*api, cuDeviceGet, &device, 0);
    ZG_CUDA(*api, cuDeviceGetName, name, sizeof(name), device);
    absl::StrAppend(&text, ", the first is ", name);
  }
  return text;
}

void printGpu() {
  auto gpu = describeGpu();
  line("CUDA", gpu.ok() ? *gpu : std::string(gpu.status().message()));
  if (gpu.ok()) {
    auto architecture = nativeArchitecture();
    line("", architecture.ok()
                 ? absl::StrCat("plans for cuda:", *architecture, " run here")
                 : std::string(architecture.status().message()));
  }
}

absl::StatusOr<std::string> describeCublasLt() {
  ZG_ASSIGN_OR_RETURN(const CublasLtApi *api, cublasLtApi());
  return absl::StrCat(cublasLtVersion(*api), ", ", api->path);
}

absl::StatusOr<std::string> describeCudnn() {
  ZG_ASSIGN_OR_RETURN(const CudnnApi *api, cudnnApi());
  return absl::StrCat(cudnnVersion(*api), ", ", api->path);
}

absl::StatusOr<std::string> describeNccl() {
  ZG_ASSIGN_OR_RETURN(const NcclApi *api, ncclApi());
  ZG_ASSIGN_OR_RETURN(std::string version, ncclVersion(*api));
  return absl::StrCat(version, ", ", api->path);
}

/// NVIDIA's libraries beside the driver: version and place, or what is missing
/// and what to install.
struct GpuLibrary {
  const char *name;
  const char *enables;
  absl::StatusOr<std::string> (*describe)();
};
constexpr GpuLibrary kGpuLibraries[] = {
    {"cuBLASLt",
     "multiplies matrices on GPUs, of plans for cuda with --matmul library",
     describeCublasLt},
    {"cuDNN",
     "convolves on GPUs, of plans for cuda with --convolution library, which "
     "is the default where it is there",
     describeCudnn},
    {"NCCL", "exchanges between GPUs; without it ranks share one, as threads",
     describeNccl},
};

void printGpuLibraries() {
  for (const GpuLibrary &library : kGpuLibraries) {
    auto found = library.describe();
    line(library.name,
         absl::StrCat(found.ok() ? "" : "not found; ", library.enables));
    line("", found.ok() ? *found : std::string(found.status().message()));
  }
}

} // namespace

void addEnv(CommandLine &command_line) {
  CLI::App &command = command_line.add(
      "env", "Says what this machine has, and what it lacks for what");
  command_line.onRun(command, []() -> absl::StatusOr<int> {
    printProcessor();
    printMemory();
    line("libraries", libraryVersion() + ", instruction set " + effectiveIsa());
    line("ranks", "threads of one process, exchanging through memory; under "
                  "mpirun, srun or torchrun, processes");
    absl::StatusOr<std::string> mpi = mpiVersion();
    line("MPI", mpi.ok() ? *mpi : std::string(mpi.status().message()));
    printGpu();
    printGpuLibraries();
    return 0;
  });
}

} // namespace zerograph
