//===- Values.cpp - what each step makes of what it reads -----------------===//
//
// Takes the steps of all programs in issue order, and keeps for every byte its
// value (steps/Step.h): how ranks differ in it, which micro-batches a sum of
// gradients contains, whether a state is updated. Each kind of step says what
// it makes. Slices declare which elements of which unit they hold, in which
// role; carried ones begin each program as they are declared.
//
// Checks that a value which only one rank has is reduced or gathered before
// other ranks need it, and that each step reads what its kind expects.
// GradientSums and Updates check gradients and states.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Traffic.h"
#include "runtime/plan/verify/GradientSums.h"
#include "runtime/plan/verify/Updates.h"

#include <map>
#include <set>
#include <tuple>

namespace zerograph::verify {

namespace {

class Values final : public ValueState {
public:
  explicit Values(const VerifierContext &context)
      : plan(context.plan), mesh(context.mesh), parts_(context.parts),
        arrivals(context.arrivals), sums(context, of_sums),
        updates(context, of_updates), values(plan, mesh) {
    for (const plan::Unit &unit : plan.units()) {
      for (const plan::State &state : unit.states()) {
        bool gradients = roleOf(state) == Role::Gradient;
        if (unit.trainable() && !gradients) {
          trained.insert(state.slice());
        }
        if (mesh.groupSize(state.axes()) > 1) {
          sharded.insert(state.slice());
        } else if (!gradients && !unit.local()) {
          replicated.insert(state.slice());
        }
      }
    }
    if (plan.has_gradient_norm()) {
      replicated.insert(plan.gradient_norm());
    }
  }

  void run(Findings &findings);

  Value read(const plan::Access &access) override;
  void write(const plan::Access &access, const Value &value) override;
  void copy(const plan::Access &from, const plan::Access &to) override;
  void compute(const plan::Step &step) override;
  void arrive(const plan::Access &access) override;
  void expect(const plan::Access &access,
              const std::optional<UnitPart> &part) override;
  void reduce(const plan::Access &gradients, const UnitPart &part) override;
  const UnitParts &parts() const override { return parts_; }

private:
  void begin(const plan::Program &program);
  void checkStep(const plan::Step &step);
  void checkLocalWrite(const plan::Access &access);
  bool checkCopy(const plan::Access &from, const plan::Access &to,
                 const Value &value);
  void checkIsCommon();
  Value makes(const plan::Step &step, int index, Sharing sharing);

  const plan::Step &step() const {
    return plan.programs(at.program).steps(at.step);
  }
  std::string describeIt() const {
    return describeStep(plan, at.program, at.step);
  }
  bool isWithin(const plan::Access &access, const plan::Access &part) const {
    return mesh.strides(access) == mesh.strides(part) &&
           access.offset() >= part.offset() &&
           access.offset() + access.bytes() <= part.offset() + part.bytes();
  }

