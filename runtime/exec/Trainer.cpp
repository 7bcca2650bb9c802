//===- Trainer.cpp - training with a plan, a step at a time ---------------===//

#include "runtime/exec/Trainer.h"

#include "runtime/comm/local/LocalGroup.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/SameStates.h"
#include "runtime/plan/Totals.h"
#include "runtime/plan/UnitParts.h"

#include <cmath>
#include <utility>

using namespace zerograph;

Trainer::Trainer(const LoadedPlan &loaded, const TrainerOptions &options)
    : plans{{&loaded.plan, {}}}, options(options), loss_scaler(loaded.plan) {
  scalars.seed = options.seed;
  steps_done = options.begin.steps;
  updates_done = options.begin.updates;
  if (options.begin.loss_scale) {
    loss_scaler.restore(*options.begin.loss_scale);
  }
}

absl::StatusOr<std::unique_ptr<Trainer>>
Trainer::create(const LoadedPlan &loaded, const TrainerOptions &options) {
  std::unique_ptr<Trainer> trainer(new Trainer(loaded, options));
  absl::Status status = trainer->prepare();
  if (!status.ok()) {
    return trainer->fail(status);
  }
  return trainer;
}

absl::Status Trainer::prepare() {
  if (!options.collectives || !options.control) {
    alone = makeLocalGroup({});
    options.collectives = alone[0].get();
    options.control = alone[0].get();
  }
  const plan::Plan &first = usedPlan();
  if (options.control->world() != worldOf(first)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the plan is for ", worldOf(first),
                     " ranks, and there are ", options.control->world()));
  }
  if (!options.machine) {
    ZG_ASSIGN_OR_RETURN(own_machine, Machine::open(first));
    ZG_RETURN_IF_ERROR(own_machine.checkRoom(first));
    for (const LoadedPlan *other : options.also) {
      ZG_RETURN_IF_ERROR(own_machine.add(first, other->plan));
    }
    options.machine = &own_machine;
  }
  ZG_RETURN_IF_ERROR(comparePlans());
  scalars.learning_rate = options.learning_rate;
  scalars.rank = options.control->rank();
  DeviceOptions wanted;
  wanted.rank = options.control->rank();
  wanted.threads = threadsOf(options.threads, worldOf(first));
  wanted.ranks = options.ranks_here;
  wanted.processes = options.processes_here;
  bool one_by_one = options.record_times || options.debug_nonfinite;
  wanted.graphs = one_by_one ? Graphs::Off : options.graphs;
  wanted.files = options.files;
  wanted.deadline = std::chrono::duration<double>(options.deadline_seconds);
  ZG_ASSIGN_OR_RETURN(RankDevices devices,
                      options.machine->createDevices(wanted));
  ZG_RETURN_IF_ERROR(options.collectives->open());
  ZG_RETURN_IF_ERROR(bindPlans(std::move(devices)));
  if (options.record_times) {
    executor->recordTimes();
  }
  if (options.debug_nonfinite) {
    executor->searchNonfinite();
  }
  for (Used &one : plans) {
    ZG_RETURN_IF_ERROR(prepare(one));
  }
  if (options.initialize) {
    ZG_RETURN_IF_ERROR(options.initialize(executor->memory()));
  }
  return options.control->barrier("reading weights");
}

void Trainer::abort(const absl::Status &status) {
  if (executor) {
    executor->abort(status);
  } else if (options.collectives) {
    options.collectives->abort(status);
  }
  if (options.control) {
    options.control->abort(status);
  }
}

/// Checks that all ranks have the same plans, and libraries that compute alike.
absl::Status Trainer::comparePlans() const {
  ControlPlane &control = *options.control;
  std::string hashes = control.world() > 1 ? hashOfRanks(usedPlan()) : "";
  std::string choices = options.machine->module->choices();
  for (size_t i = 0; i < options.also.size(); ++i) {
    if (control.world() > 1) {
      absl::StrAppend(&hashes, " ", hashOfRanks(options.also[i]->plan));
    }
    absl::StrAppend(&choices, options.machine->added[i].module->choices());
  }
  if (control.world() > 1) {
    ZG_RETURN_IF_ERROR(compareHashes(control, hashes));
  }
  return compareChoices(control, choices);
}

