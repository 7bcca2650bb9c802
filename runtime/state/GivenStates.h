//===- GivenStates.h - values of the caller's for what ranks hold ---------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_GIVENSTATES_H
#define ZEROGRAPH_RUNTIME_STATE_GIVENSTATES_H

#include "runtime/io/TensorFile.h"
#include "runtime/plan/UnitParts.h"
#include "runtime/state/Layout.h"

#include <string>

namespace zerograph {

/// Arrays that replace parameters, or what an optimizer keeps of them, checked
/// before any is written.
class GivenStates {
public:
  /// Takes some of the arrays that `weightEntries` names for the role, Param or
  /// Optimizer, in a type that becomes theirs, or `all` of them. One error
  /// lists all that does not fit. They lie in memory that no rank writes to;
  /// they and the plan outlive it.
  static absl::StatusOr<GivenStates> of(const plan::Plan &plan, Role role,
                                        const TensorFile &arrays, bool all);

  bool isEmpty() const { return arrays->empty(); }

  /// Writes them wherever this rank holds a part of them: parameters into their
  /// masters, and rounded into what is computed with. Thread-safe.
  absl::Status write(const RankMemory &memory) const;

  /// Returns a digest of names and content, which processes compare.
  std::string digest() const;

private:
  GivenStates(const plan::Plan &plan, Role role, const TensorFile &arrays)
      : plan(&plan), role(role), arrays(&arrays) {}

  const plan::Plan *plan;
  Role role;
  const TensorFile *arrays;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_GIVENSTATES_H
