//===- Mutation.h - ways in which a plan can be wrong ---------------------===//

#ifndef ZEROGRAPH_TESTS_MUTATIONS_MUTATION_H
#define ZEROGRAPH_TESTS_MUTATIONS_MUTATION_H

#include "runtime/plan/Findings.h"
#include "tests/mutations/PlanEdit.h"

namespace zerograph::testing {

using namespace finding;

/// One way. `apply` changes the plan so that it does something else than
/// before, and says what it changed; it gives nothing, and changes nothing,
/// where the plan has no place for it.
struct Mutation {
  const char *kind; // what it is about, for the table
  const char *name;
  std::optional<std::string> (*apply)(plan::Plan &plan, Random &random);
  /// The ids of findings (runtime/plan/Findings.h) of which a refusal names
  /// one, the most telling first. More than two where the change is drawn from
  /// several, or breaks other things with the one that it is about.
  std::vector<absl::string_view> ids;
  /// Kinds of step that it is claimed for, each by itself; none: it is not
  /// about steps, or about one kind alone.
  std::vector<const char *> kinds = {};
};

inline const std::vector<const char *> kEveryKind = {
    "launch",     "matmul", "convolution", "all_gather", "reduce_scatter",
    "all_reduce", "copy",   "fill",        "copy_in"};

std::vector<Mutation> orderMutations();
std::vector<Mutation> stepMutations();
std::vector<Mutation> operandMutations();
std::vector<Mutation> libraryMutations();
std::vector<Mutation> memoryMutations();
std::vector<Mutation> unitMutations();
std::vector<Mutation> headerMutations();
std::vector<Mutation> arrivalMutations();

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_MUTATIONS_MUTATION_H
