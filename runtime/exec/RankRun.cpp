//===- RankRun.cpp - one rank's part of a training run --------------------===//

#include "runtime/exec/RankRun.h"

#include "runtime/exec/GatherWeights.h"
#include "runtime/exec/NonfiniteSearch.h"
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

absl::Status RankRun::run() {
  absl::Status status = prepare();
  if (status.ok()) {
    status = trainSteps();
  }
  if (status.ok()) {
    status = lookAtWeights();
  }
  if (status.ok() && session.merged) {
    status = collectAdapters();
  }
  if (status.ok()) {
    status = writeFile({"saving weights", session.options.save_weights,
                        session.weightOptions()},
                       session.weights);
  }
  if (status.ok()) {
    status = writeFile({"saving adapters", session.options.save_adapters,
                        Session::adapterOptions()},
                       session.adapters);
  }
  if (status.ok()) {
    status = writeFile({"dumping optimizer states", session.options.dump_states,
                        Session::stateOptions()},
                       session.states);
  }
  if (status.ok()) {
    status = checkpoints.finish(rank_result);
  }
  if (status.ok()) {
    status = trainer->close();
  }
  if (!status.ok()) {
    abort(status);
    return status;
  }
  for (const auto &arena : trainer->arenas()) {
    rank_result.arena_bytes += arena->bytes();
    // The elements of the highest slice are no wider than its end allows.
    uint64_t peak = peakOf(session.plan(), int(rank_result.touched.size()));
    uint64_t granule = peak % 4 == 0 ? 4 : peak % 2 == 0 ? 2 : 1;
    ZG_ASSIGN_OR_RETURN(uint64_t end, arena->touchedEnd(granule));
    rank_result.touched.push_back(end);
  }
  return absl::OkStatus();
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
  // Ranks are all in one process, or each is one.
  options.ranks_here = session.processes == 1 ? worldOf(session.plan()) : 1;
  options.processes_here = session.options.processes_here;
  options.graphs = session.options.graphs;
  options.files.folder = session.options.nvme_path;
  options.files.block_bytes = session.options.nvme_block_size;
  options.files.depth = session.options.nvme_queue_depth;
  options.deadline_seconds = session.options.deadline_seconds;
  options.record_times = !session.options.trace.empty();
  options.debug_nonfinite = session.options.debug_nonfinite;
  options.machine = &machine;
  options.collectives = &collectives;
  options.control = &control;
  ZG_ASSIGN_OR_RETURN(trainer, Trainer::create(*session.loaded, options));
  ZG_RETURN_IF_ERROR(checkpoints.open(trainer->memory()));
  ready_at = Clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  return absl::OkStatus();
}

absl::StatusOr<StepResult> RankRun::trainStep(uint64_t step) {
  auto batchOf = [&](uint64_t number) {
    return FileBatch(session.plan(), *session.data, *session.order, rank(),
                     number);
  };
  FileBatch batch = batchOf(step), next = batchOf(step + 1);
  bool last = step + 1 == session.steps;
  ZG_RETURN_IF_ERROR(trainer->accumulate(batch, session.wantsToStop(),
                                         last ? nullptr : &next));
  // Gradients are written before the update, which zeroes what micro-batches
  // have accumulated.
  if (step == session.firstStep()) {
    ZG_ASSIGN_OR_RETURN(double scale, trainer->meanScale());
    ZG_RETURN_IF_ERROR(
        writeFile({"dumping gradients", session.options.dump_gradients,
                   Session::gradientOptions(scale / trainer->lossScale())},
                  session.gradients));
  }
  return trainer->update();
}

TrafficCount RankRun::receivedSince(const TrafficCount &before) const {
  TrafficCount now = collectives.traffic();
  return {now.gather - before.gather, now.reduce - before.reduce,
          now.scalar - before.scalar};
}

absl::StatusOr<EvalRecord> RankRun::evaluate(uint64_t step) {
  TrafficCount before = collectives.traffic();
  Clock::time_point begin = Clock::now();
  absl::StatusOr<double> loss = session.evaluation->run(*trainer, rank());
  if (!loss.ok()) {
    return annotate(loss.status(),
                    absl::StrCat("evaluation after step ", step));
  }
  rank_result.evaluation = receivedSince(before);
  return EvalRecord{*loss, session.evaluation->data().samples(),
                    millisecondsSince(begin)};
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
    if (rank() == 0 && session.result.nonfinite_weight.empty()) {
      session.result.nonfinite_weight = text;
    }
  }
  return absl::OkStatus();
}

/// Records a step; rank 0 calls it.
void RankRun::recordStep(const StepRecord &record) {
  session.result.losses.push_back(record.loss);
  session.result.step_ms.push_back(record.step_ms);
  if (record.eval) {
    session.result.eval_losses[record.step] = record.eval->loss;
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
  if (rank() == 0) {
    session.begin();
  }
  for (uint64_t step = first; step < steps; ++step) {
    TrafficCount before = collectives.traffic();
    Clock::time_point begin = Clock::now();
    absl::StatusOr<StepResult> result = trainStep(step);
    if (!result.ok()) {
      return annotate(result.status(), absl::StrCat("step ", step));
    }
    double ms = millisecondsSince(begin);
    TrafficCount received = receivedSince(before);
    TrafficCount &total = rank_result.total;
    total = {total.gather + received.gather, total.reduce + received.reduce,
             total.scalar + received.scalar};
    if (step == first) {
      rank_result.first_step = received;
      rank_result.first_crossing = trainer->crossed();
    }
    StepRecord record;
    record.step = step;
    record.loss = result->loss;
    record.gradient_norm = result->gradient_norm;
    record.learning_rate = result->learning_rate;
    record.step_ms = ms;
    record.samples_per_s = double(session.data->samplesOfStep()) / ms * 1e3;
    record.skipped = result->skipped;
    if (session.plan().has_loss_scale()) {
      record.loss_scale = result->loss_scale;
    }
    if (session.evaluatesAfter(step) && !result->stop) {
      ZG_ASSIGN_OR_RETURN(record.eval, evaluate(step));
    }
    if (rank() == 0) {
      skipped += result->skipped;
      recordStep(record);
    }
    ZG_RETURN_IF_ERROR(
        checkpoints.afterStep(*trainer, result->stop || step + 1 == steps));
    if (result->stop) {
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
    size_t steps = session.result.losses.size();
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

absl::Status RankRun::collectAdapters() {
  WeightSink sink = [&](const std::string &name, uint64_t offset,
                        uint64_t bytes, const void *data) {
    return session.merged->write(name, offset, bytes, data);
  };
  WeightFileOptions options;
  options.adapters_only = true;
  return gatherWeights(control, "collecting adapters", Receivers::All, sink,
                       session.plan(), options, trainer->memory());
}

/// Notes that the run ends with this step because it was asked to.
void RankRun::noteStop(uint64_t step) {
  if (rank() == 0 && step + 1 < session.steps) {
    session.result.stopped = true;
    session.result.stop_signal = session.signal ? session.signal->number() : 0;
  }
}

absl::Status RankRun::writeFile(const SaveRequest &request,
                                std::unique_ptr<SafetensorsWriter> &writer) {
  if (request.path.empty()) {
    return absl::OkStatus();
  }
  ZG_ASSIGN_OR_RETURN(
      std::string elsewhere,
      saveFile(control, request, writer, session.plan(), trainer->memory()));
  if (rank() == 0 && !elsewhere.empty()) {
    session.result.elsewhere[request.path] = elsewhere;
  }
  return absl::OkStatus();
}
