//===- Session.cpp - what the ranks of a training run share ---------------===//

#include "runtime/exec/Session.h"

#include "runtime/backend/Backend.h"
#include "runtime/base/Text.h"
#include "runtime/exec/ResumeRun.h"
#include "runtime/io/Overwrite.h"

#include <cstdio>
#include <filesystem>
#include <limits>

using namespace zerograph;

namespace {

/// Checks that nothing that is read is written over, but weights that were
/// loaded: they are replaced at the end.
absl::Status checkOutputs(const plan::Plan &plan, const TrainOptions &options) {
  std::string folder =
      std::filesystem::path(options.plan_path).parent_path().string();
  std::vector<NamedFile> inputs = arrayFiles("--data", options.data);
  for (NamedFile &file : arrayFiles("--eval-data", options.eval_data)) {
    inputs.push_back(std::move(file));
  }
  inputs.push_back({"the plan", options.plan_path});
  inputs.push_back({"the model", options.model_path});
  inputs.push_back({"--names", options.names});
  for (NamedFile &source : sourceFiles(plan, folder)) {
    inputs.push_back(std::move(source));
  }
  std::vector<NamedFile> outputs = {
      {"--save-weights", options.save_weights},
      {"--save-adapters", options.save_adapters},
      {"--log", options.log},
      {"--trace", options.trace},
      {"--algorithms", options.algorithms},
      {"--dump-gradients", options.dump_gradients},
      {"--dump-states", options.dump_states}};
  ZG_RETURN_IF_ERROR(checkOverwrites(inputs, outputs));
  outputs.erase(outputs.begin(), outputs.begin() + 2);
  return checkOverwrites({{"--load-weights", options.load_weights}}, outputs);
}

/// Lists the files of weights, gradients and states that are to be written.
void listSaved(Session &session) {
  const TrainOptions &options = session.options;
  session.gradients.request = {"dumping gradients",
                               options.dump_gradients,
                               {Role::Gradient, /*trainable_only=*/true}};
  WeightFileOptions weights;
  weights.merged = session.merged ? &*session.merged : nullptr;
  for (const SaveRequest &request :
       {SaveRequest{"saving weights", options.save_weights, weights},
        SaveRequest{"saving adapters",
                    options.save_adapters,
                    {Role::Param, /*trainable_only=*/true}},
        SaveRequest{"dumping optimizer states",
                    options.dump_states,
                    {Role::Optimizer}}}) {
    if (!request.path.empty()) {
      session.saved.push_back({request, nullptr});
    }
  }
}

absl::Status createFile(SavedFile &file, const plan::Plan &plan) {
  ZG_ASSIGN_OR_RETURN(file.writer, createWeightFile(file.request.path, plan,
                                                    file.request.options));
  return absl::OkStatus();
}

absl::Status createOutputs(Session &session) {
  const TrainOptions &options = session.options;
  for (SavedFile &file : session.saved) {
    ZG_RETURN_IF_ERROR(createFile(file, session.plan()));
  }
  if (!options.dump_gradients.empty()) {
    ZG_RETURN_IF_ERROR(createFile(session.gradients, session.plan()));
  }
  if (!options.trace.empty()) {
    ZG_ASSIGN_OR_RETURN(session.trace, TraceFile::open(options.trace));
  }
  if (!options.tensorboard.empty()) {
    ZG_ASSIGN_OR_RETURN(session.events, EventFile::open(options.tensorboard));
  }
  if (!options.log.empty()) {
    ZG_ASSIGN_OR_RETURN(session.log,
                        TrainLog::open(options.log, session.firstStep()));
  }
  if (!options.checkpoint.empty()) {
    ZG_ASSIGN_OR_RETURN(
        session.checkpoints,
        openCheckpoints(session, options.checkpoint, session.firstStep()));
  }
  return absl::OkStatus();
}

void saySuperfluous(const Session &session, const DataSource &data) {
  if (!data.superfluous().empty()) {
    session.say(absl::StrCat(data.name(), ": no input of the model: ",
                             listOf(data.superfluous(), 10)));
  }
}

/// Opens the data, and counts the steps of the run.
absl::Status openData(Session &session) {
  const TrainOptions &options = session.options;
  if (options.live) {
    session.steps = std::numeric_limits<uint64_t>::max();
    return absl::OkStatus();
  }
  ZG_ASSIGN_OR_RETURN(session.data,
                      DataSource::open(options.data, session.plan()));
  const DataSource &data = *session.data;
  session.order.emplace(data, options.shuffle);
  session.steps =
      options.steps.value_or(options.epochs.value_or(1) * data.steps());
  if (data.rest() > 0) {
    session.say(absl::StrCat(
        data.name(), ": ",
        options.shuffle
            ? absl::StrCat(data.rest(), " samples are left out of each epoch, "
                                        "others each time")
            : absl::StrCat("the last ", data.rest(), " samples are not used"),
        ": a step takes ", data.samplesOfStep()));
  }
  saySuperfluous(session, data);
  return absl::OkStatus();
}

/// Opens the sources of parameters, unless the run goes on from a checkpoint.
absl::Status openSources(Session &session) {
  const TrainOptions &options = session.options;
  InitializeOptions initialize;
  initialize.load_weights = options.load_weights;
  initialize.names = options.names;
  initialize.init_missing = options.init_missing;
  initialize.seed = options.seed;
  initialize.model_path = options.model_path;
  initialize.plan_folder =
      std::filesystem::path(options.plan_path).parent_path().string();
  ZG_ASSIGN_OR_RETURN(session.sources,
                      ParameterSources::open(session.plan(), initialize));
  for (const std::string &note : session.sources->notes()) {
    session.say(note);
  }
  if (!session.sources->warning().empty()) {
    session.warn(session.sources->warning());
  }
  return absl::OkStatus();
}

/// Opens the data to evaluate on, if there are any.
absl::Status openEvaluation(Session &session) {
  TrainOptions &options = session.options;
  if (options.eval_data.empty()) {
    return absl::OkStatus();
  }
  if (!session.plan().has_evaluation()) {
    return absl::FailedPreconditionError(
        "the plan was compiled without an evaluation: give --evaluate when "
        "compiling too");
  }
  ZG_ASSIGN_OR_RETURN(session.evaluation,
                      Evaluation::open(options.eval_data, session.plan()));
  saySuperfluous(session, session.evaluation->data());
  options.eval_every = options.eval_every.value_or(session.data->steps());
  return session.evaluation->check(session.process, session.processes);
}

/// Checks the labels that the run will read, this process's part of them.
absl::Status checkLabels(const Session &session) {
  if (!session.data) {
    return absl::OkStatus();
  }
  ZG_RETURN_IF_ERROR(session.order->check(*session.data, session.steps,
                                          session.process, session.processes));
  if (std::string where = session.data->countedFromEnd(); !where.empty()) {
    session.warn(absl::StrCat(
        where, "; as in ONNX, an index below 0 counts from the end. Where it "
               "marks padding, give an id that the model knows"));
  }
  return absl::OkStatus();
}

absl::Status openFiles(Session &session) {
  const plan::Plan &plan = session.plan();
  const TrainOptions &options = session.options;
  if (session.first()) {
    ZG_RETURN_IF_ERROR(checkOutputs(plan, options));
  }
  ZG_RETURN_IF_ERROR(openResumed(session));
  ZG_RETURN_IF_ERROR(openData(session));
  ZG_RETURN_IF_ERROR(checkResumedData(session));
  ZG_RETURN_IF_ERROR(openEvaluation(session));
  if (!session.resume) {
    ZG_RETURN_IF_ERROR(openSources(session));
  }
  if (options.trace_step && (*options.trace_step < session.firstStep() ||
                             *options.trace_step >= session.steps)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--trace-step ", *options.trace_step, ": this run makes ",
        session.steps - std::min(session.steps, session.firstStep()),
        " steps, from ", session.firstStep(), " on"));
  }
  if (!options.dump_gradients.empty() && !plan.dump_gradients()) {
    return absl::FailedPreconditionError(
        "the plan was compiled without gradients to dump: give "
        "--dump-gradients when compiling too");
  }
  if (!options.save_adapters.empty() && !hasAdapters(plan)) {
    return absl::FailedPreconditionError(
        "--save-adapters: the plan has no adapters: compile with --lora");
  }
  if (!options.save_weights.empty() && hasAdapters(plan)) {
    session.merged.emplace(plan);
  }
  listSaved(session);
  ZG_RETURN_IF_ERROR(checkLabels(session));
  return session.first() ? createOutputs(session) : absl::OkStatus();
}

