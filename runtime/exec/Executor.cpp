//===- Executor.cpp - one rank's bound plan -------------------------------===//

#include "runtime/exec/Executor.h"

#include "runtime/base/Cause.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/HappensBefore.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/Traffic.h"
#include "runtime/plan/steps/Step.h"

#include <algorithm>
#include <map>

using namespace zerograph;

namespace {

/// Returns the plan's streams, by their numbers.
std::vector<StreamBinding> streamsOf(const plan::Plan &plan) {
  std::vector<StreamBinding> streams;
  for (const plan::Stream &stream : plan.streams()) {
    streams.push_back({stream.name(), stream.kind() == plan::COMPUTE});
  }
  return streams;
}

/// Returns each stream's device, by the number of the stream.
std::vector<unsigned> deviceOfStreams(const plan::Plan &plan) {
  std::vector<unsigned> devices;
  for (const plan::Stream &stream : plan.streams()) {
    devices.push_back(stream.device());
  }
  return devices;
}

/// Returns the collectives of a program in the plan's order: step -> place from
/// 0.
std::map<uint32_t, uint32_t> collectiveOrder(const plan::Program &program) {
  std::vector<std::pair<uint32_t, uint32_t>> order;
  for (int i = 0; i < program.steps_size(); ++i) {
    if (isCollective(program.steps(i))) {
      order.push_back({program.steps(i).sequence(), uint32_t(i)});
    }
  }
  std::sort(order.begin(), order.end());
  std::map<uint32_t, uint32_t> places;
  for (size_t place = 0; place < order.size(); ++place) {
    places[order[place].second] = uint32_t(place);
  }
  return places;
}

} // namespace

absl::StatusOr<std::unique_ptr<Executor>>
Executor::create(const plan::Plan &plan, Collectives &collectives,
                 RankDevices devices, absl::Span<const uint64_t> room) {
  if (devices.size() < size_t(plan.devices_size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan runs on ", plan.devices_size(),
                     " devices of a rank, and there are ", devices.size()));
  }
  std::unique_ptr<Executor> executor(
      new Executor(plan, collectives, std::move(devices)));
  ZG_RETURN_IF_ERROR(executor->allocate(room));
  std::vector<const Module *> modules;
  for (const RankDevice &device : executor->devices) {
    modules.push_back(device.module);
  }
  ZG_RETURN_IF_ERROR(executor->add(plan, modules));
  for (RankDevice &device : executor->devices) {
    device.device->onFailure(
        [self = executor.get()](const absl::Status &status, uint32_t step) {
          self->onFailure(status, step);
        });
  }
  return executor;
}

absl::StatusOr<std::unique_ptr<Executor>>
Executor::create(const plan::Plan &plan, Collectives &collectives,
                 std::unique_ptr<Device> device, const Module &module) {
  RankDevices devices;
  devices.push_back({std::move(device), &module});
  return create(plan, collectives, std::move(devices));
}

absl::Status Executor::allocate(absl::Span<const uint64_t> room) {
  memory_.rank = collectives.rank();
  for (int i = 0; i < plan.arenas_size(); ++i) {
    const plan::Arena &arena = plan.arenas(i);
    Device &device = *devices[arena.device()].device;
    uint64_t bytes =
        std::max(arena.bytes(), size_t(i) < room.size() ? room[size_t(i)] : 0);
    ZG_ASSIGN_OR_RETURN(
        auto memory, device.allocate(arena.space(), bytes, arena.alignment()));
    memory_.arenas.push_back(memory.get());
    arenas_.push_back(std::move(memory));
  }
  if (devices.size() > 1) {
    ZG_ASSIGN_OR_RETURN(counters,
                        devices[0].device->allocate(
                            plan::PINNED, kCounterBytes * uint64_t(kMaxStreams),
                            kCounterBytes));
  }
  return absl::OkStatus();
}

absl::Status Executor::add(const plan::Plan &added,
                           absl::Span<const Module *const> modules) {
  for (int i = 0; i < added.programs_size(); ++i) {
    absl::Status status = bindProgram(added, unsigned(i), modules);
    if (!status.ok()) {
      return annotate(
          status, absl::StrCat("program \"", added.programs(i).name(), "\""));
    }
  }
  return absl::OkStatus();
}

absl::Status Executor::bindProgram(const plan::Plan &plan, unsigned number,
                                   absl::Span<const Module *const> modules) {
  const plan::Program &program = plan.programs(int(number));
  Bound bound;
  bound.plan = &plan;
  bound.number = number;
  std::vector<ProgramPart> parts =
      splitProgram(program, streamsOf(plan), deviceOfStreams(plan));
  bound.counts = needCounters(parts);
  for (ProgramPart &part : parts) {
    ZG_ASSIGN_OR_RETURN(Part made,
                        bindPart(plan, program, std::move(part), modules));
    bound.parts.push_back(std::move(made));
  }
  programs.push_back(std::move(bound));
  return absl::OkStatus();
}

