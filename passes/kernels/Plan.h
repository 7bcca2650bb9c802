//===- Plan.h - what each kernel reads, computes and stores ---------------===//
//
// Grouping says where an op's value is computed; this says which values need a
// buffer at all. It goes from the end of the block to its beginning: what
// matmuls, collectives and the return read needs one, and so does what a
// kernel reads, unless the kernel can compute it again at less cost.
//
// Plan.cpp goes over the block; PlanInputs.cpp settles where operands come
// from, PlanRecompute.cpp what is computed again, PlanShape.cpp over which
// shape the members of a rows kernel run.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_PASSES_KERNELS_PLAN_H
#define ZEROGRAPH_PASSES_KERNELS_PLAN_H

#include "passes/kernels/Grouping.h"
#include "passes/kernels/Reading.h"

#include "llvm/ADT/MapVector.h"
#include <memory>

namespace mlir::zg::nn {
class GatherOp;
class ScatterOp;
} // namespace mlir::zg::nn

namespace mlir::zg::kernels {

struct KernelPlan {
  Form form = Form::Rows;
  /// Null: the kernel gives a view or an expression of constants a buffer.
  const Group *group = nullptr;
  /// Members that the results need, in block order.
  llvm::SetVector<Operation *> members;
  /// What is read from buffers, and what is computed again.
  Inputs inputs;
  /// The shape that members run over, and that of the row level.
  SmallVector<int64_t> shape, rowShape;
  SmallVector<Value> results;

  ArrayRef<int64_t> shapeAt(Level level) const {
    return level == Level::Full ? shape : rowShape;
  }
};

class Planner {
public:
  Planner(Block &block, const Grouping &grouping, FreeValues &freeValues)
      : block(block), grouping(grouping), freeValues(freeValues) {}

  void run();

  /// Null if nothing needs the group's values.
  const KernelPlan *planOf(const Group *group) const;
  /// The plan of the kernel that makes a buffer of a value that no group
  /// computes; null if it needs none.
  const KernelPlan *copyOf(Value value) const;

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
  };

  void planBlock();
  bool isStored(Value root) const;
  void demand(Value value);
  void demandCopy(Value value);
  void planGroup(const Group &group);
  void planCopy(Value value, KernelPlan &plan);
  void resolve(KernelPlan &plan, ArrayRef<Operand> operands);
  bool resolveOperand(KernelPlan &plan, Value operand, bool certainOnly);
  void readIndices(KernelPlan &plan, nn::GatherOp gather);
  void readTable(KernelPlan &plan, nn::ScatterOp scatter);
  bool tryRecompute(KernelPlan &plan, const Source &source);
  bool collect(const KernelPlan &plan, Operation *op, bool exclusive,
               Attempt &attempt);
  void chooseShape(KernelPlan &plan, ArrayRef<Operand> operands);
  void splitUnreadable(KernelPlan &plan, ArrayRef<Operand> operands);

  Block &block;
  const Grouping &grouping;
  FreeValues &freeValues;
  /// Values that need a buffer.
  llvm::SetVector<Value> stored;
  /// Those that another round of planning found to need one.
  llvm::SetVector<Value> expected;
  llvm::DenseMap<const Group *, std::unique_ptr<KernelPlan>> groupPlans;
  llvm::DenseMap<Value, std::unique_ptr<KernelPlan>> copyPlans;
};

} // namespace mlir::zg::kernels

#endif // ZEROGRAPH_PASSES_KERNELS_PLAN_H
