//===- TargetCheck.cpp - can this machine run a plan ----------------------===//

#include "runtime/device/host/TargetCheck.h"

#include "runtime/device/host/MatmulLibrary.h"

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

#include <fstream>
#include <map>
#include <sstream>

using namespace zerograph;

namespace {

/// LLVM's name -> the kernel's, where they differ by more than punctuation. An
/// empty name is no instruction set, or one the kernel does not list.
const std::map<std::string, std::string> &kernelNames() {
  static const auto *names = new std::map<std::string, std::string>{
      {"64bit", "lm"},
      {"amx_bf16", "amx_bf16"},
      {"avx512bf16", "avx512_bf16"},
      {"avx512bitalg", "avx512_bitalg"},
      {"avx512fp16", "avx512_fp16"},
      {"avx512vbmi2", "avx512_vbmi2"},
      {"avx512vnni", "avx512_vnni"},
      {"avx512vp2intersect", "avx512_vp2intersect"},
      {"avx512vpopcntdq", "avx512_vpopcntdq"},
      {"avxifma", "avx_ifma"},
      {"avxvnni", "avx_vnni"},
      {"bmi", "bmi1"},
      {"crc32", "sse4_2"},
      {"evex512", "avx512f"},
      {"hreset", ""},
      {"invpcid", "invpcid"},
      {"lzcnt", "abm"},
      {"mwaitx", "mwaitx"},
      {"pclmul", "pclmulqdq"},
      {"prfchw", "3dnowprefetch"},
      {"ptwrite", ""},
      {"rdrnd", "rdrand"},
      {"sahf", "lahf_lm"},
      {"sgx", ""},
      {"sha", "sha_ni"},
      {"sse3", "pni"},
      {"tsxldtrk", "tsxldtrk"},
      {"x87", "fpu"},
  };
  return *names;
}

} // namespace

std::set<std::string> zerograph::processorFlags() {
  std::set<std::string> flags;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0) {
      continue;
    }
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) {
      flags.insert(word);
    }
    break; // every core of a machine is the same to us
  }
  return flags;
}

std::vector<std::string>
zerograph::missingFeatures(const plan::Target &target,
                           const std::set<std::string> &flags) {
  std::vector<std::string> missing;
  for (const std::string &feature : target.features()) {
    std::string name = absl::StrReplaceAll(absl::StripPrefix(feature, "+"),
                                           {{"-", "_"}, {".", "_"}});
    if (auto found = kernelNames().find(name); found != kernelNames().end()) {
      name = found->second;
    }
    if (!name.empty() && !flags.count(name)) {
      missing.push_back(feature);
    }
  }
  return missing;
}

absl::Status zerograph::checkTarget(const plan::Target &target) {
  // Always asked: it also starts the library while there is one thread.
  absl::Status isa = limitIsa(target.math_isa());
  std::vector<std::string> problems;
  if (target.device() != "host") {
    problems.push_back(absl::StrCat("it is for the device '", target.device(),
                                    "', this runtime has 'host'"));
  }
  std::vector<std::string> missing = missingFeatures(target, processorFlags());
  if (!missing.empty()) {
    problems.push_back(
        absl::StrCat("the processor lacks ", absl::StrJoin(missing, ", ")));
  }
  if (!target.math_library().empty() &&
      target.math_library() != libraryVersion()) {
    problems.push_back(absl::StrCat("it needs ", target.math_library(),
                                    ", installed is ", libraryVersion()));
  }
  if (!isa.ok()) {
    problems.push_back(std::string(isa.message()));
  }
  if (target.cut_version() != kCutVersion) {
    problems.push_back(absl::StrCat(
        "its library calls are cut by version ", target.cut_version(),
        " of the rule, this runtime has version ", kCutVersion));
  }
  if (problems.empty()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "this machine cannot run the plan: ", absl::StrJoin(problems, "; "),
      ". Compile it for this machine"));
}
