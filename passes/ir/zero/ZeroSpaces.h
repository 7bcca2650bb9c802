//===- ZeroSpaces.h - the memory that a value lies in ---------------------===//

#ifndef ZEROGRAPH_PASSES_IR_ZERO_ZEROSPACES_H
#define ZEROGRAPH_PASSES_IR_ZERO_ZEROSPACES_H

#include "passes/ir/nn/Queries.h"
#include "passes/ir/zero/ZeroDialect.h"

namespace mlir::zg::zero {

/// Returns the memory in which a value of the type lies, as the encoding of the
/// tensor says it: `#zero<space host>`, `#zero<space nvme>`, or none for the
/// device. An op computes where its results lie.
Space spaceOf(Type type);

/// Returns the type of the same tensor in `space`; what is pinned lies in
/// memory of the host.
RankedTensorType typeIn(Space space, Type type);

/// Makes the results of an op, and all that it holds, tensors in `space`.
void placeIn(Space space, Operation *op);

/// Returns whether the host computes the op.
bool isOnHost(Operation *op);

/// Returns whether the host may compute such an op.
bool mayBeOnHost(Operation *op);

/// Returns where an offloaded, fetched, read or written value came from; any
/// other value itself.
Value beforeTransfers(Value value);

/// Creates the op that moves a value to the memory of the host (OffloadOp) or
/// of the device (FetchOp), and returns the value there. Without `unit` and
/// `segment`, it is no part of either.
template <typename Op>
Value createTransfer(OpBuilder &builder, Location location, Value value,
                     StringRef reason, IntegerAttr unit = {},
                     IntegerAttr segment = {}) {
  Space to = std::is_same_v<Op, OffloadOp> ? Space::host : Space::device;
  return builder.create<Op>(
      location, typeIn(to, value.getType()), value, unit, segment,
      builder.getI64IntegerAttr(nn::tensorBytes(value.getType())),
      builder.getStringAttr(reason));
}

/// Fails where an op takes a value that lies in another memory than the op
/// computes in.
LogicalResult verifySpaces(nn::ProgramOp program);

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_IR_ZERO_ZEROSPACES_H
