//===- Samples.cpp - which dimension of a value holds the samples ---------===//

#include "passes/differentiate/Samples.h"

#include "passes/ir/nn/NNBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

int64_t product(ArrayRef<int64_t> shape) {
  return ShapedType::getNumElements(shape);
}

} // namespace

SampleAnalysis::SampleAnalysis(ProgramOp forward) {
  for (BlockArgument argument : forward.getArguments()) {
    auto input = forward.getArgAttrOfType<InputAttr>(argument.getArgNumber(),
                                                     kInputAttr);
    if (input && input.getPerSample()) {
      samples = shapeOf(argument).front();
      known[argument] = Samples::at(0);
    }
  }
  for (Operation &op : forward.getBody().front().without_terminator()) {
    Samples all = compute(&op);
    for (Value value : op.getResults()) {
      // Of a row's statistics, say, the rows being those of several samples.
      bool has = all.kind != Samples::At ||
                 shapeOf(value)[all.dim] % (all.outer * samples) == 0;
      known[value] = has ? all : Samples::mixedBy(&op);
    }
  }
}

Samples SampleAnalysis::compute(Operation *op) const {
  if (llvm::all_of(op->getOperands(), [&](Value operand) {
        return of(operand).kind == Samples::None;
      })) {
    return {};
  }
  if (samples == 1) {
    // All elements are the one sample's, whichever dimension one counts from.
    return shapeOf(op->getResult(0)).empty() ? Samples::mixedBy(op)
                                             : Samples::at(0);
  }
  if (keepsSamples(op)) {
    return joinOperands(op);
  }
  return llvm::TypeSwitch<Operation *, Samples>(op)
      .Case<ReshapeOp, TransposeOp, SliceOp, PadOp, ConcatOp, ReduceOp,
            CumsumOp, PoolOp, MatmulOp, ConvolutionOp, GatherOp, ScatterOp>(
          [&](auto concrete) { return through(concrete); })
      .Case([&](LayerNormOp norm) { return of(norm.getOperand()); })
      // It depends on where samples are, not on what they hold.
      .Case([&](RandomLikeOp random) {
        Samples like = of(random.getOperand());
        return like.kind == Samples::At ? like : Samples();
      })
      .Default([&](auto) { return Samples::mixedBy(op); });
}

/// Of element-by-element work: statistics over samples, say, and the values
/// they normalize. Where the samples of a part are known, so are those of the
/// whole.
Samples SampleAnalysis::join(Operation *op, ArrayRef<Samples> parts) const {
  Samples result;
  for (const Samples &part : parts) {
    if (part.kind == Samples::At && result.kind == Samples::At &&
        (part.dim != result.dim || part.outer != result.outer)) {
      return Samples::mixedBy(op);
    }
    if (part.kind == Samples::At || result.kind == Samples::None) {
      result = part;
    }
  }
  return result;
}

Samples SampleAnalysis::joinOperands(Operation *op) const {
  SmallVector<Samples> parts;
  for (Value operand : op->getOperands()) {
    parts.push_back(of(operand));
  }
  return join(op, parts);
}

/// The dimension that holds the samples and what of it lies before them, so
/// that there is as much before them as there was.
Samples SampleAnalysis::through(ReshapeOp op) const {
  Samples from = of(op.getOperand());
  if (from.kind != Samples::At) {
    return from;
  }
  int64_t before =
      product(shapeOf(op.getOperand()).take_front(from.dim)) * from.outer;
  ArrayRef<int64_t> shape = shapeOf(op);
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t leading = product(shape.take_front(dim));
    int64_t outer = before / leading;
    if (outer * leading == before && size % (outer * samples) == 0) {
      return Samples::at(dim, outer);
    }
  }
  return Samples::mixedBy(op);
}

Samples SampleAnalysis::through(TransposeOp op) const {
  Samples from = of(op.getOperand());
  if (from.kind == Samples::At) {
    from.dim =
        llvm::find(op.getPermutation(), from.dim) - op.getPermutation().begin();
  }
  return from;
}

