//===- PlanEdit.h - changes plans as a wrong compiler would ---------------===//

#ifndef ZEROGRAPH_TESTS_MUTATIONS_PLANEDIT_H
#define ZEROGRAPH_TESTS_MUTATIONS_PLANEDIT_H

#include "runtime/plan/plan.pb.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace zerograph::testing {

/// The same numbers from the same seed on every machine.
class Random {
public:
  /// `kind`: of the steps that `steps` gives; empty: all.
  explicit Random(uint64_t seed, std::string kind = "")
      : kind(std::move(kind)), engine(seed) {}
  const std::string kind;
  uint64_t below(uint64_t count) { return engine() % count; }
  template <typename T>
  std::vector<T> shuffled(std::vector<T> items) {
    for (size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[below(i)]);
    }
    return items;
  }

private:
  std::mt19937_64 engine;
};

/// A step of a program.
struct At {
  int program = 0;
  int step = 0;
};

using StepTest = std::function<bool(const plan::Step &)>;

/// All steps of the wanted kind that `test` accepts, in random order.
std::vector<At> steps(const plan::Plan &plan, Random &random,
                      const StepTest &test);
const plan::Step &at(const plan::Plan &plan, At where);
plan::Step &at(plan::Plan &plan, At where);
/// "step 12 of "micro" (launch, h.0)".
std::string nameOf(const plan::Plan &plan, At where);

/// Returns whether a step reads, or writes, what was in its access number
/// `index`.
bool reads(const plan::Step &step, int index);
bool writes(const plan::Step &step, int index);
/// Returns the unit that a slice holds elements of, or is a state of; or -1.
int unitOf(const plan::Plan &plan, int slice);
/// Returns whether the step makes new states of a trained unit.
bool updates(const plan::Plan &plan, const plan::Step &step);
/// Returns whether two accesses share a byte on some rank: compared rank by
/// rank.
bool touch(const plan::Plan &plan, const plan::Access &a,
           const plan::Access &b);

/// The steps of a program in a new order: old positions, of which some may be
/// missing or there twice. Waits follow what they name; those for steps that
/// now come later, or not at all, go.
void reorder(plan::Plan &plan, int program, const std::vector<int> &order);
/// 0, 1, ... of a program.
std::vector<int> inOrder(const plan::Plan &plan, int program);

/// Makes sequence numbers and sizes fit the steps again, as a compiler that
/// wrote this plan would have.
void restate(plan::Plan &plan);

/// True if two steps of `program` on different streams, that touch the same
/// bytes and one of which writes, were ordered before and are not any more.
/// Order is what streams, waits and the order of collectives reach, step by
/// step.
bool loosened(const plan::Plan &before, const plan::Plan &after, int program);

/// Two such steps that nothing puts in order, of any program: "steps 3 and 7 of
/// "micro""; nothing if there are none.
std::optional<std::string> unordered(const plan::Plan &plan);

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_MUTATIONS_PLANEDIT_H
