//===- Values.h - what each step makes of what it reads -------------------===//
//
// Private to runtime/plan.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_VALUES_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_VALUES_H

#include "runtime/plan/verify/Checks.h"
#include "runtime/plan/verify/ValueMap.h"

#include <map>
#include <set>
#include <vector>

namespace zerograph::verify {

/// Returns whether a buffer of this class may hold elements in that role, if a
/// collective, an update or a transfer takes them.
bool fits(absl::string_view role, plan::SliceClass of);

/// The numbers of a step and of its program.
struct StepPlace {
  int program = 0, step = 0;
};

/// Checks the sums of gradients over the micro-batches of a step, which are
/// carried from one program to the next: each micro-batch adds to all of them,
/// by a reduction or, where they are whole and the rank's own, by any step; a
/// sum is zeroed once, after its last use. And each segment is reduced once.
class GradientSums {
public:
  GradientSums(const VerifierContext &context, Problems &problems);

  bool isSum(uint32_t slice) const { return sums[slice].unit >= 0; }
  /// Returns the value of a sum when a program begins.
  Value begin(const plan::Program &program, uint32_t slice) const;

  /// Checks that a step reads a sum. `zeroed` says that some of it was zeroed
  /// before.
  void read(StepPlace at, const plan::Access &access, bool zeroed);
  /// Checks that a step writes a sum. `added` says that this micro-batch was
  /// added to some of the bytes before, `zeroed` that some were zeroed.
  void write(StepPlace at, const plan::Access &access, const Value &value,
             bool added, bool zeroed);
  void reduce(StepPlace at, const UnitPart &part);
  /// Checks the sums when a program has ended.
  void end(int program, const ValueMap &values);
  /// Checks, after all programs, that everything is reduced.
  void finish();

private:
  struct Sum {
    int unit = -1; // none: no sum
    uint64_t element_bytes = 0;
    bool whole = false; // on each rank, which adds to it by any step
    uint64_t begin = 0; // its first element in the unit
  };

  std::string describe(uint32_t slice) const;
  void checkAdded(int program, uint32_t slice, const ByteMap<Content> &bytes);
  void checkZeroed(int program, uint32_t slice, const ByteMap<Content> &bytes);

  const plan::Plan &plan;
  const Mesh &mesh;
  Problems &problems;
  std::vector<Sum> sums; // by slice
  bool split = false;    // the step, into micro-batches that add to all of them
  std::vector<ByteMap<bool>> kept;         // elements with a sum, by unit
  std::vector<ByteMap<StepPlace>> reduced; // elements, by unit
};

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

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_VALUES_H
