//===- Kernels.cpp - the kernels of a plan, listed ------------------------===//

#include "tools/cli/Kernels.h"

#include "runtime/plan/InspectTable.h"
#include "tools/cli/Ptxas.h"

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"

#include <algorithm>

namespace zerograph {
namespace {

using Json = nlohmann::ordered_json;
using Resources = std::map<std::string, KernelResources>;

/// Returns the resources of the kernels of all modules; sets `assembler` to
/// what has told them.
Resources resourcesOf(const plan::Plan &plan, std::string &assembler) {
  Resources all;
  for (const plan::Module &module : plan.modules()) {
    // Text for the emulator is no PTX.
    if (!absl::StartsWith(module.ptx().architecture(), "sm_")) {
      continue;
    }
    auto found = [&]() -> absl::StatusOr<Resources> {
      ZG_ASSIGN_OR_RETURN(std::string ptxas, findPtxas());
      assembler = absl::StrCat(ptxas, " for ", module.ptx().architecture());
      return assembleKernels(ptxas, module.ptx());
    }();
    if (!found.ok()) {
      assembler = std::string(found.status().message());
      return {};
    }
    all.merge(*found);
  }
  return all;
}

Json launchJson(const plan::CudaLaunch &launch, const Resources &resources) {
  Json json = {{"symbol", launch.symbol()},
               {"grid", launch.grid()},
               {"block", launch.block()},
               {"shared_bytes", launch.shared_bytes()}};
  auto found = resources.find(launch.symbol());
  if (found != resources.end()) {
    json["shared_bytes"] = launch.shared_bytes() + found->second.shared_bytes;
    json["registers"] = found->second.registers;
    json["spilled_bytes"] = found->second.spilled_bytes;
  }
  return json;
}

std::string registersText(const Json &kernels) {
  std::vector<uint64_t> registers;
  uint64_t spilled = 0;
  for (const Json &kernel : kernels["kernels"]) {
    for (const Json &launch : kernel["launches"]) {
      if (launch.contains("registers")) {
        registers.push_back(launch["registers"].get<uint64_t>());
        spilled += launch["spilled_bytes"].get<uint64_t>();
      }
    }
  }
  if (registers.empty()) {
    return "";
  }
  std::sort(registers.begin(), registers.end());
  return absl::StrFormat("registers of a thread: at most %d, median %d; %d "
                         "bytes spilled\n",
                         registers.back(), registers[registers.size() / 2],
                         spilled);
}

} // namespace

nlohmann::ordered_json kernelsJson(const plan::Plan &plan) {
  std::string assembler;
  Resources resources = resourcesOf(plan, assembler);
  std::vector<std::string> first(size_t(plan.kernels_size()));
  std::vector<uint64_t> steps(first.size());
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      if (step.has_launch()) {
        uint32_t kernel = step.launch().kernel();
        first[kernel] = steps[kernel]++ == 0 ? step.name() : first[kernel];
      }
    }
  }
  Json list = Json::array();
  for (int i = 0; i < plan.kernels_size(); ++i) {
    const plan::Kernel &kernel = plan.kernels(i);
    Json launches = Json::array();
    for (const plan::CudaLaunch &launch : kernel.cuda().launches()) {
      launches.push_back(launchJson(launch, resources));
    }
    if (kernel.has_host()) {
      launches.push_back({{"symbol", kernel.symbol()},
                          {"extent", kernel.host().extent()},
                          {"grain", kernel.host().grain()}});
    }
    list.push_back({{"first_step", first[size_t(i)]},
                    {"steps", steps[size_t(i)]},
                    {"scratch_bytes", kernel.scratch_bytes()},
                    {"launches", launches}});
  }
  return {{"assembler", assembler}, {"kernels", list}};
}

std::string kernelsText(const nlohmann::ordered_json &kernels) {
  Json rows = Json::array();
  for (const Json &kernel : kernels["kernels"]) {
    for (Json row : kernel["launches"]) {
      row["steps"] = kernel["steps"];
      row["first_step"] = kernel["first_step"];
      rows.push_back(std::move(row));
    }
  }
  bool host = !rows.empty() && rows[0].contains("extent");
  std::string out = "\nkernels\n";
  out +=
      host ? tableText(
                 rows,
                 {{"symbol"}, {"extent"}, {"grain"}, {"steps"}, {"first_step"}},
                 /*exact=*/true)
           : tableText(rows,
                       {{"symbol"},
                        {"grid"},
                        {"block"},
                        {"registers"},
                        {"shared_bytes"},
                        {"steps"},
                        {"first_step"}},
                       /*exact=*/true);
  // The next line says who has told of registers, or why nobody has.
  const auto &assembler = kernels["assembler"].get_ref<const std::string &>();
  if (!assembler.empty()) {
    std::string registers = registersText(kernels);
    absl::StrAppend(&out, registers,
                    registers.empty() ? "registers are not known: " : "from ",
                    assembler, "\n");
  }
  return out;
}

} // namespace zerograph