absl::StatusOr<Executor::Part>
Executor::bindPart(const plan::Plan &plan, const plan::Program &program,
                   ProgramPart part, absl::Span<const Module *const> modules) {
  std::map<uint32_t, uint32_t> order = collectiveOrder(program);
  const RankDevice &device = devices[part.device];
  Part made;
  part.binding.module = modules[part.device];
  if (counters) {
    part.binding.counters = {counters.get(), 0, counters->bytes()};
  }
  for (StepBinding &step : part.binding.steps) {
    made.numbers.push_back(step.number);
    for (const plan::Access &access : step.step->accesses()) {
      step.ranges.push_back(memory_.access(plan, access));
    }
    if (std::optional<TransferKind> way = transferKindOf(plan, *step.step)) {
      step.moved = &moved[size_t(*way)];
    }
    if (isCollective(*step.step)) {
      absl::Status status =
          bindCollective(plan, program, order[step.number], step);
      if (!status.ok()) {
        return annotate(status, absl::StrCat("step ", step.number, " '",
                                             step.step->name(), "'"));
      }
    }
  }
  ZG_ASSIGN_OR_RETURN(made.program,
                      device.device->bind(std::move(part.binding)));
  return made;
}

absl::Status Executor::bindCollective(const plan::Plan &plan,
                                      const plan::Program &program,
                                      uint32_t sequence, StepBinding &step) {
  const plan::Step &what = *step.step;
  CollectiveSite site;
  site.program = program.name();
  site.step = absl::StrCat(step.number, " '", what.name(), "'");
  site.tensor = what.accesses_size() > 0
                    ? plan.slices(int(what.accesses(0).slice())).name()
                    : "nothing";
  site.sequence = sequence;
  site.number = uint32_t(programs.size()); // it comes after those
  ZG_ASSIGN_OR_RETURN(
      step.operation,
      collectives.bind(what, std::move(site),
                       Mesh(plan).group(what.axes(), memory_.rank),
                       step.ranges));
  return absl::OkStatus();
}

void Executor::dropRecords() {
  for (Bound &bound : programs) {
    for (Part &part : bound.parts) {
      part.program->dropRecords();
    }
  }
}

absl::Status Executor::close() {
  dropRecords();
  return collectives.close();
}

void Executor::abort(const absl::Status &status) {
  dropRecords();
  collectives.abort(status);
}

void Executor::recordTimes() {
  for (Bound &bound : programs) {
    for (Part &part : bound.parts) {
      part.program->recordTimes();
    }
  }
}

StepTimes Executor::times() const {
  StepTimes result;
  for (const Bound &bound : programs) {
    if (bound.plan != &plan) {
      break;
    }
    std::vector<StepTime> &steps = result.emplace_back();
    for (const Part &part : bound.parts) {
      std::vector<StepTime> times = part.program->times();
      for (size_t i = 0; i < times.size(); ++i) {
        steps.resize(std::max<size_t>(steps.size(), part.numbers[i] + 1));
        steps[part.numbers[i]] = times[i];
      }
    }
  }
  return result;
}

void Executor::searchNonfinite() {
  for (Bound &bound : programs) {
    if (bound.number == 0) { // the first of its plan
      searches.push_back(
          std::make_unique<NonfiniteSearch>(*bound.plan, memory_));
    }
    bound.search = searches.back().get();
    for (Part &part : bound.parts) {
      part.program->afterSteps([&bound, &part](uint32_t place) {
        return bound.search->look(bound.number, part.numbers[place]);
      });
    }
  }
}

void Executor::Bound::cancel() {
  for (Part &part : parts) {
    part.program->cancel();
  }
}

/// Ends the program. Called by the thread of a device whose part has failed.
void Executor::onFailure(const absl::Status &status, uint32_t step) {
  Bound &bound = *running;
  // Whoever ended because of another failure has nothing to add.
  abort(isCollateral(status) ? status : named(status, bound, step));
  bound.cancel();
}

absl::Status Executor::named(const absl::Status &status, const Bound &bound,
                             uint32_t step) const {
  return annotate(status, describeStep(*bound.plan, int(bound.number), step));
}

absl::Status Executor::run(unsigned index, unsigned slot,
                           absl::FunctionRef<void()> meanwhile) {
  Bound &bound = programs[index];
  collectives.beginProgram();
  running = &bound;
  if (bound.search) {
    bound.search->begin(bound.number);
  }
  if (bound.counts) {
    ZG_RETURN_IF_ERROR(counters->fill(0, counters->bytes()));
  }
  // All parts are prepared before one can fail and cancel the others.
  for (Part &part : bound.parts) {
    part.program->prepare();
  }
  // The host, which helps, starts first: a device that is given steps one by
  // one may have to wait for it before it takes more.
  for (auto part = bound.parts.rbegin(); part != bound.parts.rend(); ++part) {
    part->program->start(slot);
  }
  meanwhile();
  absl::Status result;
  for (Part &part : bound.parts) {
    uint32_t step = 0;
    absl::Status status = part.program->finish(step);
    if (isNearerToCause(status, result)) {
      result = isCollateral(status) ? status : named(status, bound, step);
    }
  }
  return result;
}
