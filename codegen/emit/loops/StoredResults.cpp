//===- StoredResults.cpp - where kernels of attention store results -------===//

#include "codegen/emit/loops/StoredResults.h"

#include "codegen/emit/Elementwise.h"
#include "passes/ir/nn/NNBuilder.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

/// Returns the conversion of a gradient on its way to where it is packed; null
/// if there is none.
static nn::ConvertOp roundingOf(Value gradient) {
  while (true) {
    Operation *user = *gradient.user_begin();
    if (!isa<nn::ReshapeOp, nn::TransposeOp>(user)) {
      return dyn_cast<nn::ConvertOp>(user);
    }
    gradient = user->getResult(0);
  }
}

SmallVector<StoredResult> emit::storedResultsOf(nn::KernelOp kernel,
                                                Operation *op) {
  SmallVector<StoredResult> stored(op->getNumResults());
  Operation *yield = kernel.getBody().front().getTerminator();
  for (OpOperand &yielded : yield->getOpOperands()) {
    StoredResult entry{yielded.getOperandNumber()};
    if (nn::ConcatOp concat = nn::concatUnder(yielded.get())) {
      for (const nn::PackedPlace &place : nn::packedGradients(concat).places) {
        entry.convert = roundingOf(place.gradient);
        entry.place = place;
        stored[place.gradient.getResultNumber()] = entry;
      }
      continue;
    }
    Value value = yielded.get();
    entry.convert = value.getDefiningOp<nn::ConvertOp>();
    value = entry.convert ? entry.convert.getOperand() : value;
    stored[cast<OpResult>(value).getResultNumber()] = entry;
  }
  return stored;
}

StoredRows StoredResult::rowsOf(Lanes &l, const OperandRows &rows,
                                int64_t size) const {
  if (!place) {
    return {l.mul(rows.first, l.index(size)), rows.step * size};
  }
  ArrayRef<int64_t> sizes = nn::shapeOf(place->gradient);
  auto [line, head] = l.divide(rows.first, sizes[2]);
  auto [sample, row] = l.divide(line, sizes[1]);
  Value first = l.index(place->begin);
  for (auto [index, distance] : {std::pair(sample, place->batch),
                                 {row, place->row},
                                 {head, place->head}}) {
    first = l.add(first, l.mul(index, l.index(distance)));
  }
  return {first, place->row};
}

Value StoredResult::round(Lanes &l, Value value) const {
  return convert ? emitElementwise(l, convert, value) : value;
}
