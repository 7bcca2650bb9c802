//===- RunModel.cpp - `run MODEL.onnx`: forward only ----------------------===//

#include "frontend/Import.h"
#include "runtime/comm/Launch.h"
#include "runtime/exec/RunForward.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/state/InitializedWeights.h"
#include "runtime/state/LoadedWeights.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/CompileModel.h"
#include "tools/cli/InputFile.h"
#include "tools/cli/MicroBatch.h"
#include "tools/cli/ModelFacts.h"
#include "tools/cli/Notes.h"
#include "tools/cli/OptionRules.h"
#include "tools/cli/TemporaryFolder.h"
#include "tools/compiler/MixedSamples.h"

#include <cstdio>

namespace zerograph {
namespace {

/// The most samples of a run that nothing else decides.
constexpr int64_t kMostOfARun = 32;

struct RunFlags {
  explicit RunFlags(CLI::App &app) : command(app) {
    addOptions(app, kRuns, static_cast<options::Compile &>(compile));
    addOptions(app, kRuns, given);
  }

  CLI::App &command;
  CompileOptions compile;
  options::Train given;
};

/// Decides how many samples a run takes, where nobody says: all that there are
/// where they depend on each other, else at most kMostOfARun.
absl::Status decideMicroBatch(RunFlags &flags) {
  CompileOptions &options = flags.compile;
  ZG_ASSIGN_OR_RETURN(std::vector<frontend::InputSignature> inputs,
                      inputsOf(options.model));
  ZG_ASSIGN_OR_RETURN(uint64_t found, samplesIn(flags.given.data, inputs));
  auto count = int64_t(found);
  if (count == 0) {
    return absl::OkStatus();
  }
  std::string batch = frontend::batchDim(inputs);
  auto dim = options.dims.find(batch);
  int64_t asked = options.samples != 0        ? options.samples
                  : dim != options.dims.end() ? dim->second
                                              : 0;
  int64_t samples = asked != 0 ? asked : std::min(count, kMostOfARun);
  std::string mixed;
  if (samples < count) {
    CompileOptions probe = options;
    probe.samples = std::max<int64_t>(samples, 2); // one shows nothing
    probe.dims.erase(batch);
    ZG_ASSIGN_OR_RETURN(std::optional<ExampleArrays> example,
                        exampleOf(flags.compile.model, flags.given.data));
    ZG_RETURN_IF_ERROR(bindSizes(probe, inputs, example));
    ZG_ASSIGN_OR_RETURN(mixed, findMixedOutput(probe));
  }
  if (!mixed.empty() && asked == 0) {
    samples = count;
    printFindings({}, {absl::StrCat("all ", count,
                                    " samples are one run: each depends on "
                                    "others (",
                                    mixed, ")")});
  } else if (!mixed.empty()) {
    printFindings(
        {absl::StrCat("a run has ", asked, " of the ", count,
                      " samples, and each depends on others (", mixed,
                      "): the numbers are those of such runs; without "
                      "--micro-batch, all samples are one run")},
        {});
  }
  if (asked == 0) {
    options.samples = samples;
  }
  return absl::OkStatus();
}

absl::StatusOr<int> runModel(RunFlags flags) {
  ZG_RETURN_IF_ERROR(needOneProcess());
  ZG_RETURN_IF_ERROR(checkInputFile(flags.compile.model, Input::Model));
  ZG_RETURN_IF_ERROR(checkRules(flags.command, flags.compile).status());
  ZG_RETURN_IF_ERROR(checkRules(flags.command, flags.given).status());
  ZG_RETURN_IF_ERROR(checkDevice(flags.compile));
  ZG_RETURN_IF_ERROR(bindNames(flags.compile));
  ZG_RETURN_IF_ERROR(needNumber(flags.compile));
  ForwardOptions run;
  options::copy<options::kForward>(flags.compile, run);
  options::copy<options::kForward>(flags.given, run);
  if (!flags.given.init_missing.empty()) {
    ZG_ASSIGN_OR_RETURN(run.init_missing,
                        parseInitMissing(flags.given.init_missing));
  }
  flags.compile.forward = true;
  if (!flags.given.load_weights.empty()) {
    ZG_ASSIGN_OR_RETURN(
        LoadedWeights loaded,
        loadWeights(flags.given.load_weights, flags.given.names));
    for (const auto &[name, weight] : loaded.weights) {
      flags.compile.replaced.insert(name);
    }
  }
  ZG_RETURN_IF_ERROR(decideMicroBatch(flags));
  ZG_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::make());
  run.plan_path = folder.path() + "/plan";
  run.model_path = flags.compile.model;
  run.say = [](const std::string &text) { say(Matter::Run, text); };
  ZG_ASSIGN_OR_RETURN(std::optional<ExampleArrays> example,
                      exampleOf(flags.compile.model, flags.given.data));
  ZG_ASSIGN_OR_RETURN(CompileResult compiled,
                      compileModel(flags.compile, example, run.plan_path));
  ZG_ASSIGN_OR_RETURN(std::string bytes, serializePlan(compiled.plan));
  ZG_ASSIGN_OR_RETURN(LoadedPlan plan, parsePlan(bytes));
  ZG_ASSIGN_OR_RETURN(ForwardResult result, runForward(plan, run));
  releaseNotes(flags.given.notes ? SIZE_MAX : kMostNotes);
  for (const plan::Output &output : plan.plan.outputs()) {
    // The output is as in the file: of all samples, or one of each run.
    std::vector<uint64_t> shape(output.shape().begin(), output.shape().end());
    if (output.per_sample()) {
      shape[0] = result.samples;
    } else if (result.runs > 1) {
      shape.insert(shape.begin(), result.runs);
    }
    std::printf("%s: %s %s%s\n", output.name().c_str(),
                nameOf(output.type()).c_str(), shapeText(shape).c_str(),
                output.per_sample() ? ", the first dimension samples"
                : result.runs > 1   ? ", the first dimension micro-batches"
                                    : "");
  }
  std::printf("%llu samples in %llu runs; outputs in %s\n",
              static_cast<unsigned long long>(result.samples),
              static_cast<unsigned long long>(result.runs), run.output.c_str());
  return 0;
}

} // namespace

void addRunModel(CommandLine &line) {
  CLI::App &command = line.add("run", "Runs a model forward over data");
  auto flags = std::make_shared<RunFlags>(command);
  line.addFile(command, "MODEL", "MODEL.onnx", flags->compile.model,
               flags->given.data);
  line.onRun(command, [flags] { return runModel(*flags); });
}

} // namespace zerograph
