//===- RowTile.cpp - how ops compute some of their rows -------------------===//

#include "passes/differentiate/RowTile.h"

#include "passes/ir/nn/Queries.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// Returns how many leading dimensions are the rows of a tensor, if it has
/// them.
std::optional<unsigned> rowDims(ArrayRef<int64_t> shape, int64_t rows) {
  int64_t elements = 1;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    elements *= size;
    if (elements == rows) {
      return dim + 1;
    }
  }
  return std::nullopt;
}

/// Returns the shape of `part` rows of a tensor that has `rows`.
SmallVector<int64_t> shapeOfPart(Value value, int64_t rows, int64_t part) {
  SmallVector<int64_t> shape = {part};
  llvm::append_range(shape, shapeOfRow(value, rows));
  return shape;
}

bool allOnes(ArrayRef<int64_t> sizes) {
  return llvm::all_of(sizes, [](int64_t size) { return size == 1; });
}

/// Returns the rule of an op that reads all operands by row.
RowRule byRows(Operation *op) {
  return {SmallVector<bool, 4>(op->getNumOperands(), true)};
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

std::optional<RowRule> ruleOf(MatmulOp op, int64_t rows) {
  // Other dimensions may have as many elements as there are rows.
  if (op.getType().getRank() != 2 || op.getInto() ||
      shapeOf(op.getLhs()).front() != rows) {
    return std::nullopt;
  }
  if (!op.getTransposeA()) {
    return RowRule{{true, false}};
  }
  bool sums = shapeOf(op.getRhs()).front() == rows && !op.getTransposeB();
  return sums ? std::optional(RowRule{{true, true}, true}) : std::nullopt;
}

/// Returns how many rows a reduction makes one of.
int64_t reducedRows(ReduceOp op, unsigned rowDims) {
  int64_t reduced = 1;
  for (int64_t dim : op.getDims()) {
    reduced *= dim < int64_t(rowDims) ? shapeOf(op.getOperand())[dim] : 1;
  }
  return reduced;
}

std::optional<RowRule> ruleOf(ReduceOp op, int64_t rows) {
  std::optional<unsigned> dims = rowDims(shapeOf(op.getOperand()), rows);
  if (!dims) {
    return std::nullopt;
  }
  int64_t reduced = reducedRows(op, *dims);
  if (reduced == 1) {
    return byRows(op);
  }
  bool sums = reduced == rows && op.getKind() == ReduceKind::sum;
  return sums ? std::optional(RowRule{{true}, true}) : std::nullopt;
}

std::optional<RowRule> ruleOf(BroadcastOp op, int64_t rows) {
  std::optional<unsigned> dims = rowDims(shapeOf(op), rows);
  if (!dims) {
    return std::nullopt;
  }
  ArrayRef<int64_t> from = shapeOf(op.getOperand()).take_front(*dims);
  if (from == shapeOf(op).take_front(*dims)) {
    return byRows(op);
  }
  return allOnes(from) ? std::optional(RowRule{{false}}) : std::nullopt;
}

/// Returns the rule of a slice or a pad that leaves the rows alone. `first` has
/// a number a dimension, which is 0 where the dimension begins as it did.
std::optional<RowRule> ruleOfRest(Operation *op, int64_t rows,
                                  ArrayRef<int64_t> first,
                                  ArrayRef<int64_t> steps) {
  ArrayRef<int64_t> from = shapeOf(op->getOperand(0));
  ArrayRef<int64_t> to = shapeOf(op->getResult(0));
  std::optional<unsigned> dims = rowDims(from, rows);
  bool whole = dims && from.take_front(*dims) == to.take_front(*dims) &&
               (steps.empty() || allOnes(steps.take_front(*dims))) &&
               llvm::all_of(first.take_front(*dims),
                            [](int64_t start) { return start == 0; });
  return whole ? std::optional(byRows(op)) : std::nullopt;
}

std::optional<RowRule> ruleOf(Operation *op, int64_t rows) {
  return llvm::TypeSwitch<Operation *, std::optional<RowRule>>(op)
      .Case<MatmulOp, ReduceOp, BroadcastOp>(
          [&](auto concrete) { return ruleOf(concrete, rows); })
      .Case([&](SliceOp slice) {
        return ruleOfRest(op, rows, slice.getStarts(), slice.getSteps());
      })
      .Case([&](PadOp pad) { return ruleOfRest(op, rows, pad.getLow(), {}); })
      .Case([&](ConcatOp concat) {
        std::optional<unsigned> dims = rowDims(shapeOf(concat), rows);
        bool alongRow = dims && concat.getDim() >= *dims;
        return alongRow ? std::optional(byRows(op)) : std::nullopt;
      })
      .Case<SoftmaxOp, SoftmaxGradOp>([&](auto softmax) {
        Value result = softmax->getResult(0);
        std::optional<unsigned> dims = rowDims(shapeOf(result), rows);
        bool alongRow = dims && *dims < shapeOf(result).size();
        return alongRow ? std::optional(byRows(op)) : std::nullopt;
      })
      .Case<ReshapeOp, SoftmaxCrossEntropyOp, SoftmaxCrossEntropyGradOp>(
          [&](auto) { return byRows(op); })
      .Default([&](Operation *) {
        return isElementwise(op) && !isa<RandomUniformOp>(op)
                   ? std::optional(byRows(op))
                   : std::nullopt;
      });
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Returns `dims`, which are after the rows, as those of a part.
SmallVector<int64_t> dimsOfPart(ArrayRef<int64_t> dims, unsigned rowDims) {
  SmallVector<int64_t> moved;
  for (int64_t dim : dims) {
    if (dim >= int64_t(rowDims)) {
      moved.push_back(dim - rowDims + 1);
    }
  }
  return moved;
}

/// Returns one number a dimension without those of the rows, which `first`
/// stands for.
SmallVector<int64_t> numbersOfPart(int64_t first, ArrayRef<int64_t> numbers,
                                   unsigned rowDims) {
  SmallVector<int64_t> kept = {first};
  llvm::append_range(kept, numbers.drop_front(rowDims));
  return kept;
}

/// Sets the attributes that count dimensions.
void setDims(Operation *clone, Operation *op, int64_t rows) {
  // An operand that all rows share has none.
  unsigned dims = rowDims(shapeOf(op->getOperand(0)), rows).value_or(0);
  llvm::TypeSwitch<Operation *>(clone)
      .Case([&](ReduceOp reduce) {
        SmallVector<int64_t> moved = dimsOfPart(reduce.getDims(), dims);
        if (reducedRows(cast<ReduceOp>(op), dims) > 1) {
          moved.insert(moved.begin(), 0);
        }
        reduce.setDims(moved);
      })
      .Case([&](SliceOp slice) {
        slice.setStarts(numbersOfPart(0, slice.getStarts(), dims));
        slice.setSteps(numbersOfPart(1, slice.getSteps(), dims));
      })
      .Case(
          [&](PadOp pad) { pad.setLow(numbersOfPart(0, pad.getLow(), dims)); })
      .Case(
          [&](ConcatOp concat) { concat.setDim(concat.getDim() - dims + 1); });
}

/// Returns the operand of a broadcast that all rows share as a tensor of one
/// row.
Value asOneRow(OpBuilder &builder, BroadcastOp op, Value operand,
               int64_t rows) {
  SmallVector<int64_t> shape =
      numbersOfPart(1, shapeOf(op.getOperand()), *rowDims(shapeOf(op), rows));
  return NNBuilder(builder, op.getLoc()).reshape(operand, shape);
}

/// Returns the type of a sum over the rows of an op: of a reduction with the
/// rows as one dimension.
RankedTensorType typeOfSum(Operation *op, int64_t rows) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce ? type.clone(numbersOfPart(
                      1, type.getShape(),
                      *rowDims(shapeOf(reduce.getOperand()), rows)))
                : type;
}

/// Adds a sum of the rows of a part to that of the parts before it.
void addSum(OpBuilder &builder, Operation *op, Operation *clone,
            IRMapping &tile) {
  Value before = tile.lookupOrNull(op->getResult(0));
  auto product = dyn_cast<MatmulOp>(clone);
  if (product && before) {
    product.getIntoMutable().assign(before);
  }
  Value sum = clone->getResult(0);
  if (!product) {
    NNBuilder b(builder, op->getLoc());
    sum = b.reshape(sum, shapeOf(op->getResult(0)));
    sum = before ? b.add(before, sum) : sum;
  }
  tile.map(op->getResult(0), sum);
}

} // namespace

