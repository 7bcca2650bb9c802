//===- Environment.cpp - `env`: what this machine has ---------------------===//

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

void printLibraries() {
  struct Library {
    const char *name;
    std::vector<const char *> files;
    const char *use;
  };
  const Library kLibraries[] = {
      {"CUDA", {"libcuda.so.1"}, "training on NVIDIA GPUs"},
      {"NCCL", {"libnccl.so.2"}, "collectives between GPUs"},
      {"cuBLASLt",
       {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"},
       "matrix products on GPUs"},
      {"cuDNN", {"libcudnn.so.9", "libcudnn.so.8"}, "convolutions on GPUs"},
      {"MPI", {"libmpi.so.40", "libmpi.so.12"}, "ranks on several machines"}};
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
    line("ranks", "threads of one process, exchanging through memory");
    printLibraries();
    return 0;
  });
}

} // namespace zerograph
