//===- GradientSums.h - each micro-batch is added once --------------------===//
//
// Private to runtime/plan.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_GRADIENTSUMS_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_GRADIENTSUMS_H

#include "runtime/plan/verify/Checks.h"
#include "runtime/plan/verify/ValueMap.h"

#include <string>
#include <vector>

namespace zerograph::verify {

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
  /// Returns the terms of gradients that the step at `at` writes to its access
  /// `index`, elements `made`. If it reads a sum of the same gradients, it adds
  /// to that; where the new sum is kept, nothing but an addition will do, and
  /// of the same gradients. `values` are those before the step.
  Terms termsOf(StepPlace at, int index, const UnitPart &made,
                const ValueMap &values);
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
  const UnitParts &parts;
  Problems &problems;
  std::vector<Sum> sums; // by slice
  bool split = false;    // the step, into micro-batches that add to all of them
  std::vector<ByteMap<bool>> kept;         // elements with a sum, by unit
  std::vector<ByteMap<StepPlace>> reduced; // elements, by unit
};

} // namespace zerograph::verify

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_GRADIENTSUMS_H
