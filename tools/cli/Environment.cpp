//===- Environment.cpp - `env`: what this machine has ---------------------===//

#include "runtime/comm/mpi/Engine.h"
#include "runtime/device/cuda/CudaApi.h"
#include "runtime/device/host/HostMemory.h"
#include "runtime/device/host/MatmulLibrary.h"
#include "runtime/device/host/TargetCheck.h"
#include "tools/cli/CommandLine.h"

#include "absl/strings/str_format.h"

#include <cstdio>
#include <dlfcn.h>
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

/// Processors that this process may run on.
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

/// The first of `names` that the loader finds, or nothing.
std::string findLibrary(const std::vector<const char *> &names) {
  for (const char *name : names) {
    if (void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL)) {
      dlclose(handle);
      return name;
    }
  }
  return "";
}

/// The driver's version and the first GPU's name.
absl::StatusOr<std::string> describeGpu() {
  ZG_ASSIGN_OR_RETURN(const CudaApi *api, cudaApi());
  int version = 0, count = 0;
  ZG_CUDA(*api, cuDriverGetVersion, &version);
  ZG_CUDA(*api, cuDeviceGetCount, &count);
  std::string text =
      absl::StrFormat("driver for CUDA %d.%d, %d GPUs", version / 1000,
                      version % 1000 / 10, count);
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
  line("CUDA", gpu.ok() ? *gpu + "; runs plans for cuda, all ranks on the first"
                        : std::string(gpu.status().message()));
}

void printLibraries() {
  struct Library {
    const char *name;
    std::vector<const char *> files;
    const char *use;
  };
  const Library kLibraries[] = {
      {"NCCL", {"libnccl.so.2"}, "collectives between GPUs"},
      {"cuBLASLt",
       {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"},
       "matrix products on GPUs"},
      {"cuDNN", {"libcudnn.so.9", "libcudnn.so.8"}, "convolutions on GPUs"}};
  for (const Library &library : kLibraries) {
    std::string found = findLibrary(library.files);
    line(library.name,
         (found.empty() ? "not found (" + std::string(library.files[0]) + ")"
                        : found) +
             "; for " + library.use + ", which this version cannot do yet");
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
                  "mpirun or srun, processes");
    line("MPI", mpiVersion());
    printGpu();
    printLibraries();
    return 0;
  });
}

} // namespace zerograph
