//===- NNFold.cpp - folders of the nn dialect -----------------------------===//
//
// Only folds that keep every bit: identities of shape, and splats. Arithmetic
// on values is folded where it decides shapes, by the importer.
//
//===----------------------------------------------------------------------===//

#include "passes/ir/nn/NNDialect.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// A splat of the same value under another shape, or null.
Attribute reshapeSplat(Attribute operand, Type type) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(operand);
  return splat ? splat.resizeSplat(cast<ShapedType>(type)) : Attribute();
}

bool isSplatOf(Attribute attribute, double value) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(attribute);
  if (!splat) {
    return false;
  }
  if (isa<FloatType>(splat.getElementType())) {
    return splat.getSplatValue<APFloat>().isExactlyValue(value);
  }
  return splat.getSplatValue<APInt>() == static_cast<uint64_t>(value);
}

} // namespace

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult BinaryOp::fold(FoldAdaptor adaptor) {
  // x * 1, x / 1, and for integers x + 0, x - 0 (for floats -0 + 0 is +0).
  bool integer = isa<IntegerType>(getResult().getType().getElementType());
  switch (getKind()) {
  case BinaryKind::mul:
    if (isSplatOf(adaptor.getLhs(), 1)) {
      return getRhs();
    }
    [[fallthrough]];
  case BinaryKind::div:
    return isSplatOf(adaptor.getRhs(), 1) ? getLhs() : OpFoldResult();
  case BinaryKind::add:
    if (integer && isSplatOf(adaptor.getLhs(), 0)) {
      return getRhs();
    }
    [[fallthrough]];
  case BinaryKind::sub:
    return integer && isSplatOf(adaptor.getRhs(), 0) ? getLhs()
                                                     : OpFoldResult();
  default:
    return {};
  }
}

OpFoldResult ConvertOp::fold(FoldAdaptor) {
  if (getType() == getOperand().getType()) {
    return getOperand();
  }
  // Numbers of 16 bits that were widened narrow to themselves.
  auto widening = getOperand().getDefiningOp<ConvertOp>();
  bool exact = widening && widening.getOperand().getType() == getType() &&
               isHalf(getElementTypeOrSelf(getType())) &&
               getElementTypeOrSelf(getOperand()).isF32();
  return exact ? widening.getOperand() : Value();
}

/// Widens 16 bits after a move of all elements, not before it: what narrows
/// them again folds, and who else moves them moves half as many bytes.
template <typename Move>
static LogicalResult widenLater(Move op, PatternRewriter &rewriter) {
  auto widening = op.getOperand().template getDefiningOp<ConvertOp>();
  if (!widening || !widening->hasOneUse() ||
      !getElementTypeOrSelf(op.getType()).isF32() ||
      !isHalf(getElementTypeOrSelf(widening.getOperand()))) {
    return failure();
  }
  Operation *moved = rewriter.clone(*op);
  moved->setOperand(0, widening.getOperand());
  Value narrow = moved->getResult(0);
  narrow.setType(
      op.getType().clone(getElementTypeOrSelf(widening.getOperand())));
  rewriter.replaceOpWithNewOp<ConvertOp>(op, op.getType(), narrow);
  return success();
}

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *) {
  patterns.add(widenLater<ReshapeOp>);
}

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *) {
  patterns.add(widenLater<TransposeOp>);
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getType() == getOperand().getType()) {
    return getOperand();
  }
  return reshapeSplat(adaptor.getOperand(), getType());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getType() == getOperand().getType()) {
    return getOperand();
  }
  if (auto elements =
          dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand())) {
    return elements.reshape(cast<ShapedType>(getType()));
  }
  if (auto inner = getOperand().getDefiningOp<ReshapeOp>()) {
    setOperand(inner.getOperand());
    return getResult();
  }
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  ArrayRef<int64_t> outer = getPermutation();
  if (llvm::equal(outer, llvm::seq<int64_t>(0, outer.size()))) {
    return getOperand();
  }
  if (auto inner = getOperand().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> both;
    for (int64_t dim : outer) {
      both.push_back(inner.getPermutation()[dim]);
    }
    setOperand(inner.getOperand());
    setPermutation(both);
    return getResult();
  }
  return reshapeSplat(adaptor.getOperand(), getType());
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getType() == getOperand().getType() &&
      llvm::all_of(getSteps(), [](int64_t step) { return step == 1; })) {
    return getOperand();
  }
  return reshapeSplat(adaptor.getOperand(), getType());
}

/// Returns the part of a join that begins at row `first` and has this type.
static Value partOf(JoinRowsOp join, int64_t first, Type type) {
  int64_t begin = 0;
  for (Value part : join.getParts()) {
    if (begin == first && part.getType() == type) {
      return part;
    }
    begin += cast<RankedTensorType>(part.getType()).getShape().front();
  }
  return {};
}

OpFoldResult TakeRowsOp::fold(FoldAdaptor adaptor) {
  if (getType() == getOperand().getType()) {
    return getOperand();
  }
  if (auto join = getOperand().getDefiningOp<JoinRowsOp>()) {
    return partOf(join, getFirst(), getType());
  }
  return reshapeSplat(adaptor.getOperand(), getType());
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getNumOperands() == 1 ? getOperand(0) : Value();
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  // Reducing dimensions of size 1 changes nothing.
  return getType() == getOperand().getType() ? getOperand() : Value();
}
