//===- ScoreDims.h - which dims of scores are samples and classes ---------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_SCOREDIMS_H
#define ZEROGRAPH_FRONTEND_WALK_SCOREDIMS_H

#include "frontend/emit/AddedLoss.h"

#include <optional>
#include <string>

namespace zerograph::frontend {

/// The scores that a loss is added to, as far as they are known.
struct Scores {
  std::string name;
  Shape shape;
  /// The file's names of its dims, "" where a dim has none; empty: it names
  /// none.
  std::vector<std::string> names;
  std::string batch; ///< the name of the samples' dim; empty: it has none
  /// The dim that holds the samples, found by following them from the inputs;
  /// none: they cannot be followed, or a micro-batch has only one.
  std::optional<int64_t> tracked;
};

/// Places of dims.
struct ScoreDims {
  int64_t batch = 0;
  std::optional<int64_t> classes; ///< none: the loss is not of classes

  /// The order that puts samples in front, and classes where
  /// AddedLoss::classAxis has them; the other dims keep their order.
  std::vector<int64_t> order(int64_t rank) const;
};

/// Decides by `given`, the value of --loss-dims, or where that is empty by what
/// is known. Throws ImportError if these contradict each other, or if which dim
/// is samples or classes would be a guess that no size proves wrong.
ScoreDims decideScoreDims(const Scores &scores, const AddedLoss &loss,
                          const std::string &given);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_SCOREDIMS_H
