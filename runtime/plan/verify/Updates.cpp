//===- Updates.cpp - each state is updated once, from its own gradients ---===//
//
// Every byte of a parameter or optimizer state of a trainable unit is written
// once a step, when all micro-batches are done, from gradients and states of
// the same elements; frozen parameters are never written, but those that are
// each rank's own (running statistics) are by every micro-batch, once. Of the
// scalars that each group of parameters has, an update reads those of the group
// of its parameters. Gathers write parameters too, but nothing new:
// Collectives.cpp sees to that. An evaluation writes none of all this. A state
// in a file is updated in the buffer that it was read to, and written back from
// there; or, where the update does not read it, made in a buffer of its own.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/ByteMap.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/StagedInputs.h"
#include "runtime/plan/Supported.h"
#include "runtime/plan/Traffic.h"
#include "runtime/plan/steps/Step.h"
#include "runtime/plan/verify/Checks.h"
#include "runtime/plan/verify/FileBuffers.h"
#include "runtime/plan/verify/StateWrites.h"

namespace zerograph::verify {
namespace {

class Updates {
public:
  Updates(const VerifierContext &context, Problems &problems)
      : plan(context.plan), mesh(context.mesh), problems(problems),
        parts(context.parts), arrivals(context.arrivals), buffers(mesh),
        written(plan, mesh, problems), gradients(plan.units_size()) {}

  void visit(int p, int s) {
    const plan::Step &step = plan.programs(p).steps(s);
    std::optional<UnitPart> updated;
    std::optional<TransferKind> way = transferKindOf(plan, step);
    if (s == 0) {
      beginProgram(p);
    }
    if (way == TransferKind::FileToHost &&
        !plan.slices(int(step.accesses(1).slice())).carried()) {
      buffers.read(step.accesses(0), step.accesses(1));
      return;
    }
    if (step.has_copy() && arrivals[step.accesses(0).slice()].scalar) {
      // On its way to the host.
      arrivals[step.accesses(1).slice()] = arrivals[step.accesses(0).slice()];
    }
    if (step.has_reduce_scatter() &&
        plan.programs(p).kind() == plan::EVALUATE) {
      problems.add("evaluation that trains: ", describeStep(plan, p, s),
                   " reduces gradients; expected no gradients there");
    }
    for (int i = 0; i < step.accesses_size(); ++i) {
      const plan::Access &access = step.accesses(i);
      std::optional<UnitPart> part = parts.of(access);
      if (part && isCollective(step) && plan.units(part->unit).local()) {
        problems.add("shared statistics: ", describeStep(plan, p, s),
                     effectOf(step, i).writes ? " writes " : " reads ",
                     describeSlice(plan, access.slice()), " of unit ",
                     plan.units(part->unit).name(),
                     ", which is each rank's own");
        continue;
      }
      // Sums of gradients on their way are Accumulators' concern.
      if (part && part->role != Role::Gradient && effectOf(step, i).writes &&
          buffers.holds(access.slice())) {
        if (step.has_copy()) {
          checkBroughtBack(p, s, step.accesses(0), *part);
        }
        buffers.update(access);
        updated = updated ? updated : part;
        continue;
      }
      if (!part || part->role == Role::Gradient ||
          !plan.slices(access.slice()).carried() || !effectOf(step, i).writes ||
          !mayWrite(p, s, access, plan.units(part->unit))) {
        continue;
      }
      if (isCollective(step)) {
        continue;
      }
      // A local value may be copied from anything that the rank has made.
      if (way == TransferKind::HostToFile) {
        checkWrittenBack(p, s, step.accesses(0), access, *part);
      } else if (step.has_copy() && !plan.units(part->unit).local()) {
        checkBroughtBack(p, s, step.accesses(0), *part);
      }
      written.add(p, s, access);
      // A local value may be made of anything that the rank has.
      if (!updated && !plan.units(part->unit).local()) {
        updated = part;
      }
    }
    if (updated) {
      checkSources(p, s, step, *updated);
      checkGroup(p, s, step, plan.units(updated->unit));
    }
  }

  void checkCoverage() {
    for (int unit = 0; unit < plan.units_size(); ++unit) {
      const plan::Unit &of = plan.units(unit);
      if (of.local()) {
        written.checkLocal(unit);
      }
      if (!of.trainable()) {
        continue;
      }
      bool all = true;
      for (const plan::State &state : of.states()) {
        all &= state.role() == "grad" || written.checkWhole(unit, state);
      }
      auto gap = gradients[unit].firstGap(0, of.elements());
      if (all && gap) {
        problems.add("unused gradients: unit ", unit, " (", of.name(),
                     ") is updated and no step that does so reads its "
                     "gradients [",
                     gap->first, ", ", gap->second, ")");
      }
    }
  }

private:
  void beginProgram(int p) {
    buffers = FileBuffers(mesh);
    for (const plan::Step &step : plan.programs(p).steps()) {
      if (transferKindOf(plan, step) == TransferKind::HostToFile &&
          !plan.slices(int(step.accesses(0).slice())).carried()) {
        buffers.make(step.accesses(0).slice());
      }
    }
  }