  const plan::Plan &plan;
  const Mesh &mesh;
  const UnitParts &parts_;
  const std::vector<StagedInput> &arrivals; // by slice
  Problems problems, of_sums, of_updates, waste;
  GradientSums sums;
  Updates updates;
  ValueMap values;
  std::set<uint32_t> trained;    // states of trained units, gradients aside
  std::set<uint32_t> sharded;    // states
  std::set<uint32_t> replicated; // states, gradients aside
  /// The gradients that this program has reduced, by slice.
  std::map<uint32_t, ByteMap<bool>> closed;
  StepPlace at; // the step that is looked at, and what it has read
  const plan::Access *varied = nullptr, *shard = nullptr;
};

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

void Values::run(Findings &findings) {
  for (at.program = 0; at.program < plan.programs_size(); ++at.program) {
    const plan::Program &program = plan.programs(at.program);
    begin(program);
    for (at.step = 0; at.step < program.steps_size(); ++at.step) {
      varied = shard = nullptr;
      checkStep(step());
      kindOf(step()).transfer(step(), *this);
    }
    sums.end(at.program, values);
  }
  checkIsCommon();
  sums.finish();
  updates.finish();
  for (const Problems *found : {&of_sums, &of_updates, &problems}) {
    findings.problems.append(*found);
  }
  findings.waste.append(waste);
}

void Values::begin(const plan::Program &program) {
  closed.clear();
  for (int i = 0; i < plan.slices_size(); ++i) {
    if (!plan.slices(i).carried()) {
      values.clear(uint32_t(i));
    }
    if (sums.isSum(uint32_t(i))) {
      values.set(uint32_t(i), sums.begin(program, uint32_t(i)));
    } else if (sharded.count(uint32_t(i)) != 0) {
      values.set(uint32_t(i), {Sharing::Sharded});
    }
  }
  for (const plan::Unit &unit : plan.units()) {
    if (unit.local() && mesh.world() > 1) {
      values.set(unit.states(0).slice(), {Sharing::Varied});
    }
  }
}

/// Checks that no collective moves a unit that is each rank's own, and that a
/// gather in place brings ranks something new.
void Values::checkStep(const plan::Step &step) {
  if (!isCollective(step)) {
    return;
  }
  for (int i = 0; i < step.accesses_size(); ++i) {
    const plan::Access &access = step.accesses(i);
    std::optional<UnitPart> part = parts_.of(access);
    if (part && plan.units(part->unit).local()) {
      problems.add(finding::kSharedStatistics, describeIt(),
                   effectOf(step, i).writes ? " writes " : " reads ",
                   describeSlice(plan, access.slice()), " of unit ",
                   plan.units(part->unit).name(), ", which is each rank's own");
    }
    bool gathersInPlace = step.has_all_gather() && i % 2 == 1 &&
                          step.accesses(i - 1).slice() == access.slice();
    bool news = false; // of the others
    values.visit(access, [&](uint64_t, uint64_t, const Content &content) {
      news |= content.value.sharing != Sharing::Replicated;
    });
    if (gathersInPlace && mesh.world() > 1 && !news) {
      waste.add(finding::kNeedlessGather, describeIt(), " gathers ",
                describeSlice(plan, access.slice()),
                ", which is the same on every rank already");
    }
  }
}

void Values::checkIsCommon() {
  for (uint32_t slice : replicated) {
    values.of(slice).visit(
        0, plan.slices(int(slice)).bytes(),
        [&](uint64_t begin, uint64_t, const Content &content) {
          if (content.value.sharing == Sharing::Sharded) {
            problems.add(finding::kMissingGather,
                         "each rank has updated its own part "
                         "of ",
                         describeSlice(plan, slice), " from byte ", begin,
                         ", and the other ranks never get it");
          }
        });
  }
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

Value Values::read(const plan::Access &access) {
  Value value = values.valueOf(access);
  Sharing sharing =
      values.isShard(access) ? Sharing::Sharded : Sharing::Replicated;
  values.visit(access, [&](uint64_t, uint64_t, const Content &content) {
    if (content.part == nullptr) {
      sharing = std::max(sharing, content.value.sharing);
    } else if (isWithin(access, *content.part)) {
      sharing = std::max(sharing, Sharing::Sharded);
    } else if (content.rest >= Sharing::Partial) {
      sharing = std::max(sharing, content.rest);
    } else {
      problems.add(finding::kMissingGather, describeIt(), " reads ",
                   describeSlice(plan, access.slice()),
                   ", of which only each rank's own part is up to date");
    }
  });
  value.sharing = mesh.world() > 1 ? sharing : Sharing::Replicated;
  if (value.sharing >= Sharing::Partial) {
    varied = &access;
  } else if (value.sharing == Sharing::Sharded) {
    shard = &access;
  }
  if (varied != nullptr && shard != nullptr && !isCollective(step())) {
    problems.add(finding::kMissingGather, describeIt(), " computes with ",
                 describeSlice(plan, shard->slice()),
                 ", which is one rank's shard, and with this rank's own ",
                 describeSlice(plan, varied->slice()));
    shard = nullptr; // once a step
  }
  if (sums.isSum(access.slice())) {
    sums.read(at, access, values.touches(access, Terms::Zero));
  }
  return value;
}

void Values::write(const plan::Access &access, const Value &value) {
  const plan::Slice &slice = plan.slices(int(access.slice()));
  if (slice.slice_class() == plan::GATHERED && !step().has_all_gather()) {
    problems.add(finding::kWrongGather, describeIt(), " writes ",
                 describeSlice(plan, access.slice()),
                 ", which is gathered; expected gathers alone to");
  }
  std::optional<UnitPart> part = parts_.of(access);
  if (part && slice.carried() && roleOf(part->role) != Role::Gradient &&
      updates.mayWrite(at, access, *part) && !isCollective(step())) {
    updates.write(at, access);
  }
  if (sums.isSum(access.slice())) {
    sums.write(at, access, value, values.touches(access, Terms::All),
               values.touches(access, Terms::Zero));
  }
  Content content{value};
  if (mesh.world() == 1) {
    content.value.sharing = Sharing::Replicated;
  } else if (value.sharing >= Sharing::Partial) {
    checkLocalWrite(access);
  } else if (values.isShard(access)) {
    content.value.sharing = Sharing::Sharded;
    content.part = &access;
    values.visit(access, [&](uint64_t, uint64_t, const Content &before) {
      content.rest =
          std::max(content.rest,
                   before.part != nullptr ? before.rest : before.value.sharing);
    });
  } else if (value.sharing == Sharing::Sharded &&
             replicated.count(access.slice()) != 0) {
    problems.add(finding::kMissingGather, describeIt(), " writes ",
                 describeSlice(plan, access.slice()),
                 ", which every rank has whole, with one rank's shard");
  }
  values.assign(access, content);
}

void Values::checkLocalWrite(const plan::Access &access) {
  if (plan.has_gradient_norm() && access.slice() == plan.gradient_norm()) {
    problems.add(finding::kNoAgreement, describeIt(), " makes ",
                 describeSlice(plan, access.slice()),
                 ", the norm of gradients, from values of this rank only; "
                 "expected what all ranks add up");
  }
  if (trained.count(access.slice()) != 0) {
    problems.add(finding::kGradientsNotReduced, describeIt(), " updates ",
                 describeSlice(plan, access.slice()), " from ",
                 varied != nullptr ? describeSlice(plan, varied->slice())
                                   : std::string("a collective"),
                 ", which holds this rank's own values only");
  }
  auto done = closed.find(access.slice());
  auto [begin, end] = values.reach(access);
  if (done != closed.end() && done->second.touches(begin, end)) {
    problems.add(finding::kLateGradients, describeIt(), " writes ",
                 describeSlice(plan, access.slice()),
                 ", whose gradients have been reduced already");
  }
}

void Values::arrive(const plan::Access &access) {
  const StagedInput &arrival = arrivals[access.slice()];
  write(access, {arrival.isRanksOwn() ? Sharing::Varied
                 : arrival.isPlace()  ? Sharing::Sharded
                                      : Sharing::Replicated});
}

//===----------------------------------------------------------------------===//
// Transfer functions
//===----------------------------------------------------------------------===//

void Values::expect(const plan::Access &access,
                    const std::optional<UnitPart> &part) {
  std::optional<UnitPart> found = parts_.of(access);
  plan::SliceClass of = plan.slices(int(access.slice())).slice_class();
  if (found != part || (found && !fits(found->role, of))) {
    problems.add(
        finding::kWrongUnit, describeIt(), " takes ",
        describeSlice(plan, access.slice()), ", ", nameOf(of), " that holds ",
        found ? describe(plan, *found) : "nothing of a unit", "; expected ",
        part ? describe(plan, *part) : "a buffer of none");
  }
}

void Values::reduce(const plan::Access &gradients, const UnitPart &part) {
  auto [begin, end] = values.reach(gradients);
  closed[gradients.slice()].assign(begin, end, true);
  const plan::Unit &unit = plan.units(part.unit);
  if (!unit.trainable()) {
    waste.add(finding::kNeedlessReduction, describeIt(),
              " reduces gradients of unit ", part.unit, " (", unit.name(),
              "), which is frozen");
  }
  sums.reduce(at, part);
}

void Values::compute(const plan::Step &step) {
  Sharing sharing = Sharing::Replicated;
  std::optional<UnitPart> updated;
  for (int i = 0; i < step.accesses_size(); ++i) {
    const plan::Access &access = step.accesses(i);
    Effect effect = effectOf(step, i);
    if (effect.reads) {
      sharing = std::max(sharing, read(access).sharing);
    }
    std::optional<UnitPart> part =
        effect.writes ? parts_.of(access) : std::nullopt;
    bool gradients = part && roleOf(part->role) == Role::Gradient;
    if (part && !gradients && !updated && !plan.units(part->unit).local()) {
      updated = part;
    }
  }
  std::vector<Value> made(step.accesses_size());
  for (int i = 0; i < step.accesses_size(); ++i) {
    if (effectOf(step, i).writes) {
      made[i] = makes(step, i, sharing);
    }
  }
  for (int i = 0; i < step.accesses_size(); ++i) {
    if (effectOf(step, i).writes) {
      write(step.accesses(i), made[i]);
    }
  }
  if (updated) {
    updates.compute(at, step, *updated);
  }
}

/// Returns the value that a step writes to access `index`, if `sharing` joins
/// what it reads. A value becomes a term of a sum only if it is written as
/// gradients.
Value Values::makes(const plan::Step &step, int index, Sharing sharing) {
  std::optional<UnitPart> part = parts_.of(step.accesses(index));
  if (!part || roleOf(part->role) != Role::Gradient) {
    return {sharing == Sharing::Partial ? Sharing::Varied : sharing,
            Terms::Unknown, part.has_value()};
  }
  return {sharing == Sharing::Varied ? Sharing::Partial : sharing,
          sums.termsOf(at, index, *part, values)};
}

void Values::copy(const plan::Access &from, const plan::Access &to) {
  Value value = read(from);
  std::optional<UnitPart> part = parts_.of(to);
  if (checkCopy(from, to, value) && part &&
      roleOf(part->role) == Role::Gradient && value.terms == Terms::Unknown) {
    value.terms = Terms::This; // a gradient that was made for something else
    value.sharing =
        value.sharing == Sharing::Varied ? Sharing::Partial : value.sharing;
  }
  // A copy of bytes whose values differ has these values, too.
  std::vector<std::tuple<uint64_t, uint64_t, Value>> pieces;
  if (!values.isShard(from) && !values.isShard(to)) {
    values.visit(from,
                 [&](uint64_t begin, uint64_t end, const Content &content) {
                   pieces.emplace_back(begin - from.offset(),
                                       end - from.offset(), content.value);
                 });
  }
  updates.copy(from, to);
  write(to, value);
  for (auto [begin, end, own] : pieces) {
    if (pieces.size() > 1) {
      own.sharing = value.sharing;
      values.assign(to.slice(), to.offset() + begin, to.offset() + end, {own});
    }
  }
}

/// Checks that a buffer of a unit's elements gets these elements, in its role
/// or, for parameters, as the masters that they are rounded from; and that a
/// state which is copied back was updated.
bool Values::checkCopy(const plan::Access &from, const plan::Access &to,
                       const Value &value) {
  std::optional<UnitPart> source = parts_.of(from), part = parts_.of(to);
  if (!part || plan.units(part->unit).local()) {
    return true;
  }
  const plan::Slice &slice = plan.slices(int(to.slice()));
  bool gradients = roleOf(part->role) == Role::Gradient;
  bool crosses = transferKindOf(plan, step()).has_value();
  // One value may be the gradient of several parameters.
  bool shared = !crosses && (!source || value.terms == Terms::This);
  bool made = gradients && (shared || value.terms == Terms::Zero);
  bool values = source && roleOf(part->role) == Role::Param &&
                roleOf(source->role) == roleOfValues(plan.units(part->unit));
  bool same = source && source->sameElements(*part) &&
              (source->role == part->role || values);
  bool fitting =
      fits(part->role, slice.slice_class()) &&
      (!source ||
       fits(source->role, plan.slices(int(from.slice())).slice_class()));
  if ((!same && !made) || (crosses && !fitting)) {
    problems.add(
        finding::kWrongCopy, describeIt(), " copies ",
        source ? describe(plan, *source) : describeSlice(plan, from.slice()),
        " to ", describeSlice(plan, to.slice()), ", ",
        nameOf(slice.slice_class()), " that holds ", describe(plan, *part),
        "; expected the values of the same elements");
    return false;
  }
  if (!gradients && slice.carried() && !value.updated) {
    problems.add(finding::kEarlyCopy, describeIt(), " copies ",
                 describe(plan, *source), " before a step updates them");
  }
  return true;
}

} // namespace

void checkValues(const VerifierContext &context, Findings &findings) {
  Values(context).run(findings);
}

} // namespace zerograph::verify
