//===- NNAttentionOps.cpp - verifiers of attention ------------------------===//

#include "passes/ir/nn/Attention.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

LogicalResult expect(Operation *op, StringRef name, Type found,
                     RankedTensorType expected) {
  if (found != expected) {
    return op->emitOpError("needs ")
           << name << " of " << expected << ", not " << found;
  }
  return success();
}

/// Verifies q, k and v against each other.
LogicalResult verifyInputs(Operation *op, Value q, Value k, Value v) {
  for (Value value : {q, k, v}) {
    if (cast<RankedTensorType>(value.getType()).getRank() != 4) {
      return op->emitOpError("needs queries, keys and values of rank 4, not ")
             << value.getType();
    }
  }
  AttentionShape shape =
      AttentionShape::of(q.getType(), k.getType(), v.getType());
  Type element = cast<RankedTensorType>(q.getType()).getElementType();
  auto type = [&](int64_t size) {
    return RankedTensorType::get(
        {shape.batch, shape.keys, shape.keyHeads, size}, element);
  };
  if (failed(expect(op, "keys", k.getType(), type(shape.size))) ||
      failed(expect(op, "values", v.getType(), type(shape.valueSize)))) {
    return failure();
  }
  if (shape.heads % shape.keyHeads != 0) {
    return op->emitOpError("has ")
           << shape.heads << " heads of queries, which " << shape.keyHeads
           << " heads of keys do not divide";
  }
  if (std::max(shape.size, shape.valueSize) > kMaxHeadSize) {
    return op->emitOpError("has heads of ")
           << std::max(shape.size, shape.valueSize) << " elements, of at most "
           << kMaxHeadSize;
  }
  return success();
}

/// Verifies that the region takes `given` scores and the extras, and yields as
/// many scores, or one more: what probabilities are multiplied by.
LogicalResult verifyScores(Operation *op, const AttentionShape &shape,
                           Type element, unsigned given, ValueRange extras) {
  Block &block = op->getRegion(0).front();
  auto scores = RankedTensorType::get(shape.scores(), element);
  SmallVector<Type> expected(given, scores);
  llvm::append_range(expected, extras.getTypes());
  if (!llvm::equal(block.getArgumentTypes(), expected)) {
    return op->emitOpError("needs a region that takes ")
           << given << " of " << scores << " and the extras";
  }
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  unsigned yielded = yield ? yield.getNumOperands() : 0;
  if ((yielded != given && yielded != given + 1) ||
      !llvm::all_of(yield.getOperandTypes(),
                    [&](Type type) { return type == scores; })) {
    return op->emitOpError("needs a region that yields ")
           << given << " or " << given + 1 << " of " << scores;
  }
  for (Operation &member : block.without_terminator()) {
    if (!isElementwise(&member) && !isPlainView(&member) &&
        !isLiteral(&member)) {
      return op->emitOpError("has '")
             << member.getName()
             << "' in its region, which is not elementwise, a view or a "
                "literal";
    }
  }
  return success();
}

/// Returns the type of one number a query.
RankedTensorType rowsOf(const AttentionShape &shape, Type element) {
  return RankedTensorType::get({shape.batch, shape.heads, shape.queries},
                               element);
}

} // namespace

LogicalResult AttentionOp::verify() {
  if (failed(verifyInputs(*this, getQ(), getK(), getV()))) {
    return failure();
  }
  RankedTensorType q = getQ().getType();
  AttentionShape shape =
      AttentionShape::of(q, getK().getType(), getV().getType());
  Type element = scoreElement(q.getElementType());
  auto out =
      q.clone({shape.batch, shape.queries, shape.heads, shape.valueSize});
  RankedTensorType rows = rowsOf(shape, element);
  if (failed(expect(*this, "a result", getOut().getType(), out)) ||
      failed(expect(*this, "max", getMax().getType(), rows)) ||
      failed(expect(*this, "inverse", getInverse().getType(), rows))) {
    return failure();
  }
  return verifyScores(*this, shape, element, 1, getExtras());
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyInputs(*this, getQ(), getK(), getV()))) {
    return failure();
  }
  RankedTensorType q = getQ().getType();
  AttentionShape shape =
      AttentionShape::of(q, getK().getType(), getV().getType());
  Type element = scoreElement(q.getElementType());
  auto out =
      q.clone({shape.batch, shape.queries, shape.heads, shape.valueSize});
  RankedTensorType rows = rowsOf(shape, element);
  if (failed(expect(*this, "dout", getDout().getType(), out)) ||
      failed(expect(*this, "max", getMax().getType(), rows)) ||
      failed(expect(*this, "inverse", getInverse().getType(), rows)) ||
      failed(expect(*this, "delta", getDelta().getType(), rows)) ||
      failed(expect(*this, "dq", getDq().getType(), q)) ||
      failed(expect(*this, "dk", getDk().getType(), getK().getType())) ||
      failed(expect(*this, "dv", getDv().getType(), getV().getType()))) {
    return failure();
  }
  return verifyScores(*this, shape, element, 2, getExtras());
}
