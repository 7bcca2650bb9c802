//===- Scatter.cpp - tensors into which others are written ----------------===//
//
// Both operators are one nn.scatter into the data, seen as rows, at computed
// row numbers. ONNX forbids that a scatter which replaces writes a place twice.
// Exporters do it nevertheless; then the last one stays, as in ONNX's
// reference.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Index.h"
#include "frontend/parameters/ExporterMetadata.h"

#include "absl/strings/match.h"
#include "mlir/IR/Matchers.h"

#include <algorithm>
#include <map>

using mlir::Value;
using mlir::zg::nn::ScatterKind;
using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

ScatterKind kindOf(Op &op) {
  std::string name = op.stringAttribute("reduction", "none");
  static const std::map<std::string, ScatterKind> kinds = {
      {"none", ScatterKind::set}, {"add", ScatterKind::sum},
      {"mul", ScatterKind::prod}, {"max", ScatterKind::max},
      {"min", ScatterKind::min},
  };
  auto found = kinds.find(name);
  if (found == kinds.end()) {
    fail("reduction '", name,
         "' is not one of 'none', 'add', 'mul', 'max' and 'min'");
  }
  return found->second;
}

bool isZeros(Value value) {
  while (auto *op = value.getDefiningOp()) {
    if (auto constant = mlir::dyn_cast<nn::ConstantOp>(op)) {
      return mlir::matchPattern(constant.getResult(), mlir::m_AnyZeroFloat()) ||
             mlir::matchPattern(constant.getResult(), mlir::m_Zero());
    }
    if (!mlir::isa<nn::BroadcastOp, nn::ReshapeOp>(op)) {
      return false;
    }
    value = op->getOperand(0);
  }
  return false;
}

/// Before operator set 16 no scatter could add. So PyTorch's exporter writes
/// `scatter_add` as x + ScatterElements(zeros, ...), which is right only if no
/// place comes twice. Summing here gives what was exported.
bool isSumOfOldVersion(Op &op, Value data) {
  return op.opset() < 16 &&
         op.context.graph.onlyReader(op.proto().output(0)) == "Add" &&
         isZeros(data);
}

/// From operator set 16 on, the TorchScript exporter writes `scatter_add` with
/// a reduction, but `index_add` and `index_put(accumulate=True)` as before.
void checkSum(Op &op, Value data) {
  if (op.opset() < 16 || !isOfTorchScript(op.context.file.model) ||
      op.context.graph.onlyReader(op.proto().output(0)) != "Add" ||
      !isZeros(data)) {
    return;
  }
  op.refuseOrWarn(
      {"scatters into zeros, and an Add follows: so PyTorch's TorchScript "
       "exporter writes index_add and index_put(accumulate=True). Of several "
       "values for one place this keeps the last and loses the others, and "
       "these indices may repeat",
       ". Export with dynamo=True, or write the sum as scatter_add; if no "
       "index comes twice, --allow-exporter-damage takes the node as it is"});
}

/// No scatter takes a mean. PyTorch's dynamo exporter writes
/// `scatter_reduce(reduce="mean")` as one that replaces, which is right only if
/// no place comes twice and what was there before does not count.
void checkMean(Op &op, bool distinct) {
  const std::string *fx = fxNodeOf(op.proto());
  if (fx == nullptr || !absl::StrContains(*fx, "aten.scatter_reduce") ||
      (distinct && absl::StrContains(*fx, "include_self: False"))) {
    return;
  }
  op.refuseOrWarn(
      {"was made of scatter_reduce with \"mean\", which PyTorch's exporter "
       "writes as a scatter that replaces: of several values for one place "
       "this keeps the last and loses the others",
       ". Write the mean out: a scatter_add of the values, divided by a "
       "scatter_add of ones. --allow-exporter-damage takes the node as it is"});
}

/// Brings `updates` [rows..., r...] to `rows` of `data`, seen as `table` [n,
/// r...]. `distinct`: no row is known to come twice.
void scatter(Op &op, Value rows, Value updates, const Shape &table,
             bool distinct) {
  Emitter &emit = op.emit;
  Value data = op.value(0);
  ScatterKind kind =
      isSumOfOldVersion(op, data) ? ScatterKind::sum : kindOf(op);
  if (kind == ScatterKind::set) {
    checkMean(op, distinct);
  }
  if (kind == ScatterKind::set && !distinct) {
    checkSum(op, data);
  }
  mlir::Type element = Emitter::elementOf(data);
  if (Emitter::elementOf(updates) != element) {
    fail("the updates are of another type than the data");
  }
  if (element.isInteger(1) &&
      (kind == ScatterKind::sum || kind == ScatterKind::prod)) {
    fail("cannot add or multiply booleans");
  }
  Value into = emit.reshape(data, table);
  Value result = emit.builder.create<nn::ScatterOp>(
      emit.location, into.getType(), kind, rows, updates, into);
  op.set(0, emit.reshape(result, Emitter::shapeOf(data)));
}

