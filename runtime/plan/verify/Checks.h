//===- Checks.h - the parts of plan verification --------------------------===//
//
// Private to runtime/plan. Each check is a file of its own and looks at one
// property; Verify.cpp runs them all.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_CHECKS_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_CHECKS_H

#include "runtime/plan/ForEachStep.h"
#include "runtime/plan/HappensBefore.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/StagedInputs.h"
#include "runtime/plan/UnitParts.h"

#include "absl/strings/str_cat.h"

#include <string>
#include <vector>

namespace zerograph::verify {

/// The problems that were found. Keeps the first few of each check and counts
/// the others.
class Problems {
public:
  template <typename... Args>
  void add(const Args &...args) {
    ++count;
    if (lines.size() < kKept) {
      lines.push_back(absl::StrCat(args...));
    }
  }
  /// True if more would only be counted: a check may stop.
  bool enough() const { return lines.size() >= kKept; }
  const std::vector<std::string> &kept() const { return lines; }
  size_t dropped() const { return count - lines.size(); }

private:
  static constexpr size_t kKept = 8;
  std::vector<std::string> lines;
  size_t count = 0;
};

/// The findings of a check: problems make a plan unsafe; what is wasteful is
/// not wrong, and a compiler should not make it.
struct Findings {
  Problems problems;
  Problems waste;
};

/// A valid plan, and what several checks ask about it.
struct VerifierContext {
  explicit VerifierContext(const plan::Plan &plan);

  const plan::Plan &plan;
  Mesh mesh;
  UnitParts parts;
  std::vector<HappensBefore> orders; // by program
  std::vector<StagedInput> arrivals; // by slice
  /// By slice: read by the runtime when a program has ended, where that keeps
  /// it alive: gradients that are dumped, and outputs.
  std::vector<bool> read_after;
};

/// Each step is on a stream, and in memory, that can do it.
void checkStreams(const VerifierContext &context, Findings &findings);
/// Sequence numbers count up from 0 in issue order.
void checkCollectiveOrder(const VerifierContext &context, Findings &findings);
/// No two unordered steps touch the same bytes, one of them writing.
void checkRaces(const VerifierContext &context, Findings &findings);
/// Buffers that share bytes are used one after the other; carried ones share
/// with none.
void checkLifetimes(const VerifierContext &context, Findings &findings);
/// Checks that what a program reads and does not carry was written in it
/// before.
void checkDefinitions(const VerifierContext &context, Findings &findings);
/// Inputs and scalars are copied once a run from the program's own slots, which
/// no step writes.
void checkStagedInputs(const VerifierContext &context, Findings &findings);
/// Bytes are read with the type they were written with.
void checkTypes(const VerifierContext &context, Findings &findings);
/// Collectives move what they say: the segments of their unit; and gathers
/// alone write what is gathered.
void checkOperandsOfCollectives(const VerifierContext &context,
                                Findings &findings);
/// Copies between device and host bring what the buffer that they fill is said
/// to hold of a unit.
void checkCopies(const VerifierContext &context, Findings &findings);
/// Each segment's gradients are reduced once.
void checkReductions(const VerifierContext &context, Findings &findings);
/// Sums over micro-batches are made by reductions and zeroed once a step.
void checkAccumulators(const VerifierContext &context, Findings &findings);
/// Each state is updated once a step, from its own gradients.
void checkUpdates(const VerifierContext &context, Findings &findings);
/// Updates use reduced gradients; parts that only their rank has are gathered
/// before others read them.
void checkSharing(const VerifierContext &context, Findings &findings);
/// The loss and the stop count are each made by one sum over the ranks.
void checkTotals(const VerifierContext &context, Findings &findings);
/// Every step makes something that is used, and no arena goes on after its
/// last slice.
void checkUnread(const VerifierContext &context, Findings &findings);

} // namespace zerograph::verify

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_CHECKS_H