  bool mayWrite(int p, int s, const plan::Access &access,
                const plan::Unit &unit) {
    if (plan.programs(p).kind() == plan::EVALUATE) {
      problems.add("evaluation that trains: ", describeStep(plan, p, s),
                   " writes ", describeSlice(plan, access.slice()), " of unit ",
                   unit.name(), "; expected all states to stay as they are");
      return false;
    }
    bool update = plan.programs(p).kind() == plan::UPDATE;
    if (unit.local()) {
      if (update) {
        problems.add("late update: ", describeStep(plan, p, s), " writes ",
                     describeSlice(plan, access.slice()), " of unit ",
                     unit.name(), ", which micro-batches alone change");
      }
      return !update;
    }
    if (!unit.trainable()) {
      problems.add("frozen state: ", describeStep(plan, p, s), " writes ",
                   describeSlice(plan, access.slice()), " of unit ",
                   unit.name(), ", which is not trained");
      return false;
    }
    if (plan.programs(p).kind() == plan::MICRO) {
      problems.add("early update: ", describeStep(plan, p, s), " writes ",
                   describeSlice(plan, access.slice()), " of unit ",
                   unit.name(), " before all micro-batches are done");
      return false;
    }
    return true;
  }

  /// Checks that what is copied to a state is what the host keeps of the same
  /// elements, updated before.
  void checkBroughtBack(int p, int s, const plan::Access &from,
                        const UnitPart &to) {
    std::optional<UnitPart> part = parts.of(from);
    bool values = part && (part->role == Role::Param ||
                           part->role == roleOfValues(plan.units(to.unit)));
    if (!values || !part->sameElements(to)) {
      problems.add("wrong copy: ", describeStep(plan, p, s), " copies ",
                   part ? describe(plan, *part)
                        : describeSlice(plan, from.slice()),
                   " to ", describe(plan, to), "; expected their values");
      return;
    }
    if (buffers.holds(from.slice())) {
      checkIsUpdated(p, s, from, *part);
      return;
    }
    if (!plan.slices(int(from.slice())).carried()) {
      return; // made by this program
    }
    if (!written.hasAll(from)) {
      problems.add("early copy: ", describeStep(plan, p, s), " copies ",
                   describe(plan, *part), " before a step updates them");
    }
  }

  /// A file gets back what was read from just there, or what was made of the
  /// same elements, updated.
  void checkWrittenBack(int p, int s, const plan::Access &from,
                        const plan::Access &to, const UnitPart &part) {
    if (buffers.mayReplace(from, to) && parts.of(from) == part) {
      checkIsUpdated(p, s, from, part);
    } else {
      problems.add("wrong copy: ", describeStep(plan, p, s), " writes ",
                   describeSlice(plan, from.slice()), " to ",
                   describeSlice(plan, to.slice()), ", which holds ",
                   describe(plan, part),
                   "; expected what was read from there, or made of the same "
                   "elements");
    }
  }

  void checkIsUpdated(int p, int s, const plan::Access &from,
                      const UnitPart &part) {
    if (!buffers.isUpdated(from)) {
      problems.add("early copy: ", describeStep(plan, p, s), " copies ",
                   describe(plan, part), " before a step updates them");
    }
  }

  /// Checks that, of states and gradients, a step reads and writes the same
  /// elements.
  void checkSources(int p, int s, const plan::Step &step,
                    const UnitPart &updated) {
    for (int i = 0; i < step.accesses_size(); ++i) {
      const plan::Access &access = step.accesses(i);
      std::optional<UnitPart> part = parts.of(access);
      if (!part) {
        continue;
      }
      if (!part->sameElements(updated)) {
        problems.add("wrong unit: ", describeStep(plan, p, s), " updates ",
                     describe(plan, updated), " and ",
                     effectOf(step, i).reads ? "reads " : "writes ",
                     describeSlice(plan, access.slice()), ", which holds ",
                     describe(plan, *part), "; expected the same elements");
      } else if (part->role == Role::Gradient && effectOf(step, i).reads) {
        mesh.visitRanks(part->begin, part->elements, part->strides,
                        [&](uint64_t begin, uint64_t end) {
                          gradients[part->unit].assign(begin, end, true);
                        });
      }
    }
  }

  void checkGroup(int p, int s, const plan::Step &step,
                  const plan::Unit &updated) {
    uint32_t group =
        updated.parameters().empty() ? 0 : updated.parameters(0).group();
    for (const plan::Access &access : step.accesses()) {
      const plan::Scalar *scalar = arrivals[access.slice()].scalar;
      if (scalar && isOfGroup(*scalarKind(scalar->name())) &&
          scalar->group() != group) {
        problems.add("wrong group: ", describeStep(plan, p, s), " updates ",
                     updated.name(), ", of group ", group, ", and reads ",
                     scalar->name(), " of group ", scalar->group());
      }
    }
  }

  const plan::Plan &plan;
  const Mesh &mesh;
  Problems &problems;
  const UnitParts &parts;
  std::vector<StagedInput> arrivals; // by slice
  FileBuffers buffers;
  StateWrites written;
  std::vector<ByteMap<bool>> gradients; // elements that updates read, by unit
};

} // namespace

void checkUpdates(const VerifierContext &context, Findings &findings) {
  Updates updates(context, findings.problems);
  forEachStep(context.plan,
              [&](int p, int s, const plan::Step &) { updates.visit(p, s); });
  updates.checkCoverage();
}

} // namespace zerograph::verify
