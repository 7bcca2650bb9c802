//===- RankRun.cpp - one rank's part of a training run --------------------===//

#include "runtime/exec/RankRun.h"

#include "runtime/exec/GatherWeights.h"
#include "runtime/exec/Scalars.h"
#include "runtime/plan/Describe.h"

#include <algorithm>
#include <chrono>
#include <cmath>

using namespace zerograph;

DeviceRange RankRun::rangeOf(uint32_t slice) const {
  return executor->memory().slice(session.plan(), slice);
}

absl::StatusOr<double> RankRun::lossSum() const {
  const plan::Plan &plan = session.plan();
  if (floatType(plan, plan.loss_slice()) == plan::F64) {
    double sum = 0;
    ZG_RETURN_IF_ERROR(rangeOf(plan.loss_slice()).read(&sum));
    return sum;
  }
  float sum = 0;
  ZG_RETURN_IF_ERROR(rangeOf(plan.loss_slice()).read(&sum));
  return double(sum);
}

absl::StatusOr<bool> RankRun::someoneStops() const {
  float count = 0;
  ZG_RETURN_IF_ERROR(rangeOf(session.plan().stop_slice()).read(&count));
  return count > 0;
}

absl::Status RankRun::run() {
  absl::Status status = prepare();
  if (status.ok()) {
    status = trainSteps();
  }
  if (status.ok()) {
    status = writeFile(session.options.save_weights, session.weights.get(),
                       "saving weights", {});
  }
  if (!status.ok()) {
    abort(status);
    return status;
  }
  for (const auto &arena : executor->arenas()) {
    rank_result.arena_bytes += arena->bytes();
    rank_result.touched.push_back(arena->touchedEnd());
  }
  return absl::OkStatus();
}

absl::Status RankRun::prepare() {
  ZG_RETURN_IF_ERROR(compareHashes(control, session.loaded->hash_hex));
  ZG_ASSIGN_OR_RETURN(auto device, session.machine.driver->createDevice(
                                       {rank(), session.options.threads}));
  ZG_ASSIGN_OR_RETURN(executor,
                      Executor::create(session.plan(), collectives,
                                       std::move(device),
                                       *session.machine.module));
  if (!session.options.trace.empty()) {
    executor->recordTimes();
  }
  ZG_RETURN_IF_ERROR(session.sources->initialize(executor->memory()));
  ZG_RETURN_IF_ERROR(control.barrier("reading weights"));
  ready_at = std::chrono::steady_clock::now().time_since_epoch() /
             std::chrono::nanoseconds(1);
  return absl::OkStatus();
}

uint64_t RankRun::sampleBase(uint64_t micro_batch) const {
  const plan::Plan &plan = session.plan();
  return (micro_batch * plan.world() + rank()) * plan.micro_batch();
}

absl::Status RankRun::readInputs(uint64_t step, uint64_t micro_batch) {
  const plan::Plan &plan = session.plan();
  // The data begins anew where it ends, after whole steps.
  uint64_t first =
      (step * session.data->samplesOfStep() + sampleBase(micro_batch)) %
      session.data->samples();
  for (int i = 0; i < plan.inputs_size(); ++i) {
    DeviceRange range = rangeOf(plan.inputs(i).slice());
    input.resize(std::max<size_t>(input.size(), range.bytes));
    ZG_RETURN_IF_ERROR(session.data->read(i, first, input.data()));
    ZG_RETURN_IF_ERROR(range.write(input.data()));
  }
  return absl::OkStatus();
}

absl::Status RankRun::trainStep(uint64_t step, bool stop) {
  const plan::Plan &plan = session.plan();
  // Every step makes its update.
  ScalarInputs scalars{session.learningRate(), /*step=*/step + 1,
                       /*update=*/step + 1, stop, session.options.seed};
  ZG_RETURN_IF_ERROR(rangeOf(plan.loss_slice()).fill());
  ZG_RETURN_IF_ERROR(rangeOf(plan.stop_slice()).fill());
  for (uint64_t k = 0; k < session.micro_batches; ++k) {
    ZG_RETURN_IF_ERROR(readInputs(step, k));
    scalars.sample_base = sampleBase(k);
    ZG_RETURN_IF_ERROR(writeScalars(plan, scalars, executor->memory()));
    ZG_RETURN_IF_ERROR(executor->run(session.micro));
  }
  // Before the update, which zeroes what micro-batches have accumulated.
  if (step == 0) {
    ZG_RETURN_IF_ERROR(writeFile(session.options.dump_gradients,
                                 session.gradients.get(), "dumping gradients",
                                 session.gradientOptions()));
  }
  if (session.update) {
    ZG_RETURN_IF_ERROR(writeScalars(plan, scalars, executor->memory()));
    ZG_RETURN_IF_ERROR(executor->run(*session.update));
  }
  return absl::OkStatus();
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
    absl::Status status = trainStep(step, session.wantsToStop());
    if (!status.ok()) {
      return annotate(status, absl::StrCat("step ", step));
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
    // Every rank has the same sum of losses and of wishes to stop.
    ZG_ASSIGN_OR_RETURN(double loss_sum, lossSum());
    double loss = loss_sum * session.gradientScale();
    ZG_ASSIGN_OR_RETURN(bool stop, someoneStops());
    if (rank() == 0) {
      recordStep(step, loss, seconds * 1e3);
      StepRecord record{step, loss, session.learningRate(), seconds * 1e3,
                        double(session.data->samplesOfStep()) / seconds};
      ZG_RETURN_IF_ERROR(session.log->add(record));
      if (session.options.on_step) {
        session.options.on_step(record);
      }
      if (stop && step + 1 < session.options.steps) {
        session.result.stopped = true;
        session.result.stop_signal =
            session.signal ? session.signal->number() : 0;
      }
    }
    if (stop) {
      return absl::OkStatus();
    }
  }
  if (rank() == 0) {
    ZG_RETURN_IF_ERROR(session.log->start()); // of no step
  }
  return absl::OkStatus();
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
                                     options, executor->memory()));
  } else {
    ZG_RETURN_IF_ERROR(
        writeWeights(*writer, session.plan(), options, executor->memory()));
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