Samples SampleAnalysis::through(SliceOp op) const {
  Samples from = of(op.getOperand());
  if (from.kind == Samples::At &&
      (op.getStarts()[from.dim] != 0 || op.getSteps()[from.dim] != 1 ||
       shapeOf(op)[from.dim] != shapeOf(op.getOperand())[from.dim])) {
    return Samples::mixedBy(op);
  }
  return from;
}

Samples SampleAnalysis::through(PadOp op) const {
  Samples from = of(op.getOperand());
  if (from.kind == Samples::At &&
      shapeOf(op)[from.dim] != shapeOf(op.getOperand())[from.dim]) {
    return Samples::mixedBy(op);
  }
  return from;
}

Samples SampleAnalysis::through(ConcatOp op) const {
  Samples joined = joinOperands(op);
  return joined.isAt(op.getDim()) ? Samples::mixedBy(op) : joined;
}

Samples SampleAnalysis::through(ReduceOp op) const {
  Samples from = of(op.getOperand());
  bool reduced =
      from.kind == Samples::At && llvm::is_contained(op.getDims(), from.dim);
  return reduced ? Samples::mixedBy(op) : from;
}

Samples SampleAnalysis::through(CumsumOp op) const {
  Samples from = of(op.getOperand());
  return from.isAt(op.getDim()) ? Samples::mixedBy(op) : from;
}

Samples SampleAnalysis::through(PoolOp op) const {
  Samples from = of(op.getOperand());
  return from.isAt(op.getDim()) ? Samples::mixedBy(op) : from;
}

Samples SampleAnalysis::through(MatmulOp op) const {
  int64_t rank = shapeOf(op).size();
  // Rows of the left and columns of the right become the result's.
  auto moved = [&](Value operand, bool transposed, bool isLeft) {
    Samples from = of(operand);
    if (from.kind == Samples::At && from.dim >= rank - 2) {
      bool isRow = (from.dim == rank - 2) != transposed;
      if (isRow != isLeft) {
        return Samples::mixedBy(op);
      }
      from.dim = isLeft ? rank - 2 : rank - 1;
    }
    return from;
  };
  Samples left = moved(op.getLhs(), op.getTransposeA(), true);
  Samples right = moved(op.getRhs(), op.getTransposeB(), false);
  if (left.kind == Samples::Mixed || right.kind == Samples::Mixed) {
    return Samples::mixedBy(op);
  }
  return join(op, {left, right});
}

Samples SampleAnalysis::through(ConvolutionOp op) const {
  bool kept = op.getKind() != ConvolutionKind::weights &&
              of(op.getLhs()).isAt(0) && of(op.getRhs()).kind == Samples::None;
  return kept ? of(op.getLhs()) : Samples::mixedBy(op);
}

/// The dimensions of the indices, then the table's but its first.
Samples SampleAnalysis::through(GatherOp op) const {
  Samples table = of(op.getTable()), indices = of(op.getIndices());
  if (table.kind == Samples::None) {
    return indices;
  }
  if (table.kind == Samples::At && table.dim > 0 &&
      indices.kind == Samples::None) {
    table.dim += shapeOf(op.getIndices()).size() - 1;
    return table;
  }
  return Samples::mixedBy(op);
}

/// What lies within a row of the updates keeps its place, and so does all that
/// is in the table already.
Samples SampleAnalysis::through(ScatterOp op) const {
  Samples updates = of(op.getUpdates());
  int64_t leading = shapeOf(op.getIndices()).size();
  if (of(op.getIndices()).kind != Samples::None ||
      (updates.kind == Samples::At && updates.dim < leading)) {
    updates = Samples::mixedBy(op);
  }
  updates.dim += 1 - leading;
  return op.getInto() ? join(op, {of(op.getInto()), updates}) : updates;
}
