//===- Checks.h - the parts of plan verification --------------------------===//
//
// Private to runtime/plan. Each check is a file of its own and looks at one
// property; Verify.cpp runs them all.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_CHECKS_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_CHECKS_H

#include "runtime/plan/Findings.h"
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
  /// Adds a finding: its id, one of Findings.h, and its text in parts.
  template <typename... Args>
  void add(absl::string_view id, const Args &...args) {
    ++count;
    if (lines.size() < kKept) {
      lines.push_back(absl::StrCat(id, ": ", args...));
    }
  }
  /// Adds those that a part of the check has found, as many as it has kept.
  void append(const Problems &others) {
    count += others.count;
    lines.insert(lines.end(), others.lines.begin(), others.lines.end());
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

/// The numbers of a step and of its program.
struct StepPlace {
  int program = 0, step = 0;
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
/// Ranks have in common what others need, steps read what they expect, each
/// micro-batch is added once to each gradient, and each state is updated once.
void checkValues(const VerifierContext &context, Findings &findings);
/// The loss and the stop count are each made by one sum over the ranks.
void checkTotals(const VerifierContext &context, Findings &findings);
/// Every step makes something that is used, and no arena goes on after its
/// last slice.
void checkUnread(const VerifierContext &context, Findings &findings);

} // namespace zerograph::verify

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_CHECKS_H
