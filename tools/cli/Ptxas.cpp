//===- Ptxas.cpp - what NVIDIA's assembler says of kernels ----------------===//

#include "tools/cli/Ptxas.h"

#include "runtime/device/cuda/Libraries.h"
#include "tools/cli/TemporaryFolder.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace zerograph {
namespace {

std::vector<std::string> foldersOfPtxas() {
  auto variable = [](const char *name) -> std::string {
    const char *value = std::getenv(name);
    return value ? value : "";
  };
  std::vector<std::string> folders =
      absl::StrSplit(variable("PATH"), ':', absl::SkipEmpty());
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (std::string toolkit = variable(name); !toolkit.empty()) {
      folders.push_back(toolkit + "/bin");
    }
  }
  folders.push_back("/usr/local/cuda/bin");
  for (const std::string &packages : pythonPackages()) {
    folders.push_back(packages + "/nvidia/cu13/bin");
    folders.push_back(packages + "/nvidia/cuda_nvcc/bin");
  }
  return folders;
}

std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Runs a program, whose two outputs go into the file `said`.
absl::Status runProgram(const std::vector<std::string> &words,
                        const std::string &said) {
  std::vector<char *> arguments;
  for (const std::string &word : words) {
    arguments.push_back(const_cast<char *>(word.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, said.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  int error = posix_spawn(&child, words[0].c_str(), &actions, nullptr,
                          arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  pid_t ended = -1;
  do {
    ended = error == 0 ? waitpid(child, &status, 0) : -1;
  } while (error == 0 && ended < 0 && errno == EINTR);
  if (ended != child) {
    return absl::UnavailableError(
        absl::StrCat("cannot run ", words[0], ": ",
                     std::strerror(error != 0 ? error : errno)));
  }
  if (status != 0) {
    return absl::InternalError(absl::StrCat(
        words[0],
        " refuses the plan's kernels: ", contentOf(said).substr(0, 1000)));
  }
  return absl::OkStatus();
}

/// Returns the number before `what`: 24 in "Used 24 registers, used 1
/// barriers".
uint64_t numberBefore(const std::string &line, const std::string &what) {
  size_t end = line.find(" " + what);
  uint64_t number = 0;
  if (end != std::string::npos) {
    size_t begin = line.find_last_not_of("0123456789", end - 1) + 1;
    (void)absl::SimpleAtoi(line.substr(begin, end - begin), &number);
  }
  return number;
}

/// Reads lines like
///   ptxas info    : Compiling entry function 'k0' for 'sm_90'
///       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
///   ptxas info    : Used 24 registers, 4096 bytes smem
std::map<std::string, KernelResources> parseReport(const std::string &report) {
  std::map<std::string, KernelResources> kernels;
  KernelResources *kernel = nullptr;
  for (absl::string_view view : absl::StrSplit(report, '\n')) {
    std::string line(view);
    if (absl::StrContains(line, "Compiling entry function")) {
      std::vector<std::string> parts = absl::StrSplit(line, '\'');
      kernel = parts.size() > 1 ? &kernels[parts[1]] : nullptr;
    } else if (kernel && absl::StrContains(line, "bytes spill stores")) {
      kernel->spilled_bytes = numberBefore(line, "bytes spill stores") +
                              numberBefore(line, "bytes spill loads");
    } else if (kernel && absl::StrContains(line, " registers")) {
      kernel->registers = numberBefore(line, "registers");
      kernel->shared_bytes = numberBefore(line, "bytes smem");
    }
  }
  return kernels;
}

} // namespace

absl::StatusOr<std::string> findPtxas() {
  for (const std::string &folder : foldersOfPtxas()) {
    std::string path = folder + "/ptxas";
    if (access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return absl::NotFoundError(
      "ptxas is not in PATH, a CUDA toolkit or a wheel of PyPI; install it: "
      "pip install nvidia-cuda-nvcc, or a CUDA toolkit");
}

absl::StatusOr<std::map<std::string, KernelResources>>
assembleKernels(const std::string &ptxas, const plan::Ptx &text) {
  ZG_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::make());
  std::string source = folder.path() + "/kernels.ptx";
  std::string said = folder.path() + "/said";
  std::ofstream file(source, std::ios::binary);
  file << text.text();
  file.close();
  if (!file) {
    return absl::UnavailableError(absl::StrCat("cannot write ", source));
  }
  ZG_RETURN_IF_ERROR(runProgram(
      {ptxas, "-v", "-arch=" + text.architecture(), "-o", "/dev/null", source},
      said));
  return parseReport(contentOf(said));
}

} // namespace zerograph
