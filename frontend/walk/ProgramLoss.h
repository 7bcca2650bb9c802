//===- ProgramLoss.h - the loss of the program ----------------------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_PROGRAMLOSS_H
#define ZEROGRAPH_FRONTEND_WALK_PROGRAMLOSS_H

#include "mlir/IR/Value.h"

#include <string>

namespace zerograph::frontend {

struct AddedLoss;
struct ImportContext;
struct ScoreDims;
using Shape = std::vector<int64_t>;

/// The value to minimize: an output of the model, or what --loss adds to it.
class ProgramLoss {
public:
  explicit ProgramLoss(ImportContext &context) : context(context) {}

  /// Chooses the output that is the loss, or for --loss the value that it is
  /// of. Throws ImportError if that is none or several.
  void choose();
  /// Adds the loss of --loss, and an input for its labels if there is none, to
  /// the end of the program; does nothing without that option.
  void add();

  /// Returns the name of what choose() chose; empty: there is no loss.
  const std::string &name() const { return chosen; }
  /// Returns the value that add() added, or null.
  mlir::Value added() const { return addedValue; }
  /// Returns the name that the added value has as an output.
  const std::string &addedName() const { return outputName; }

private:
  std::string chooseOutput() const;
  std::string chooseScores() const;
  void nameAdded();
  ScoreDims scoreDimsOf(const AddedLoss &wanted, mlir::Value scores) const;
  mlir::Value labelsOf(const AddedLoss &wanted, mlir::Value scores);
  mlir::Value addLabels(const Shape &shape, mlir::Type element,
                        mlir::Location location);
  void noteOwnLoss() const;

  ImportContext &context;
  std::string chosen, outputName;
  mlir::Value addedValue;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_PROGRAMLOSS_H
