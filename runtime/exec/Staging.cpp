//===- Staging.cpp - inputs and scalars on their way to a program ---------===//

#include "runtime/exec/Staging.h"

#include "runtime/plan/StagedInputs.h"

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
      if (arrival.input) {
        staging.inputs.push_back(
            {arrival.number, offsets[i], plan.slices(int(slice)).bytes()});
      } else {
        staging.scalars.push_back({arrival.scalar, offsets[i]});
      }
    }
  }
  for (uint32_t slot : plan.programs(int(program)).slots()) {
    staging.slots.push_back(memory.slice(plan, slot));
    staging.image.resize(staging.slots.back().bytes);
    ZG_RETURN_IF_ERROR(staging.slots.back().fill());
  }
  return staging;
}

absl::Status Staging::read(ReadInput read) {
  for (const InputPart &part : inputs) {
    ZG_RETURN_IF_ERROR(
        read(part.input, image.data() + part.offset, part.bytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<unsigned> Staging::write(const ScalarInputs &values) {
  for (const ScalarPart &part : scalars) {
    ZG_RETURN_IF_ERROR(
        writeScalar(*plan, *part.scalar, values, image.data() + part.offset));
  }
  if (slots.empty()) {
    return 0;
  }
  unsigned slot = turn;
  turn = 1 - turn;
  ZG_RETURN_IF_ERROR(slots[slot].write(image.data()));
  return slot;
}
