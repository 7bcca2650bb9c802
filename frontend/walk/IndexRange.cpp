//===- IndexRange.cpp - legal values of integer inputs --------------------===//

#include "frontend/walk/IndexRange.h"

#include "frontend/walk/Importer.h"

using namespace mlir;

namespace zerograph::frontend {

IndexRange IndexRange::meet(const IndexRange &other) const {
  IndexRange both{std::max(low, other.low), std::min(high, other.high), {}};
  for (const std::set<int64_t> *each : {&ignored, &other.ignored}) {
    for (int64_t value : *each) {
      if (contains(value) && other.contains(value) &&
          (value < both.low || value > both.high)) {
        both.ignored.insert(value);
      }
    }
  }
  return both;
}

IndexRange IndexRange::join(const IndexRange &other) const {
  IndexRange either{std::min(low, other.low), std::max(high, other.high), {}};
  for (const std::set<int64_t> *each : {&ignored, &other.ignored}) {
    for (int64_t value : *each) {
      if (value < either.low || value > either.high) {
        either.ignored.insert(value);
      }
    }
  }
  return either;
}

/// Returns whether a conversion keeps every value.
static bool keepsValues(nn::ConvertOp op) {
  auto from = dyn_cast<IntegerType>(Emitter::elementOf(op.getOperand()));
  auto to = dyn_cast<IntegerType>(Emitter::elementOf(op.getResult()));
  return from && to && from.getWidth() <= to.getWidth() && !to.isInteger(1) &&
         from.isUnsigned() == to.isUnsigned();
}

bool Importer::boundInput(Value indices, const IndexRange &range) {
  bool part = false;
  while (Operation *op = indices.getDefiningOp()) {
    auto convert = dyn_cast<nn::ConvertOp>(op);
    if (!(convert ? keepsValues(convert) : nn::isPlainView(op))) {
      return false;
    }
    part |= isa<nn::SliceOp>(op);
    indices = op->getOperand(0);
  }
  size_t index = cast<BlockArgument>(indices).getArgNumber();
  if (index >= indexUses.size() || Emitter::isFloat(indices)) {
    return false;
  }
  IndexUses &uses = indexUses[index];
  if (part) {
    uses.parts = uses.parts ? uses.parts->join(range) : range;
  } else {
    uses.whole = uses.whole ? uses.whole->meet(range) : range;
  }
  return !part; // of another part, larger values may be legal
}

} // namespace zerograph::frontend
