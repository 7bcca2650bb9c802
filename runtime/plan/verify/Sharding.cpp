//===- Sharding.cpp - what ranks have in common ---------------------------===//
//
// Follows through the programs, for every byte of every slice, whether it is
//   shared: the same on every rank, or meant to be the rank's own (a shard);
//   local:  made from the rank's own samples and not reduced yet, as running
//           statistics stay for ever;
//   parts:  each rank's own part is new, the others' parts are not.
// Local values must not reach parameters or optimizer states, and parts must
// be gathered before anything but the rank's own part of them is read.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/Supported.h"
#include "runtime/plan/verify/Checks.h"
#include "runtime/plan/verify/External.h"

#include <map>
#include <set>

namespace zerograph::verify {
namespace {

enum class Kind { Shared, Local, Parts };

struct Content {
  uint64_t end = 0;
  Kind kind = Kind::Shared;
  bool reduced = false;    // parts: the rest is local, not merely old
  uint64_t part_begin = 0; // parts: of rank 0
  uint64_t part_bytes = 0;
  uint64_t part_stride = 0;
};

/// The bytes of one slice; what is not in the map is shared.
using Contents = std::map<uint64_t, Content>;

void assign(Contents &contents, uint64_t begin, Content content) {
  auto it = contents.lower_bound(begin);
  if (it != contents.begin() && std::prev(it)->second.end > begin) {
    Content left = std::prev(it)->second;
    Content right = left;
    std::prev(it)->second.end = begin;
    if (right.end > content.end) {
      contents.emplace(content.end, right);
    }
    it = contents.lower_bound(begin);
  }
  while (it != contents.end() && it->first < content.end) {
    Content rest = it->second;
    it = contents.erase(it);
    if (rest.end > content.end) {
      contents.emplace(content.end, rest);
      break;
    }
  }
  if (content.kind != Kind::Shared) {
    contents.emplace(begin, content);
  }
}

class Flow {
public:
  Flow(const Subject &subject, Problems &problems)
      : plan(subject.plan), problems(problems), slices(plan.slices_size()) {
    for (const plan::Unit &unit : plan.units()) {
      for (const plan::State &state : unit.states()) {
        if (unit.trainable() && state.role() != "grad") {
          updated.insert(state.slice());
        }
        if (state.role() == "param") {
          (state.sharded() ? shards : whole).insert(state.slice());
        }
      }
    }
  }

  void run() {
    for (int p = 0; p < plan.programs_size(); ++p) {
      begin(p);
      for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
        visit(p, s);
      }
    }
    for (uint32_t slice : whole) {
      for (const auto &[begin, content] : slices[slice]) {
        if (content.kind == Kind::Parts) {
          problems.add("missing gather: each rank has updated its own part of ",
                       describeSlice(plan, slice), " from byte ", begin,
                       ", and the other ranks never get it");
          break;
        }
      }
    }
  }

private:
  void begin(int program) {
    reduced.clear();
    for (int i = 0; i < plan.slices_size(); ++i) {
      if (!plan.slices(i).carried()) {
        slices[i].clear();
      }
    }
    for (const plan::Scalar &scalar : plan.scalars()) {
      if (scalar.name() == kStopScalar ||
          scalarKind(scalar.name()) == ScalarKind::sample_base) {
        setLocal(scalar.slice());
      }
    }
    for (const plan::Unit &unit : plan.units()) {
      if (unit.local()) {
        setLocal(unit.states(0).slice());
      }
    }
    if (plan.programs(program).name() == "update") {
      return;
    }
    for (const plan::Input &input : plan.inputs()) {
      if (input.per_sample()) {
        setLocal(input.slice());
      }
    }
  }

  void setLocal(uint32_t slice) {
    Content content;
    content.end = plan.slices(slice).bytes();
    content.kind = Kind::Local;
    assign(slices[slice], 0, content);
  }

  /// True if the access sees local values. Reports old parts of other ranks.
  bool readsLocal(int p, int s, const plan::Access &access) {
    const Contents &contents = slices[access.slice()];
    uint64_t begin = access.offset();
    uint64_t end = begin + uint64_t(plan.world() - 1) * access.rank_stride() +
                   access.bytes();
    auto it = contents.upper_bound(begin);
    if (it != contents.begin()) {
      --it;
    }
    bool local = false;
    for (; it != contents.end() && it->first < end; ++it) {
      const Content &content = it->second;
      if (content.end <= begin) {
        continue;
      }
      bool own = content.kind == Kind::Parts &&
                 access.rank_stride() == content.part_stride &&
                 access.offset() >= content.part_begin &&
                 access.offset() + access.bytes() <=
                     content.part_begin + content.part_bytes;
      if (content.kind == Kind::Local || (!own && content.reduced)) {
        local = true;
      } else if (!own) {
        problems.add("missing gather: ", describeStep(plan, p, s), " reads ",
                     describeSlice(plan, access.slice()),
                     ", of which only each rank's own part is up to date");
        return local;
      }
    }
    return local;
  }

  void write(const plan::Access &access, Kind kind, bool reduced) {
    Content content;
    bool by_rank = access.rank_stride() != 0;
    content.end = access.offset() + access.bytes() +
                  uint64_t(plan.world() - 1) * access.rank_stride();
    content.kind = kind == Kind::Shared && by_rank ? Kind::Parts : kind;
    content.reduced = reduced && content.kind == Kind::Parts;
    content.part_begin = access.offset();
    content.part_bytes = access.bytes();
    content.part_stride = access.rank_stride();
    assign(slices[access.slice()], access.offset(), content);
  }

