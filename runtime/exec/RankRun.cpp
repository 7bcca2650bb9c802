//===- RankRun.cpp - one rank's part of a training run --------------------===//

#include "runtime/exec/RankRun.h"

#include "runtime/exec/GatherWeights.h"
#include "runtime/plan/Memory.h"

#include <chrono>
#include <cmath>

using namespace zerograph;

absl::Status RankRun::run() {
  absl::Status status = prepare();
  if (status.ok()) {
    status = trainSteps();
  }
  if (status.ok() && session.merged) {
    status = collectAdapters();
  }
  if (status.ok()) {
    status = writeFile(session.options.save_weights, session.weights.get(),
                       "saving weights", session.weightOptions());
  }
  if (status.ok()) {
    status = writeFile(session.options.save_adapters, session.adapters.get(),
                       "saving adapters", Session::adapterOptions());
  }
  if (status.ok()) {
    status = writeFile(session.options.dump_states, session.states.get(),
                       "dumping optimizer states", Session::stateOptions());
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
    return session.sources->initialize(memory);
  };
  options.learning_rate = session.options.learning_rate;
  options.seed = session.options.seed;
  options.threads = session.options.threads;
  options.graphs = session.options.graphs;
  options.deadline_seconds = session.options.deadline_seconds;
  options.record_times = !session.options.trace.empty();
  options.machine = &machine;
  options.collectives = &collectives;
  options.control = &control;
  ZG_ASSIGN_OR_RETURN(trainer, Trainer::create(*session.loaded, options));
  ready_at = std::chrono::steady_clock::now().time_since_epoch() /
             std::chrono::nanoseconds(1);
  return absl::OkStatus();
}

absl::StatusOr<StepResult> RankRun::trainStep(uint64_t step) {
  auto batchOf = [&](uint64_t number) {
    return FileBatch(session.plan(), *session.data, *session.order, rank(),
                     number);
  };
  FileBatch batch = batchOf(step), next = batchOf(step + 1);
  bool last = step + 1 == session.options.steps;
  ZG_RETURN_IF_ERROR(trainer->accumulate(batch, session.wantsToStop(),
                                         last ? nullptr : &next));
  // Before the update, which zeroes what micro-batches have accumulated.
  if (step == 0) {
    ZG_RETURN_IF_ERROR(writeFile(session.options.dump_gradients,
                                 session.gradients.get(), "dumping gradients",
                                 session.gradientOptions()));
  }
  return trainer->update();
}

void RankRun::recordStep(uint64_t step, double loss, double milliseconds) {
  session.result.losses.push_back(loss);
  session.result.step_ms.push_back(milliseconds);
  if (!std::isfinite(loss) && !said_not_finite) {
    said_not_finite = true;
    session.log->endLine();
    session.say(absl::StrCat("the loss of step ", step, " is ",
                             std::isnan(loss) ? "not a number" : "infinite",
                             "; the run goes on"));
  }
}

absl::Status RankRun::trainSteps() {
  using Clock = std::chrono::steady_clock;
  for (uint64_t step = 0; step < session.options.steps; ++step) {
    TrafficCount before = collectives.traffic();
    Clock::time_point begin = Clock::now();
    absl::StatusOr<StepResult> result = trainStep(step);
    if (!result.ok()) {
      return annotate(result.status(), absl::StrCat("step ", step));
    }
    double seconds =
        std::chrono::duration<double>(Clock::now() - begin).count();

    TrafficCount &total = rank_result.total;
    TrafficCount now = collectives.traffic();
    TrafficCount &first = rank_result.first_step;
    total = now;
    if (step == 0) {
      first = {now.gather - before.gather, now.reduce - before.reduce,
               now.scalar - before.scalar};
    }
    double loss = result->loss;
    if (rank() == 0) {
      recordStep(step, loss, seconds * 1e3);
      skipped += result->skipped;
      StepRecord record{step,
                        loss,
                        result->gradient_norm,
                        result->learning_rate,
                        seconds * 1e3,
                        double(session.data->samplesOfStep()) / seconds,
                        std::nullopt,
                        result->skipped};
      if (session.plan().has_loss_scale()) {
        record.loss_scale = result->loss_scale;
      }
      ZG_RETURN_IF_ERROR(session.log->add(record));
      if (session.events) {
        ZG_RETURN_IF_ERROR(session.events->add(step, numbersOf(record)));
      }
      if (session.options.on_step) {
        session.options.on_step(record);
      }
      if (result->stop && step + 1 < session.options.steps) {
        session.result.stopped = true;
        session.result.stop_signal =
            session.signal ? session.signal->number() : 0;
      }
    }
    if (result->stop) {
      break;
    }
  }
  if (rank() == 0) {
    ZG_RETURN_IF_ERROR(session.log->start()); // of no step
    saySkipped();
  }
  return absl::OkStatus();
}

void RankRun::saySkipped() const {
  if (skipped > 0) {
    session.log->endLine();
    session.say(absl::StrCat(skipped, " of ", session.result.losses.size(),
                             " steps updated nothing, since their gradients "
                             "were not all finite"));
  }
}

absl::Status RankRun::collectAdapters() {
  constexpr char kWhat[] = "collecting adapters";
  WeightSink sink = [&](const std::string &name, uint64_t offset,
                        uint64_t bytes, const void *data) {
    return session.merged->write(name, offset, bytes, data);
  };
  WeightFileOptions options;
  options.adapters_only = true;
  if (!control.inOneProcess()) {
    return shareWeights(control, kWhat, sink, session.plan(), options,
                        trainer->memory());
  }
  ZG_RETURN_IF_ERROR(
      writeWeights(sink, session.plan(), options, trainer->memory()));
  return control.barrier(kWhat);
}

absl::Status RankRun::writeFile(const std::string &path,
                                SafetensorsWriter *writer,
                                const std::string &what,
                                const WeightFileOptions &options) {
  if (path.empty()) {
    return absl::OkStatus();
  }
  if (!control.inOneProcess()) {
    ZG_RETURN_IF_ERROR(gatherWeights(control, what, writer, session.plan(),
                                     options, trainer->memory()));
  } else {
    ZG_RETURN_IF_ERROR(
        writeWeights(*writer, session.plan(), options, trainer->memory()));
    ZG_RETURN_IF_ERROR(control.barrier(what));
  }
  if (rank() != 0) {
    return absl::OkStatus();
  }
  control.setBusy(true);
  absl::Status status = writer->commit();
  control.setBusy(false);
  return status;
}
