//===- StateWrites.cpp - which steps have written which states ------------===//

#include "runtime/plan/verify/StateWrites.h"

#include "runtime/plan/Describe.h"

namespace zerograph::verify {

const StateWrites::Written &StateWrites::of(uint32_t slice) const {
  static const Written none;
  auto found = written.find(slice);
  return found == written.end() ? none : found->second;
}

void StateWrites::add(int p, int s, const plan::Access &access) {
  Written &state = written[access.slice()];
  mesh.visitRanks(
      access.offset(), access.bytes(), mesh.strides(access),
      [&](uint64_t begin, uint64_t end) {
        state.visit(begin, end, [&](uint64_t at, uint64_t, auto before) {
          problems.add("doubled update: ",
                       describeStep(plan, before.first, before.second), " and ",
                       describeStep(plan, p, s), " both write ",
                       describeSlice(plan, access.slice()), " at byte ", at,
                       "; expected one write a step");
        });
        state.assign(begin, end, std::pair(p, s));
      });
}

bool StateWrites::hasAll(const plan::Access &access) const {
  bool all = true;
  const Written &state = of(access.slice());
  mesh.visitRanks(access.offset(), access.bytes(), mesh.strides(access),
                  [&](uint64_t begin, uint64_t end) {
                    all = all && !state.firstGap(begin, end);
                  });
  return all;
}

bool StateWrites::checkWhole(int unit, const plan::State &state) const {
  const Written &bytes = of(state.slice());
  const std::string &name = plan.units(unit).name();
  if (bytes.empty()) {
    problems.add("missing update: no step writes state \"", state.role(),
                 "\" of trainable unit ", unit, " (", name, "), ",
                 describeSlice(plan, state.slice()));
    return false;
  }
  auto gap = bytes.firstGap(0, plan.slices(int(state.slice())).bytes());
  if (gap) {
    problems.add("missing update: no step writes bytes [", gap->first, ", ",
                 gap->second, ") of state \"", state.role(),
                 "\" of trainable unit ", unit, " (", name, "), ",
                 describeSlice(plan, state.slice()));
  }
  return !gap;
}

void StateWrites::checkLocal(int index) const {
  const plan::Unit &unit = plan.units(index);
  uint32_t slice = unit.states(0).slice();
  uint64_t bytes = elementSize(unit.states(0).type());
  for (const plan::Parameter &parameter : unit.parameters()) {
    uint64_t begin = parameter.offset() * bytes;
    auto gap = of(slice).firstGap(begin, begin + parameter.elements() * bytes);
    if (gap) {
      problems.add("missing update: no step writes bytes [", gap->first, ", ",
                   gap->second, ") of ", describeSlice(plan, slice), ", where ",
                   parameter.name(), " of unit ", index, " (", unit.name(),
                   ") lies; expected each micro-batch to");
    }
  }
}

} // namespace zerograph::verify
