//===- LiveRun.cpp - a run whose steps its caller makes -------------------===//

#include "runtime/exec/LiveRun.h"

#include "runtime/base/Text.h"
#include "runtime/exec/ResumeRun.h"

#include <algorithm>

using namespace zerograph;

LiveRun::LiveRun(std::unique_ptr<RanksHere> opened) : ranks(std::move(opened)) {
  plans.push_back(&ranks->session().plan());
  for (const LoadedPlan *other : ranks->session().options.also) {
    plans.push_back(&other->plan);
  }
}

absl::StatusOr<std::unique_ptr<LiveRun>> LiveRun::open(const LoadedPlan &plan,
                                                       TrainOptions options,
                                                       Collectives *collectives,
                                                       ControlPlane *control) {
  options.live = options.quiet = true;
  options.handle_interrupt = false; // signals are the caller's
  ZG_ASSIGN_OR_RETURN(
      std::unique_ptr<RanksHere> ranks,
      control ? RanksHere::openAsRank(plan, options, *collectives, *control)
              : RanksHere::open(plan, options));
  std::unique_ptr<LiveRun> run(new LiveRun(std::move(ranks)));
  run->folders.insert(options.checkpoint);
  ZG_RETURN_IF_ERROR(
      run->forEach([&](size_t i) { return (*run->ranks)[i].open(); }));
  return run;
}

LiveRun::~LiveRun() { abort("its run was given up"); }

absl::Status LiveRun::forEach(Work work) {
  if (!ended.ok()) {
    return ended;
  }
  absl::Status status = ranks->forEach([&](size_t i) {
    absl::Status own = work(i);
    if (!own.ok()) {
      (*ranks)[i].abort(own);
    }
    return own;
  });
  if (!status.ok()) {
    ended = annotate(status, "the run has ended");
  }
  return status;
}

/// Does that, and returns what the first rank here does.
template <typename Function>
std::invoke_result_t<Function, size_t> LiveRun::firstOf(const Function &work) {
  std::invoke_result_t<Function, size_t> first;
  ZG_RETURN_IF_ERROR(forEach([&](size_t i) {
    auto own = work(i);
    absl::Status status = own.status();
    if (i == 0) {
      first = std::move(own);
    }
    return status;
  }));
  return first;
}

absl::StatusOr<GivenBatch> LiveRun::take(const TensorFile &arrays, bool step) {
  absl::StatusOr<GivenBatch> found =
      GivenBatch::of(arrays, plans, ranks->session().processes, step);
  if (plans.size() > 1 && ranks->session().processes > 1) {
    std::optional<size_t> number =
        found.ok() ? std::optional(found->number()) : std::nullopt;
    absl::Status same = ranks->forEach(
        [&](size_t i) { return (*ranks)[i].comparePlan(number); });
    ZG_RETURN_IF_ERROR(found.ok() ? same : found.status());
  }
  ZG_ASSIGN_OR_RETURN(GivenBatch given, std::move(found));
  const DataSource *batch = &given.data();
  ZG_RETURN_IF_ERROR(
      batch->check(0, batch->samples(), [](uint64_t place) { return place; }));
  std::string where = batch->countedFromEnd();
  if (!where.empty() && !warned_of_indices) {
    warned_of_indices = true;
    ranks->session().warn(absl::StrCat(
        where, "; as in ONNX, an index below 0 counts from the end"));
  }
  return given;
}

absl::StatusOr<GivenBatch> LiveRun::takeStep(const TensorFile &arrays) {
  if (!ended.ok()) {
    return ended;
  }
  if (accumulated) {
    return absl::FailedPreconditionError(
        "the micro-batches of this step are there already: update comes next");
  }
  return take(arrays, /*step=*/true);
}

LiveRun::Parts LiveRun::partsOf(const GivenBatch &given) const {
  const Session &session = ranks->session();
  return given.isWhole()
             ? Parts{worldOf(plan()), session.process * session.ranksHere()}
             : Parts{session.ranksHere(), 0};
}

absl::Status LiveRun::accumulateOn(size_t i, const GivenBatch &given) {
  ZG_RETURN_IF_ERROR((*ranks)[i].training()->use(given.number()));
  Parts parts = partsOf(given);
  return (*ranks)[i].accumulate(LiveBatch(
      given.data(), given.plan().micro_batch(), parts.count, parts.first + i));
}

absl::Status LiveRun::accumulate(const TensorFile &arrays) {
  ZG_ASSIGN_OR_RETURN(GivenBatch given, takeStep(arrays));
  ZG_RETURN_IF_ERROR(forEach([&](size_t i) { return accumulateOn(i, given); }));
  accumulated = true;
  return absl::OkStatus();
}

