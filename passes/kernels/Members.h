//===- Members.h - what kernel forming needs to know of single ops --------===//

#ifndef ZEROGRAPH_PASSES_KERNELS_MEMBERS_H
#define ZEROGRAPH_PASSES_KERNELS_MEMBERS_H

#include "mlir/IR/Value.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace mlir::zg::nn {
class KernelOp;
class ReduceOp;
} // namespace mlir::zg::nn

namespace mlir::zg::kernels {

using nn::elementsOf;
using nn::isCostly;
using nn::isElementwise;
using nn::isLiteral;
using nn::isPlainView;
using nn::shapeOf;
using nn::stripReshapes;

/// Returns whether the op neither is in a kernel nor can move into one.
bool isOutside(Operation *op);

/// Returns whether the use needs no kernel that makes the value: zeros that a
/// program returns, or writes to a file, are filled in there.
bool isFilled(OpOperand &use);

/// The space that a kernel of rows goes over.
struct RowSpace {
  int64_t elements = 0, columns = 0;
};
/// Returns the space of what a kernel of rows reduces, or of its largest result
/// where that is larger.
RowSpace rowSpaceOf(nn::KernelOp kernel);

/// The origin of a value: `chain` leads from `root`, which is no plain view, to
/// the value.
struct Source {
  Value root;
  SmallVector<Operation *, 4> chain;
};
Source trace(Value value);
bool isPadded(ArrayRef<Operation *> chain);

/// How the end of a chain of views runs over the elements of its root.
struct Relation {
  enum Kind {
    Same,      ///< Element i is element i.
    Rows,      ///< Element i is element i / columns.
    First,     ///< Element i is element i * columns, the first of its row.
    RowsFirst, ///< Element i is element i / columns * columns.
    Other,     ///< Anything else.
  };
  Kind kind = Other;
  int64_t columns = 0;
};
Relation relate(const Source &source);

/// A reduction as `[outer, reduced, inner]`, dimensions of size 1 left out.
struct Reduction {
  int64_t outer = 1, reduced = 1, inner = 1;
  bool isRow() const { return inner == 1; }
  bool operator==(const Reduction &other) const {
    return outer == other.outer && reduced == other.reduced &&
           inner == other.inner;
  }
};
/// None if separate groups of dimensions are reduced.
std::optional<Reduction> classify(nn::ReduceOp op);

/// Knows the values that cost nothing to make again wherever they are read:
/// constants, iotas, whole numbers of the run, and cheap ops and views of them
/// (of splats, and of what would be a large tensor: any elementwise op). Random
/// numbers are free too: they cost more than a load, but would be kept from the
/// forward to the backward pass.
class FreeValues {
public:
  bool contains(Value value) { return info(value).free; }

private:
  struct Info {
    bool free = false;
    /// All elements are equal.
    bool uniform = false;
    /// Ops to make it.
    unsigned size = 1;
  };
  Info info(Value value);
  Info compute(Operation *op);

  llvm::DenseMap<Value, Info> known;
};

} // namespace mlir::zg::kernels

#endif // ZEROGRAPH_PASSES_KERNELS_MEMBERS_H
