//===- Checks.h - the parts of plan verification --------------------------===//
//
// Private to runtime/plan. Each check is a file of its own and looks at one
// property; Verify.cpp runs them all.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_CHECKS_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_CHECKS_H

#include "runtime/plan/HappensBefore.h"
#include "runtime/plan/plan.pb.h"

#include "absl/strings/str_cat.h"

#include <string>
#include <vector>

namespace zerograph::verify {

/// What was found. Keeps the first few of each check and counts the others.
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

/// A valid plan and the order of each of its programs.
struct Subject {
  const plan::Plan &plan;
  std::vector<HappensBefore> orders;
};

/// Waits name other streams; each operation is on a stream that can do it.
void checkStreams(const Subject &subject, Problems &problems);
/// Sequence numbers count up from 0 in issue order.
void checkCollectiveOrder(const Subject &subject, Problems &problems);
/// No two unordered steps touch the same bytes, one of them writing.
void checkRaces(const Subject &subject, Problems &problems);
/// Accesses lie within stated lifetimes; buffers that share bytes are used one
/// after the other; carried ones share with none.
void checkLifetimes(const Subject &subject, Problems &problems);
/// What a program reads and does not carry was written in it before.
void checkDefinitions(const Subject &subject, Problems &problems);
/// Every step makes something that is used.
void checkUnread(const Subject &subject, Problems &problems);
/// Bytes are read with the type they were written with.
void checkTypes(const Subject &subject, Problems &problems);
/// Collectives move what they say: the segments of their unit.
void checkMoves(const Subject &subject, Problems &problems);
/// Each segment's gradients are reduced once.
void checkReductions(const Subject &subject, Problems &problems);
/// Sums over micro-batches are made by reductions and zeroed once a step.
void checkAccumulators(const Subject &subject, Problems &problems);
/// Each state is updated once a step, from its own gradients.
void checkUpdates(const Subject &subject, Problems &problems);
/// The loss and the stop count are each made by one sum over the ranks.
void checkAgreement(const Subject &subject, Problems &problems);
/// Updates use reduced gradients; parts that only their rank has are gathered
/// before others read them; states are sharded as the stage says.
void checkSharding(const Subject &subject, Problems &problems);
/// The prediction is the sum over the collectives.
void checkTraffic(const Subject &subject, Problems &problems);
/// Stated peaks are the highest bytes used.
void checkArenas(const Subject &subject, Problems &problems);

} // namespace zerograph::verify

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_CHECKS_H
