//===- InspectPlan.cpp - `inspect PLAN` -----------------------------------===//

#include "runtime/plan/Inspect.h"
#include "runtime/plan/InspectTable.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/InputFile.h"
#include "tools/cli/OptionTable.h"
#include "tools/cli/Ptxas.h"

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

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

/// Returns each kernel with the first step that launches it, how many do, and
/// how: on CUDA grid, block and, where ptxas is found, registers and shared
/// memory; "assembler" says which, or why there is none.
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

/// Returns the same for people.
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

/// Returns the text of a plan's kernels that the driver compiles.
absl::StatusOr<std::string> ptxOf(const LoadedPlan &plan) {
  std::string text;
  for (const plan::Module &module : plan.plan.modules()) {
    text += module.ptx().text();
  }
  if (text.empty()) {
    return absl::InvalidArgumentError(
        "--ptx: the plan's kernels are for CPUs and have no PTX; compile with "
        "--target cuda:sm_90, say");
  }
  return text;
}

struct Options {
  std::string path;
  bool json = false, bytes = false, all = false, kernels = false, ptx = false;
  std::map<std::string, bool> sections; // by name: whether it was asked for
  DiskUse disk;
};

/// Returns the sections that were asked for; without any, one screen.
absl::StatusOr<std::string> text(const LoadedPlan &plan,
                                 const Options &options) {
  if (options.ptx) {
    return ptxOf(plan);
  }
  std::string out;
  bool disk = options.disk.terabytes > 0 || options.disk.step_seconds > 0;
  bool some = options.json || options.kernels || disk;
  for (const auto &[name, asked] : options.sections) {
    some = some || asked;
  }
  if (!some || options.all) {
    ZG_ASSIGN_OR_RETURN(out, inspectSummary(plan, options.bytes));
  }
  if (!some && !options.all) {
    return out;
  }
  ZG_ASSIGN_OR_RETURN(nlohmann::ordered_json report, inspectPlan(plan));
  if (disk) {
    addDiskUse(options.disk, report);
  }
  bool kernels = options.kernels || options.all;
  if (kernels) {
    report["kernel_list"] = kernelsJson(plan.plan);
  }
  if (options.json) {
    using Handler = nlohmann::json::error_handler_t;
    return report.dump(2, ' ', false, Handler::replace) + "\n";
  }
  for (const InspectSection &section : inspectSections()) {
    bool asked = options.sections.at(section.name) ||
                 (disk && section.name == std::string("transfers"));
    if (options.all || asked) {
      absl::StrAppend(&out, out.empty() ? "" : "\n", section.help, "\n",
                      section.text(report, options.bytes));
    }
  }
  return kernels ? out + kernelsText(report["kernel_list"]) : out;
}

} // namespace

void addInspect(CommandLine &line) {
  CLI::App &command = line.add(
      "inspect", "Says what a plan does and needs, on one screen; options show "
                 "the parts of it");
  auto options = std::make_shared<Options>();
  command.add_option("PLAN", options->path, "A plan")->required();
  for (const InspectSection &section : inspectSections()) {
    command.add_flag(absl::StrCat("--", section.name),
                     options->sections[section.name], section.help);
  }
  command.add_flag("--kernels", options->kernels,
                   "Every kernel; of CUDA's, by ptxas where there is one, "
                   "registers and shared memory");
  command
      .add_flag("--ptx", options->ptx,
                "The text of CUDA's kernels, and nothing else")
      ->excludes("--kernels");
  command.add_flag("--all", options->all, "All of these");
  command.add_flag("--bytes", options->bytes,
                   "Sizes as exact numbers of bytes");
  command.add_flag("--json", options->json, "One JSON object with all parts");
  command
      .add_option("--disk-tbw", options->disk.terabytes,
                  "Of a plan with files: terabytes that may be written to the "
                  "disk (its data sheet's TBW); says how many steps it lasts")
      ->check(checks::positive.validator);
  command
      .add_option("--step-time", options->disk.step_seconds,
                  "Seconds that a step takes: says what is written a day, and "
                  "with --disk-tbw how many days the disk lasts")
      ->check(checks::positive.validator);
  line.onRun(command, [options]() -> absl::StatusOr<int> {
    ZG_RETURN_IF_ERROR(checkInputFile(options->path, Input::Plan));
    ZG_ASSIGN_OR_RETURN(LoadedPlan plan, readPlan(options->path));
    absl::StatusOr<std::string> said = text(plan, *options);
    if (!said.ok()) {
      return annotate(said.status(), options->path);
    }
    std::fwrite(said->data(), 1, said->size(), stdout);
    return 0;
  });
}

} // namespace zerograph
