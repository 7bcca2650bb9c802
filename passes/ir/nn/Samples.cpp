//===- Samples.cpp - which dimension of a value holds the samples ---------===//

#include "passes/ir/nn/Samples.h"

#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/OwnRows.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

int64_t product(ArrayRef<int64_t> shape) {
  return ShapedType::getNumElements(shape);
}

} // namespace

SampleAnalysis::SampleAnalysis(ProgramOp forward) {
  SmallVector<Value> inputs;
  for (BlockArgument argument : forward.getArguments()) {
    auto input = forward.getArgAttrOfType<InputAttr>(argument.getArgNumber(),
                                                     kInputAttr);
    if (input && input.getPerSample()) {
      inputs.push_back(argument);
    }
  }
  follow(forward.getBody().front(), inputs);
}

SampleAnalysis::SampleAnalysis(Block &body, ValueRange inputs) {
  follow(body, inputs);
}

void SampleAnalysis::follow(Block &body, ValueRange inputs) {
  for (Value input : inputs) {
    int64_t rows = shapeOf(input).front();
    samples = known.empty() ? rows : std::min(samples, rows);
    known[input] = Samples::at(0);
  }
  for (Operation &op : body) {
    if (op.getNumResults() == 0) {
      continue; // the end of the program
    }
    Samples all = compute(&op);
    for (Value value : op.getResults()) {
      // Statistics of rows that span several samples, for example, are mixed.
      bool has = all.kind != Samples::At ||
                 shapeOf(value)[all.dim] % (all.outer * samples) == 0;
      known[value] = has ? all : Samples::mixedBy(&op);
    }
  }
}

Operation *SampleAnalysis::mixerBehind(Value value) const {
  SetVector<Operation *> ops;
  auto visit = [&](Value operand) {
    if (Operation *op = operand.getDefiningOp()) {
      ops.insert(op);
    }
  };
  visit(value);
  Operation *first = nullptr;
  for (size_t i = 0; i < ops.size(); ++i) {
    Operation *op = ops[i];
    llvm::for_each(op->getOperands(), visit);
    Samples all = of(op->getResult(0));
    auto sum = dyn_cast<ReduceOp>(op);
    bool adds = sum && sum.getKind() == ReduceKind::sum;
    bool mixes = all.kind == Samples::At ? all.mixer != nullptr
                                         : all.mixer == op && !adds;
    if (mixes && (!first || all.mixer->isBeforeInBlock(first))) {
      first = all.mixer;
    }
  }
  return first;
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
  if (isa<SoftmaxOp, SoftmaxCrossEntropyOp, LayerNormOp>(op)) {
    return throughRows(op);
  }
  if (keepsSamples(op)) {
    return joinOperands(op);
  }
  return llvm::TypeSwitch<Operation *, Samples>(op)
      .Case<AttentionOp, ReshapeOp, TransposeOp, SliceOp, PadOp, ConcatOp,
            ReduceOp, CumsumOp, PoolOp, MatmulOp, ConvolutionOp, GatherOp,
            ScatterOp>([&](auto concrete) { return through(concrete); })
      // It depends on where samples are, not on what they hold.
      .Case([&](RandomLikeOp random) {
        Samples like = of(random.getOperand());
        return like.kind == Samples::At ? like : Samples();
      })
      .Default([&](auto) { return Samples::mixedBy(op); });
}

/// Joins the parts of an elementwise op, such as statistics over samples and
/// the values they normalize. If the samples of a part are known, so are those
/// of the whole.
Samples SampleAnalysis::join(Operation *op, ArrayRef<Samples> parts) const {
  Samples result;
  for (const Samples &part : parts) {
    if (part.kind == Samples::At && result.kind == Samples::At &&
        (part.dim != result.dim || part.outer != result.outer)) {
      return Samples::mixedBy(op);
    }
    Operation *mixer = result.mixer ? result.mixer : part.mixer;
    if (part.kind == Samples::At || result.kind == Samples::None) {
      result = part;
    }
    result.mixer = mixer;
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

/// Follows an op that computes with rows, the last dimension of its operands.
Samples SampleAnalysis::throughRows(Operation *op) const {
  Samples all = joinOperands(op);
  int64_t last = shapeOf(op->getOperand(0)).size() - 1;
  return all.isAt(last) ? all.alsoMixedBy(op) : all;
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
      from.dim = dim;
      from.outer = outer;
      return from;
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

/// Follows scores through the region, in which samples must stay in front.
Samples SampleAnalysis::through(AttentionOp op) const {
  Samples ofProducts = join(op, {of(op.getQ()), of(op.getK()), of(op.getV())});
  Block &region = op.getScores().front();
  SmallVector<Value> inputs;
  for (BlockArgument argument : region.getArguments()) {
    unsigned number = argument.getArgNumber();
    Samples own = number == 0 ? ofProducts : of(op.getExtras()[number - 1]);
    if (own.kind != Samples::None && !own.isAt(0)) {
      return own.kind == Samples::Mixed ? own : Samples::mixedBy(op);
    }
    if (own.isAt(0)) {
      inputs.push_back(argument);
    }
  }
  SampleAnalysis inside(region, inputs);
  return inside.of(region.getTerminator()->getOperand(0)).isAt(0)
             ? joinOperands(op)
             : Samples::mixedBy(op);
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
  for (const Samples &factor : {left, right}) {
    if (factor.kind == Samples::Mixed) {
      return factor;
    }
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
  if (table.isAt(0) && table.outer == 1) {
    if (auto dim = ownRows(op.getIndices(), indices, samples,
                           shapeOf(op.getTable())[0])) {
      return join(op, {Samples::at(*dim).alsoMixedBy(table.mixer), indices});
    }
  }
  return Samples::mixedBy(op);
}

/// Elements within a row of the updates keep their place, and so does what the
/// table has already.
Samples SampleAnalysis::through(ScatterOp op) const {
  Samples updates = of(op.getUpdates()), indices = of(op.getIndices());
  int64_t leading = shapeOf(op.getIndices()).size();
  auto own = ownRows(op.getIndices(), indices, samples, shapeOf(op)[0]);
  if (own && (updates.kind == Samples::None || updates.isAt(*own))) {
    updates = Samples::at(0).alsoMixedBy(join(op, {indices, updates}).mixer);
  } else if (indices.kind != Samples::None ||
             (updates.kind == Samples::At && updates.dim < leading)) {
    updates = Samples::mixedBy(op);
  } else {
    updates.dim += 1 - leading;
  }
  return op.getInto() ? join(op, {of(op.getInto()), updates}) : updates;
}
