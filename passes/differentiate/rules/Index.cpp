//===- Index.cpp - gradients of table look-ups ----------------------------===//

#include "passes/differentiate/rules/Rule.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

// Both ops clamp an index into the table, so the sum is the transpose of gather
// for every index.

LogicalResult gatherRule(GatherOp op, Gradient &g) {
  if (g.wants(0)) {
    g.set(0, g.builder.create<ScatterOp>(g.location, op.getTable().getType(),
                                         ScatterKind::sum, op.getIndices(),
                                         g.of(), /*into=*/Value()));
  }
  return success();
}

/// An element of the result and all that came together in it, one of the table
/// and any number of the rows, are a group.
struct Groups {
  ScatterOp op;
  Gradient &g;

  /// What the groups' elements give, of other tables and rows.
  Value combine(ScatterKind kind, Value table, Value rows) {
    return g.builder.create<ScatterOp>(g.location, table.getType(), kind,
                                       op.getIndices(), rows, table);
  }
  /// The number of elements for which a condition holds.
  Value count(Value ofTable, Value ofRows) {
    Type element = elementOf(op);
    return combine(ScatterKind::sum, g.convert(ofTable, element),
                   g.convert(ofRows, element));
  }
  /// For each element of the rows, what its group has.
  Value atRows(Value ofGroups) {
    Type element = elementOf(ofGroups);
    return g.builder.create<GatherOp>(
        g.location, cast<ShapedType>(op.getUpdates().getType()).clone(element),
        ofGroups, op.getIndices());
  }
};

void sumGradient(Groups groups) {
  Gradient &g = groups.g;
  if (g.wants(1)) {
    g.set(1, groups.atRows(g.of()));
  }
  if (groups.op.getInto() && g.wants(2)) {
    g.set(2, g.of());
  }
}

/// Elements equal to the extremum share its gradient evenly, as in PyTorch.
void extremumGradient(Groups groups) {
  Gradient &g = groups.g;
  ScatterOp op = groups.op;
  Value table = g.compare(CompareKind::eq, op.getInto(), op.getResult());
  Value rows = g.compare(CompareKind::eq, op.getUpdates(),
                         groups.atRows(op.getResult()));
  Value share = g.div(g.of(), groups.count(table, rows));
  if (g.wants(1)) {
    g.set(1, g.keepIf(rows, groups.atRows(share)));
  }
  if (g.wants(2)) {
    g.set(2, g.keepIf(table, share));
  }
}

/// The product of the other elements, also where one or several are zero.
void productGradient(Groups groups) {
  Gradient &g = groups.g;
  auto isZero = [&](Value x) {
    return g.compare(CompareKind::eq, x, g.splat(x, 0));
  };
  Value table = groups.op.getInto(), rows = groups.op.getUpdates();
  Value zeroTable = isZero(table), zeroRows = isZero(rows);
  Value nonzeroTable = g.select(zeroTable, g.splat(table, 1), table);
  Value nonzeroRows = g.select(zeroRows, g.splat(rows, 1), rows);
  Value zeros = groups.count(zeroTable, zeroRows);
  Value share = g.mul(
      g.of(), groups.combine(ScatterKind::prod, nonzeroTable, nonzeroRows));
  Value ifNone = g.keepIf(isZero(zeros), share);
  Value ifOne =
      g.keepIf(g.compare(CompareKind::eq, zeros, g.splat(zeros, 1)), share);
  if (g.wants(1)) {
    g.set(1, g.select(zeroRows, groups.atRows(ifOne),
                      g.div(groups.atRows(ifNone), nonzeroRows)));
  }
  if (g.wants(2)) {
    g.set(2, g.select(zeroTable, ifOne, g.div(ifNone, nonzeroTable)));
  }
}

/// All of it goes to the last row of a group, or to the table where none came.
void setGradient(Groups groups) {
  Gradient &g = groups.g;
  ScatterOp op = groups.op;
  // Rows by number, from 1 on.
  ArrayRef<int64_t> indices = shapeOf(op.getIndices());
  int64_t count = ShapedType::getNumElements(indices);
  Type element = g.builder.getI64Type();
  Value number = g.reshape(g.shift(g.iota({count}, element, 0), 1), indices);
  auto column = [](ArrayRef<int64_t> leading, Value like) {
    SmallVector<int64_t> shape(leading);
    shape.resize(shapeOf(like).size(), 1);
    return shape;
  };
  Value none = g.splat(RankedTensorType::get(shapeOf(op).front(), element), 0);
  Value last =
      g.builder.create<ScatterOp>(g.location, none.getType(), ScatterKind::set,
                                  op.getIndices(), number, none);
  if (g.wants(1)) {
    Value lastHere = g.builder.create<GatherOp>(g.location, number.getType(),
                                                last, op.getIndices());
    Value isLast = g.compare(CompareKind::eq, lastHere, number);
    Value rows = op.getUpdates();
    g.set(1, g.keepIf(g.broadcast(g.reshape(isLast, column(indices, rows)),
                                  shapeOf(rows)),
                      groups.atRows(g.of())));
  }
  if (g.wants(2)) {
    Value isKept = g.compare(CompareKind::eq, last, none);
    g.set(2, g.keepIf(g.broadcast(g.reshape(isKept, column(shapeOf(last), op)),
                                  shapeOf(op)),
                      g.of()));
  }
}

LogicalResult scatterRule(ScatterOp op, Gradient &g) {
  Groups groups{op, g};
  switch (op.getKind()) {
  case ScatterKind::sum:
    sumGradient(groups);
    break;
  case ScatterKind::max:
  case ScatterKind::min:
    extremumGradient(groups);
    break;
  case ScatterKind::prod:
    productGradient(groups);
    break;
  case ScatterKind::set:
    setGradient(groups);
    break;
  }
  return success();
}

} // namespace

void mlir::zg::nn::attachIndexRules(MLIRContext *context) {
  attachRule<GatherOp, gatherRule>(context);
  attachRule<ScatterOp, scatterRule>(context);
}
