//===- Updates.h - each state is updated once -----------------------------===//
//
// Private to runtime/plan.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_UPDATES_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_UPDATES_H

#include "runtime/plan/ByteMap.h"
#include "runtime/plan/verify/Checks.h"

#include <map>
#include <vector>

namespace zerograph::verify {

/// Checks that each byte of a parameter or optimizer state of a trained unit is
/// written once a step, when all micro-batches are done, from gradients and
/// states of the same elements; that frozen parameters never are, but those
/// that are each rank's own, as running statistics, by every micro-batch, once;
/// and that an update reads the scalars of its parameters' group.
class Updates {
public:
  Updates(const VerifierContext &context, Problems &problems);

  /// Records that a step computes the bytes of a state, or copies them there.
  void write(StepPlace at, const plan::Access &access);
  /// Returns whether the program may write the state. Reports it if not.
  bool mayWrite(StepPlace at, const plan::Access &access, const UnitPart &part);
  /// Checks a step that makes new states of these elements.
  void compute(StepPlace at, const plan::Step &step, const UnitPart &made);
  /// Follows a scalar, or new states, to where they are copied.
  void copy(const plan::Access &from, const plan::Access &to);
  /// Checks, after all programs, that everything is updated.
  void finish();

private:
  using Written = ByteMap<StepPlace>;

  void use(const UnitPart &gradients);
  void useFor(const plan::Step &step, const UnitPart &gradients);
  bool checkWhole(int unit, const plan::State &state);
  void checkLocal(int unit);
  void checkGroup(StepPlace at, const plan::Step &step, const plan::Unit &unit);

  const plan::Plan &plan;
  const Mesh &mesh;
  const UnitParts &parts;
  Problems &problems;
  std::vector<const plan::Scalar *> scalars; // by slice that holds one, or null
  std::vector<Written> written;              // by slice
  /// Gradients of which a buffer's new states are made, by slice; they are used
  /// once these are copied to where they are kept.
  std::map<uint32_t, std::vector<UnitPart>> pending;
  std::vector<ByteMap<bool>> used; // gradients, by unit
};

} // namespace zerograph::verify

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_UPDATES_H