bool areDistinct(std::vector<int64_t> rows) {
  std::sort(rows.begin(), rows.end());
  return std::adjacent_find(rows.begin(), rows.end()) == rows.end();
}

/// The row-major number of each place in `data` that constant indices of a
/// ScatterElements mean.
std::vector<int64_t> placesOf(const HostTensor &index, const Shape &data,
                              int64_t axis) {
  std::vector<int64_t> strides = rowMajor(data), places;
  std::vector<int64_t> inner = rowMajor(index.shape());
  for (int64_t i = 0; i < index.size(); ++i) {
    int64_t place = 0;
    for (int64_t dim = 0; dim < index.rank(); ++dim) {
      int64_t at =
          dim == axis ? index.intAt(i) : i / inner[dim] % index.shape()[dim];
      place += (at < 0 ? at + data[dim] : at) * strides[dim];
    }
    places.push_back(place);
  }
  return places;
}

/// Returns the rows of a ScatterND, whose indices have `depth` numbers each.
std::vector<int64_t> rowsOf(const HostTensor &index, const Shape &data,
                            int64_t depth) {
  std::vector<int64_t> strides = rowMajor(data), rows;
  for (int64_t i = 0; i < index.size(); i += depth) {
    int64_t row = 0;
    for (int64_t k = 0; k < depth; ++k) {
      int64_t at = index.intAt(i + k);
      row += (at < 0 ? at + data[k] : at) * strides[k];
    }
    rows.push_back(row);
  }
  return rows;
}

/// Writes constant updates into constants at `places`, numbers of elements,
/// from each of which on `inner` lie in a row. Leaves it to the program where
/// values are reduced, or one would overwrite another.
void foldScatter(Op &op, const std::vector<int64_t> &places, int64_t inner) {
  const HostTensor &data = op.constant(0, "data");
  const HostTensor &updates = op.constant(2, "updates");
  if (kindOf(op) != ScatterKind::set || !areDistinct(places)) {
    throw TooLarge();
  }
  checkMean(op, /*distinct=*/true);
  if (updates.type() != data.type()) {
    fail("the updates are of another type than the data");
  }
  HostTensor result(data.type(), data.shape());
  for (int64_t i = 0; i < data.size(); ++i) {
    result.copyFrom(i, data, i);
  }
  for (int64_t i = 0; i < updates.size(); ++i) {
    result.copyFrom(places[i / inner] + i % inner, updates, i);
  }
  op.set(0, result);
}

/// The axis, where the shapes fit each other.
int64_t checkElements(Op &op) {
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
  return axis;
}

void emitScatterElements(Op &op) {
  int64_t axis = checkElements(op);
  Shape data = op.shape(0), shape = op.shape(1);
  Emitter &emit = op.emit;
  Value index = indexInto(op, op.value(1), op.host(1), data[axis]);
  index = emit.convert(index, emit.builder.getI64Type());
  Value row = elementNumber(emit, index, data, axis);
  const HostTensor *host = op.host(1);
  scatter(op, row, op.value(2), {elementCount(data)},
          shape[axis] == 1 ||
              (host != nullptr && areDistinct(placesOf(*host, data, axis))));
}

void foldScatterElements(Op &op) {
  int64_t axis = checkElements(op);
  Shape data = op.shape(0);
  HostTensor index = checkedIndices(op, op.constant(1, "indices"), data[axis]);
  foldScatter(op, placesOf(index, data, axis), 1);
}

/// How many dims of the data an index addresses, where the shapes fit.
int64_t checkNd(Op &op) {
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
  return depth;
}

void emitScatterNd(Op &op) {
  int64_t depth = checkNd(op);
  Shape data = op.shape(0), lead = op.shape(1);
  lead.pop_back();
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
  const HostTensor *host = op.host(1);
  scatter(op, row, op.value(2), table,
          elementCount(lead) == 1 ||
              (host != nullptr && areDistinct(rowsOf(*host, data, depth))));
}

void foldScatterNd(Op &op) {
  int64_t depth = checkNd(op);
  Shape data = op.shape(0);
  const HostTensor &index = op.constant(1, "indices");
  if (index.isFloat()) {
    fail("the indices must be integers");
  }
  for (int64_t i = 0; i < index.size(); ++i) {
    checkedIndex(op, index.intAt(i), data[i % depth]);
  }
  foldScatter(op, rowsOf(index, data, depth),
              elementCount(Shape(data.begin() + depth, data.end())));
}

const OpDef kOps[] = {
    {"Scatter", 9, emitScatterElements, foldScatterElements},
    {"ScatterElements", 11, emitScatterElements, foldScatterElements},
    {"ScatterND", 11, emitScatterNd, foldScatterNd},
};

} // namespace

llvm::ArrayRef<OpDef> scatterOps() { return kOps; }

} // namespace zerograph::frontend
