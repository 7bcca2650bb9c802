//===- RankRun.cpp - one rank's part of a training run --------------------===//

#include "runtime/exec/RankRun.h"

#include "runtime/comm/ParseMessage.h"
#include "runtime/exec/GatherWeights.h"
#include "runtime/exec/Gpus.h"
#include "runtime/exec/NonfiniteSearch.h"
#include "runtime/exec/ResumeRun.h"
#include "runtime/plan/Memory.h"

#include <chrono>
#include <cmath>

using namespace zerograph;

namespace {

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin)
      .count();
}

} // namespace

absl::StatusOr<TrainResult> RankRun::run() {
  ZG_RETURN_IF_ERROR(open());
  absl::Status trained = trainAndSave();
  absl::StatusOr<TrainResult> all = trained.ok() ? collectResults() : trained;
  if (!all.ok()) {
    abort(all.status());
  }
  return all;
}

absl::Status RankRun::open() {
  // The data may be another file of the same name on another host.
  ZG_RETURN_IF_ERROR(compareSettings(control, session.found()));
  ZG_RETURN_IF_ERROR(joinCheckpoints(session, control));
  if (absl::Status met = meet(); !met.ok()) {
    abort(met);
    return met;
  }
  // One rank answers for those of a process that share a device.
  ZG_RETURN_IF_ERROR(
      agree(control, "looking for memory",
            neighbours.first_here ? checkRoom() : absl::OkStatus()));
  auto prepareAll = [&] {
    ZG_RETURN_IF_ERROR(logPlacement(session, machine, neighbours));
    return prepare();
  };
  absl::Status prepared = prepareAll();
  if (!prepared.ok()) {
    abort(prepared);
  }
  return prepared;
}

/// Looks for the memory of each plan: all have the same arenas.
absl::Status RankRun::checkRoom() const {
  uint64_t copy = checkpointCopy(session, rank());
  for (const LoadedPlan *other : session.options.also) {
    ZG_RETURN_IF_ERROR(machine.checkRoom(other->plan, neighbours, copy));
  }
  return machine.checkRoom(session.plan(), neighbours, copy);
}

absl::Status RankRun::meet() {
  ZG_RETURN_IF_ERROR(collectives.open());
  ZG_ASSIGN_OR_RETURN(in_use_open, machine.driver->memoryInUse());
  ZG_ASSIGN_OR_RETURN(neighbours, machine.neighbours(control));
  return absl::OkStatus();
}

absl::Status RankRun::trainAndSave() {
  ZG_RETURN_IF_ERROR(trainSteps());
  ZG_RETURN_IF_ERROR(lookAtWeights());
  if (session.merged) {
    ZG_RETURN_IF_ERROR(collectAdapters());
  }
  for (SavedFile &file : session.saved) {
    ZG_RETURN_IF_ERROR(writeFile(file.request, file.writer));
  }
  ZG_RETURN_IF_ERROR(checkpoints.finish(report));
  ZG_RETURN_IF_ERROR(trainer->close());
  return lookAtArenas();
}

absl::Status RankRun::lookAtArenas() {
  uint64_t bytes = 0;
  for (const auto &arena : trainer->arenas()) {
    bytes += arena->bytes();
    // The elements of the highest slice are no wider than its end allows.
    uint64_t peak = peakOf(session.plan(), report.touched_size());
    uint64_t granule = peak % 4 == 0 ? 4 : peak % 2 == 0 ? 2 : 1;
    ZG_ASSIGN_OR_RETURN(uint64_t end, arena->touchedEnd(granule));
    report.add_touched(end);
  }
  report.set_arena_bytes(bytes);
  return absl::OkStatus();
}