/// Binds all plans to the same arenas.
absl::Status Trainer::bindPlans(RankDevices devices) {
  std::vector<const plan::Plan *> all = {&usedPlan()};
  for (const LoadedPlan *other : options.also) {
    all.push_back(&other->plan);
    plans.push_back({&other->plan, {}});
  }
  ZG_ASSIGN_OR_RETURN(executor,
                      Executor::create(usedPlan(), *options.collectives,
                                       std::move(devices), roomOf(all)));
  for (size_t i = 0; i < options.also.size(); ++i) {
    ZG_RETURN_IF_ERROR(executor->add(options.also[i]->plan,
                                     options.machine->added[i].byDevice()));
  }
  return absl::OkStatus();
}

/// Finds a plan's programs, which are bound, and zeroes what is carried.
absl::Status Trainer::prepare(Used &one) {
  ZG_ASSIGN_OR_RETURN(one.programs, TrainingPrograms::of(*one.plan));
  one.programs.moveBy(unsigned(staging.size()));
  for (int i = 0; i < one.plan->programs_size(); ++i) {
    ZG_ASSIGN_OR_RETURN(Staging slots,
                        Staging::create(*one.plan, unsigned(i), memory()));
    staging.push_back(std::move(slots));
  }
  return zeroStates(*one.plan, memory());
}

absl::Status Trainer::use(size_t number) {
  if (number == used) {
    return absl::OkStatus();
  }
  used = number;
  read_ahead = false;
  absl::Status zeroed = zeroGradients();
  return zeroed.ok() ? zeroed : fail(zeroed);
}

