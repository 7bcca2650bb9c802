//===- InspectPlan.cpp - `inspect PLAN` -----------------------------------===//

#include "runtime/plan/Inspect.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/InputFile.h"
#include "tools/cli/Kernels.h"
#include "tools/cli/OptionTable.h"

#include <cstdio>
#include <map>
#include <memory>

namespace zerograph {
namespace {

struct Options {
  std::string path;
  bool json = false, bytes = false, all = false, kernels = false;
  std::map<std::string, bool> sections; // by name: whether it was asked for
  DiskUse disk;
};

/// Returns the sections that were asked for; without any, one screen.
absl::StatusOr<std::string> text(const LoadedPlan &plan,
                                 const Options &options) {
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
