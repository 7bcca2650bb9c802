//===- Executor.cpp - one rank's bound plan -------------------------------===//

#include "runtime/exec/Executor.h"

#include "runtime/plan/Describe.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace zerograph;

namespace {

/// The collectives of a program in the plan's order: step -> place from 0.
std::map<int, uint32_t> collectiveOrder(const plan::Program &program) {
  std::vector<std::pair<uint32_t, int>> order;
  for (int i = 0; i < program.steps_size(); ++i) {
    if (isCollective(program.steps(i))) {
      order.push_back({program.steps(i).sequence(), i});
    }
  }
  std::sort(order.begin(), order.end());
  std::map<int, uint32_t> places;
  for (size_t place = 0; place < order.size(); ++place) {
    places[order[place].second] = uint32_t(place);
  }
  return places;
}

/// The plan's streams, by their numbers.
std::vector<StreamBinding> streamsOf(const plan::Plan &plan) {
  std::vector<StreamBinding> streams(plan::Stream_ARRAYSIZE);
  for (int i = 0; i < plan::Stream_ARRAYSIZE; ++i) {
    streams[size_t(i)] = {std::string(nameOf(plan::Stream(i))),
                          i == plan::COMPUTE};
  }
  return streams;
}

std::string nameOfStep(const plan::Program &program, int step) {
  return absl::StrCat("step ", step, " '", program.steps(step).name(), "'");
}

} // namespace

absl::StatusOr<std::unique_ptr<Executor>>
Executor::create(const plan::Plan &plan, const Module &module,
                 Collectives &collectives, std::unique_ptr<Device> device) {
  std::unique_ptr<Executor> executor(
      new Executor(plan, collectives, std::move(device)));
  ZG_RETURN_IF_ERROR(executor->allocate());
  for (const plan::Program &program : plan.programs()) {
    absl::Status status = executor->bindProgram(module, program);
    if (!status.ok()) {
      return annotate(status, absl::StrCat("program \"", program.name(), "\""));
    }
  }
  executor->device->onFailure([&collectives](const absl::Status &status) {
    collectives.abort(status);
  });
  return executor;
}

absl::Status Executor::allocate() {
  memory_.rank = collectives.rank();
  for (const plan::Arena &arena : plan.arenas()) {
    ZG_ASSIGN_OR_RETURN(
        auto memory,
        device->allocate(arena.space(), arena.bytes(), arena.alignment()));
    memory_.arenas.push_back(memory.get());
    arenas_.push_back(std::move(memory));
  }
  return absl::OkStatus();
}

absl::Status Executor::bindProgram(const Module &module,
                                   const plan::Program &program) {
  std::map<int, uint32_t> order = collectiveOrder(program);
  ProgramBinding binding;
  binding.name = program.name();
  binding.streams = streamsOf(plan);
  binding.module = &module;
  for (int i = 0; i < program.steps_size(); ++i) {
    const plan::Step &step = program.steps(i);
    StepBinding bound;
    bound.step = &step;
    bound.number = uint32_t(i);
    bound.stream = unsigned(step.stream());
    bound.waits.assign(step.waits().begin(), step.waits().end());
    for (const plan::Access &access : step.accesses()) {
      bound.ranges.push_back(memory_.access(plan, access));
    }
    if (isCollective(step)) {
      absl::StatusOr<std::unique_ptr<Operation>> operation =
          bindCollective(program, i, order[i], std::move(bound.ranges));
      if (!operation.ok()) {
        return annotate(operation.status(), nameOfStep(program, i));
      }
      bound.operation = *std::move(operation);
    }
    binding.steps.push_back(std::move(bound));
  }
  ZG_ASSIGN_OR_RETURN(auto bound, device->bind(std::move(binding)));
  programs.push_back(std::move(bound));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Operation>>
Executor::bindCollective(const plan::Program &program, int number,
                         uint32_t sequence, std::vector<DeviceRange> ranges) {
  const plan::Step &step = program.steps(number);
  CollectiveSite site;
  site.program = program.name();
  site.step = absl::StrCat(number, " '", step.name(), "'");
  site.tensor = step.accesses_size() > 0
                    ? plan.slices(int(step.accesses(0).slice())).name()
                    : "nothing";
  site.sequence = sequence;
  std::vector<unsigned> group(collectives.world());
  std::iota(group.begin(), group.end(), 0u);
  return collectives.bind(step, std::move(site), group, std::move(ranges));
}

void Executor::recordTimes() {
  for (auto &program : programs) {
    program->recordTimes();
  }
}

StepTimes Executor::times() const {
  StepTimes result;
  for (const auto &program : programs) {
    result.push_back(program->times());
  }
  return result;
}

absl::Status Executor::run(unsigned index) {
  collectives.beginProgram();
  programs[index]->start(/*slot=*/0);
  uint32_t step = 0;
  absl::Status status = programs[index]->finish(step);
  if (status.ok() || absl::IsCancelled(status) || absl::IsAborted(status)) {
    return status;
  }
  return annotate(status, zerograph::describeStep(plan, int(index), int(step)));
}
