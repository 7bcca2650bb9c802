//===- ReportPlan.cpp - `report PLAN` -------------------------------------===//

#include "report/Report.h"
#include "report/RunLog.h"
#include "runtime/base/OutputPath.h"
#include "runtime/io/NewFile.h"
#include "runtime/plan/InspectTable.h"
#include "runtime/plan/Mesh.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/InputFile.h"
#include "tools/cli/MachineFlags.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

namespace zerograph {
namespace {

struct Options {
  explicit Options(CLI::App &command)
      : machine(command, MachineFlags::Use::Optional) {}

  MachineFlags machine;
  std::string plan, against, trace, log, output;
};

/// Reads a plan, and predicts its step if a machine is named.
absl::StatusOr<report::PlanShown> show(const std::string &path,
                                       const MachineFlags &flags) {
  ZG_RETURN_IF_ERROR(checkInputFile(path, Input::Plan));
  report::PlanShown shown;
  shown.file = std::filesystem::path(path).filename().string();
  ZG_ASSIGN_OR_RETURN(shown.loaded, readPlan(path));
  if (flags.source().empty()) {
    return shown;
  }
  ZG_ASSIGN_OR_RETURN(shown.machine, flags.machine());
  const plan::Plan &plan = shown.loaded.plan;
  auto prediction = simulate::predict(
      plan, *shown.machine, flags.cluster(worldOf(plan), *shown.machine));
  if (!prediction.ok()) {
    return annotate(prediction.status(), path);
  }
  shown.prediction = *std::move(prediction);
  return shown;
}

absl::StatusOr<std::string> readText(const std::string &path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file.is_open() || !text) {
    return absl::NotFoundError(
        absl::StrCat(path, ": cannot be read, or is empty"));
  }
  return std::move(text).str();
}

absl::StatusOr<int> run(const Options &options) {
  ZG_RETURN_IF_ERROR(checkOutputPath(options.output));
  ZG_RETURN_IF_ERROR(checkNotRead("--output", options.output,
                                  {options.plan, options.against, options.trace,
                                   options.log, options.machine.source()}));
  report::PageContent content;
  ZG_ASSIGN_OR_RETURN(content.plan, show(options.plan, options.machine));
  if (!options.trace.empty()) {
    ZG_ASSIGN_OR_RETURN(std::string text, readText(options.trace));
    auto run = report::parseTrace(content.plan.loaded.plan, text);
    if (!run.ok()) {
      return annotate(run.status(), options.trace);
    }
    content.measured = *std::move(run);
  }
  if (!options.log.empty()) {
    ZG_ASSIGN_OR_RETURN(std::string text, readText(options.log));
    auto log = report::parseLog(text);
    if (!log.ok()) {
      return annotate(log.status(), options.log);
    }
    content.log = *std::move(log);
  }
  if (!options.against.empty()) {
    ZG_ASSIGN_OR_RETURN(content.against,
                        show(options.against, options.machine));
  }
  auto page = report::reportPage(content);
  if (!page.ok()) {
    return annotate(page.status(), options.plan);
  }
  ZG_RETURN_IF_ERROR(writeWholeFile(options.output, *page));
  std::printf("%s: %s; open it in a browser\n", options.output.c_str(),
              sizeIn(page->size(), false).c_str());
  return 0;
}

} // namespace

void addReport(CommandLine &line) {
  CLI::App &command =
      line.add("report", "Shows a plan on one page of HTML: its memory, its "
                         "time, what it moves, and how it ran");
  auto options = std::make_shared<Options>(command);
  command.add_option("PLAN", options->plan, "A plan")->required();
  command.add_option("-o,--output", options->output, "FILE.html")->required();
  command.add_option("--trace", options->trace,
                     "what train --trace wrote: when steps ran");
  command.add_option("--log", options->log,
                     "what train --log wrote: loss and rate of the run");
  command.add_option("--against", options->against,
                     "another plan, to compare with");
  line.onRun(command, [options]() { return run(*options); });
}

} // namespace zerograph