absl::StatusOr<StepResult> LiveRun::update() {
  if (!accumulated) {
    return absl::FailedPreconditionError(
        "there is no gradient to update with: accumulate comes first");
  }
  accumulated = false;
  return firstOf([&](size_t i) { return (*ranks)[i].update(); });
}

absl::Status LiveRun::checkNoUpdateYet() {
  ZG_ASSIGN_OR_RETURN(TrainingPrograms programs,
                      TrainingPrograms::of(training().usedPlan()));
  return programs.update || !accumulated
             ? absl::OkStatus()
             : absl::FailedPreconditionError(
                   "the update of this step is made already, together with its "
                   "only micro-batch: call update first, or compile with "
                   "--accumulate 2 or more, where update makes it");
}

absl::Status LiveRun::discard() {
  if (!accumulated) {
    return absl::FailedPreconditionError(
        "there is no gradient to discard: accumulate comes first");
  }
  ZG_RETURN_IF_ERROR(checkNoUpdateYet());
  accumulated = false;
  return forEach([&](size_t i) { return (*ranks)[i].training()->discard(); });
}

absl::StatusOr<StepResult> LiveRun::step(const TensorFile &arrays) {
  ZG_ASSIGN_OR_RETURN(GivenBatch given, takeStep(arrays));
  return firstOf([&](size_t i) -> absl::StatusOr<StepResult> {
    ZG_RETURN_IF_ERROR(accumulateOn(i, given));
    return (*ranks)[i].update();
  });
}

/// Makes what a plan counts by its micro-batches sums by those of the first
/// plan, so that sums of several batches can be added up.
void LiveRun::countByFirstPlan(EvaluatedSum &sum, const plan::Plan &by) const {
  double factor = double(by.micro_batch()) / double(plan().micro_batch());
  sum.weight *= factor;
  for (double &metric : sum.metrics) {
    metric *= factor;
  }
  if (!by.has_evaluation_count()) {
    sum.loss *= factor;
    *sum.count *= factor;
  }
}

absl::StatusOr<EvaluatedSum> LiveRun::evaluate(const TensorFile &arrays) {
  if (!ended.ok()) {
    return ended;
  }
  if (accumulated) {
    return absl::FailedPreconditionError(
        "an evaluation is made between steps: update comes first");
  }
  ZG_ASSIGN_OR_RETURN(GivenBatch given, take(arrays, /*step=*/false));
  if (!given.plan().has_evaluation()) {
    return absl::FailedPreconditionError(
        "the plan was compiled without an evaluation: give --evaluate when "
        "compiling");
  }
  Evaluation evaluation(given.plan(), given.take());
  ZG_ASSIGN_OR_RETURN(
      EvaluatedSum sum, firstOf([&](size_t i) -> absl::StatusOr<EvaluatedSum> {
        ZG_RETURN_IF_ERROR((*ranks)[i].training()->use(given.number()));
        return (*ranks)[i].evaluate(evaluation);
      }));
  countByFirstPlan(sum, given.plan());
  return sum;
}

void LiveRun::setRates() {
  for (size_t i = 0; i < ranks->size(); ++i) {
    (*ranks)[i].training()->setLearningRates(rates);
  }
}

void LiveRun::setLearningRate(std::optional<double> rate) {
  rates.clear();
  for (uint32_t group = 0; rate && group < uint32_t(plan().groups_size());
       ++group) {
    rates[group] = *rate;
  }
  setRates();
}

absl::Status LiveRun::setLearningRate(const std::string &group,
                                      std::optional<double> rate) {
  std::vector<std::string> names;
  for (const plan::OptimizerGroup &one : plan().groups()) {
    names.push_back(one.name());
  }
  auto found = std::find(names.begin(), names.end(), group);
  if (found == names.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no group of parameters is '", group,
                     "'; the plan has: ", listOf(names, names.size())));
  }
  auto number = uint32_t(found - names.begin());
  rates.erase(number);
  if (rate) {
    rates[number] = *rate;
  }
  setRates();
  return absl::OkStatus();
}

absl::Status LiveRun::agreeOn(const std::string &what,
                              const absl::Status &first) {
  if (!ended.ok()) {
    return ended;
  }
  return ranks->forEach([&](size_t i) {
    return (*ranks)[i].agreeOn(what, i == 0 ? first : absl::OkStatus());
  });
}