absl::StatusOr<TrainResult> RankRun::collectResults() {
  if (session.signal && !control.inOneProcess()) {
    // One that dies now keeps the others waiting for it at the end.
    session.signal->keep();
  }
  report.set_stop_signal(session.signal ? session.signal->number() : 0);
  report.set_resident_bytes(peakResidentBytes());
  if (!session.options.trace.empty() && report.programs().empty()) {
    // The step was not reached, or none was named.
    add(trainer->times(), report);
  }
  ZG_ASSIGN_OR_RETURN(
      std::vector<std::string> texts,
      control.collect("collecting results", report.SerializeAsString()));
  if (rank() != 0) {
    return TrainResult();
  }
  for (const std::string &text : texts) {
    ZG_ASSIGN_OR_RETURN(auto told, parseMessage<exec::RankReport>(text));
    if (result.stopped && result.stop_signal == 0) {
      result.stop_signal = told.stop_signal();
    }
    result.peak_rss_bytes =
        std::max(result.peak_rss_bytes, told.resident_bytes());
    result.ranks.push_back(std::move(told));
  }
  if (!result.losses.empty()) {
    session.writeTrace(timesByOneClock(result.ranks));
  }
  result.steps = session.steps;
  result.first_step = session.firstStep();
  result.eval_rounds = session.evaluation ? session.evaluation->rounds() : 0;
  result.checkpoints = checkpoints.times();
  ZG_ASSIGN_OR_RETURN(result.gpu, gpuMemory(machine, session.plan(),
                                            neighbours.on_device, in_use_open));
  return std::move(result);
}

void RankRun::abort(const absl::Status &status) {
  if (trainer) {
    trainer->abort(status);
  } else {
    collectives.abort(status);
    control.abort(status);
  }
}

absl::Status RankRun::prepare() {
  TrainerOptions options;
  options.initialize = [this](const RankMemory &memory) {
    return session.resume ? session.resume->initialize(memory)
                          : session.sources->initialize(memory);
  };
  if (session.resumed) {
    const CheckpointRun &run = session.resumed->index().run;
    options.begin = {run.steps, run.updates, run.loss_scale};
  }
  options.learning_rate = session.options.learning_rate;
  options.seed = session.options.seed;
  options.threads = session.options.threads;
  options.ranks_here = session.ranksHere();
  options.processes_here = session.options.processes_here;
  options.graphs = session.options.graphs;
  options.files.folder = session.options.nvme_path;
  options.files.block_bytes = session.options.nvme_block_size;
  options.files.depth = session.options.nvme_queue_depth;
  options.deadline_seconds = session.options.deadline_seconds;
  options.record_times = !session.options.trace.empty();
  options.debug_nonfinite = session.options.debug_nonfinite;
  options.machine = &machine;
  options.also = session.options.also;
  options.collectives = &collectives;
  options.control = &control;
  ZG_ASSIGN_OR_RETURN(trainer, Trainer::create(*session.loaded, options));
  report.set_ready(Clock::now().time_since_epoch() /
                   std::chrono::nanoseconds(1));
  checkpoints_at_end = session.options.live && session.checkpoints != nullptr;
  return checkpoints.open(trainer->memory(), trainer->position().steps);
}

absl::Status RankRun::accumulate(const Batch &batch, const Batch *next) {
  received_before = collectives.traffic();
  step_begin = Clock::now();
  absl::Status made = trainer->accumulate(batch, session.wantsToStop(), next);
  return made.ok()
             ? made
             : annotate(made, absl::StrCat("step ", trainer->position().steps));
}

/// Makes the update of a step, after the gradients are written where they are
/// wanted: it zeroes what micro-batches have accumulated.
absl::StatusOr<StepResult> RankRun::updateAndDump(uint64_t step) {
  auto make = [&]() -> absl::StatusOr<StepResult> {
    if (step == session.firstStep()) {
      ZG_ASSIGN_OR_RETURN(double scale, trainer->meanScale());
      SaveRequest request = session.gradients.request;
      request.options.scale = scale / trainer->lossScale();
      ZG_RETURN_IF_ERROR(writeFile(request, session.gradients.writer));
    }
    return trainer->update();
  };
  absl::StatusOr<StepResult> made = make();
  return made.ok() ? made
                   : annotate(made.status(), absl::StrCat("step ", step));
}

