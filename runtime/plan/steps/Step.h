//===- Step.h - what there is to say about each kind of step --------------===//
//
// One object a kind, in a file of its own, which checks and reports ask. Those
// about reductions, totals and units name the kinds that they are about.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_STEPS_STEP_H
#define ZEROGRAPH_RUNTIME_PLAN_STEPS_STEP_H

#include "runtime/base/Checked.h"
#include "runtime/base/Status.h"
#include "runtime/plan/Cost.h"
#include "runtime/plan/UnitParts.h"

#include "absl/strings/string_view.h"

#include <optional>
#include <string>

namespace zerograph {

/// The effects that a step has with an access.
struct Effect {
  bool reads = false;
  bool writes = false;
};

/// Bytes that one rank receives from the others.
struct Traffic {
  Checked gather = 0;
  Checked reduce = 0;
  Checked scalar = 0;

  Checked all() const { return gather + reduce + scalar; }
};

/// Says how ranks differ in some bytes. A step that reads several values makes
/// the one that comes last here.
enum class Sharing {
  Replicated, // the same on every rank
  Sharded,    // each has its own part of something that they have together
  Partial,    // each has a term of a sum: gradients that are not reduced
  Varied,     // each has its own, made from its samples
};

/// Says which micro-batches of a step a sum of gradients contains.
enum class Terms {
  Unknown, // they are no gradients
  Zero,    // none
  Earlier, // those before this one
  This,    // this one, and perhaps some of the others
  All,     // this one and those before it
};

/// Returns the terms of a range of which some bytes have `a` and others `b`.
inline Terms join(Terms a, Terms b) {
  bool earlier = (a == Terms::Earlier && b == Terms::All) ||
                 (a == Terms::All && b == Terms::Earlier);
  return a == b ? a : earlier ? Terms::Earlier : Terms::This;
}

/// Says what some bytes are at one point of a program. Which elements they
/// hold, the slice declares.
struct Value {
  Sharing sharing = Sharing::Replicated;
  Terms terms = Terms::Unknown;
  /// True of parameters and states that this step's update has made.
  bool updated = false;

  bool operator==(const Value &) const = default;
};

/// The values of all bytes, while steps are taken in issue order. Whoever keeps
/// it reports what must not be.
class ValueState {
public:
  virtual ~ValueState() = default;
  virtual Value read(const plan::Access &access) = 0;
  virtual void write(const plan::Access &access, const Value &value) = 0;
  /// The bytes of one access become those of another.
  virtual void copy(const plan::Access &from, const plan::Access &to) = 0;
  /// A kernel or a library makes what the step writes of what it reads.
  virtual void compute(const plan::Step &step) = 0;
  /// An input or a scalar is written, with what the plan declares of it.
  virtual void arrive(const plan::Access &access) = 0;
  /// The access must hold just this, or nothing of a unit.
  virtual void expect(const plan::Access &access,
                      const std::optional<UnitPart> &part) = 0;
  /// Access `gradients` of the step, elements of `part`, is reduced: nothing
  /// may be added to it from now on, and no other step may reduce it.
  virtual void reduce(const plan::Access &gradients, const UnitPart &part) = 0;
  virtual const UnitParts &parts() const = 0;
};

class StepKind {
public:
  virtual ~StepKind() = default;

  /// "all_gather".
  virtual absl::string_view name() const = 0;
  /// Returns whether every rank of a group takes part, in the one order.
  virtual bool isCollective() const { return false; }

  /// OK, or what is wrong with the operation and its accesses. These, streams,
  /// kernels and units are valid.
  virtual absl::Status validate(const plan::Plan &plan,
                                const plan::Step &step) const = 0;

  /// By default what the access says. What is written before it is read,
  /// whatever the plan says, is not read: what was there doesn't matter.
  virtual Effect effect(const plan::Step &step, int access) const;

  /// For what type the step takes the bytes; ELEMENT_INVALID, by default: for
  /// any.
  virtual plan::ElementType type(const plan::Plan &, const plan::Step &,
                                 int) const {
    return plan::ELEMENT_INVALID;
  }

  /// Empty, or why a stream of this kind cannot run the step.
  virtual std::string wrongStream(const plan::Plan &plan,
                                  const plan::Step &step,
                                  plan::StreamKind stream) const = 0;

  /// The access whose bytes are written to `access` as they are; none: -1.
  virtual int copied(int access) const { return -1; }

  /// Returns whether what the step writes to access `made` is a linear function
  /// of what it reads by `access` and by others of which this is said.
  virtual bool isLinear(const plan::Plan &, const plan::Step &, int /*made*/,
                        int /*access*/) const {
    return false;
  }

  /// Checks what the step reads, and says what it makes of it. By default it
  /// computes.
  virtual void transfer(const plan::Step &step, ValueState &state) const {
    state.compute(step);
  }

  /// In one run. By default nothing.
  virtual Traffic traffic(const plan::Plan &, const plan::Step &) const {
    return {};
  }

  /// Returns what one run costs. By default every access moves all its bytes,
  /// as its effect says.
  virtual Cost cost(const plan::Plan &plan, const plan::Step &step) const;

protected:
  /// Adds bytes that the step moves of the memory in which an access lies.
  static void move(const plan::Plan &plan, const plan::Step &step, int access,
                   Effect effect, Checked bytes, Cost &cost);
};

/// Defines `steps::FUNCTION()`, the one object of a kind, for Step.cpp's table.
#define ZG_STEP_KIND(CLASS, FUNCTION)                                          \
  namespace steps {                                                            \
  const StepKind &FUNCTION() {                                                 \
    static const CLASS kind;                                                   \
    return kind;                                                               \
  }                                                                            \
  }

/// Returns the kind of a step of a valid plan. A step without an operation has
/// a kind that no plan may contain.
const StepKind &kindOf(const plan::Step &step);

inline bool isCollective(const plan::Step &step) {
  return kindOf(step).isCollective();
}
inline Effect effectOf(const plan::Step &step, int access) {
  return kindOf(step).effect(step, access);
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_STEPS_STEP_H
