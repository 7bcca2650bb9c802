//===- Lifetimes.cpp - buffers that share bytes ---------------------------===//
//
// X and Y may share bytes if every use of X happens before every use of Y. Of
// each buffer two clocks suffice: how far its uses reach on every stream, and
// what is certain to have finished before any of them starts.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/verify/Checks.h"

#include <algorithm>
#include <limits>
#include <set>

namespace zerograph::verify {
namespace {

/// The uses of one slice in one program.
struct Uses {
  bool used = false;
  uint32_t first = 0;
  uint32_t last = 0;
  Clock reach{};           // position of the last use on each stream
  Clock ready{};           // of each stream, what has finished before every use
  bool read_after = false; // the runtime reads it after the program
};

std::vector<Uses> usesIn(const VerifierContext &context, int program) {
  const plan::Plan &plan = context.plan;
  const HappensBefore &order = context.orders[program];
  std::vector<Uses> all(plan.slices_size());
  for (int s = 0; s < plan.programs(program).steps_size(); ++s) {
    for (const plan::Access &access :
         plan.programs(program).steps(s).accesses()) {
      if (access.bytes() == 0) {
        continue;
      }
      Uses &uses = all[access.slice()];
      if (!uses.used) {
        uses.used = true;
        uses.first = s;
        uses.ready.fill(std::numeric_limits<uint32_t>::max());
      }
      uses.last = s;
      uint8_t stream = order.stream(s);
      uses.reach[stream] = order.position(s);
      // The step's own position does not count: it isn't over when it starts.
      Clock clock = order.clock(s);
      --clock[stream];
      for (int i = 0; i < kMaxStreams; ++i) {
        uses.ready[i] = std::min(uses.ready[i], clock[i]);
      }
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].read_after = context.read_after[i] && all[i].used;
  }
  return all;
}

bool precedes(const Uses &a, const Uses &b) {
  if (a.read_after) {
    return false;
  }
  for (int i = 0; i < kMaxStreams; ++i) {
    if (a.reach[i] > b.ready[i]) {
      return false;
    }
  }
  return true;
}

class SharedBytes {
public:
  SharedBytes(const VerifierContext &context, Findings &findings)
      : plan(context.plan), problems(findings.problems) {
    for (int p = 0; p < plan.programs_size(); ++p) {
      programs.push_back(usesIn(context, p));
    }
  }

  /// A sweep over the slices of each arena in order of their first byte. Those
  /// that reach the byte are kept in order of their first use. "Is done with
  /// before" is transitive, so each is compared with its two neighbours only.
  void run() {
    std::vector<std::vector<int>> arenas(plan.arenas_size());
    for (int i = 0; i < plan.slices_size(); ++i) {
      if (plan.slices(i).bytes() != 0) {
        arenas[plan.slices(i).arena()].push_back(i);
      }
    }
    for (std::vector<int> &slices : arenas) {
      std::stable_sort(slices.begin(), slices.end(), [&](int a, int b) {
        return plan.slices(a).offset() < plan.slices(b).offset();
      });
      sweep(slices);
    }
  }

private:
  /// First use and slice.
  using Order = std::set<std::pair<uint32_t, int>>;

  void sweep(const std::vector<int> &slices) {
    std::set<std::pair<uint64_t, int>> ends; // of all that reach the byte
    std::set<int> carried;                   // of them
    std::vector<Order> orders(programs.size());
    for (int slice : slices) {
      uint64_t begin = plan.slices(slice).offset();
      while (!ends.empty() && ends.begin()->first <= begin) {
        int gone = ends.begin()->second;
        ends.erase(ends.begin());
        carried.erase(gone);
        for (size_t p = 0; p < orders.size(); ++p) {
          orders[p].erase({programs[p][gone].first, gone});
        }
      }
      bool keeps = plan.slices(slice).carried();
      if (!carried.empty()) {
        shareCarried(*carried.begin(), slice);
      } else if (keeps && !ends.empty()) {
        shareCarried(slice, ends.begin()->second);
      }
      ends.emplace(begin + plan.slices(slice).bytes(), slice);
      if (keeps) {
        carried.insert(slice);
        continue;
      }
      for (size_t p = 0; p < orders.size(); ++p) {
        if (programs[p][slice].used) {
          insert(int(p), orders[p], slice);
        }
      }
      if (problems.enough()) {
        return;
      }
    }
  }

  void insert(int p, Order &order, int slice) {
    auto at = order.emplace(programs[p][slice].first, slice).first;
    if (at != order.begin()) {
      compare(p, std::prev(at)->second, slice);
    }
    if (std::next(at) != order.end()) {
      compare(p, slice, std::next(at)->second);
    }
  }

  void shareCarried(int carried, int other) {
    problems.add(
        finding::kSharedBytes, describeSlice(plan, carried), " and ",
        describeSlice(plan, other), " overlap in arena ",
        plan.slices(other).arena(), ", and ", describeSlice(plan, carried),
        " is carried across programs: it can share with none", everyUse(other));
  }

  void compare(int p, int a, int b) {
    const Uses &x = programs[p][a];
    const Uses &y = programs[p][b];
    if (precedes(x, y) || precedes(y, x)) {
      return;
    }
    problems.add(finding::kSharedBytes, describeSlice(plan, a), uses(p, x),
                 " and ", describeSlice(plan, b), uses(p, y),
                 " overlap in arena ", plan.slices(a).arena(), ", and in \"",
                 plan.programs(p).name(),
                 "\" neither is certain to be done with before the other "
                 "begins");
  }

  /// "; slice 35 (x) is used from step 3 to ...", for each program.
  std::string everyUse(int slice) const {
    std::string text;
    for (int p = 0; p < plan.programs_size(); ++p) {
      if (programs[p][slice].used) {
        absl::StrAppend(&text, "; ", describeSlice(plan, slice),
                        uses(p, programs[p][slice]));
      }
    }
    if (!text.empty() && text.back() == ',') {
      text.pop_back();
    }
    return text;
  }

  std::string uses(int program, const Uses &uses) const {
    return absl::StrCat(", used from step ", uses.first, " to ",
                        describeStep(plan, program, uses.last), ",");
  }

  const plan::Plan &plan;
  Problems &problems;
  std::vector<std::vector<Uses>> programs;
};

} // namespace

void checkLifetimes(const VerifierContext &context, Findings &findings) {
  SharedBytes(context, findings).run();
}

} // namespace zerograph::verify
