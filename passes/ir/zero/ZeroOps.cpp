//===- ZeroOps.cpp - verifiers of the zero dialect ------------------------===//

#include "passes/ir/nn/Queries.h"
#include "passes/ir/zero/ZeroDialect.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

// [
//   #zero.unit<...>,
//   ...
// ]
static ParseResult parseLines(OpAsmParser &parser, ArrayAttr &entries) {
  return parser.parseAttribute(entries);
}

static void printLines(OpAsmPrinter &printer, Operation *, ArrayAttr entries) {
  printer << '[';
  printer.increaseIndent();
  llvm::interleave(
      entries, printer.getStream(),
      [&](Attribute entry) {
        printer.printNewline();
        printer << entry;
      },
      ",");
  printer.decreaseIndent();
  if (!entries.empty()) {
    printer.printNewline();
  }
  printer << ']';
}

#define GET_OP_CLASSES
#include "passes/ir/zero/ZeroOps.cpp.inc"

namespace {

Type elementType(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

/// Returns what the module says about `unit`. Fails, with a diagnostic, where
/// the module has no such unit; null where it has no units at all (a test that
/// looks at one op).
FailureOr<ParamUnitAttr> findUnit(Operation *op, int64_t unit) {
  ArrayAttr units = unitsOf(op);
  if (!units) {
    return ParamUnitAttr();
  }
  if (unit < 0 || unit >= static_cast<int64_t>(units.size())) {
    return op->emitOpError("names unit ") << unit << " of " << units.size();
  }
  return cast<ParamUnitAttr>(units[unit]);
}

/// How many ranks share the unit. Fails, with a diagnostic, where the mesh
/// lacks an axis, or a collective goes over others.
FailureOr<int64_t> ranksOf(Operation *op, ParamUnitAttr unit) {
  auto group = op->getAttrOfType<ArrayAttr>("group");
  if (group && group != unit.getAxes()) {
    return op->emitOpError("goes over axes ")
           << group << ", but unit '" << unit.getName().getValue()
           << "' is spread over " << unit.getAxes();
  }
  FailureOr<int64_t> ranks = meshOf(op).ranks(unit.getAxes());
  if (failed(ranks)) {
    return op->emitOpError("is about unit '")
           << unit.getName().getValue() << "', spread over " << unit.getAxes()
           << ", which is not in the mesh " << meshOf(op);
  }
  return ranks;
}

/// That `flat` is the unit's buffer and `shard` one rank's part of `segment`.
LogicalResult verifyPart(Operation *op, int64_t unitIndex, uint64_t segment,
                         Value flat, Value shard) {
  FailureOr<ParamUnitAttr> unit = findUnit(op, unitIndex);
  if (failed(unit) || !*unit) {
    return unit;
  }
  if (segment >= unit->getSegments().size()) {
    return op->emitOpError("names segment ")
           << segment << " of " << unit->getSegments().size();
  }
  if (nn::elementsOf(flat) != unit->getElements()) {
    return op->emitOpError("takes ")
           << nn::elementsOf(flat) << " elements, but unit '"
           << unit->getName().getValue() << "' has " << unit->getElements();
  }
  FailureOr<int64_t> ranks = ranksOf(op, *unit);
  if (failed(ranks)) {
    return failure();
  }
  int64_t length = unit->getSegments()[segment];
  if (nn::elementsOf(shard) * *ranks != length) {
    return op->emitOpError("gives a shard of ")
           << nn::elementsOf(shard) << " elements of a segment of " << length
           << " over " << *ranks << " ranks";
  }
  return success();
}

/// One shard a segment, of an equal part of it, and the flat buffer's length.
LogicalResult verifyGather(Operation *op, int64_t unitIndex, ValueRange shards,
                           int64_t flatElements) {
  FailureOr<ParamUnitAttr> unit = findUnit(op, unitIndex);
  if (failed(unit) || !*unit) {
    return unit;
  }
  FailureOr<int64_t> ranks = ranksOf(op, *unit);
  if (failed(ranks)) {
    return failure();
  }
  if (unit->getSegments().size() != shards.size()) {
    return op->emitOpError("has ") << shards.size() << " shards, but unit '"
                                   << unit->getName().getValue() << "' has "
                                   << unit->getSegments().size() << " segments";
  }
  for (auto [shard, length] : llvm::zip(shards, unit->getSegments())) {
    if (nn::elementsOf(shard) * *ranks != length) {
      return op->emitOpError("has a shard of ")
             << nn::elementsOf(shard) << " elements of a segment of " << length
             << " over " << *ranks << " ranks";
    }
  }
  if (flatElements != unit->getElements()) {
    return op->emitOpError("gives ")
           << flatElements << " elements, but unit '"
           << unit->getName().getValue() << "' has " << unit->getElements();
  }
  return success();
}

/// Verifies the types of buffer and shard.
LogicalResult verifySameType(Operation *op, Value flat, Value shard) {
  if (elementType(flat) != elementType(shard)) {
    return op->emitOpError("element types differ: ")
           << flat.getType() << " and " << shard.getType();
  }
  return success();
}

} // namespace

LogicalResult ShardOp::verify() {
  if (failed(verifySameType(*this, getFlat(), getResult()))) {
    return failure();
  }
  return verifyPart(*this, getUnit(), getSegment(), getFlat(), getResult());
}

LogicalResult ViewOp::verify() {
  if (elementType(getFlat()) != elementType(getResult())) {
    return emitOpError("element types differ: ")
           << getFlat().getType() << " and " << getType();
  }
  int64_t offset = getOffset(), end = offset + nn::elementsOf(getResult());
  if (offset < 0 || end > nn::elementsOf(getFlat())) {
    return emitOpError("reads elements ")
           << getOffset() << " to " << end << " of "
           << nn::elementsOf(getFlat());
  }
  return success();
}

LogicalResult PackOp::verify() {
  if (getOffsets().size() != getOperands().size()) {
    return emitOpError("has ") << getOperands().size() << " operands but "
                               << getOffsets().size() << " offsets";
  }
  int64_t end = 0;
  for (auto [operand, offset] : llvm::zip(getOperands(), getOffsets())) {
    if (offset < end) {
      return emitOpError("operand at ")
             << offset << " overlaps the one that ends at " << end;
    }
    end = offset + nn::elementsOf(operand);
  }
  if (end > nn::elementsOf(getResult())) {
    return emitOpError("needs ") << end << " elements, but the result has "
                                 << nn::elementsOf(getResult());
  }
  return success();
}

LogicalResult AllGatherOp::verify() {
  return verifyGather(*this, getUnit(), getShards(),
                      nn::elementsOf(getResult()));
}

LogicalResult PrefetchOp::verify() {
  return verifyGather(*this, getUnit(), getShards(),
                      getHandle().getType().getResult().getNumElements());
}

LogicalResult AwaitOp::verify() {
  if (getHandle().getType().getResult() != getType()) {
    return emitOpError("gives ")
           << getHandle().getType().getResult() << ", not " << getType();
  }
  return success();
}

LogicalResult ReleaseOp::verify() {
  for (Operation *user : getFlat().getUsers()) {
    SmallVector<Operation *> uses{user};
    if (isa<ViewOp>(user)) {
      llvm::append_range(uses, user->getUsers());
    }
    for (Operation *use : uses) {
      if (use != getOperation() && use->getBlock() == (*this)->getBlock() &&
          (*this)->isBeforeInBlock(use)) {
        return emitOpError("comes before a use of the buffer")
                   .attachNote(use->getLoc())
               << "the use is here";
      }
    }
  }
  return success();
}

bool ReduceScatterOp::rounds() {
  return elementType(getFlat()) != elementType(getResult());
}

LogicalResult ReduceScatterOp::verify() {
  Type wire = elementType(getFlat());
  bool half = wire.isBF16() || wire.isF16();
  if ((!half || !elementType(getResult()).isF32() || getInPlace()) &&
      failed(verifySameType(*this, getFlat(), getResult()))) {
    return failure();
  }
  if (getInPlace() && getAccumulator()) {
    return emitOpError("in place has no accumulator");
  }
  if (getAccumulator() && getAccumulator().getType() != getType()) {
    return emitOpError("accumulates ")
           << getAccumulator().getType() << " into " << getType();
  }
  return verifyPart(*this, getUnit(), getSegment(), getFlat(), getResult());
}

/// Verifies a transfer between device, host and file.
template <typename Op>
static LogicalResult verifyTransfer(Op op) {
  auto from = cast<RankedTensorType>(op.getOperand().getType());
  auto to = cast<RankedTensorType>(op.getType());
  if (from.getShape() != to.getShape() ||
      from.getElementType() != to.getElementType()) {
    return op.emitOpError("makes ") << to << " of " << from;
  }
  int64_t moved = nn::tensorBytes(to);
  if (static_cast<int64_t>(op.getBytes()) != moved) {
    return op.emitOpError("says that it moves ")
           << op.getBytes() << " bytes; its operand has " << moved;
  }
  return op.getUnit() ? LogicalResult(findUnit(op, *op.getUnit())) : success();
}

LogicalResult OffloadOp::verify() { return verifyTransfer(*this); }

LogicalResult FetchOp::verify() { return verifyTransfer(*this); }

LogicalResult ReadOp::verify() { return verifyTransfer(*this); }

LogicalResult WriteOp::verify() { return verifyTransfer(*this); }

LogicalResult AllReduceOp::verify() {
  if (failed(meshOf(*this).ranks(getGroup()))) {
    return emitOpError("goes over axes ")
           << getGroup() << ", not all of them in the mesh " << meshOf(*this);
  }
  if (getOperand().getType() != getType() ||
      (getAccumulator() && getAccumulator().getType() != getType())) {
    return emitOpError("needs one type for operand, accumulator and result");
  }
  return success();
}
