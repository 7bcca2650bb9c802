//===- TheoreticalTraffic.cpp - planned traffic beside ZeRO's formulas ----===//

#include "runtime/plan/TheoreticalTraffic.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Traffic.h"

#include "absl/strings/str_cat.h"

#include <map>

namespace zerograph {
namespace {

int64_t bytesOf(Checked checked) {
  return static_cast<int64_t>(checked.value().value_or(0));
}

/// How often a step gathers and reduces one unit, and the bytes of each.
struct UnitTraffic {
  int64_t gathers = 0;
  int64_t gather_bytes = 0;
  int64_t reductions = 0; // of segments
  int64_t reduce_bytes = 0;
};

/// Returns whether the parameters of a unit live as shards, and are gathered
/// for use.
bool isSharded(const plan::Plan &plan, const plan::Unit &unit) {
  for (const plan::State &state : unit.states()) {
    if (roleOf(state) == Role::Param &&
        Mesh(plan).groupSize(state.axes()) > 1) {
      return true;
    }
  }
  return false;
}

/// Bytes of an element of a unit's gradients as they travel.
int64_t gradientBytes(const plan::Plan &plan, int index) {
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      if (step.has_reduce_scatter() && step.reduce_scatter().unit() == index) {
        return int64_t(elementSize(step.reduce_scatter().wire()));
      }
    }
  }
  const plan::Unit &unit = plan.units(index);
  for (const plan::State &state : unit.states()) {
    if (roleOf(state) == Role::Gradient) {
      return int64_t(elementSize(state.type()));
    }
  }
  return int64_t(elementSize(unit.type()));
}

class Comparison {
public:
  explicit Comparison(const plan::Plan &plan)
      : plan(plan), world(worldOf(plan)), units(plan.units_size()) {
    for (const plan::Unit &unit : plan.units()) {
      sharded = sharded || isSharded(plan, unit);
    }
    for (const plan::Program &program : plan.programs()) {
      int64_t runs = static_cast<int64_t>(runsPerStep(plan, program));
      for (const plan::Step &step : program.steps()) {
        Traffic once = kindOf(step).traffic(plan, step);
        if (step.has_all_gather()) {
          UnitTraffic &unit = units[step.all_gather().unit()];
          unit.gathers += runs;
          unit.gather_bytes += runs * bytesOf(once.gather);
        } else if (step.has_reduce_scatter()) {
          UnitTraffic &unit = units[step.reduce_scatter().unit()];
          unit.reductions += runs;
          unit.reduce_bytes += runs * bytesOf(once.reduce);
        }
        scalars += runs * bytesOf(once.scalar);
      }
    }
  }

  TheoreticalTraffic run() {
    int64_t repeats = plan.accumulate();
    int64_t gathers = sharded ? 2 * repeats : 1;
    repeats = reducesLast(plan) ? 1 : repeats; // of reductions
    TheoreticalTraffic book;
    int64_t padded = 0;          // the formula with padded buffers
    unsigned __int128 exact = 0; // times the ranks
    for (int i = 0; i < plan.units_size(); ++i) {
      const plan::Unit &unit = plan.units(i);
      int64_t element = int64_t(elementSize(unit.type()));
      int64_t wide = gradientBytes(plan, i);
      int64_t elements = int64_t(unit.elements() / world * (world - 1));
      int64_t once = elements * element, reduced = elements * wide;
      mixed = mixed || (unit.trainable() && wide != element);
      for (const plan::Parameter &parameter : unit.parameters()) {
        if (unit.trainable()) {
          book.psi += parameter.elements() * element;
          exact += static_cast<unsigned __int128>(parameter.elements()) *
                   uint64_t(gathers * element + repeats * wide) * (world - 1);
        }
      }
      int64_t expected = unit.trainable() ? gathers * once : 0;
      book.planned += units[i].gather_bytes + units[i].reduce_bytes;
      padded += unit.trainable() ? gathers * once + repeats * reduced : 0;
      if (unit.trainable() && isSharded(plan, unit)) {
        noteUses(units[i], once);
      } else {
        note(gatherReason(unit), units[i].gather_bytes - expected);
      }
      note(units[i].reductions == 0
               ? "nothing to reduce"
               : "segments reduced more or less often than once a micro-batch",
           units[i].reduce_bytes - (unit.trainable() ? repeats * reduced : 0));
    }
    book.planned += scalars;
    book.bytes = static_cast<uint64_t>(exact / world);
    // Gradients of another type than parameters are told apart.
    book.formula = mixed ? absl::StrCat("(", gathers, " Psi + ", repeats,
                                        " gradients) (N - 1) / N")
                         : absl::StrCat(gathers + repeats, " Psi (N - 1) / N");
    note("padding of parameters and units",
         padded - static_cast<int64_t>(book.bytes));
    note("scalars: the loss, metrics, the stop flag", scalars);
    for (const std::string &reason : order) {
      if (differences[reason] != 0) {
        book.differences.push_back({reason, differences[reason]});
      }
    }
    return book;
  }

private:
  /// A sharded unit is gathered once in forward and once in backward, says the
  /// textbook, in every micro-batch.
  void noteUses(const UnitTraffic &unit, int64_t once) {
    int64_t more = unit.gathers - 2 * int64_t(plan.accumulate());
    note(more > 0 ? "gathered again where uses lie apart, as of tied parameters"
                  : "kept gathered from forward to backward, or used in one of "
                    "them alone",
         more * once);
  }

  std::string gatherReason(const plan::Unit &unit) const {
    if (!unit.trainable()) {
      return "frozen parameters, gathered and not reduced";
    }
    if (sharded) {
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
  int64_t world;
  bool sharded = false; // parameters of some unit
  bool mixed = false;   // gradients of some unit have another type
  std::vector<UnitTraffic> units;
  int64_t scalars = 0;
  std::map<std::string, int64_t> differences;
  std::vector<std::string> order;
};

} // namespace

TheoreticalTraffic compareWithTextbook(const plan::Plan &plan) {
  return Comparison(plan).run();
}

} // namespace zerograph