absl::StatusOr<StepResult> RankRun::update() {
  uint64_t step = trainer->position().steps;
  ZG_ASSIGN_OR_RETURN(StepResult made, updateAndDump(step));
  double ms = millisecondsSince(step_begin);
  TrafficCount received = receivedSince(received_before);
  add(received, *report.mutable_total());
  if (step == session.firstStep()) {
    add(received, *report.mutable_first_step());
    add(trainer->crossed(), *report.mutable_first_crossing());
  }
  if (session.options.trace_step == step) {
    add(trainer->times(), report);
  }
  StepRecord record;
  record.step = step;
  record.loss = made.loss;
  record.gradient_norm = made.gradient_norm;
  record.learning_rate = made.learning_rate;
  record.step_ms = ms;
  record.samples_per_s = double(samplesOfStep(trainer->usedPlan())) / ms * 1e3;
  record.skipped = made.skipped;
  record.metrics = namedMetrics(session.plan(), made.metrics);
  if (session.plan().has_loss_scale()) {
    record.loss_scale = made.loss_scale;
  }
  if (session.evaluatesAfter(step) && !made.stop) {
    ZG_ASSIGN_OR_RETURN(record.eval, evaluateAfter(step));
  }
  if (rank() == 0) {
    skipped += made.skipped;
    recordStep(record);
  }
  ZG_RETURN_IF_ERROR(checkpoints.afterStep(
      *trainer,
      !session.options.live && (made.stop || step + 1 == session.steps)));
  return made;
}

TrafficCount RankRun::receivedSince(const TrafficCount &before) const {
  TrafficCount now = collectives.traffic();
  return {now.gather - before.gather, now.reduce - before.reduce,
          now.scalar - before.scalar};
}

absl::StatusOr<EvalRecord> RankRun::evaluateAfter(uint64_t step) {
  TrafficCount before = collectives.traffic();
  Clock::time_point begin = Clock::now();
  absl::StatusOr<EvaluatedSum> sum = evaluate(*session.evaluation);
  if (!sum.ok()) {
    return annotate(sum.status(), absl::StrCat("evaluation after step ", step));
  }
  report.clear_evaluation();
  add(receivedSince(before), *report.mutable_evaluation());
  return EvalRecord{
      sum->loss / *sum->count, session.evaluation->data().samples(),
      millisecondsSince(begin),
      namedMetrics(session.plan(), sum->metrics, 1 / sum->weight)};
}

/// Counts steps from 1, as in the lines of progress beside it.
void RankRun::warnOfLoss(const StepRecord &record) {
  bool trained = !std::isfinite(record.loss) || !record.eval;
  double loss = trained ? record.loss : record.eval->loss;
  if (!std::isfinite(loss) && !warned_of_loss) {
    warned_of_loss = true;
    session.warn(absl::StrCat("the ", trained ? "loss of" : "eval_loss after",
                              " step ", record.step + 1, " is ",
                              std::isnan(loss) ? "NaN" : "infinite",
                              "; the run goes on. --debug-nonfinite names the "
                              "node that made it so"));
  }
}

absl::Status RankRun::lookAtWeights() {
  const TrainOptions &options = session.options;
  if (options.save_weights.empty() && options.save_adapters.empty() &&
      options.checkpoint.empty()) {
    return absl::OkStatus();
  }
  control.setBusy(true);
  absl::StatusOr<std::string> own =
      nonfiniteWeight(session.plan(), trainer->memory());
  control.setBusy(false);
  ZG_RETURN_IF_ERROR(own.status());
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> texts,
                      control.exchange("looking at the weights", *own));
  for (const std::string &text : texts) {
    if (rank() == 0 && result.nonfinite_weight.empty()) {
      result.nonfinite_weight = text;
    }
  }
  return absl::OkStatus();
}

/// Records a step; rank 0 calls it. The caller of a live run has its losses.
void RankRun::recordStep(const StepRecord &record) {
  if (!session.options.live) {
    result.losses.push_back(record.loss);
    result.step_ms.push_back(record.step_ms);
  }
  if (record.eval) {
    result.eval_losses[record.step] = record.eval->loss;
  }
  warnOfLoss(record);
  if (session.log) {
    goOn(session.log->add(record), session.log);
  }
  if (session.events) {
    goOn(session.events->add(record.step, numbersOf(record)), session.events);
  }
  session.show(record);
  if (session.options.on_step) {
    session.options.on_step(record);
  }
}

