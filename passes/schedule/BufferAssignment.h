//===- BufferAssignment.h - where the tensors of a program lie ------------===//

#ifndef ZEROGRAPH_PASSES_SCHEDULE_BUFFERASSIGNMENT_H
#define ZEROGRAPH_PASSES_SCHEDULE_BUFFERASSIGNMENT_H

#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/zero/ZeroDialect.h"
#include "passes/schedule/Part.h"

namespace mlir::zg::sched {

/// Gives every tensor of a function a place.
///
/// Values that share bytes by what they are (see Part) follow from others. The
/// rest is decided in one backward walk, consumers before producers: a consumer
/// that wants its operand in a place (a pack, joined rows, an in-place gather,
/// an update of a state, a reduction that adds to a sum, products that do, a
/// scatter into a table, a kernel that reads it for the last time, a write of
/// what was read from a file) asks for it, and the producer gets it unless it
/// is taken, or its bytes are read later as what they were. Who was refused
/// gets a slice of its own, and the consumer copies. An nn.constant has no
/// place.
class BufferAssignment {
public:
  BufferAssignment(nn::ProgramOp function, SliceTable &slices);

  /// Fails, with a diagnostic, on what cannot be lowered.
  LogicalResult assign();

  Place place(Value value) const;
  /// The place of result `index` of the function: the slice of the state that
  /// it updates, or of the output that it is.
  Place resultPlace(unsigned index) const { return resultPlaces[index]; }
  /// Returns where operand `index` of a pack, of joined rows or of an in-place
  /// gather belongs.
  Place operandPlace(Operation *op, unsigned index) const;

private:
  LogicalResult bindArguments();
  LogicalResult bindResults(nn::ReturnOp op);
  LogicalResult bindOp(Operation *op);
  bool bindShared(OpOperand &operand, OpResult result);
  void bindDying(nn::KernelOp kernel);
  bool isDying(Value operand, nn::KernelOp kernel, int slice) const;
  void bindBuffer(zero::WriteOp write);
  void bindOperands(Operation *op);
  struct Use;
  Use useOf(Value value) const;
  HeldAttr held(Value value, StringRef role, int64_t unit,
                int64_t segment) const;
  HeldAttr heldOfGradients(Value value) const;
  void bindDefault(Operation *op, unsigned result);
  Space spaceOf(Value value) const;
  /// As a position: never overwritten.
  static constexpr unsigned kNever = ~0u;
  bool request(Value value, Place want, unsigned overwritten);
  Operation *laterRead(Value value, zero::ReduceScatterOp op) const;
  LogicalResult checkOverwrite(zero::ReduceScatterOp op) const;
  bool keepsOldValues(Value value, Place want);

  struct Reader {
    unsigned position;
    OpOperand *use;
  };
  /// Every read of the value's bytes, through its parts too.
  void collectReaders(Value value, SmallVectorImpl<Reader> &readers) const;
  unsigned position(Operation *op) const { return positions.lookup(op); }
  unsigned lastRead(Value value) const;
  /// Returns the position at which a reduction in place, or who the value was
  /// placed for, overwrites its bytes first.
  unsigned firstOverwrite(Value value) const;
  void findBackward();

  nn::ProgramOp function;
  SliceTable &slices;
  DenseMap<Operation *, unsigned> positions;
  DenseMap<Value, Place> bound;
  DenseSet<Value> ownSlices; ///< what has a slice that was made for buffers
  /// The positions at which others overwrite what was placed among them.
  DenseMap<Value, unsigned> overwrites;
  /// By slice, what lies there before it is replaced: arguments, or what was
  /// read from a file.
  DenseMap<int, SmallVector<Value, 1>> replacedIn;
  SmallVector<Place> resultPlaces;
  /// The position at which backward begins; none: it does not.
  std::optional<unsigned> backward;
};

/// Labels a step by its location's name; without one by its kind and by what
/// first reads its result, "nn.kernel for node_add", or made what it reads,
/// "nn.kernel after node_add".
std::string labelOf(Operation *op);

} // namespace mlir::zg::sched

#endif // ZEROGRAPH_PASSES_SCHEDULE_BUFFERASSIGNMENT_H
