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

/// The types that follow from those of q, k and v.
struct AttentionTypes {
  AttentionTypes(RankedTensorType q, Type k, Type v)
      : shape(AttentionShape::of(q, k, v)),
        element(scoreElement(q.getElementType())),
        out(q.clone(
            {shape.batch, shape.queries, shape.heads, shape.valueSize})),
        rows(RankedTensorType::get({shape.batch, shape.heads, shape.queries},
                                   element)),
        bias(RankedTensorType::get(shape.bias(), element)) {}

  AttentionShape shape;
  Type element;
  RankedTensorType out;
  /// One number a query.
  RankedTensorType rows;
  RankedTensorType bias;
};

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

/// Verifies that the region takes the scores that are given and the extras, and
/// yields as many scores as `scoreYieldsOf` says, or one more, by which
/// probabilities are multiplied.
LogicalResult verifyScores(Operation *op, const AttentionTypes &types) {
  auto [extras, given] = scoreInputsOf(op);
  Block &block = op->getRegion(0).front();
  auto scores = RankedTensorType::get(types.shape.scores(), types.element);
  SmallVector<Type> expected(given, scores);
  llvm::append_range(expected, extras.getTypes());
  if (!llvm::equal(block.getArgumentTypes(), expected)) {
    return op->emitOpError("needs a region that takes ")
           << given << " of " << scores << " and the extras";
  }
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  unsigned yielded = yield ? yield.getNumOperands() : 0;
  unsigned needed = scoreYieldsOf(op);
  if ((yielded != needed && yielded != needed + 1) ||
      !llvm::all_of(yield.getOperandTypes(),
                    [&](Type type) { return type == scores; })) {
    return op->emitOpError("needs a region that yields ")
           << needed << " or " << needed + 1 << " of " << scores;
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

} // namespace

LogicalResult AttentionOp::verify() {
  if (failed(verifyInputs(*this, getQ(), getK(), getV()))) {
    return failure();
  }
  AttentionTypes types(getQ().getType(), getK().getType(), getV().getType());
  if (failed(expect(*this, "a result", getOut().getType(), types.out)) ||
      failed(expect(*this, "max", getMax().getType(), types.rows)) ||
      failed(expect(*this, "inverse", getInverse().getType(), types.rows))) {
    return failure();
  }
  return verifyScores(*this, types);
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyInputs(*this, getQ(), getK(), getV()))) {
    return failure();
  }
  AttentionTypes types(getQ().getType(), getK().getType(), getV().getType());
  if (failed(expect(*this, "dout", getDout().getType(), types.out)) ||
      failed(expect(*this, "max", getMax().getType(), types.rows)) ||
      failed(expect(*this, "inverse", getInverse().getType(), types.rows)) ||
      failed(expect(*this, "delta", getDelta().getType(), types.rows)) ||
      failed(expect(*this, "dq", getDq().getType(), getQ().getType())) ||
      failed(expect(*this, "dk", getDk().getType(), getK().getType())) ||
      failed(expect(*this, "dv", getDv().getType(), getV().getType())) ||
      (getDbias() &&
       failed(expect(*this, "dbias", getDbias().getType(), types.bias)))) {
    return failure();
  }
  return verifyScores(*this, types);
}
