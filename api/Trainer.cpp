//===- Trainer.cpp - trainers of the C interface --------------------------===//

#include "api/Arrays.h"
#include "api/Options.h"
#include "api/Plan.h"
#include "runtime/base/ContentName.h"
#include "runtime/device/host/HostBuffer.h"
#include "runtime/exec/LiveRun.h"
#include "tools/cli/TrainFlags.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

using namespace zerograph;

struct zg_trainer {
  std::shared_ptr<const CompiledPlan> made;
  std::vector<std::shared_ptr<const CompiledPlan>> also;
  std::shared_ptr<Processes> processes; // null: ranks are threads
  std::unique_ptr<LiveRun> run;
  api::Owner owner;
  StepResult last;
  EvaluatedSum evaluated;
};

namespace {

/// Does `api::guard` for a function of a trainer, in its own process alone.
zg_code onTrainer(const zg_trainer *trainer,
                  absl::FunctionRef<absl::Status()> work) {
  return api::guard([&]() -> absl::Status {
    ZG_RETURN_IF_ERROR(trainer->owner.check("trainer"));
    return work();
  });
}

/// Returns the options that ranks compare. Each process writes arrays and names
/// to files of its own.
std::map<std::string, std::string> optionsOfRanks(CLI::App &command) {
  std::map<std::string, std::string> given = givenOptions(command);
  for (auto &[option, value] : given) {
    value = pathOfRanks(value);
  }
  return given;
}

absl::Status open(zg_trainer &trainer, CLI::App &command, TrainFlags &flags) {
  ZG_ASSIGN_OR_RETURN(TrainOptions options, flags.ofLiveRun(*trainer.made));
  ZG_ASSIGN_OR_RETURN(trainer.processes,
                      api::joinProcesses(options.deadline_seconds));
  const LoadedPlan &plan = trainer.made->plan;
  for (const auto &other : trainer.also) {
    options.also.push_back(&other->plan);
  }
  if (!trainer.processes) {
    ZG_ASSIGN_OR_RETURN(trainer.run, LiveRun::open(plan, options));
    return absl::OkStatus();
  }
  Processes &processes = *trainer.processes;
  ControlPlane &control = processes.control();
  ZG_RETURN_IF_ERROR(processes.checkPlan(plan.plan));
  for (const LoadedPlan *other : options.also) {
    ZG_RETURN_IF_ERROR(processes.checkPlan(other->plan));
  }
  ZG_RETURN_IF_ERROR(compareSettings(control, optionsOfRanks(command)));
  options.processes_here = processes.peers().sharing();
  if (options.threads == 0) {
    options.threads = processes.threads();
  }
  ZG_ASSIGN_OR_RETURN(
      trainer.run,
      LiveRun::open(plan, options, &processes.collectives(), &control));
  return absl::OkStatus();
}

void give(const StepResult &made, zg_trainer *trainer, zg_step *step) {
  trainer->last = made;
  if (step) {
    *step = {
        made.loss,
        made.gradient_norm.value_or(std::numeric_limits<double>::quiet_NaN()),
        made.learning_rate, made.loss_scale, made.skipped};
  }
}

/// Returns a rate, or nothing for NaN: that of the plan.
absl::StatusOr<std::optional<double>> rateOf(double rate) {
  if (std::isinf(rate) || rate < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the learning rate is ", rate, ", expected a finite number from 0"));
  }
  return std::isnan(rate) ? std::nullopt : std::optional(rate);
}

absl::StatusOr<WeightFileOptions> optionsOf(const std::string &what) {
  WeightFileOptions options;
  if (what == "parameters") {
    return options;
  }
  if (what == "gradients") {
    options.role = Role::Gradient;
    options.trainable_only = true;
    return options;
  }
  if (what == "states") {
    options.role = Role::Optimizer;
    return options;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", what, "': expected parameters, gradients or states"));
}

using Entries = std::vector<SafetensorsWriter::Entry>;

absl::StatusOr<Entries> entriesOf(const zg_trainer *trainer,
                                  const WeightFileOptions &options,
                                  size_t count) {
  Entries entries = weightEntries(trainer->run->plan(), options);
  if (entries.size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " addresses are given, and there are ",
                     entries.size(), " arrays"));
  }
  return entries;
}

absl::Status read(zg_trainer *trainer, const char *what, void *const *addresses,
                  size_t count) {
  ZG_ASSIGN_OR_RETURN(WeightFileOptions options, optionsOf(what));
  ZG_ASSIGN_OR_RETURN(Entries entries, entriesOf(trainer, options, count));
  std::map<std::string, std::byte *> wanted;
  for (size_t i = 0; i < count; ++i) {
    if (addresses[i]) {
      wanted[entries[i].name] = static_cast<std::byte *>(addresses[i]);
    }
  }
  return trainer->run->read(options,
                            [&](const std::string &name, uint64_t offset,
                                uint64_t bytes, const void *data) {
                              auto to = wanted.find(name);
                              if (to != wanted.end()) {
                                std::memcpy(to->second + offset, data, bytes);
                              }
                              return absl::OkStatus();
                            });
}

