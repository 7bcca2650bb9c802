//===- Textbook.cpp - planned traffic beside ZeRO's formulas --------------===//

#include "runtime/plan/Textbook.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Traffic.h"

#include "absl/strings/str_cat.h"

#include <array>
#include <map>

namespace zerograph {
namespace {

int64_t bytesOf(Checked checked) {
  return static_cast<int64_t>(checked.value().value_or(0));
}

/// How often a step gathers and reduces one unit, and the bytes of each.
struct UnitTraffic {
  std::array<int64_t, plan::Stay_ARRAYSIZE> gathers = {}; // by stay
  int64_t gather_bytes = 0;
  int64_t reductions = 0; // of segments
  int64_t reduce_bytes = 0;
};

class Comparison {
public:
  explicit Comparison(const plan::Plan &plan)
      : plan(plan), units(plan.units_size()) {
    for (const plan::Program &program : plan.programs()) {
      int64_t runs = static_cast<int64_t>(runsPerStep(plan, program));
      for (const plan::Step &step : program.steps()) {
        int64_t bytes = runs * bytesOf(receivedBytes(plan, step));
        if (step.has_all_gather()) {
          UnitTraffic &unit = units[step.all_gather().unit()];
          unit.gathers[step.all_gather().stay()] += runs;
          unit.gather_bytes += bytes;
        } else if (step.has_reduce_scatter()) {
          UnitTraffic &unit = units[step.reduce_scatter().unit()];
          unit.reductions += runs;
          unit.reduce_bytes += bytes;
        } else {
          scalars += bytes;
        }
      }
    }
  }

  Textbook run() {
    int64_t repeats = plan.accumulate();
    int64_t gathers = plan.zero_stage() == 3 ? 2 * repeats : 1;
    Textbook book;
    int64_t padded = 0; // the formula with padded buffers
    for (int i = 0; i < plan.units_size(); ++i) {
      const plan::Unit &unit = plan.units(i);
      int64_t once =
          static_cast<int64_t>(unit.elements() / plan.world() *
                               (plan.world() - 1) * elementSize(unit.type()));
      for (const plan::Parameter &parameter : unit.parameters()) {
        if (unit.trainable()) {
          book.psi += parameter.elements() * elementSize(unit.type());
        }
      }
      int64_t expected = unit.trainable() ? gathers * once : 0;
      book.planned += units[i].gather_bytes + units[i].reduce_bytes;
      padded += unit.trainable() ? (gathers + repeats) * once : 0;
      if (plan.zero_stage() == 3 && unit.trainable() && !unit.persistent()) {
        noteStays(units[i], once);
      } else {
        note(gatherReason(unit), units[i].gather_bytes - expected);
      }
      note(units[i].reductions == 0
               ? "nothing to reduce"
               : "segments reduced more or less often than once a micro-batch",
           units[i].reduce_bytes - (unit.trainable() ? repeats * once : 0));
    }
    book.planned += scalars;
    unsigned __int128 exact = static_cast<unsigned __int128>(book.psi) *
                              uint64_t(gathers + repeats) * (plan.world() - 1);
    book.bytes = static_cast<uint64_t>(exact / plan.world());
    book.formula = absl::StrCat(gathers + repeats, " Psi (N - 1) / N");
    note("padding of parameters and units",
         padded - static_cast<int64_t>(book.bytes));
    note("scalars: the loss, the stop flag", scalars);
    for (const std::string &reason : order) {
      if (differences[reason] != 0) {
        book.differences.push_back({reason, differences[reason]});
      }
    }
    return book;
  }

private:
  /// Stage 3 gathers a unit once in forward and once in backward, says the
  /// textbook, in every micro-batch.
  void noteStays(const UnitTraffic &unit, int64_t once) {
    int64_t kept = unit.gathers[plan::STAY_KEPT];
    int64_t forward =
        unit.gathers[plan::STAY_FORWARD] + kept - plan.accumulate();
    int64_t backward = unit.gathers[plan::STAY_BACKWARD] - plan.accumulate();
    note(forward > 0 ? "gathered again in forward, where uses lie apart, as of "
                       "tied parameters"
                     : "not needed in forward",
         forward * once);
    note(backward > 0 ? "gathered again in backward, where uses lie apart"
         : kept > 0   ? "kept gathered from forward to backward"
                      : "not needed in backward",
         backward * once);
  }

  std::string gatherReason(const plan::Unit &unit) const {
    if (!unit.trainable()) {
      return "frozen parameters, gathered and not reduced";
    }
    if (unit.persistent()) {
      return "persistent units, whole on every rank, gathered once a step";
    }
    return "parameters or gradients that are not gathered";
  }

  void note(const std::string &reason, int64_t bytes) {
    if (differences.emplace(reason, 0).second) {
      order.push_back(reason);
    }
    differences[reason] += bytes;
  }

  const plan::Plan &plan;
  std::vector<UnitTraffic> units;
  int64_t scalars = 0;
  std::map<std::string, int64_t> differences;
  std::vector<std::string> order;
};

} // namespace

Textbook compareWithTextbook(const plan::Plan &plan) {
  return Comparison(plan).run();
}

} // namespace zerograph
