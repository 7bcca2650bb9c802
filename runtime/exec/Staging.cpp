//===- Staging.cpp - inputs and scalars on their way to a program ---------===//

#include "runtime/exec/Staging.h"

#include "runtime/plan/StagedInputs.h"

#include <algorithm>

using namespace zerograph;

absl::StatusOr<Staging> Staging::create(const plan::Plan &plan,
                                        unsigned program,
                                        const RankMemory &memory) {
  Staging staging(plan);
  std::vector<StagedInput> arrivals = stagedInputsOf(plan);
  for (const plan::Step &step : plan.programs(int(program)).steps()) {
    const auto &offsets = step.copy_in().offsets(); // none of other steps
    for (int i = 0; i < offsets.size(); ++i) {
      uint32_t slice = step.accesses(i + 2).slice();
      const StagedInput &arrival = arrivals[slice];
      uint64_t bytes = plan.slices(int(slice)).bytes();
      if (arrival.input) {
        staging.inputs.push_back({arrival.number, offsets[i], bytes});
      } else {
        staging.scalars.push_back({arrival.scalar, offsets[i], bytes});
      }
      staging.room.resize(std::max<size_t>(staging.room.size(), bytes));
    }
  }
  for (uint32_t slot : plan.programs(int(program)).slots()) {
    staging.slots.push_back(memory.slice(plan, slot));
    ZG_RETURN_IF_ERROR(staging.slots.back().fill());
  }
  return staging;
}

absl::Status Staging::read(FindInput find) {
  for (const InputPart &part : inputs) {
    ZG_ASSIGN_OR_RETURN(const std::byte *from,
                        find(part.input, room.data(), part.bytes));
    ZG_RETURN_IF_ERROR(slots[turn].part(part.offset, part.bytes).write(from));
  }
  return absl::OkStatus();
}

absl::StatusOr<unsigned> Staging::write(const ScalarInputs &values) {
  for (const ScalarPart &part : scalars) {
    ZG_RETURN_IF_ERROR(writeScalar(*plan, *part.scalar, values, room.data()));
    ZG_RETURN_IF_ERROR(
        slots[turn].part(part.offset, part.bytes).write(room.data()));
  }
  if (slots.empty()) {
    return 0;
  }
  unsigned slot = turn;
  turn = 1 - turn;
  return slot;
}
