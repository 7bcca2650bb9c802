//===- Trainer.cpp - training with a plan, a step at a time ---------------===//

#include "runtime/exec/Trainer.h"

#include "runtime/comm/local/LocalGroup.h"
#include "runtime/plan/Mesh.h"

using namespace zerograph;

Trainer::Trainer(const LoadedPlan &loaded, const TrainerOptions &options)
    : loaded(loaded), plan(loaded.plan), options(options) {
  scalars.seed = options.seed;
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
  if (options.control->world() != worldOf(plan)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the plan is for ", worldOf(plan),
                     " ranks, and there are ", options.control->world()));
  }
  if (!options.machine) {
    ZG_ASSIGN_OR_RETURN(own_machine, Machine::open(plan));
    ZG_RETURN_IF_ERROR(own_machine.checkArenas(plan, 1));
    options.machine = &own_machine;
  }
  ZG_RETURN_IF_ERROR(compareHashes(*options.control, loaded.hash_hex));
  ZG_ASSIGN_OR_RETURN(programs, TrainingPrograms::of(plan));
  // A plan that trains has a group.
  scalars.learning_rate =
      options.learning_rate.value_or(plan.groups(0).learning_rate());
  ZG_ASSIGN_OR_RETURN(auto device,
                      options.machine->driver->createDevice(
                          {options.control->rank(),
                           threadsOf(options.threads, worldOf(plan))}));
  ZG_ASSIGN_OR_RETURN(executor, Executor::create(plan, *options.collectives,
                                                 std::move(device),
                                                 *options.machine->module));
  if (options.record_times) {
    executor->recordTimes();
  }
  for (int i = 0; i < plan.programs_size(); ++i) {
    ZG_ASSIGN_OR_RETURN(Staging slots,
                        Staging::create(plan, unsigned(i), memory()));
    staging.push_back(std::move(slots));
  }
  ZG_RETURN_IF_ERROR(zeroStates(plan, executor->memory()));
  if (options.initialize) {
    ZG_RETURN_IF_ERROR(options.initialize(executor->memory()));
  }
  return options.control->barrier("reading weights");
}

absl::Status Trainer::fail(const absl::Status &status) {
  if (options.collectives) {
    options.collectives->abort(status);
    options.control->abort(status);
  }
  return status;
}

absl::Status Trainer::runMicroBatch(const Batch &batch, uint64_t micro_batch) {
  scalars.sample_base =
      (micro_batch * worldOf(plan) + memory().rank) * plan.micro_batch();
  return runProgram(programs.micro,
                    [&](int input, std::byte *to, uint64_t bytes) {
                      return batch.read(micro_batch, input, to, bytes);
                    });
}

absl::Status Trainer::runProgram(unsigned program, Staging::ReadInput read) {
  ZG_ASSIGN_OR_RETURN(unsigned slot, staging[program].write(scalars, read));
  return executor->run(program, slot);
}

absl::Status Trainer::accumulate(const Batch &batch, bool stop) {
  // Every step makes its update.
  scalars.step = scalars.update = steps_done + 1;
  scalars.stop = stop;
  auto run = [&] {
    ZG_RETURN_IF_ERROR(memory().slice(plan, plan.loss().slice()).fill());
    ZG_RETURN_IF_ERROR(memory().slice(plan, plan.stop().slice()).fill());
    for (uint64_t k = 0; k < programs.micro_batches; ++k) {
      ZG_RETURN_IF_ERROR(runMicroBatch(batch, k));
    }
    return absl::OkStatus();
  };
  absl::Status status = run();
  return status.ok() ? status : fail(status);
}

absl::StatusOr<StepResult> Trainer::update() {
  auto run = [&]() -> absl::StatusOr<StepResult> {
    if (programs.update) {
      ZG_RETURN_IF_ERROR(
          runProgram(*programs.update, [](int, std::byte *, uint64_t) {
            return absl::InternalError("an update has no inputs");
          }));
    }
    return readResult();
  };
  absl::StatusOr<StepResult> result = run();
  if (!result.ok()) {
    return fail(result.status());
  }
  ++steps_done;
  return result;
}

absl::StatusOr<StepResult> Trainer::step(const Batch &batch, bool stop) {
  ZG_RETURN_IF_ERROR(accumulate(batch, stop));
  return update();
}

/// Every rank has the same sums.
absl::StatusOr<StepResult> Trainer::readResult() const {
  double loss = 0;
  float rounded = 0, stops = 0;
  bool wide = plan.loss().type() == plan::F64;
  ZG_RETURN_IF_ERROR(memory()
                         .slice(plan, plan.loss().slice())
                         .read(wide ? static_cast<void *>(&loss) : &rounded));
  ZG_RETURN_IF_ERROR(memory().slice(plan, plan.stop().slice()).read(&stops));
  loss = wide ? loss : double(rounded);
  return StepResult{loss * gradientScale(plan), stops > 0};
}

std::vector<ParameterPart> Trainer::state() const {
  std::vector<ParameterPart> parts;
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::State &state : unit.states()) {
      for (const HeldRange &range : heldRanges(plan, unit, state, memory())) {
        for (ParameterPart &part : partsOf(unit, state, range)) {
          parts.push_back(std::move(part));
        }
      }
    }
  }
  return parts;
}