/// Checks, where the plan keeps states in files, that these can be made, and
/// says how they will be read and written.
absl::Status checkFolder(const Session &session) {
  const TrainOptions &options = session.options;
  uint64_t bytes = 0; // of a rank
  for (const plan::Arena &arena : session.plan().arenas()) {
    bytes += arena.space() == plan::NVME ? arena.bytes() : 0;
  }
  if (bytes == 0) {
    if (!options.nvme_path.empty()) {
      session.say("--nvme-path has no effect: the plan was compiled without "
                  "offload to nvme");
    }
    return absl::OkStatus();
  }
  if (options.nvme_path.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the plan keeps ", grouped(bytes),
                     " bytes of each rank in a file: "
                     "give --nvme-path DIR, a folder on an NVMe disk"));
  }
  ZG_ASSIGN_OR_RETURN(FileSupport support, probeFolder(options.nvme_path));
  uint64_t ranks = session.ranksHere();
  if (support.free < bytes * ranks) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "--nvme-path ", options.nvme_path,
        ": the files of the ranks here need ", grouped(bytes * ranks),
        " bytes, and ", grouped(support.free),
        " are free there; give another "
        "--nvme-path, or train on more ranks"));
  }
  std::string missing =
      absl::StrCat(support.direct ? ""
                                  : "no O_DIRECT, so that the system's "
                                    "cache holds what is read",
                   support.direct || support.uring ? "" : "; ",
                   support.uring ? ""
                                 : "no io_uring, so that threads read "
                                   "and write");
  if (!missing.empty()) {
    session.say(absl::StrCat("--nvme-path ", options.nvme_path, ": ", missing));
  }
  return absl::OkStatus();
}

} // namespace

