//===- ZeroSides.h - what of a program is the host's ----------------------===//

#ifndef ZEROGRAPH_PASSES_IR_ZERO_ZEROSIDES_H
#define ZEROGRAPH_PASSES_IR_ZERO_ZEROSIDES_H

#include "passes/ir/zero/ZeroDialect.h"

namespace mlir::zg::zero {

/// Whose memory a value lies in, or the file of the rank. Literals lie in none.
enum class Side { None, Device, Host, File };

/// Returns whether the op of a program is such that the host may compute it;
/// else the device does, or nobody: a literal.
bool mayBeOnHost(Operation *op);

/// Return where a program's argument lies, and a result that replaces a state.
Side sideOfArgument(nn::ProgramOp program, unsigned argument);
Side sideOfResult(nn::ProgramOp program, unsigned result);

/// Tells where the values of a program lie: states where their units declare
/// them, what is offloaded, fetched, read or written on the other side, and
/// what an op makes where its operands lie, since a device computes with its
/// own memory alone. A value that is made of literals lies where it is used,
/// and nowhere if it is used on both sides: kernels make it again, or
/// zero-split-sides a copy. This is a snapshot of the program.
class Sides {
public:
  explicit Sides(nn::ProgramOp program);

  Side of(Value value) const { return sides.lookup(value); }
  bool onHost(Value value) const { return of(value) == Side::Host; }
  /// Returns whether the host computes the op.
  bool onHost(Operation *op) const { return hosted.contains(op); }

private:
  void visit(Operation *op);
  /// Takes the side of an op whose operands lie nowhere.
  void takeFromUsers(Operation *op);

  DenseMap<Value, Side> sides;
  DenseSet<Operation *> hosted;
};

/// Returns where an offloaded, fetched, read or written value came from; any
/// other value itself.
Value beforeTransfers(Value value);

/// An error where what is computed on one side takes memory of the other, or is
/// kept there.
LogicalResult verifySides(nn::ProgramOp program);

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_IR_ZERO_ZEROSIDES_H
