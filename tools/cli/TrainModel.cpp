//===- TrainModel.cpp - `train MODEL.onnx` or `train PLAN` ----------------===//

#include "absl/strings/match.h"
#include "runtime/base/Status.h"
#include "runtime/device/FileSupport.h"
#include "runtime/io/DataSource.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/schedules/Schedule.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/CompileModel.h"
#include "tools/cli/InputFile.h"
#include "tools/cli/OptimizerFlags.h"
#include "tools/cli/TemporaryFolder.h"
#include "tools/cli/TrainFlags.h"

namespace zerograph {
namespace {

bool isModel(const std::string &path) { return absl::EndsWith(path, ".onnx"); }

/// Ends a schedule that ends with the run where the data does: only with the
/// plan is it known how many steps that is.
absl::Status endWithData(plan::Plan &plan, uint64_t epochs,
                         const std::vector<std::string> &data) {
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<DataSource> source,
                      DataSource::open(data, plan));
  plan.mutable_schedule()->set_total_steps(epochs * source->steps());
  ZG_RETURN_IF_ERROR(checkSchedule(plan.schedule()));
  sayShortSchedule(plan.schedule());
  return absl::OkStatus();
}

/// Makes the plan. What `train` of a model compiles never becomes a file, but
/// the weights it may need besides the model's do, until the run has ended.
absl::StatusOr<CompiledPlan> makePlan(const std::string &model,
                                      CompileFlags &compile, TrainFlags &train,
                                      std::optional<unsigned> ranks) {
  ZG_RETURN_IF_ERROR(compile.readConfig(model, ranks));
  bool ends = !train.steps() && !compile.isGiven("--total-steps");
  ZG_ASSIGN_OR_RETURN(CompileOptions options,
                      compile.resolve(train.steps().value_or(kUnknownSteps)));
  ZG_RETURN_IF_ERROR(compile.checkFolder(train.nvmePath()));
  if (compile.needsFolder()) {
    ZG_RETURN_IF_ERROR(probeFolder(train.nvmePath()).status());
  }
  ZG_RETURN_IF_ERROR(checkDevice(options));
  if (ranks) {
    ZG_RETURN_IF_ERROR(compile.setRanks(options, *ranks));
  }
  options.model = model;
  options.dump_gradients = train.dumpsGradients();
  options.evaluate = train.evaluates();
  CompiledPlan made;
  made.model = model;
  made.settings = compile.runSettings();
  ZG_ASSIGN_OR_RETURN(made.folder, TemporaryFolder::make());
  made.path = made.folder->path() + "/plan";
  ZG_ASSIGN_OR_RETURN(std::optional<ExampleArrays> example,
                      exampleOf(model, train.data()));
  ZG_ASSIGN_OR_RETURN(CompileResult result,
                      compileModel(options, example, made.path));
  if (ends && result.plan.schedule().total_steps() > 0) {
    ZG_RETURN_IF_ERROR(endWithData(result.plan, train.epochs(), train.data()));
  }
  ZG_ASSIGN_OR_RETURN(std::string bytes, serializePlan(result.plan));
  ZG_ASSIGN_OR_RETURN(made.plan, parsePlan(bytes));
  return made;
}

} // namespace

void addTrainModel(CommandLine &line) {
  CLI::App &command =
      line.add("train", "Trains with a plan, or compiles a model and trains");
  auto path = std::make_shared<std::string>();
  auto train = std::make_shared<TrainFlags>(command);
  line.addFile(command, "FILE", "MODEL.onnx or a plan", *path, train->data());
  auto compile = std::make_shared<CompileFlags>(command, kTrains);
  line.onRun(command, [path, train, compile, &line]() -> absl::StatusOr<int> {
    PlanSource source;
    source.make =
        [=](std::optional<unsigned> ranks) -> absl::StatusOr<CompiledPlan> {
      if (isModel(*path)) {
        return makePlan(*path, *compile, *train, ranks);
      }
      ZG_RETURN_IF_ERROR(checkInputFile(*path, Input::ModelOrPlan));
      ZG_ASSIGN_OR_RETURN(CompiledPlan made, readPlanToTrain(*path));
      if (std::string given = compile->given(); !given.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(
            *path, " is a plan, made with its compile options: leave out ",
            given));
      }
      return made;
    };
    source.device = [=] {
      return isModel(*path) ? compile->device() : deviceOfPlan(*path);
    };
    return train->run(line, source);
  });
}

} // namespace zerograph
