//===- MemoryMutations.cpp - slices and arenas ----------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/steps/Step.h"
#include "tests/mutations/Mutation.h"

#include "absl/strings/str_cat.h"

namespace zerograph::testing {
namespace {

using Change = std::optional<std::string>;

std::vector<int> slices(const plan::Plan &plan, Random &random,
                        const std::function<bool(const plan::Slice &)> &test) {
  std::vector<int> found;
  for (int i = 0; i < plan.slices_size(); ++i) {
    if (test(plan.slices(i))) {
      found.push_back(i);
    }
  }
  return random.shuffled(std::move(found));
}

bool fits(const plan::Plan &plan, uint64_t offset, const plan::Slice &slice) {
  return offset + slice.bytes() <= plan.arenas(int(slice.arena())).bytes();
}

/// By program and slice.
using Lives = std::vector<std::vector<std::optional<Life>>>;

/// True if some step of the plan uses `b` after a step has used `a` and before
/// another does.
bool within(const Lives &lives, int a, int b) {
  for (const auto &of : lives) {
    if (of[a] && of[b] && of[a]->first < of[b]->first &&
        of[b]->first < of[a]->last) {
      return true;
    }
  }
  return false;
}

/// A buffer onto one that begins while the first still lives.
Change ontoLive(plan::Plan &plan, Random &random) {
  Lives lives;
  for (int p = 0; p < plan.programs_size(); ++p) {
    lives.push_back(livesOf(plan, p));
  }
  for (int i : slices(plan, random, [](auto &) { return true; })) {
    for (int j : slices(plan, random, [](auto &) { return true; })) {
      plan::Slice &slice = *plan.mutable_slices(i);
      const plan::Slice &other = plan.slices(j);
      if (slice.arena() == other.arena() && within(lives, i, j) &&
          fits(plan, other.offset(), slice) &&
          (slice.offset() + slice.bytes() <= other.offset() ||
           other.offset() + other.bytes() <= slice.offset())) {
        slice.set_offset(other.offset());
        restate(plan);
        return absl::StrCat(describeSlice(plan, i), " moved onto ",
                            describeSlice(plan, j));
      }
    }
  }
  return std::nullopt;
}

Change ontoCarried(plan::Plan &plan, Random &random) {
  for (int i :
       slices(plan, random, [](auto &slice) { return !slice.carried(); })) {
    for (int j :
         slices(plan, random, [](auto &slice) { return slice.carried(); })) {
      plan::Slice &slice = *plan.mutable_slices(i);
      if (slice.arena() == plan.slices(j).arena() &&
          fits(plan, plan.slices(j).offset(), slice)) {
        slice.set_offset(plan.slices(j).offset());
        restate(plan);
        return absl::StrCat(describeSlice(plan, i), " moved onto ",
                            describeSlice(plan, j));
      }
    }
  }
  return std::nullopt;
}

/// Two states on the same bytes.
Change carriedTwice(plan::Plan &plan, Random &random) {
  uint32_t arena = uint32_t(random.below(plan.arenas_size()));
  std::vector<int> carried = slices(plan, random, [&](auto &slice) {
    return slice.carried() && slice.arena() == arena;
  });
  if (carried.size() < 2) {
    return std::nullopt;
  }
  plan.mutable_slices(carried[0])->set_offset(plan.slices(carried[1]).offset());
  plan::Slice &moved = *plan.mutable_slices(carried[0]);
  plan::Arena &of = *plan.mutable_arenas(int(arena));
  of.set_bytes(std::max(of.bytes(), moved.offset() + moved.bytes()));
  restate(plan);
  return absl::StrCat(describeSlice(plan, carried[0]), " moved onto ",
                      describeSlice(plan, carried[1]));
}

Change misalign(plan::Plan &plan, Random &random) {
  int i = slices(plan, random, [&](const plan::Slice &slice) {
    return fits(plan, slice.offset() + 63, slice);
  })[0];
  plan::Slice &slice = *plan.mutable_slices(i);
  slice.set_offset(slice.offset() + 1 + random.below(63));
  return absl::StrCat(describeSlice(plan, i), " begins at byte ",
                      slice.offset());
}

Change shrinkSlice(plan::Plan &plan, Random &random) {
  std::vector<At> used = steps(plan, random, [](auto &) { return true; });
  int i = int(at(plan, used[0]).accesses(0).slice());
  plan::Slice &slice = *plan.mutable_slices(i);
  slice.set_bytes(slice.bytes() / 2);
  return absl::StrCat("half the bytes for ", describeSlice(plan, i));
}

/// Over the carried one that follows it.
Change growSlice(plan::Plan &plan, Random &random) {
  for (int i :
       slices(plan, random, [](auto &slice) { return slice.carried(); })) {
    plan::Slice &slice = *plan.mutable_slices(i);
    for (const plan::Slice &next : plan.slices()) {
      if (next.carried() && next.arena() == slice.arena() &&
          next.offset() > slice.offset()) {
        slice.set_bytes(next.offset() + 4 - slice.offset());
        restate(plan);
        return absl::StrCat(describeSlice(plan, i), " grown into the next");
      }
    }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Which are carried
//===----------------------------------------------------------------------===//

Change notCarried(plan::Plan &plan, Random &random) {
  int i = slices(plan, random,
                 [](const plan::Slice &slice) { return slice.carried(); })[0];
  plan.mutable_slices(i)->set_carried(false);
  restate(plan);
  return absl::StrCat(describeSlice(plan, i), " is not carried");
}

Change carriedToo(plan::Plan &plan, Random &random) {
  int i = slices(plan, random,
                 [](const plan::Slice &slice) { return !slice.carried(); })[0];
  plan.mutable_slices(i)->set_carried(true);
  return absl::StrCat(describeSlice(plan, i), " is carried too");
}

//===----------------------------------------------------------------------===//
// Classes and arenas
//===----------------------------------------------------------------------===//

/// Changes the class of buffers whose class says what is in them.
Change otherClass(plan::Plan &plan, Random &random) {
  int i = slices(plan, random, [](const plan::Slice &slice) {
    return slice.slice_class() != plan::ACTIVATION &&
           slice.slice_class() != plan::TRANSIENT &&
           (slice.slice_class() != plan::STAGING || slice.carried()) &&
           // A scalar that only this rank has is like any other value.
           (slice.slice_class() != plan::SCALAR || slice.carried());
  })[0];
  plan.mutable_slices(i)->set_slice_class(plan::TRANSIENT);
  return absl::StrCat(describeSlice(plan, i), " is transient");
}

Change otherOwner(plan::Plan &plan, Random &random) {
  for (int i : slices(plan, random, [](const plan::Slice &slice) {
         return slice.slice_class() == plan::GRAD ||
                slice.slice_class() == plan::GRAD_SHARD ||
                slice.slice_class() == plan::GATHERED;
       })) {
    plan::Slice &slice = *plan.mutable_slices(i);
    if (!slice.has_holds() || plan.units_size() == 1) {
      continue; // its state says whose it is
    }
    plan::UnitElements &held = *slice.mutable_holds();
    held.set_unit((held.unit() + 1) % uint32_t(plan.units_size()));
    return absl::StrCat(describeSlice(plan, i), " is of unit ", held.unit());
  }
  return std::nullopt;
}

plan::Arena &anyArena(plan::Plan &plan, Random &random) {
  return *plan.mutable_arenas(int(random.below(plan.arenas_size())));
}

Change lessArena(plan::Plan &plan, Random &random) {
  plan::Arena &arena = anyArena(plan, random);
  arena.set_bytes(arena.bytes() -
                  arena.alignment() *
                      (1 + random.below(std::min<uint64_t>(
                               100, arena.bytes() / arena.alignment()))));
  return absl::StrCat("an arena of ", arena.bytes(), " bytes");
}

Change otherAlignment(plan::Plan &plan, Random &random) {
  const uint64_t values[] = {0, 8, 32, 96, 1 << 20, uint64_t(1) << 31};
  plan.mutable_arenas(0)->set_alignment(values[random.below(6)]);
  return absl::StrCat("alignment ", plan.arenas(0).alignment());
}

Change otherSpace(plan::Plan &plan, Random &random) {
  plan.mutable_arenas(0)->set_space(plan::NVME);
  return "all memory in files";
}

} // namespace

std::vector<Mutation> memoryMutations() {
  return {
      {"offsets", "onto a live buffer", ontoLive, {kSharedBytes, kInvalidStep}},
      {"offsets",
       "onto a carried one",
       ontoCarried,
       {kSharedBytes, kInvalidStep}},
      {"offsets",
       "carried ones onto each other",
       carriedTwice,
       {kSharedBytes, kInvalidStep}},
      {"offsets", "not aligned", misalign, {kInvalidSlice}},
      {"sizes",
       "half the bytes",
       shrinkSlice,
       {kInvalidStep, kInvalidUnit, kInvalidScalar, kInvalidInput,
        kInvalidTotal, kInvalidSlot}},
      {"sizes",
       "into the next",
       growSlice,
       {kInvalidUnit, kInvalidSlot, kInvalidTotal, kReadBeforeItIsWritten}},
      {"carried",
       "no longer",
       notCarried,
       {kInvalidUnit, kInvalidSlot, kInvalidTotal}},
      {"carried",
       "without a reason",
       carriedToo,
       {kAmbiguousSlice, kInvalidUnit, kInvalidScalar, kInvalidInput}},
      {"roles",
       "another class",
       otherClass,
       {kAmbiguousSlice, kWrongUnit, kWrongCopy}},
      {"roles",
       "another unit",
       otherOwner,
       {kWrongUnit, kWrongCopy, kInvalidUnit}},
      {"arenas", "too small", lessArena, {kInvalidSlice}},
      {"arenas", "alignment", otherAlignment, {kInvalidArena}},
      {"arenas", "space", otherSpace, {kInvalidArena}},
  };
}

} // namespace zerograph::testing
