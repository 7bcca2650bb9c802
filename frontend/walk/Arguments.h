//===- Arguments.h - inputs and parameters of the program -----------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_ARGUMENTS_H
#define ZEROGRAPH_FRONTEND_WALK_ARGUMENTS_H

#include "frontend/parameters/Parameters.h"

#include "mlir/IR/Builders.h"

namespace zerograph::frontend {

struct ImportContext;

/// Legal values of an integer input, as far as its uses tell.
struct IndexRange {
  int64_t low = INT64_MIN, high = INT64_MAX;
  /// Also legal, outside of [low, high].
  std::set<int64_t> ignored;

  bool contains(int64_t value) const {
    return (value >= low && value <= high) || ignored.count(value) != 0;
  }
  /// Returns what both contain.
  IndexRange meet(const IndexRange &other) const;
  /// Returns what either contains, and all between the two.
  IndexRange join(const IndexRange &other) const;
};

/// The bounds that the uses of an input say: those of the whole input, and
/// those of parts of it, which say nothing about the other parts.
struct IndexUses {
  std::optional<IndexRange> whole, parts;
};

/// The arguments of the program: the inputs that the user feeds, then the
/// parameters. Knows what each may hold, and what parameters become.
class Arguments {
public:
  explicit Arguments(ImportContext &context) : context(context) {}

  /// Gives the graph's inputs their slots. Throws ImportError if sizes of dims
  /// are missing, or --input gives a value that an input cannot have.
  void addInputs();
  /// Gives parameters their slots, and decides whether the program widens
  /// numbers of 16 bits.
  void addParameters(std::vector<Parameter> parameters);
  /// Adds an input after the others and returns its value.
  mlir::Value addInput(InputSignature signature, const Shape &shape,
                       mlir::Type element, mlir::Location location);

  const std::vector<InputSignature> &inputs() const { return signatures; }
  /// Returns the shape of input i.
  const Shape &inputShape(size_t i) const { return shapes[i]; }
  /// Returns the inputs whose leading dim is samples.
  llvm::SmallVector<mlir::Value> sampleInputs() const;
  /// Returns whether an initializer of this name is trained.
  bool isTrained(const std::string &name) const;

  /// Says that `indices` must lie in a range. If it is an input or a part of
  /// one, moved but not changed, notes that; returns true for a whole input:
  /// then all its values are checked before they are used.
  bool bound(mlir::Value indices, const IndexRange &range);
  /// Returns the newest value of a parameter: what the last node that changed
  /// it made of it, else itself.
  mlir::Value newest(mlir::Value parameter) const;
  /// Makes `next` the value that the parameter `old`, or the one that `old` was
  /// made of, has in the next micro-batch. Returns false if there is no such
  /// parameter.
  bool keep(mlir::Value old, mlir::Value next);
  /// Returns the next values of parameters that have one, by name.
  std::vector<std::pair<std::string, mlir::Value>> nextValues() const;

  /// Erases the arguments of unused parameters and returns the attributes of
  /// those that stay. The report gets what is to be said about them.
  llvm::SmallVector<mlir::Attribute> finish();

private:
  void decideHalves();
  void widenInputs();
  size_t anchorInput() const;
  mlir::Attribute attributeOf(size_t input, bool perSample) const;
  mlir::Attribute attributeOf(const Parameter &parameter) const;
  void finishInputs(llvm::SmallVector<mlir::Attribute> &attributes) const;
  void finishParameters(llvm::SmallVector<mlir::Attribute> &attributes);
  void noteFiles(llvm::ArrayRef<mlir::Attribute> attributes) const;

  ImportContext &context;
  // One entry of each per input.
  std::vector<InputSignature> signatures;
  std::vector<Shape> shapes;
  std::vector<IndexUses> uses;
  std::vector<Parameter> parameters;
  llvm::DenseMap<mlir::Value, mlir::Value> next;   ///< by argument
  llvm::DenseMap<mlir::Value, mlir::Value> keptOf; ///< argument by value
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_ARGUMENTS_H
