//===- Materialize.h - what each kernel reads, computes and stores --------===//
//
// Grouping says where an op's value is computed; this says which values need a
// buffer at all. It goes from the end of the block to its beginning: what
// matmuls, collectives and the return read needs one, and so does what a
// kernel reads, unless the kernel can compute it again at less cost.
//
// Materialize.cpp goes over the block; KernelInputs.cpp settles where operands
// come from, Recompute.cpp what is computed again, KernelShape.cpp over which
// shape the members of a rows kernel run.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_PASSES_KERNELS_MATERIALIZE_H
#define ZEROGRAPH_PASSES_KERNELS_MATERIALIZE_H

#include "passes/kernels/Grouping.h"
#include "passes/kernels/Reading.h"

#include "llvm/ADT/MapVector.h"
#include <memory>

namespace mlir::zg::nn {
class GatherOp;
class ScatterOp;
} // namespace mlir::zg::nn

namespace mlir::zg::kernels {

struct KernelSpec {
  KernelForm form = KernelForm::rows;
  /// Null: the kernel gives a view or an expression of constants a buffer.
  const Group *group = nullptr;
  /// Members that the results need, in block order.
  llvm::SetVector<Operation *> members;
  /// The values that are read from buffers, and what is computed again.
  Inputs inputs;
  /// The shape that members run over, and that of the row level.
  SmallVector<int64_t> shape, rowShape;
  SmallVector<Value> results;

  ArrayRef<int64_t> shapeAt(Level level) const {
    return level == Level::Full ? shape : rowShape;
  }
};

class Materializer {
public:
  Materializer(Block &block, const Grouping &grouping, FreeValues &freeValues)
      : block(block), grouping(grouping), freeValues(freeValues) {}

  void run();

  /// Null if nothing needs the group's values.
  const KernelSpec *specOf(const Group *group) const;
  /// The spec of the kernel that makes a buffer of a value that no group
  /// computes; null if it needs none.
  const KernelSpec *copySpecOf(Value value) const;

private:
  /// An operand of a member, and the level at which it is read.
  struct Operand {
    Value value;
    Level level;
  };
  /// An attempt to compute a value again.
  struct Attempt {
    llvm::SetVector<Operation *> ops;
    llvm::SetVector<Value> leaves;
    int64_t newBytes = 0;
    /// Counts the ops that cost more than a few operations an element, with
    /// those that the kernel computes again already.
    unsigned costly = 0;
    bool allowsCostly = false;
    /// Counts the elements that are read: a costly op is not made more often.
    int64_t elements = 0;
    /// True if what is padded is read from a copy of it, where there is one.
    bool fromCopies = false;
  };

  void specifyBlock();
  bool isStored(Value root) const;
  void demand(Value value);
  void demandCopy(Value value);
  void specifyGroup(const Group &group);
  void specifyCopy(Value value, KernelSpec &spec);
  void resolve(KernelSpec &spec, ArrayRef<Operand> operands);
  bool resolveOperand(KernelSpec &spec, Value operand, bool certainOnly);
  void readIndices(KernelSpec &spec, nn::GatherOp gather);
  void readTable(KernelSpec &spec, nn::ScatterOp scatter);
  bool tryRecompute(KernelSpec &spec, const Source &source);
  Value lastStored(const Source &source) const;
  bool fits(const KernelSpec &spec, const Source &source, Inputs &inputs,
            const Attempt &attempt) const;
  bool collect(const KernelSpec &spec, Operation *op, bool exclusive,
               Attempt &attempt);
  Value cutOf(const KernelSpec &spec, const Operand &operand,
              ArrayRef<Operand> readable) const;
  void chooseShape(KernelSpec &spec, ArrayRef<Operand> operands);
  void splitGather(KernelSpec &spec, nn::GatherOp gather);
  void splitUnreadable(KernelSpec &spec, ArrayRef<Operand> operands);

  Block &block;
  const Grouping &grouping;
  FreeValues &freeValues;
  /// Values that need a buffer.
  llvm::SetVector<Value> stored;
  /// Values that the first round found to need one. Some do not in the second,
  /// unless it counts on them.
  llvm::SetVector<Value> expected;
  llvm::DenseMap<const Group *, std::unique_ptr<KernelSpec>> groupSpecs;
  llvm::DenseMap<Value, std::unique_ptr<KernelSpec>> copySpecs;
};

} // namespace mlir::zg::kernels

#endif // ZEROGRAPH_PASSES_KERNELS_MATERIALIZE_H
