//===- Digests.cpp - what each step does to which data --------------------===//

#include "runtime/plan/Digests.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/verify/External.h"

#include "absl/strings/str_cat.h"

#include <xxhash.h>

namespace zerograph {
namespace {

uint64_t hashOf(const std::string &text) {
  return XXH3_64bits(text.data(), text.size());
}

/// What decides about the values in a unit's buffers. Texts for people do not.
std::string meaningOf(plan::Unit unit) {
  unit.clear_reason();
  unit.clear_states();
  for (plan::Parameter &parameter : *unit.mutable_parameters()) {
    parameter.clear_reason();
    if (parameter.has_source()) {
      parameter.mutable_source()->clear_folder();
    }
  }
  return unit.SerializeAsString();
}

/// By slice: what it holds besides results of steps.
std::vector<uint64_t> meaningsOf(const plan::Plan &plan) {
  std::vector<uint64_t> meanings(plan.slices_size());
  for (int i = 0; i < plan.slices_size(); ++i) {
    if (plan.slices(i).carried()) {
      meanings[i] = hashOf("carried " + plan.slices(i).name());
    }
  }
  std::string run = absl::StrCat(plan.world(), " ", plan.accumulate(), " ",
                                 plan.micro_batch(), " ");
  for (const plan::Unit &unit : plan.units()) {
    std::string of = meaningOf(unit);
    for (plan::State state : unit.states()) {
      uint32_t slice = state.slice();
      state.clear_slice();
      meanings[slice] =
          hashOf(absl::StrCat("state ", plan.dump_gradients(), " ",
                              state.SerializeAsString(), " of ", of));
    }
  }
  for (plan::Input input : plan.inputs()) {
    uint32_t slice = input.slice();
    input.clear_slice();
    meanings[slice] =
        hashOf(absl::StrCat("input ", run, input.SerializeAsString()));
  }
  for (const plan::Scalar &scalar : plan.scalars()) {
    meanings[scalar.slice()] =
        hashOf(absl::StrCat("scalar ", scalar.name(), " ", run,
                            plan.optimizer().SerializeAsString()));
  }
  for (plan::Output output : plan.outputs()) {
    uint32_t slice = output.slice();
    output.clear_slice();
    meanings[slice] =
        hashOf(absl::StrCat("output ", run, output.SerializeAsString()));
  }
  if (plan.has_loss_slice()) {
    meanings[plan.loss_slice()] = hashOf("loss");
  }
  if (plan.has_stop_slice()) {
    meanings[plan.stop_slice()] = hashOf("stop");
  }
  return meanings;
}

/// `module`: of all machine code.
std::string operationOf(const plan::Plan &plan, uint64_t module,
                        const plan::Step &step) {
  if (step.has_launch()) {
    return absl::StrCat(
        module, " ",
        plan.kernels(int(step.launch().kernel())).SerializeAsString());
  }
  plan::Step operation = step;
  operation.clear_stream();
  operation.clear_waits();
  operation.clear_accesses();
  operation.clear_name();
  operation.clear_reason();
  operation.clear_sequence();
  operation.clear_digest();
  return absl::StrCat(plan.world(), " ", operation.SerializeAsString());
}

} // namespace

Digests::Digests(const plan::Plan &plan, int program)
    : plan(plan), rank(plan.world() - 1), module(hashOf(plan.kernel_module())),
      meanings(meaningsOf(plan)), writers(plan, rank) {
  std::vector<bool> set = verify::setByRuntime(plan, program);
  for (int i = 0; i < plan.slices_size(); ++i) {
    const plan::Slice &slice = plan.slices(i);
    if (slice.carried() || set[i]) {
      writers.write({slice.arena(), slice.offset(), slice.bytes(), 0},
                    meanings[i]);
    }
  }
}

void Digests::describe(const plan::Step &step, int index,
                       std::string &text) const {
  const plan::Access &access = step.accesses(index);
  absl::StrAppend(&text, ";", int(access.mode()), " ", access.bytes(), " ",
                  access.rank_stride());
  Range range = arenaRange(plan, access);
  Effect effect = effectOf(step, index);
  if (effect.reads) {
    uint64_t first = range.begin + rank * range.stride;
    writers.read(range, [&](uint64_t begin, const Writers::Piece &piece) {
      absl::StrAppend(&text, ",", begin - first, " ", piece.end - begin, " ",
                      piece.origin, " ", begin - piece.base);
    });
  }
  if (effect.writes && meanings[access.slice()] != 0) {
    absl::StrAppend(&text, ">", meanings[access.slice()], " ", access.offset());
  }
}

uint64_t Digests::of(const plan::Step &step) const {
  std::string text =
      absl::StrCat(int(step.op_case()), " ", operationOf(plan, module, step));
  for (int i = 0; i < step.accesses_size(); ++i) {
    describe(step, i, text);
  }
  return hashOf(text);
}

void Digests::pass(const plan::Step &step) {
  for (int i = 0; i < step.accesses_size(); ++i) {
    if (effectOf(step, i).writes) {
      writers.write(arenaRange(plan, step.accesses(i)),
                    hashOf(absl::StrCat(step.digest(), " ", i)));
    }
  }
}

void stateDigests(plan::Plan &plan) {
  for (int p = 0; p < plan.programs_size(); ++p) {
    Digests digests(plan, p);
    for (plan::Step &step : *plan.mutable_programs(p)->mutable_steps()) {
      step.set_digest(digests.of(step));
      digests.pass(step);
    }
  }
}

} // namespace zerograph
