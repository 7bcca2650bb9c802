//===- Sharing.cpp - what ranks have in common ----------------------------===//
//
// Follows through the programs, for every byte of every slice, what ranks have
// in common of it (steps/Step.h), from what the plan declares: states are
// replicated, or sharded over axes; samples are a rank's own. A part of a
// replicated buffer that each rank has new is sharded until it is gathered.
//
// Local values must not reach parameters or optimizer states, what is sharded
// must not meet a rank's own samples, and no rank may read what only another
// one has.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/ByteMap.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"
#include "runtime/plan/verify/Checks.h"

#include <map>
#include <set>

namespace zerograph::verify {
namespace {

/// The state of what is not replicated. Of a buffer of which each rank has its
/// own part, `parts` says where that is, and `rest` what the others' parts are:
/// old, or a rank's own.
struct Content {
  Sharing sharing = Sharing::Replicated;
  std::optional<plan::Access> parts;
  Sharing rest = Sharing::Replicated;
};

class Flow final : public SharingState {
public:
  Flow(const VerifierContext &context, Findings &findings)
      : plan(context.plan), mesh(context.mesh), findings(findings),
        problems(findings.problems), slices(plan.slices_size()),
        arrivals(context.arrivals) {
    for (const plan::Unit &unit : plan.units()) {
      for (const plan::State &state : unit.states()) {
        if (unit.trainable() && state.role() != "grad") {
          updated.insert(state.slice());
        }
        if (mesh.groupSize(state.axes()) > 1) {
          sharded.insert(state.slice());
        } else if (state.role() != "grad" && !unit.local()) {
          replicated.insert(state.slice());
        }
      }
    }
  }

  void run() {
    if (plan.has_gradient_norm()) {
      replicated.insert(plan.gradient_norm());
    }
    for (p = 0; p < plan.programs_size(); ++p) {
      begin();
      for (s = 0; s < plan.programs(p).steps_size(); ++s) {
        sharded_source = local_source = nullptr;
        const plan::Step &step = plan.programs(p).steps(s);
        checkNews(step);
        kindOf(step).share(step, *this);
      }
    }
    for (uint32_t slice : replicated) {
      slices[slice].visit(
          0, plan.slices(int(slice)).bytes(),
          [&](uint64_t begin, uint64_t, const Content &content) {
            if (content.sharing == Sharing::Sharded) {
              problems.add("missing gather: each rank has updated its own part "
                           "of ",
                           describeSlice(plan, slice), " from byte ", begin,
                           ", and the other ranks never get it");
            }
          });
    }
  }

  Sharing read(const plan::Access &access) override {
    Sharing sharing = isPart(access) ? Sharing::Sharded : Sharing::Replicated;
    visit(access, [&](uint64_t, const Content &content) {
      if (!content.parts) {
        sharing = std::max(sharing, content.sharing);
      } else if (isWithin(access, *content.parts)) {
        sharing = std::max(sharing, Sharing::Sharded);
      } else if (content.rest == Sharing::Local) {
        sharing = Sharing::Local;
      } else {
        problems.add("missing gather: ", describeStep(plan, p, s), " reads ",
                     describeSlice(plan, access.slice()),
                     ", of which only each rank's own part is up to date");
      }
    });
    if (sharing == Sharing::Local) {
      local_source = &access;
    } else if (sharing == Sharing::Sharded) {
      sharded_source = &access;
    }
    if (local_source != nullptr && sharded_source != nullptr &&
        !isCollective(plan.programs(p).steps(s))) {
      problems.add("missing gather: ", describeStep(plan, p, s),
                   " computes with ",
                   describeSlice(plan, sharded_source->slice()),
                   ", which is one rank's shard, and with this rank's own ",
                   describeSlice(plan, local_source->slice()));
    }
    return sharing;
  }

  void write(const plan::Access &access, Sharing sharing) override {
    if (sharing == Sharing::Local) {
      checkLocalWrite(access);
    }
    Content content{sharing, std::nullopt, Sharing::Replicated};
    if (sharing != Sharing::Local && isPart(access)) {
      content = {Sharing::Sharded, access, Sharing::Replicated};
      visit(access, [&](uint64_t, const Content &before) {
        content.rest =
            std::max(content.rest, before.parts ? before.rest : before.sharing);
      });
    } else if (sharing == Sharing::Sharded &&
               replicated.count(access.slice()) != 0) {
      problems.add("missing gather: ", describeStep(plan, p, s), " writes ",
                   describeSlice(plan, access.slice()),
                   ", which every rank has whole, with one rank's shard");
    }
    auto [begin, end] = reach(access);
    if (content.sharing == Sharing::Replicated) {
      slices[access.slice()].erase(begin, end);
    } else {
      slices[access.slice()].assign(begin, end, content);
    }
  }