/// Zeroes where gradients are added up, padding too, of which a norm is made:
/// steps of another plan may have written there.
absl::Status Trainer::zeroGradients() const {
  for (const plan::Unit &unit : usedPlan().units()) {
    for (const plan::State &state : unit.states()) {
      bool isCarried = usedPlan().slices(int(state.slice())).carried();
      if (isCarried && roleOf(state) == Role::Gradient) {
        ZG_RETURN_IF_ERROR(memory().slice(usedPlan(), state.slice()).fill());
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Trainer::fail(const absl::Status &status) {
  abort(status);
  return status;
}

absl::Status Trainer::readMicroBatch(unsigned program, const Batch &batch,
                                     uint64_t micro_batch) {
  return staging[program].read(
      [&](int input, std::byte *room,
          uint64_t bytes) -> absl::StatusOr<const std::byte *> {
        if (auto *found = batch.find(micro_batch, input, bytes)) {
          return found;
        }
        ZG_RETURN_IF_ERROR(batch.read(micro_batch, input, room, bytes));
        return room;
      });
}

uint64_t Trainer::sampleBase(uint64_t micro_batch) const {
  return (micro_batch * worldOf(usedPlan()) + memory().rank) *
         usedPlan().micro_batch();
}

absl::Status Trainer::runProgram(unsigned program, unsigned slot,
                                 std::optional<uint64_t> k,
                                 absl::FunctionRef<void()> meanwhile) {
  ZG_RETURN_IF_ERROR(executor->run(program, slot, meanwhile));
  if (!options.debug_nonfinite) {
    return absl::OkStatus();
  }
  absl::Status status =
      agreeOnOrigin(*options.control, executor->nonfiniteOrigin(program));
  return status.ok() || !k ? status
                           : annotate(status, absl::StrCat("micro-batch ", *k));
}

/// Runs micro-batches; each is read while the one before it runs.
absl::Status Trainer::runMicroBatches(const Batch &batch, const Batch *next) {
  if (!std::exchange(read_ahead, false)) {
    ZG_RETURN_IF_ERROR(readMicroBatch(programs().micro, batch, 0));
  }
  for (uint64_t k = 0; k < programs().micro_batches; ++k) {
    scalars.sample_base = sampleBase(k);
    ZG_ASSIGN_OR_RETURN(unsigned slot,
                        staging[programs().micro].write(scalars));
    bool last = k + 1 == programs().micro_batches;
    absl::Status read;
    ZG_RETURN_IF_ERROR(runProgram(programs().micro, slot, k, [&] {
      if (!last) {
        read = readMicroBatch(programs().micro, batch, k + 1);
      } else if (next) {
        read = readMicroBatch(programs().micro, *next, 0);
        read_ahead = read.ok();
      }
    }));
    // The next step reads it again, and says what is wrong.
    ZG_RETURN_IF_ERROR(last ? absl::OkStatus() : read);
  }
  return absl::OkStatus();
}

absl::Status Trainer::accumulate(const Batch &batch, bool stop,
                                 const Batch *next) {
  scalars.step = steps_done + 1;
  scalars.update = updates_done + 1;
  scalars.loss_scale = loss_scaler.scale();
  scalars.stop = stop;
  auto run = [&] {
    if (options.debug_nonfinite && steps_done == options.begin.steps) {
      ZG_RETURN_IF_ERROR(checkBeginning(state()));
    }
    ZG_RETURN_IF_ERROR(zeroTotals(/*evaluated=*/false));
    return runMicroBatches(batch, next);
  };
  absl::Status status = run();
  return status.ok() ? status : fail(status);
}

absl::StatusOr<StepResult> Trainer::update() {
  auto run = [&]() -> absl::StatusOr<StepResult> {
    if (programs().update) {
      ZG_ASSIGN_OR_RETURN(unsigned slot,
                          staging[*programs().update].write(scalars));
      ZG_RETURN_IF_ERROR(runProgram(*programs().update, slot, std::nullopt));
    }
    ZG_ASSIGN_OR_RETURN(StepResult result, readResult());
    ZG_RETURN_IF_ERROR(loss_scaler.update(result.skipped));
    return result;
  };
  absl::StatusOr<StepResult> result = run();
  if (!result.ok()) {
    return fail(result.status());
  }
  ++steps_done;
  updates_done += !result->skipped;
  return result;
}

absl::Status Trainer::discard() const {
  return forHeld(usedPlan(), memory(), [](const ParameterPart &part) {
    return roleOf(*part.state) == Role::Gradient ? part.bytes.fill()
                                                 : absl::OkStatus();
  });
}

absl::StatusOr<StepResult> Trainer::step(const Batch &batch, bool stop,
                                         const Batch *next) {
  ZG_RETURN_IF_ERROR(accumulate(batch, stop, next));
  return update();
}

absl::Status Trainer::runEvaluation(const Batch &batch,
                                    absl::Span<const double> weights) {
  unsigned program = *programs().evaluate;
  ScalarInputs inputs = scalars;
  absl::Status read =
      weights.empty() ? absl::OkStatus() : readMicroBatch(program, batch, 0);
  for (uint64_t k = 0; k < weights.size(); ++k) {
    ZG_RETURN_IF_ERROR(read);
    inputs.weight = weights[k];
    inputs.sample_base = sampleBase(k);
    ZG_ASSIGN_OR_RETURN(unsigned slot, staging[program].write(inputs));
    ZG_RETURN_IF_ERROR(runProgram(program, slot, k, [&] {
      if (k + 1 < weights.size()) {
        read = readMicroBatch(program, batch, k + 1);
      }
    }));
  }
  return absl::OkStatus();
}

absl::Status Trainer::zeroTotals(bool evaluated) const {
  for (const KnownTotal &known : totalsOf(usedPlan())) {
    if (known.evaluated == evaluated) {
      ZG_RETURN_IF_ERROR(
          memory().slice(usedPlan(), known.total->slice()).fill());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<EvaluatedSum>
Trainer::evaluate(const Batch &batch, absl::Span<const double> weights) {
  auto run = [&]() -> absl::StatusOr<EvaluatedSum> {
    if (!programs().evaluate) {
      return absl::FailedPreconditionError(
          "the plan was compiled without an evaluation");
    }
    ZG_RETURN_IF_ERROR(zeroTotals(/*evaluated=*/true));
    ZG_RETURN_IF_ERROR(runEvaluation(batch, weights));
    EvaluatedSum sum;
    ZG_ASSIGN_OR_RETURN(sum.loss, readTotal(usedPlan().evaluation()));
    if (usedPlan().has_evaluation_count()) {
      ZG_ASSIGN_OR_RETURN(sum.count, readTotal(usedPlan().evaluation_count()));
    }
    ZG_ASSIGN_OR_RETURN(sum.metrics,
                        readTotals(usedPlan().evaluation_metrics()));
    return sum;
  };
  absl::StatusOr<EvaluatedSum> sum = run();
  return sum.ok() ? sum : fail(sum.status());
}

absl::StatusOr<double> Trainer::meanScale() const {
  if (!usedPlan().has_loss_count()) {
    return gradientScale(usedPlan());
  }
  ZG_ASSIGN_OR_RETURN(double count, readTotal(usedPlan().loss_count()));
  return 1 / count;
}

absl::StatusOr<double> Trainer::readTotal(const plan::Total &total) const {
  double wide = 0;
  float narrow = 0;
  bool isWide = total.type() == plan::F64;
  ZG_RETURN_IF_ERROR(memory()
                         .slice(usedPlan(), total.slice())
                         .read(isWide ? static_cast<void *>(&wide) : &narrow));
  return isWide ? wide : double(narrow);
}

absl::StatusOr<std::vector<double>> Trainer::readTotals(
    const google::protobuf::RepeatedPtrField<plan::Total> &totals) const {
  std::vector<double> sums;
  for (const plan::Total &total : totals) {
    ZG_ASSIGN_OR_RETURN(double sum, readTotal(total));
    sums.push_back(sum);
  }
  return sums;
}

/// Reads the sums, which every rank has alike.
absl::StatusOr<StepResult> Trainer::readResult() const {
  StepResult result;
  ZG_ASSIGN_OR_RETURN(double loss, readTotal(usedPlan().loss()));
  ZG_ASSIGN_OR_RETURN(double scale, meanScale());
  result.loss = loss * scale;
  ZG_ASSIGN_OR_RETURN(result.metrics, readTotals(usedPlan().metrics()));
  for (double &metric : result.metrics) {
    metric *= gradientScale(usedPlan());
  }
  ZG_ASSIGN_OR_RETURN(double stops, readTotal(usedPlan().stop()));
  result.stop = stops > 0;
  result.learning_rate = learningRate(usedPlan(), scalars);
  result.loss_scale = scalars.loss_scale;
  if (usedPlan().has_gradient_norm()) {
    ZG_RETURN_IF_ERROR(memory()
                           .slice(usedPlan(), usedPlan().gradient_norm())
                           .read(&result.gradient_norm.emplace()));
    result.skipped =
        usedPlan().skip_nonfinite() && !std::isfinite(*result.gradient_norm);
  }
  return result;
}

std::vector<ParameterPart> Trainer::state() const {
  std::vector<ParameterPart> parts;
  for (const plan::Unit &unit : usedPlan().units()) {
    for (const plan::State &state : unit.states()) {
      for (const HeldRange &range :
           heldRanges(usedPlan(), unit, state, memory())) {
        for (ParameterPart &part : partsOf(unit, state, range)) {
          parts.push_back(std::move(part));
        }
      }
    }
  }
  return parts;
}