absl::Status RankRun::trainSteps() {
  uint64_t first = session.firstStep(), steps = session.steps;
  auto batchOf = [&](uint64_t number) {
    return FileBatch(session.plan(), *session.data, *session.order, rank(),
                     number);
  };
  if (rank() == 0) {
    session.begin();
  }
  for (uint64_t step = first; step < steps; ++step) {
    FileBatch batch = batchOf(step), next = batchOf(step + 1);
    ZG_RETURN_IF_ERROR(accumulate(batch, step + 1 == steps ? nullptr : &next));
    ZG_ASSIGN_OR_RETURN(StepResult made, update());
    if (made.stop) {
      noteStop(step);
      break;
    }
  }
  if (rank() == 0) {
    if (session.log) {
      goOn(session.log->start(), session.log); // of no step
    }
    saySkipped();
  }
  return absl::OkStatus();
}

void RankRun::saySkipped() const {
  if (skipped > 0) {
    uint64_t steps = trainer->position().steps - session.firstStep();
    std::string text = absl::StrCat(skipped, " of ", steps,
                                    " steps updated nothing, since their "
                                    "gradients were not all finite");
    if (skipped == steps) {
      session.warn(text);
    } else {
      session.say(text);
    }
  }
}

absl::Status RankRun::gather(const WeightFileOptions &options,
                             const WeightSink &sink) {
  return gatherWeights(control, "reading weights", Receivers::All, sink,
                       trainer->usedPlan(), options, trainer->memory());
}

absl::Status RankRun::openCheckpoints() {
  if (checkpoints.areOpen()) {
    return absl::OkStatus();
  }
  ZG_RETURN_IF_ERROR(joinCheckpoints(session, control));
  return checkpoints.open(trainer->memory(), trainer->position().steps);
}

absl::Status RankRun::saveCheckpoint() {
  ZG_RETURN_IF_ERROR(checkpoints.afterStep(*trainer, /*last=*/true));
  return checkpoints.publish();
}

absl::Status RankRun::save(SavedFile &file) {
  if (session.merged) {
    ZG_RETURN_IF_ERROR(collectAdapters());
  }
  return writeFile(file.request, file.writer);
}

absl::Status RankRun::write(const GivenStates &given) {
  if (given.isEmpty()) {
    return absl::OkStatus();
  }
  checkpoints.noteWritten(trainer->position().steps);
  return given.write(trainer->memory());
}

absl::Status RankRun::end() {
  if (rank() == 0) {
    saySkipped();
    if (checkpoints_at_end && checkpointIsOutdated()) {
      session.warn(absl::StrCat(
          session.options.checkpoint,
          ": the last checkpoint has what was there before states were written "
          "after the last step: save these to another folder"));
    }
  }
  if (checkpoints_at_end) {
    ZG_RETURN_IF_ERROR(checkpoints.afterStep(*trainer, /*last=*/true));
  }
  ZG_RETURN_IF_ERROR(finishCheckpoints());
  return trainer->close();
}

absl::Status RankRun::collectAdapters() {
  WeightSink sink = [&](const std::string &name, uint64_t offset,
                        uint64_t bytes, const void *data) {
    return session.merged->write(name, offset, bytes, data);
  };
  WeightFileOptions options;
  options.adapters_only = true;
  return gather(options, sink);
}

/// Notes that the run ends with this step because it was asked to.
void RankRun::noteStop(uint64_t step) {
  if (rank() == 0 && session.options.trace_step > step) {
    session.warn(absl::StrCat("the trace shows step ", step, ", the last: ",
                              *session.options.trace_step, " was not reached"));
  }
  if (rank() == 0 && step + 1 < session.steps) {
    result.stopped = true;
    result.stop_signal = session.signal ? session.signal->number() : 0;
  }
}

absl::Status RankRun::writeFile(const SaveRequest &request,
                                std::unique_ptr<SafetensorsWriter> &writer) {
  if (request.path.empty()) {
    return absl::OkStatus();
  }
  ZG_ASSIGN_OR_RETURN(std::string elsewhere,
                      saveFile(control, request, writer, trainer->usedPlan(),
                               trainer->memory()));
  if (rank() == 0 && !elsewhere.empty()) {
    result.elsewhere[request.path] = elsewhere;
  }
  return absl::OkStatus();
}
