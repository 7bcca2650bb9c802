//===- Scatter.cpp - tensors with some elements replaced or added to ------===//
//
// Both operators become one nn.scatter_add into a table of zeros, at a
// computed row number. Where it should replace, a second one counts what is
// written, and a select takes the rest from the data: ONNX says that no place
// is written twice.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Ops.h"

using mlir::Value;
using mlir::zg::nn::CompareKind;
using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

/// What to do with the old element and the new one.
enum class Combine { replace, add };

Combine combineOf(Op &op) {
  std::string kind = op.stringAttribute("reduction", "none");
  if (kind != "none" && kind != "add") {
    fail("reduction '", kind, "' is not supported; 'none' and 'add' are");
  }
  return kind == "add" ? Combine::add : Combine::replace;
}

Value scatterAdd(Emitter &emit, Value rows, Value updates, const Shape &table) {
  return emit.builder.create<nn::ScatterAddOp>(
      emit.location, emit.tensorType(table, Emitter::elementOf(updates)), rows,
      updates);
}

/// Puts `updates` [rows..., r...] at `rows` of `data`, seen as `table` [n,
/// r...].
void scatter(Op &op, Combine combine, Value rows, Value updates, Shape table) {
  Emitter &emit = op.emit;
  Value data = op.value(0);
  Shape shape = Emitter::shapeOf(data);
  mlir::Type element = Emitter::elementOf(data);
  if (Emitter::elementOf(updates) != element) {
    fail("the updates are of another type than the data");
  }
  bool boolean = element.isInteger(1);
  if (boolean && combine == Combine::add) {
    fail("cannot add booleans");
  }
  mlir::Type sum = boolean ? emit.builder.getI32Type() : element;
  Value added = emit.reshape(
      scatterAdd(emit, rows, emit.convert(updates, sum), table), shape);
  if (combine == Combine::add) {
    op.set(0, emit.add(data, added));
    return;
  }
  if (boolean) {
    added = emit.compare(CompareKind::ne, added, 0.0);
  }
  // One number a row says whether it is written.
  mlir::Type flag = emit.builder.getI32Type();
  Value ones = emit.splat(1, Emitter::shapeOf(rows), flag);
  Value written = emit.compare(CompareKind::gt,
                               scatterAdd(emit, rows, ones, {table[0]}), 0.0);
  Shape column(table.size(), 1);
  column[0] = table[0];
  written = emit.broadcastTo(emit.reshape(written, column), table);
  op.set(0, emit.select(emit.reshape(written, shape), added, data));
}

void emitScatterElements(Op &op) {
  Combine combine = combineOf(op);
  Shape data = op.shape(0), shape = op.shape(1);
  int64_t rank = data.size();
  int64_t axis = normalizeAxis(op.intAttribute("axis", 0), rank);
  if (op.shape(2) != shape || static_cast<int64_t>(shape.size()) != rank) {
    fail("data ", shapeText(data), ", indices ", shapeText(shape),
         " and updates ", shapeText(op.shape(2)), " do not fit");
  }
  for (int64_t i = 0; i < rank; ++i) {
    if (i != axis && shape[i] > data[i]) {
      fail("indices ", shapeText(shape), " exceed data ", shapeText(data));
    }
  }
  Emitter &emit = op.emit;
  Value index = indexInto(op, op.value(1), op.host(1), data[axis]);
  index = emit.convert(index, emit.builder.getI64Type());
  Value row = elementNumber(emit, index, data, axis);
  scatter(op, combine, row, op.value(2), {elementCount(data)});
}

void emitScatterNd(Op &op) {
  Combine combine = combineOf(op);
  Shape data = op.shape(0), lead = op.shape(1);
  if (lead.empty() || lead.back() < 1 ||
      lead.back() > static_cast<int64_t>(data.size())) {
    fail("indices ", shapeText(lead), " do not fit data ", shapeText(data));
  }
  int64_t depth = lead.back();
  lead.pop_back();
  Shape expected = lead;
  expected.insert(expected.end(), data.begin() + depth, data.end());
  if (op.shape(2) != expected) {
    fail("the updates have shape ", shapeText(op.shape(2)), ", but data ",
         shapeText(data), " and indices ", shapeText(op.shape(1)), " need ",
         shapeText(expected));
  }
  Emitter &emit = op.emit;
  Shape strides = rowMajor(Shape(data.begin(), data.begin() + depth));
  Value row;
  for (int64_t k = 0; k < depth; ++k) {
    Value index =
        emit.convert(indexColumn(op, k, data[k]), emit.builder.getI64Type());
    index = emit.mul(index, static_cast<double>(strides[k]));
    row = row ? emit.add(row, index) : index;
  }
  Shape table(data.begin() + depth, data.end());
  table.insert(table.begin(), strides[0] * data[0]);
  scatter(op, combine, row, op.value(2), table);
}

const OpDef kOps[] = {
    {"Scatter", 9, emitScatterElements},
    {"ScatterElements", 11, emitScatterElements},
    {"ScatterND", 11, emitScatterNd},
};

} // namespace

llvm::ArrayRef<OpDef> scatterOps() { return kOps; }

} // namespace zerograph::frontend