/// Copies arrays that zg_trainer_find has told of: ranks read them while others
/// are written.
void copyApart(LiveRun &run, TensorFile &arrays,
               std::vector<std::string> &copies) {
  copies.reserve(arrays.size());
  for (Role role : {Role::Param, Role::Gradient, Role::Optimizer}) {
    WeightFileOptions options;
    options.role = role;
    for (const auto &[name, range] : run.whole(options)) {
      absl::StatusOr<std::byte *> held = hostAddress(range);
      for (auto &[given, extent] : arrays) {
        const std::byte *data = extent.file->memory();
        if (held.ok() && data < *held + range.bytes &&
            *held < data + extent.bytes) {
          copies.emplace_back(reinterpret_cast<const char *>(data),
                              extent.bytes);
          extent.file =
              File::ofMemory(given, copies.back().data(), extent.bytes);
        }
      }
    }
  }
}

absl::Status write(zg_trainer *trainer, const char *what,
                   const zg_array *arrays, size_t count, bool all) {
  ZG_ASSIGN_OR_RETURN(WeightFileOptions options, optionsOf(what));
  if (options.role == Role::Gradient) {
    return absl::UnimplementedError(
        "gradients cannot be written: what they are clipped by is part of the "
        "plan; compile with --clip-norm or --clip-value");
  }
  ZG_ASSIGN_OR_RETURN(TensorFile given, api::arraysOf(what, arrays, count));
  std::vector<std::string> copies;
  copyApart(*trainer->run, given, copies);
  return trainer->run->write(options.role, given, all);
}

absl::Status find(zg_trainer *trainer, const char *what, const void **addresses,
                  size_t count) {
  ZG_ASSIGN_OR_RETURN(WeightFileOptions options, optionsOf(what));
  ZG_ASSIGN_OR_RETURN(Entries entries, entriesOf(trainer, options, count));
  std::map<std::string, DeviceRange> whole = trainer->run->whole(options);
  for (size_t i = 0; i < count; ++i) {
    auto range = whole.find(entries[i].name);
    absl::StatusOr<std::byte *> address = absl::NotFoundError("");
    if (range != whole.end()) {
      address = hostAddress(range->second);
    }
    addresses[i] = address.ok() ? *address : nullptr;
  }
  return absl::OkStatus();
}

} // namespace

zg_code zg_trainer_create(const zg_plan *plan, const char *const *options,
                          size_t count, zg_trainer **trainer) {
  return zg_trainer_create_of(&plan, 1, options, count, trainer);
}

zg_code zg_trainer_create_of(const zg_plan *const *plans, size_t plan_count,
                             const char *const *options, size_t count,
                             zg_trainer **trainer) {
  return api::guard([&]() -> absl::Status {
    if (plan_count == 0) {
      return absl::InvalidArgumentError("a trainer needs a plan");
    }
    auto made = std::make_unique<zg_trainer>();
    for (const zg_plan *plan : absl::MakeSpan(plans, plan_count)) {
      ZG_RETURN_IF_ERROR(plan->owner.check("plan"));
      made->also.push_back(plan->made);
    }
    made->made = made->also.front();
    made->also.erase(made->also.begin());
    ZG_RETURN_IF_ERROR(api::withOptions<TrainFlags>(
        api::textsOf(options, count),
        [&](CLI::App &command, TrainFlags &flags) {
          return open(*made, command, flags);
        },
        kTrainer));
    *trainer = made.release();
    return absl::OkStatus();
  });
}

zg_code zg_trainer_step(zg_trainer *trainer, const zg_array *arrays,
                        size_t count, zg_step *step) {
  return onTrainer(trainer, [&]() -> absl::Status {
    ZG_ASSIGN_OR_RETURN(TensorFile batch,
                        api::arraysOf("the batch", arrays, count));
    ZG_ASSIGN_OR_RETURN(StepResult made, trainer->run->step(batch));
    give(made, trainer, step);
    return absl::OkStatus();
  });
}

zg_code zg_trainer_accumulate(zg_trainer *trainer, const zg_array *arrays,
                              size_t count) {
  return onTrainer(trainer, [&]() -> absl::Status {
    ZG_ASSIGN_OR_RETURN(TensorFile batch,
                        api::arraysOf("the batch", arrays, count));
    return trainer->run->accumulate(batch);
  });
}

zg_code zg_trainer_update(zg_trainer *trainer, zg_step *step) {
  return onTrainer(trainer, [&]() -> absl::Status {
    ZG_ASSIGN_OR_RETURN(StepResult made, trainer->run->update());
    give(made, trainer, step);
    return absl::OkStatus();
  });
}