std::optional<RowRule> mlir::zg::nn::rowRuleOf(Operation *op, int64_t rows) {
  std::optional<RowRule> rule = ruleOf(op, rows);
  if (!rule) {
    return std::nullopt;
  }
  auto hasRows = [&](Value value) {
    return rowDims(shapeOf(value), rows).has_value();
  };
  for (auto [byRow, operand] : llvm::zip(rule->byRow, op->getOperands())) {
    if (byRow && !hasRows(operand)) {
      return std::nullopt;
    }
  }
  if (!rule->sums && !llvm::all_of(op->getResults(), hasRows)) {
    return std::nullopt;
  }
  return rule;
}

ArrayRef<int64_t> mlir::zg::nn::shapeOfRow(Value value, int64_t rows) {
  return shapeOf(value).drop_front(*rowDims(shapeOf(value), rows));
}

Value mlir::zg::nn::inRows(OpBuilder &builder, Value value, int64_t rows) {
  SmallVector<int64_t> shape = shapeOfPart(value, rows, rows);
  return shapeOf(value) == ArrayRef(shape)
             ? value
             : NNBuilder(builder, value.getLoc()).reshape(value, shape);
}

void mlir::zg::nn::computeRows(OpBuilder &builder, Operation *op,
                               const RowRule &rule, int64_t rows, int64_t part,
                               IRMapping &tile,
                               function_ref<Value(Value)> rowsOf) {
  SmallVector<Value> operands;
  for (auto [byRow, operand] : llvm::zip_equal(rule.byRow, op->getOperands())) {
    if (byRow && !tile.contains(operand)) {
      tile.map(operand, rowsOf(operand));
    }
    operands.push_back(byRow ? tile.lookup(operand) : operand);
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op);
      broadcast && !rule.byRow.front()) {
    operands[0] = asOneRow(builder, broadcast, operands[0], rows);
  }
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  for (auto [whole, result] :
       llvm::zip_equal(op->getResults(), clone->getResults())) {
    auto type = cast<RankedTensorType>(whole.getType());
    result.setType(rule.sums ? typeOfSum(op, rows)
                             : type.clone(shapeOfPart(whole, rows, part)));
  }
  setDims(clone, op, rows);
  if (rule.sums) {
    return addSum(builder, op, clone, tile);
  }
  for (auto [whole, result] :
       llvm::zip_equal(op->getResults(), clone->getResults())) {
    tile.map(whole, result);
  }
}