  void arrive(const plan::Access &access) override {
    const StagedInput &arrival = arrivals[access.slice()];
    write(access, arrival.isRanksOwn() ? Sharing::Local
                  : arrival.isPlace()  ? Sharing::Sharded
                                       : Sharing::Replicated);
  }

  void close(const plan::Access &gradients) override {
    auto [begin, end] = reach(gradients);
    closed[gradients.slice()].assign(begin, end, true);
  }

private:
  void begin() {
    closed.clear();
    for (int i = 0; i < plan.slices_size(); ++i) {
      if (!plan.slices(i).carried()) {
        slices[i].clear();
      }
    }
    for (uint32_t slice : sharded) {
      set(slice, Sharing::Sharded);
    }
    for (const plan::Unit &unit : plan.units()) {
      if (unit.local()) {
        set(unit.states(0).slice(), Sharing::Local);
      }
    }
  }

  void set(uint32_t slice, Sharing sharing) {
    slices[slice].assign(0, plan.slices(int(slice)).bytes(),
                         {sharing, std::nullopt, Sharing::Replicated});
  }

  bool isPart(const plan::Access &access) const {
    return mesh.strides(access) != Strides{};
  }

  bool isWithin(const plan::Access &access, const plan::Access &part) const {
    return mesh.strides(access) == mesh.strides(part) &&
           access.offset() >= part.offset() &&
           access.offset() + access.bytes() <= part.offset() + part.bytes();
  }

  /// Returns the bytes that all ranks reach.
  std::pair<uint64_t, uint64_t> reach(const plan::Access &access) const {
    return {access.offset(), access.offset() +
                                 mesh.lastOffset(mesh.strides(access)) +
                                 access.bytes()};
  }

  template <typename Visit>
  void visit(const plan::Access &access, Visit visit) {
    auto [begin, end] = reach(access);
    slices[access.slice()].visit(
        begin, end, [&](uint64_t at, uint64_t, const Content &content) {
          visit(at, content);
        });
  }

  /// A gather in place brings each rank what the others have changed.
  void checkNews(const plan::Step &step) {
    for (int i = 0; step.has_all_gather() && i < step.accesses_size(); i += 2) {
      const plan::Access &whole = step.accesses(i + 1);
      if (step.accesses(i).slice() != whole.slice()) {
        continue;
      }
      auto [begin, end] = reach(whole);
      if (!slices[whole.slice()].touches(begin, end)) {
        findings.waste.add("needless gather: ", describeStep(plan, p, s),
                           " gathers ", describeSlice(plan, whole.slice()),
                           ", which is the same on every rank already");
      }
    }
  }

  void checkLocalWrite(const plan::Access &access) {
    if (plan.has_gradient_norm() && access.slice() == plan.gradient_norm()) {
      problems.add("no agreement: ", describeStep(plan, p, s), " makes ",
                   describeSlice(plan, access.slice()),
                   ", the norm of gradients, from values of this rank only; "
                   "expected what all ranks add up");
    }
    if (updated.count(access.slice()) != 0) {
      problems.add("gradients not reduced: ", describeStep(plan, p, s),
                   " updates ", describeSlice(plan, access.slice()), " from ",
                   local_source != nullptr
                       ? describeSlice(plan, local_source->slice())
                       : std::string("a collective"),
                   ", which holds this rank's own values only");
    }
    auto done = closed.find(access.slice());
    auto [begin, end] = reach(access);
    if (done != closed.end() && done->second.touches(begin, end)) {
      problems.add("late gradients: ", describeStep(plan, p, s), " writes ",
                   describeSlice(plan, access.slice()),
                   ", whose gradients have been reduced already");
    }
  }

  const plan::Plan &plan;
  const Mesh &mesh;
  Findings &findings;
  Problems &problems;
  std::vector<ByteMap<Content>> slices;     // without what is replicated
  const std::vector<StagedInput> &arrivals; // by slice
  std::set<uint32_t> updated;    // states of trained units, gradients aside
  std::set<uint32_t> sharded;    // states
  std::set<uint32_t> replicated; // states, gradients aside
  std::map<uint32_t, ByteMap<bool>> closed; // in this program, by slice
  int p = 0, s = 0;                         // the step that is looked at
  const plan::Access *local_source = nullptr;
  const plan::Access *sharded_source = nullptr;
};

} // namespace

void checkSharing(const VerifierContext &context, Findings &findings) {
  if (context.mesh.world() > 1) { // else one rank has everything
    Flow(context, findings).run();
  }
}

} // namespace zerograph::verify
