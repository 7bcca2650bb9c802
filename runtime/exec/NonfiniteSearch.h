//===- NonfiniteSearch.h - where a value that is not finite comes from ----===//
//
// Looks at what each step of a program has written. NaN or infinity is no fault
// by itself: a mask is -inf where a softmax makes it 0. It is one where it
// reaches what lasts: the loss, gradients, parameters, what the optimizer
// keeps. From there the search goes back through the steps that read it to the
// first that had it.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_NONFINITESEARCH_H
#define ZEROGRAPH_RUNTIME_EXEC_NONFINITESEARCH_H

#include "runtime/comm/ControlPlane.h"
#include "runtime/plan/UnitParts.h"
#include "runtime/state/Layout.h"
#include "runtime/state/NotFinite.h"

#include <optional>
#include <string>
#include <vector>

namespace zerograph {

/// A step whose result is not finite, while all that it has read is.
struct NonfiniteOrigin {
  uint32_t step = 0; // of the program
  std::string text;  // which tensor, where, and what to do
};

/// The elements of each row that have a meaning, and those from one row to the
/// next. By default all that follows is one row.
struct NonfiniteRows {
  uint64_t columns = ~uint64_t(0), leading = ~uint64_t(0);
};

/// Searches the steps of one rank. Where the plan skips steps whose gradients
/// are not finite, as all in float16, gradients may be so and do not count as
/// lasting.
class NonfiniteSearch {
public:
  /// The plan outlives it, and so does what `memory` names.
  NonfiniteSearch(const plan::Plan &plan, const RankMemory &memory);

  /// Begins anew; called before each run of a program.
  void begin(unsigned program);
  /// Looks at what a step has written; called after it, while that is there.
  /// Threads may call it at once, for different steps.
  absl::Status look(unsigned program, uint32_t step);
  /// Returns the origin, after the run, if something that lasts is not finite.
  std::optional<NonfiniteOrigin> origin(unsigned program) const;

private:
  /// Elements that a step writes, all of which have a meaning.
  struct Region {
    int access = 0;
    DeviceRange bytes;
    plan::ElementType type = plan::ELEMENT_INVALID;
    const plan::Parameter *parameter = nullptr; // of which they are a part
    uint64_t first = 0;                         // element of it
    Role role = Role::Param;
    NonfiniteRows rows;
    /// The worst element in this run: NaN, if there is any, else the first
    /// infinity.
    std::optional<NotFinite> found;

    /// Counts those that have a meaning.
    uint64_t elements() const;
    bool isNan() const;
  };
  using Step = std::vector<Region>;
  struct Place {
    uint32_t step;
    const Region *region;
  };

  void addRows(const plan::Step &step);
  void addRegions(const plan::Step &step, int access, Step &to) const;
  std::optional<Place> lasting(unsigned program) const;
  /// Returns regions of earlier steps that `place`'s step has read, not finite.
  std::vector<Place> sources(unsigned program, Place place) const;
  void addWriters(unsigned program, uint32_t before, const DeviceRange &read,
                  std::vector<Place> &to) const;
  std::string nameOf(unsigned program, Place place) const;
  std::string describe(unsigned program, Place origin, Place end) const;
  std::string advice(unsigned program, Place origin) const;

  const plan::Plan &plan;
  const RankMemory memory;
  UnitParts parts;
  std::vector<plan::ElementType> types;    // by slice
  std::vector<NonfiniteRows> rows;         // by slice
  std::vector<std::vector<Step>> programs; // program -> step -> regions
};

/// Returns an error where a parameter or a state begins as no number. `parts`
/// is all that a rank holds.
absl::Status checkBeginning(const std::vector<ParameterPart> &parts);

/// Returns the first of the weights that a rank owns and that are trained which
/// is no number, as "element 3 of the 128 of 'fc1.weight' is NaN"; or empty.
absl::StatusOr<std::string> nonfiniteWeight(const plan::Plan &plan,
                                            const RankMemory &memory);

/// Returns an error where any rank has an origin; called after each run of a
/// program, on every rank. Of the origins of the earliest step, the lowest
/// rank's says it; the others' error is Cancelled.
absl::Status agreeOnOrigin(ControlPlane &control,
                           const std::optional<NonfiniteOrigin> &own);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_NONFINITESEARCH_H