zg_code zg_trainer_discard(zg_trainer *trainer) {
  return onTrainer(trainer,
                   [&]() -> absl::Status { return trainer->run->discard(); });
}

zg_code zg_trainer_evaluate(zg_trainer *trainer, const zg_array *arrays,
                            size_t count, double *loss, double *divisor) {
  return onTrainer(trainer, [&]() -> absl::Status {
    ZG_ASSIGN_OR_RETURN(TensorFile batch,
                        api::arraysOf("the batch", arrays, count));
    ZG_ASSIGN_OR_RETURN(trainer->evaluated, trainer->run->evaluate(batch));
    *loss = trainer->evaluated.loss;
    *divisor = *trainer->evaluated.count;
    return absl::OkStatus();
  });
}

zg_code zg_trainer_metrics(const zg_trainer *trainer, int evaluated,
                           double *values, size_t count, double *divisor) {
  return onTrainer(trainer, [&]() -> absl::Status {
    const std::vector<double> &made =
        evaluated ? trainer->evaluated.metrics : trainer->last.metrics;
    if (made.size() != count) {
      return absl::InvalidArgumentError(
          absl::StrCat(count, " metrics are wanted, and ",
                       evaluated ? "the last evaluation" : "the last step",
                       " made ", made.size()));
    }
    std::copy(made.begin(), made.end(), values);
    *divisor = evaluated ? trainer->evaluated.weight : 1;
    return absl::OkStatus();
  });
}

zg_code zg_trainer_set_rate(zg_trainer *trainer, double rate) {
  return onTrainer(trainer, [&]() -> absl::Status {
    ZG_ASSIGN_OR_RETURN(std::optional<double> given, rateOf(rate));
    trainer->run->setLearningRate(given);
    return absl::OkStatus();
  });
}

zg_code zg_trainer_set_group_rate(zg_trainer *trainer, const char *group,
                                  double rate) {
  return onTrainer(trainer, [&]() -> absl::Status {
    ZG_ASSIGN_OR_RETURN(std::optional<double> given, rateOf(rate));
    return trainer->run->setLearningRate(group, given);
  });
}

zg_code zg_trainer_position(const zg_trainer *trainer, uint64_t *steps,
                            uint64_t *updates) {
  return onTrainer(trainer, [&]() -> absl::Status {
    TrainerPosition position = trainer->run->position();
    *steps = position.steps;
    *updates = position.updates;
    return absl::OkStatus();
  });
}

zg_code zg_trainer_arrays(const zg_trainer *trainer, const char *what,
                          char **json) {
  return onTrainer(trainer, [&]() -> absl::Status {
    ZG_ASSIGN_OR_RETURN(WeightFileOptions options, optionsOf(what));
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const auto &entry : weightEntries(trainer->run->plan(), options)) {
      all.push_back({{"name", entry.name},
                     {"type", plan::ElementType_Name(entry.type)},
                     {"shape", entry.shape}});
    }
    *json = api::copyOf(all.dump());
    return absl::OkStatus();
  });
}

zg_code zg_trainer_read(zg_trainer *trainer, const char *what,
                        void *const *addresses, size_t count) {
  return onTrainer(trainer,
                   [&] { return read(trainer, what, addresses, count); });
}

zg_code zg_trainer_write(zg_trainer *trainer, const char *what,
                         const zg_array *arrays, size_t count, int all) {
  return onTrainer(
      trainer, [&] { return write(trainer, what, arrays, count, all != 0); });
}

zg_code zg_trainer_find(zg_trainer *trainer, const char *what,
                        const void **addresses, size_t count) {
  return onTrainer(trainer,
                   [&] { return find(trainer, what, addresses, count); });
}

zg_code zg_trainer_save(zg_trainer *trainer, const char *path,
                        int adapters_alone) {
  return onTrainer(trainer, [&]() -> absl::Status {
    return trainer->run->saveWeights(path, adapters_alone != 0);
  });
}

zg_code zg_trainer_checkpoint(zg_trainer *trainer, const char *folder,
                              char **path) {
  return onTrainer(trainer, [&]() -> absl::Status {
    ZG_ASSIGN_OR_RETURN(std::string made, trainer->run->saveCheckpoint(folder));
    if (path) {
      *path = api::copyOf(made);
    }
    return absl::OkStatus();
  });
}

zg_code zg_trainer_end(zg_trainer *trainer) {
  return onTrainer(trainer,
                   [&]() -> absl::Status { return trainer->run->end(); });
}

void zg_trainer_abort(zg_trainer *trainer, const char *reason) {
  onTrainer(trainer, [&] {
    trainer->run->abort(reason);
    return absl::OkStatus();
  });
}

void zg_trainer_free(zg_trainer *trainer) {
  if (trainer && trainer->owner.isHere()) {
    delete trainer;
  }
}
