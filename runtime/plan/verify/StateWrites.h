//===- StateWrites.h - which steps have written which states --------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_STATEWRITES_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_STATEWRITES_H

#include "runtime/plan/ByteMap.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/plan/verify/Checks.h"

#include <cstdint>
#include <map>
#include <utility>

namespace zerograph::verify {

/// Tracks what a training step writes of the states of all ranks, byte by byte.
/// Steps are told in issue order.
class StateWrites {
public:
  StateWrites(const plan::Plan &plan, const Mesh &mesh, Problems &problems)
      : plan(plan), mesh(mesh), problems(problems) {}

  /// Step `s` of program `p` writes there: a problem if another step did.
  void add(int p, int s, const plan::Access &access);

  /// Returns whether all these bytes are written by now.
  bool hasAll(const plan::Access &access) const;

  /// Returns whether steps write all of a state of a trained unit: a problem if
  /// not.
  bool checkWhole(int unit, const plan::State &state) const;

  /// All parameters of a unit that is each rank's own must be made anew; what
  /// lies between them is nobody's.
  void checkLocal(int unit) const;

private:
  using Written = ByteMap<std::pair<int, int>>; // the program, and its step

  const Written &of(uint32_t slice) const;

  const plan::Plan &plan;
  const Mesh &mesh;
  Problems &problems;
  std::map<uint32_t, Written> written; // by slice
};

} // namespace zerograph::verify

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_STATEWRITES_H
