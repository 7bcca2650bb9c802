//===- Index.cpp - indices into tensors -----------------------------------===//

#include "frontend/ops/Index.h"

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::CompareKind;
using onnx::TensorProto;

namespace zerograph::frontend {

int64_t checkedIndex(Op &op, int64_t index, int64_t size) {
  if (index < -size || index >= size) {
    fail("index ", index, " is outside of ", size, " elements of '",
         op.proto().input(0),
         "'; if it counts positions, a dim (--dim, or the data's) is larger "
         "than the model was made for");
  }
  return index < 0 ? index + size : index;
}

HostTensor checkedIndices(Op &op, const HostTensor &indices, int64_t size) {
  if (indices.isFloat()) {
    fail("the indices must be integers");
  }
  return foldUnary(
      indices, TensorProto::INT64,
      [&op, size](int64_t index) { return checkedIndex(op, index, size); },
      [](double) { return 0.0; });
}

Value indexInto(Op &op, Value indices, const HostTensor *host, int64_t size) {
  if (Emitter::isFloat(indices) || Emitter::elementOf(indices).isInteger(1)) {
    fail("the indices must be integers");
  }
  bool negative = true, checked = false;
  if (host != nullptr) {
    negative = false;
    checked = true;
    int64_t count = host->isSplat() ? 1 : host->size();
    for (int64_t k = 0; k < count; ++k) {
      negative |= checkedIndex(op, host->intAt(k), size) != host->intAt(k);
    }
  } else {
    checked = op.boundInput(indices, -size, size - 1);
  }
  Emitter &emit = op.emit;
  if (negative) {
    indices =
        emit.select(emit.compare(CompareKind::lt, indices, 0.0),
                    emit.add(indices, static_cast<double>(size)), indices);
  }
  if (!checked) {
    indices = emit.binary(BinaryKind::max, indices, 0.0);
    indices = emit.binary(BinaryKind::min, indices, double(size - 1));
  }
  return indices;
}

Value elementNumber(Emitter &emit, Value index, const Shape &data,
                    int64_t axis) {
  Shape shape = Emitter::shapeOf(index);
  std::vector<int64_t> strides = rowMajor(data);
  Value number = emit.mul(index, static_cast<double>(strides[axis]));
  for (int64_t dim = 0; dim < static_cast<int64_t>(data.size()); ++dim) {
    if (dim != axis && shape[dim] > 1) {
      Value term = emit.iota(dim, shape, Emitter::elementOf(index));
      number =
          emit.add(number, emit.mul(term, static_cast<double>(strides[dim])));
    }
  }
  return number;
}

Value indexColumn(Op &op, int64_t k, int64_t size) {
  Value indices = op.value(1);
  Shape lead = Emitter::shapeOf(indices);
  int64_t last = lead.size() - 1;
  lead.pop_back();
  HostTensor part;
  const HostTensor *host = op.host(1);
  if (host != nullptr) {
    std::vector<int64_t> strides = rowMajor(host->shape());
    strides.pop_back();
    part = remap(*host, lead, k, strides);
  }
  Value column = op.emit.reshape(op.emit.sliceAxis(indices, last, k, 1), lead);
  return indexInto(op, column, host != nullptr ? &part : nullptr, size);
}

bool gatherSplat(Op &op, const Shape &shape) {
  const HostTensor *data = op.host(0);
  if (data == nullptr || !data->isSplat()) {
    return false;
  }
  op.set(0, remap(*data, shape, 0, std::vector<int64_t>(shape.size(), 0)));
  return true;
}

} // namespace zerograph::frontend