std::map<std::string, std::string> Session::found() const {
  return {{"number of samples in --data", absl::StrCat(samples())},
          {"number of samples in --eval-data",
           absl::StrCat(evaluation ? evaluation->data().samples() : 0)},
          {"--resume (the checkpoint that it found)",
           resumed ? resumed->path() : "none"}};
}

void Session::tell(const std::function<void(const std::string &)> &to,
                   const char *kind, const std::string &text) const {
  if (!first()) {
    return;
  }
  std::lock_guard<std::mutex> lock(speaking);
  if (progress) {
    progress->endLine();
  }
  if (to) {
    to(text);
  } else {
    std::fprintf(stderr, "%s: %s\n", kind, text.c_str());
  }
}

void Session::show(const StepRecord &record) const {
  std::lock_guard<std::mutex> lock(speaking);
  if (progress) {
    progress->add(record);
  }
}

void Session::writeTrace(const std::vector<StepTimes> &ranks) const {
  absl::Status written = trace ? trace->write(plan(), ranks) : absl::OkStatus();
  if (!written.ok()) {
    warn(std::string(written.message()));
  }
}

void Session::begin() {
  if (!first()) {
    return;
  }
  RunBegin run{steps, firstStep(), samplesOfStep(plan())};
  if (options.on_begin) {
    options.on_begin(run);
  }
  if (!options.quiet) {
    std::lock_guard<std::mutex> lock(speaking);
    progress.emplace(ProgressRun{run.steps, run.first_step, run.samples,
                                 run.samples * tokensOfSample(plan())},
                     options.print_every);
  }
}

absl::StatusOr<std::unique_ptr<Session>>
zerograph::openSession(const LoadedPlan &loaded, const TrainOptions &options,
                       unsigned process, unsigned processes) {
  auto session = std::make_unique<Session>();
  session->process = process;
  session->processes = processes;
  session->loaded = &loaded;
  session->options = options;
  const plan::Plan &plan = loaded.plan;
  ZG_RETURN_IF_ERROR(TrainingPrograms::of(plan).status());
  ZG_RETURN_IF_ERROR(checkFolder(*session));
  session->options.threads = threadsOf(options.threads, worldOf(plan));
  ZG_RETURN_IF_ERROR(openFiles(*session));
  bool queues = backendOf(plan).accelerates();
  bool one_by_one = !options.trace.empty() || options.debug_nonfinite;
  if (queues && one_by_one && options.graphs != Graphs::Off) {
    session->say(absl::StrCat(
        "steps are given to the GPU one by one, not as graphs, so that ",
        options.debug_nonfinite ? "--debug-nonfinite can look at each"
                                : "--trace can tell when each ran"));
  }
  if (!queues && options.graphs_given) {
    session->say("--graph has no effect: the plan is for the processor");
  }
  if (options.handle_interrupt) {
    session->signal.emplace(session->first());
  }
  return session;
}