  void visit(int p, int s) {
    const plan::Step &step = plan.programs(p).steps(s);
    if (step.has_reduce_scatter()) {
      const plan::Access &from = step.accesses(0);
      write(step.accesses(1), Kind::Shared, true);
      Content done;
      done.end = from.offset() + from.bytes();
      done.kind = Kind::Local; // any but shared: "in the map" is what counts
      assign(reduced[from.slice()], from.offset(), done);
      return;
    }
    if (step.has_all_gather()) {
      for (int i = 0; i < step.accesses_size(); i += 2) {
        bool local = readsLocal(p, s, step.accesses(i));
        checkNews(p, s, step.accesses(i), step.accesses(i + 1));
        write(step.accesses(i + 1), local ? Kind::Local : Kind::Shared, false);
      }
      return;
    }
    if (step.has_all_reduce()) {
      for (int i = 1; i < step.accesses_size(); i += 2) {
        write(step.accesses(i), Kind::Shared, false);
      }
      return;
    }
    compute(p, s, step);
  }

  /// A gather in place brings each rank what the others have changed.
  void checkNews(int p, int s, const plan::Access &part,
                 const plan::Access &whole) {
    if (part.slice() != whole.slice()) {
      return;
    }
    for (const auto &[begin, content] : slices[whole.slice()]) {
      if (begin < whole.offset() + whole.bytes() &&
          content.end > whole.offset()) {
        return;
      }
    }
    problems.add("needless gather: ", describeStep(plan, p, s), " gathers ",
                 describeSlice(plan, whole.slice()),
                 ", which is the same on every rank already");
  }

  void compute(int p, int s, const plan::Step &step) {
    const plan::Access *source = nullptr;
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (effectOf(step, i).reads && readsLocal(p, s, step.accesses(i)) &&
          source == nullptr) {
        source = &step.accesses(i);
      }
    }
    for (int i = 0; i < step.accesses_size(); ++i) {
      const plan::Access &access = step.accesses(i);
      if (!effectOf(step, i).writes || access.bytes() == 0) {
        continue;
      }
      if (source != nullptr) {
        checkLocalWrite(p, s, access, *source);
      }
      checkShardUse(p, s, step, access);
      write(access, source != nullptr ? Kind::Local : Kind::Shared, false);
    }
  }

  void checkLocalWrite(int p, int s, const plan::Access &access,
                       const plan::Access &source) {
    if (updated.count(access.slice()) != 0) {
      problems.add("gradients not reduced: ", describeStep(plan, p, s),
                   " updates ", describeSlice(plan, access.slice()), " from ",
                   describeSlice(plan, source.slice()),
                   ", which holds this rank's own values only");
    }
    auto done = reduced.find(access.slice());
    if (done == reduced.end()) {
      return;
    }
    uint64_t end = access.offset() + access.bytes();
    auto it = done->second.lower_bound(end);
    if (it != done->second.begin() &&
        std::prev(it)->second.end > access.offset()) {
      problems.add("late gradients: ", describeStep(plan, p, s), " writes ",
                   describeSlice(plan, access.slice()),
                   ", whose gradients have been reduced already");
    }
  }

  /// A shard is no parameter: activations are made from gathered ones.
  void checkShardUse(int p, int s, const plan::Step &step,
                     const plan::Access &written) {
    if (plan.slices(written.slice()).slice_class() != plan::ACTIVATION) {
      return;
    }
    for (const plan::Access &access : step.accesses()) {
      if (shards.count(access.slice()) != 0) {
        problems.add("missing gather: ", describeStep(plan, p, s),
                     " computes with ", describeSlice(plan, access.slice()),
                     ", which is one rank's shard");
      }
    }
  }

  const plan::Plan &plan;
  Problems &problems;
  std::vector<Contents> slices;
  std::set<uint32_t> updated; // states of trainable units, gradients aside
  std::set<uint32_t> whole;   // parameters kept whole
  std::set<uint32_t> shards;  // parameters kept as shards
  std::map<uint32_t, Contents> reduced; // in this program, by slice
};

/// Stage 1 shards optimizer states, stage 3 parameters as well.
void checkLayout(const plan::Plan &plan, Problems &problems) {
  for (int i = 0; i < plan.units_size(); ++i) {
    const plan::Unit &unit = plan.units(i);
    for (const plan::State &state : unit.states()) {
      bool needed = state.role() == "param"
                        ? plan.zero_stage() == 3 && !unit.persistent()
                        : plan.zero_stage() >= 1;
      if (state.role() != "grad" && state.sharded() != needed) {
        problems.add("wrong layout: state \"", state.role(), "\" of unit ", i,
                     " (", unit.name(), ") is ",
                     state.sharded() ? "sharded" : "whole", "; stage ",
                     plan.zero_stage(),
                     needed ? " shards it" : " keeps it whole",
                     unit.persistent() ? " (the unit is persistent)" : "");
      }
    }
  }
}

} // namespace

void checkSharding(const Subject &subject, Problems &problems) {
  // One rank has everything.
  if (subject.plan.world() == 1) {
    return;
  }
  checkLayout(subject.plan, problems);
  Flow(subject, problems).run();
}

} // namespace zerograph::verify
