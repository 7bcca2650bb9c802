//===- Index.cpp - gradients of table look-ups ----------------------------===//

#include "passes/differentiate/rules/Groups.h"
#include "passes/ir/nn/Padding.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

// Both ops clamp an index into the table, so the sum is the transpose of gather
// for every index.

/// The gradient of the rows, zero where they are the padding.
Value withoutPadding(GatherOp op, Gradient &g, IntegerAttr padding) {
  Value indices = op.getIndices();
  Value isPadding = g.builder.create<CompareOp>(
      g.location,
      RankedTensorType::get(shapeOf(indices), g.builder.getI1Type()),
      CompareKind::eq, indices, g.splat(indices, padding.getInt()));
  SmallVector<int64_t> shape(shapeOf(indices));
  shape.resize(shapeOf(op).size(), 1);
  Value broadcast = g.broadcast(g.reshape(isPadding, shape), shapeOf(op));
  return g.zeroIf(broadcast, g.of());
}

LogicalResult gatherRule(GatherOp op, Gradient &g) {
  if (g.wants(0)) {
    auto padding = op->getAttrOfType<IntegerAttr>(kPaddingAttr);
    Value rows = padding ? withoutPadding(op, g, padding) : g.of();
    g.set(0, g.builder.create<ScatterOp>(g.location, op.getTable().getType(),
                                         ScatterKind::sum, op.getIndices(),
                                         rows, /*into=*/Value()));
  }
  return success();
}

/// For each element of the rows, what its place of the table has.
Value atRows(ScatterOp op, Gradient &g, Value table) {
  return g.builder.create<GatherOp>(
      g.location,
      cast<ShapedType>(op.getUpdates().getType()).clone(elementOf(table)),
      table, op.getIndices());
}

Value scatter(ScatterOp op, Gradient &g, ScatterKind kind, Value rows,
              Value table) {
  return g.builder.create<ScatterOp>(g.location, table.getType(), kind,
                                     op.getIndices(), rows, table);
}

/// A place of the table and the rows that came there are a group.
Groups groupsOf(ScatterOp op, Gradient &g) {
  return {{{1, op.getUpdates()}, {2, op.getInto()}},
          [op, &g](ReduceKind kind, ArrayRef<Value> members) {
            return scatter(op, g,
                           kind == ReduceKind::prod ? ScatterKind::prod
                                                    : ScatterKind::sum,
                           members[0], members[1]);
          },
          [op, &g](Value ofGroups, unsigned i) {
            return i == 0 ? atRows(op, g, ofGroups) : ofGroups;
          }};
}

void setSumGradients(ScatterOp op, Gradient &g) {
  if (g.wants(1)) {
    g.set(1, atRows(op, g, g.of()));
  }
  if (op.getInto() && g.wants(2)) {
    g.set(2, g.of());
  }
}

/// All of it goes to the last row that came, or to the table where none did.
void setSetGradients(ScatterOp op, Gradient &g) {
  // Rows by number, from 1 on.
  ArrayRef<int64_t> indices = shapeOf(op.getIndices());
  int64_t count = ShapedType::getNumElements(indices);
  Type element = g.builder.getI64Type();
  Value number = g.reshape(
      g.shift(g.iota(RankedTensorType::get({count}, element), 0), 1), indices);
  auto column = [](ArrayRef<int64_t> leading, Value like) {
    SmallVector<int64_t> shape(leading);
    shape.resize(shapeOf(like).size(), 1);
    return shape;
  };
  Value none = g.splat(RankedTensorType::get(shapeOf(op).front(), element), 0);
  Value last = scatter(op, g, ScatterKind::set, number, none);
  if (g.wants(1)) {
    Value lastHere = g.builder.create<GatherOp>(g.location, number.getType(),
                                                last, op.getIndices());
    Value isLast = g.compare(CompareKind::eq, lastHere, number);
    Value rows = op.getUpdates();
    g.set(1, g.keepIf(g.broadcast(g.reshape(isLast, column(indices, rows)),
                                  shapeOf(rows)),
                      atRows(op, g, g.of())));
  }
  if (g.wants(2)) {
    Value isKept = g.compare(CompareKind::eq, last, none);
    g.set(2, g.keepIf(g.broadcast(g.reshape(isKept, column(shapeOf(last), op)),
                                  shapeOf(op)),
                      g.of()));
  }
}

LogicalResult scatterRule(ScatterOp op, Gradient &g) {
  switch (op.getKind()) {
  case ScatterKind::sum:
    setSumGradients(op, g);
    break;
  case ScatterKind::max:
  case ScatterKind::min:
    setExtremumGradients(g, groupsOf(op, g), op.getResult());
    break;
  case ScatterKind::prod:
    setProductGradients(g, groupsOf(op, g));
    break;
  case ScatterKind::set:
    setSetGradients(op, g);
    break;
  }
  return success();
}

} // namespace

void mlir::zg::nn::attachIndexRules(MLIRContext *context) {
  attachRule<GatherOp, gatherRule>(context);
  attachRule<ScatterOp, scatterRule>(context);
}
