//===- AddedLoss.h - the loss of a model that has none --------------------===//

#ifndef ZEROGRAPH_FRONTEND_EMIT_ADDEDLOSS_H
#define ZEROGRAPH_FRONTEND_EMIT_ADDEDLOSS_H

#include "frontend/emit/Emitter.h"
#include "options/Losses.h"

namespace zerograph::frontend {

/// The loss that the user wants.
struct AddedLoss {
  const options::Loss *kind = nullptr; ///< a row of the table
  int64_t ignored = -100;
  double smoothing = 0;
  /// The weight of each class; of bce_with_logits its pos_weight. Empty: 1
  /// each.
  std::vector<double> weights;
  /// The scores of a position are compared with the label of the next.
  bool shift = false;

  std::string name() const { return std::string(kind->name); }
  /// Returns whether labels are numbers of classes.
  bool ofClasses() const { return kind->of_classes; }
  /// Returns the axis of the classes, for scores of this rank whose first axis
  /// is samples: the last of three, as a language model's, else 1.
  static int64_t classAxis(int64_t rank) { return rank == 3 ? 2 : 1; }
  /// Returns the shape of the labels, for scores of this shape.
  Shape labelShape(Shape scores) const;
};

/// The mean loss, a float scalar, in float32 at least. Throws ImportError if
/// scores and labels, which have the shape that labelShape gives, do not fit.
mlir::Value emitLoss(Emitter &emit, const AddedLoss &loss, mlir::Value scores,
                     mlir::Value labels);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EMIT_ADDEDLOSS_H
