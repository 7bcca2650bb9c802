//===- Grouping.h - which ops become one kernel ---------------------------===//
//
// One pass over a block. Groups stay open until something that is not grouped
// (a matmul, a collective, the return) reads one of their results; an op joins
// the open groups of its operands where the iteration spaces agree.
//
// Why no cycle can arise, and where a kernel may stand:
// - An open group reads other groups, but no ungrouped op can lie between two
//   open groups: it would have closed the first one.
// - So a path from a group back to itself would run through open groups alone.
//   An op joins a group only if no other group that it reads reaches that one.
// - When a group is closed, those it reads are closed too. All their members
//   come before the op that closed them, so the kernel can stand after its
//   last member and after the kernels it reads, and before that op.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_PASSES_KERNELS_GROUPING_H
#define ZEROGRAPH_PASSES_KERNELS_GROUPING_H

#include "passes/ir/nn/NNDialect.h"
#include "passes/kernels/Members.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/LogicalResult.h"
#include <deque>

namespace mlir::zg::kernels {

using nn::KernelForm;

/// The places that a member has a value for: every element, or every row.
enum class Level { Full, Row };

/// An iteration space of `elements`, cut into rows of `columns` elements by a
/// reduction; 0: not cut.
struct Space {
  int64_t elements = 0;
  int64_t columns = 0;
};

struct Group {
  KernelForm form = KernelForm::rows;
  Space space;
  /// The run of a rows group: its rows can be read without copies only if their
  /// columns divide this (`evenRunOf`).
  int64_t contiguousMultiple = 0;
  /// The reduction of a columns group.
  Reduction reduction;
  /// In block order.
  SmallVector<Operation *> members;
  llvm::DenseMap<Operation *, Level> levels;
  /// Values of other groups or of the function.
  llvm::SetVector<Value> sources;
  /// The number of the block's op that the kernel stands after.
  unsigned position = 0;

  bool contains(Operation *op) const { return levels.count(op); }
};

struct GroupingLimits {
  unsigned operands, members, columnResults;
};

class Grouping {
public:
  Grouping(Block &block, FreeValues &freeValues, GroupingLimits limits)
      : block(block), freeValues(freeValues), limits(limits) {}

  /// Fails, with diagnostics, on every op that cannot be in a kernel.
  LogicalResult run();

  /// Valid after `run`: in the order in which the kernels stand.
  ArrayRef<const Group *> getOrder() const { return order; }
  /// The group that computes an op's result; null if none does.
  const Group *groupOf(Operation *op) const;

private:
  struct Node {
    Group group;
    bool open = true;
    unsigned last = 0;   ///< Number of the last member.
    unsigned mergedInto; ///< Itself, or the group it has become part of.
    llvm::SetVector<unsigned> reads;
    bool placed = false;
  };
  /// An operand that comes from an open group.
  struct Use {
    Value root;
    unsigned group;
    Relation relation;
  };

  unsigned find(unsigned id) const;
  /// Returns whether `from` reads `to`, perhaps through other open groups.
  bool reaches(unsigned from, unsigned to) const;
  unsigned create(Operation *op, KernelForm form, Space space, Level level);
  int64_t evenRunOfOperands(Operation *op, Space space);
  void close(unsigned id);
  void closeSources(Operation *op);
  void merge(unsigned into, unsigned other);
  void liftToRows(Group &group, int64_t columns);
  bool tryJoin(unsigned own, Operation *op, Level slot, unsigned other,
               ArrayRef<Use> uses);
  LogicalResult visit(Operation *op);
  void addMember(Operation *op, Space space, Level slot, Level level,
                 bool operandsStored);
  void addColumnReduction(nn::ReduceOp op, const Reduction &reduction);
  void addAlone(Operation *op, KernelForm form);
  bool readsMuchOf(const Node &node, unsigned other) const;
  void place(unsigned id);

  Block &block;
  FreeValues &freeValues;
  GroupingLimits limits;
  std::deque<Node> nodes; // They are large to move.
  llvm::DenseMap<Operation *, unsigned> home;
  unsigned number = 0; ///< Of the op being visited.
  std::vector<const Group *> order;
};

} // namespace mlir::zg::kernels

#endif // ZEROGRAPH_PASSES_KERNELS_GROUPING_H