/// Has checkpoints go to another folder. One that cannot be used changes
/// nothing.
absl::Status LiveRun::moveCheckpoints(const std::string &folder) {
  Session &session = ranks->session();
  std::unique_ptr<CheckpointFolder> opened;
  absl::Status status;
  if (session.first()) {
    // A folder that this run has used may hold what it wrote there.
    uint64_t steps =
        folders.count(folder) > 0 ? position().steps : session.firstStep();
    auto result = openCheckpoints(session, folder, steps);
    status = result.status();
    if (result.ok()) {
      opened = *std::move(result);
    }
  }
  ZG_RETURN_IF_ERROR(agreeOn("opening the folder of checkpoints", status));
  // The old folder goes when nobody writes to it any more.
  ZG_RETURN_IF_ERROR(
      forEach([&](size_t i) { return (*ranks)[i].finishCheckpoints(); }));
  session.checkpoints = std::move(opened);
  session.options.checkpoint = folder;
  folders.insert(folder);
  return absl::OkStatus();
}

absl::StatusOr<std::string> LiveRun::saveCheckpoint(const std::string &folder) {
  if (!ended.ok()) {
    return ended;
  }
  if (ranks->session().options.checkpoint != folder) {
    ZG_RETURN_IF_ERROR(moveCheckpoints(folder));
  }
  ZG_RETURN_IF_ERROR(
      forEach([&](size_t i) { return (*ranks)[i].openCheckpoints(); }));
  if ((*ranks)[0].checkpointIsOutdated()) {
    return absl::FailedPreconditionError(absl::StrCat(
        folder, " has a checkpoint after ", position().steps,
        " steps already, from before states were written: save to another "
        "folder, or after another step"));
  }
  ZG_RETURN_IF_ERROR(
      forEach([&](size_t i) { return (*ranks)[i].saveCheckpoint(); }));
  return (*ranks)[0].checkpointTimes().last;
}

absl::Status LiveRun::saveWeights(const std::string &path,
                                  bool adapters_alone) {
  if (!ended.ok()) {
    return ended;
  }
  Session &session = ranks->session();
  if (adapters_alone && !hasAdapters(plan())) {
    return absl::FailedPreconditionError(
        "the plan has no adapters to save: compile with --lora");
  }
  SavedFile file;
  file.request = {"saving weights", path, {}};
  file.request.options.trainable_only = adapters_alone;
  session.merged.reset();
  if (!adapters_alone && hasAdapters(plan())) {
    session.merged.emplace(plan());
    file.request.options.merged = &*session.merged;
  }
  absl::Status created;
  if (session.first()) {
    auto writer = createWeightFile(path, plan(), file.request.options);
    created = writer.status();
    if (writer.ok()) {
      file.writer = *std::move(writer);
    }
  }
  ZG_RETURN_IF_ERROR(agreeOn("saving weights", created));
  return forEach([&](size_t i) { return (*ranks)[i].save(file); });
}

absl::Status LiveRun::read(WeightFileOptions options, const WeightSink &sink) {
  if (options.role == Role::Gradient) {
    if (!plan().dump_gradients() || !accumulated) {
      return absl::FailedPreconditionError(
          plan().dump_gradients()
              ? "gradients are there between accumulate and update"
              : "the plan was compiled without gradients to look at: give "
                "--dump-gradients when compiling");
    }
    ZG_ASSIGN_OR_RETURN(double scale, training().meanScale());
    options.scale = scale / training().lossScale();
  }
  return forEach([&](size_t i) { return (*ranks)[i].gather(options, sink); });
}

absl::Status LiveRun::write(Role role, const TensorFile &arrays, bool all) {
  if (!ended.ok()) {
    return ended;
  }
  ZG_RETURN_IF_ERROR(checkNoUpdateYet());
  absl::StatusOr<GivenStates> given =
      GivenStates::of(plan(), role, arrays, all);
  ZG_RETURN_IF_ERROR(agreeOn("writing states", given.status()));
  if (ranks->session().processes > 1) {
    std::string digest = given->digest();
    ZG_RETURN_IF_ERROR(
        ranks->forEach([&](size_t i) { return (*ranks)[i].compare(digest); }));
  }
  return forEach([&](size_t i) { return (*ranks)[i].write(*given); });
}

std::map<std::string, DeviceRange>
LiveRun::whole(const WeightFileOptions &options) {
  return ended.ok()
             ? wholeWeights(training().usedPlan(), options, training().memory())
             : std::map<std::string, DeviceRange>();
}

absl::Status LiveRun::end() {
  ZG_RETURN_IF_ERROR(forEach([&](size_t i) { return (*ranks)[i].end(); }));
  ended = absl::FailedPreconditionError("the run has ended: it was closed");
  return absl::OkStatus();
}

void LiveRun::abort(const std::string &reason) {
  if (!ended.ok()) {
    return; // what ranks exchange by may be another run's by now
  }
  ended = absl::CancelledError(absl::StrCat("the run has ended: ", reason));
  for (size_t i = 0; i < ranks->size(); ++i) {
    (*ranks)[i].abort(absl::CancelledError(reason));
  }
}
