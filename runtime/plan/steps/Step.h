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

/// The agreement of ranks on some bytes. Where values meet, the later of these
/// is what they make.
enum class Sharing {
  Replicated, // the same on every rank
  Sharded,    // the rank's own part of something that ranks have together
  Local,      // made from the rank's own samples, and not reduced
};

/// The sharing of all bytes, while steps are taken in issue order. Whoever
/// keeps it reports what must not be.
class SharingState {
public:
  virtual ~SharingState() = default;
  virtual Sharing read(const plan::Access &access) = 0;
  virtual void write(const plan::Access &access, Sharing sharing) = 0;
  /// An input or a scalar is written, with what the plan declares of it.
  virtual void arrive(const plan::Access &access) = 0;
  /// These gradients have been reduced: nothing may be added to them.
  virtual void close(const plan::Access &gradients) = 0;
};

/// The part that an access must be of: any bytes, bytes of no unit, or just
/// this part.
struct Expected {
  bool any = true;
  std::optional<UnitPart> part;

  static Expected none() { return {false, std::nullopt}; }
  static Expected just(const UnitPart &part) { return {false, part}; }
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

  /// Sets what ranks have in common afterwards. By default they have of all
  /// that is written what they have of all that is read.
  virtual void share(const plan::Step &step, SharingState &state) const;

  /// By default any part.
  virtual Expected expected(const UnitParts &, const plan::Step &, int) const {
    return {};
  }

  /// In one run. By default nothing.
  virtual Traffic traffic(const plan::Plan &, const plan::Step &) const {
    return {};
  }
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
