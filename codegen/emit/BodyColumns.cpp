//===- BodyColumns.cpp - values of some columns of a row ------------------===//

#include "codegen/emit/Body.h"

#include "codegen/emit/Elementwise.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

// A row out of bounds makes the bounds of the columns empty rather than a mask
// of its own: LLVM 19's AVX2 code for masked loads is wrong where the mask is
// a repeated i1 and a constant together (it loads lanes that are off).
Body::LanePlace Body::lanePlace(const Access &access, Value rowInBounds,
                                Chunk &chunk, bool withOffset) {
  ImplicitLocOpBuilder &b = lanes.b;
  const Domain &domain = graph.getDomain();
  LanePlace place;
  int64_t elements = access.flat ? domain.rows * domain.cols : domain.cols;
  bool narrow = elements < (int64_t(1) << 31);
  for (const ViewDim &dim : access.inner) {
    narrow &= std::abs(dim.stride) * dim.size < (int64_t(1) << 31);
  }
  narrow &= lanes.indexType.getWidth() > 32;
  Type lane = narrow ? b.getI32Type() : lanes.indexType;
  Value first = chunk.col;
  if (access.flat) {
    first = lanes.add(lanes.mul(row, lanes.index(domain.cols)), first);
  }
  if (narrow) {
    first = b.create<arith::TruncIOp>(lane, first);
  }
  Value position = lanes.add(lanes.splat(first), lanes.iota(lane));
  Type type = position.getType();
  // lo <= index < hi as one comparison.
  auto restrict = [&](Value index, int64_t lo, int64_t hi) {
    Value count = lanes.integer(type, hi - lo);
    if (rowInBounds) {
      count = lanes.splat(lanes.select(
          rowInBounds, lanes.integer(lane, hi - lo), lanes.integer(lane, 0)));
      rowInBounds = {};
    }
    Value above = lanes.sub(index, lanes.integer(type, lo));
    place.inBounds = both(
        place.inBounds, lanes.compare(arith::CmpIPredicate::ult, above, count));
  };
  int64_t suffix = 1;
  for (size_t d = access.inner.size(); d-- > 0;) {
    const ViewDim &dim = access.inner[d];
    int64_t below = suffix;
    suffix *= dim.size;
    bool moves = withOffset && dim.stride != 0;
    if (!dim.isBounded() && !moves) {
      continue;
    }
    Value index = position;
    if (below > 1) {
      index = b.create<arith::DivUIOp>(index, lanes.integer(type, below));
    }
    if (d > 0) {
      index = b.create<arith::RemUIOp>(index, lanes.integer(type, dim.size));
    }
    if (dim.isBounded()) {
      restrict(index, dim.lo, dim.hi);
    }
    if (moves) {
      Value term = lanes.mul(index, lanes.integer(type, dim.stride));
      place.offset = place.offset ? lanes.add(place.offset, term) : term;
    }
  }
  if (rowInBounds) {
    restrict(position, 0, elements);
  }
  if (withOffset) {
    place.offset = place.offset ? lanes.toIndex(place.offset)
                                : lanes.zero(lanes.vectorOf(lanes.indexType));
  }
  return place;
}

/// The lanes to read: within bounds and, where these do not already end with
/// the row, of the chunk.
Value Body::readMask(const Access &access, Value inBounds, Chunk &chunk) {
  bool endsWithRow = !access.flat && access.inner.size() <= 1 && chunk.mask &&
                     matchPattern(chunk.mask, m_Constant());
  return inBounds && endsWithRow ? inBounds : both(chunk.mask, inBounds);
}

int64_t Body::togetherOf(const Node *node) const {
  return node->access.isContiguous() ? alignedElements(*node, lanes.width) : 1;
}

/// Returns whether bounds of columns are multiples of the width: a chunk is
/// within all of them or beyond one.
static bool boundWholeChunks(const Access &access, int64_t width) {
  return access.isContiguous() &&
         llvm::all_of(access.inner, [&](const ViewDim &dim) {
           return dim.lo % width == 0 && dim.hi % width == 0;
         });
}

/// `place.pointer` is the row's place already. `extraOffset`: elements to add
/// in each lane, or null.
Value Body::readVector(const Access &access, const RowPlace &place,
                       Type element, TypedAttr padValue, Value extraOffset,
                       Chunk &chunk, int64_t together) {
  bool contiguous = access.isContiguous() && !extraOffset;
  bool bounded = llvm::any_of(access.inner,
                              [](const ViewDim &d) { return d.isBounded(); });
  bool repeated = !extraOffset && llvm::all_of(access.inner, [](auto &dim) {
    return dim.stride == 0;
  });
  bool wholeChunks = !chunk.mask || !lanes.isVector(chunk.mask);
  if (bounded && contiguous && wholeChunks &&
      boundWholeChunks(access, lanes.width)) {
    const ViewDim &dim = access.inner.front();
    Value above = lanes.sub(chunk.col, lanes.index(dim.lo));
    Value inside = lanes.compare(arith::CmpIPredicate::ult, above,
                                 lanes.index(dim.hi - dim.lo));
    return load(place.pointer, chunk.col, element, /*asVector=*/true,
                both(chunk.mask, both(place.inBounds, inside)),
                lanes.constant(lanes.vectorOf(valueType(element)), padValue),
                together);
  }
  LanePlace lane;
  if (bounded || place.inBounds || !(contiguous || repeated)) {
    lane = lanePlace(access, place.inBounds, chunk, !contiguous && !repeated);
  }
  Value inBounds = lane.inBounds;
  Value pad = inBounds
                  ? lanes.constant(lanes.vectorOf(valueType(element)), padValue)
                  : Value();
  if (repeated) {
    Value value = lanes.splat(
        load(place.pointer, lanes.index(0), element, /*asVector=*/false, {}));
    return inBounds ? lanes.select(inBounds, value, pad) : value;
  }
  Value mask = readMask(access, inBounds, chunk);
  if (contiguous) {
    return load(place.pointer, chunk.col, element, /*asVector=*/true, mask, pad,
                together);
  }
  Value offset =
      extraOffset ? lanes.add(lane.offset, extraOffset) : lane.offset;
  return gather(place.pointer, offset, element, mask, pad);
}

Value Body::vector(Node *node, Chunk &chunk) {
  if (node->kind == Node::Kind::Constant) {
    return lanes.constant(lanes.vectorOf(valueType(node->element)),
                          node->value);
  }
  if (node->level == Level::Kernel) {
    return kernelSplats.lookup(node);
  }
  if (node->level == Level::Row) {
    return rowSplats.lookup(node);
  }
  Value value = chunk.values.lookup(node);
  if (!value) {
    auto it = scratch.find(node);
    if (it != scratch.end() && it->second.filled) {
      value = load(it->second.pointer, chunk.col, node->element,
                   /*asVector=*/true, {});
    } else {
      value = computeVector(node, chunk);
      if (it != scratch.end()) {
        // Whole chunks: the scratch has room for the last one's lanes.
        store(it->second.pointer, chunk.col, value, {});
        it->second.stored = true;
      }
    }
    chunk.values[node] = value;
  }
  return value;
}

/// A comparison of i64 or i32 column numbers with one number for the row, as
/// masks and labels make them: sixteen columns are compared as 0 ... 15 in i32,
/// a quarter of the work. Null for any other op, and for few lanes.
Value Body::compareWithIota(Node *node, Chunk &chunk) {
  auto compare = dyn_cast<nn::CompareOp>(node->op);
  if (!compare || lanes.width < 16) {
    return {};
  }
  auto isIota = [](Node *operand) {
    return operand->kind == Node::Kind::Iota &&
           operand->access.isContiguous() && !operand->view.padValue &&
           !operand->view.indirection;
  };
  Node *iota = node->operands[0], *other = node->operands[1];
  bool swapped = !isIota(iota);
  if (swapped) {
    std::swap(iota, other);
  }
  bool wide = iota->element.isInteger(64) || iota->element.isInteger(32);
  if (!wide || !isIota(iota) || other->level == Level::Column ||
      iota->element.isUnsignedInteger()) {
    return {};
  }
  ImplicitLocOpBuilder &b = lanes.b;
  auto widened = [&](Value value) -> Value {
    Type i64 = b.getI64Type();
    return value.getType() == i64 ? value
                                  : b.create<arith::ExtSIOp>(i64, value);
  };
  Value number = widened(scalar(other));
  // Clamped, so that the difference cannot overflow, nor its low half lie.
  auto clamp = [&](Value value, int64_t lo, int64_t hi) {
    Type type = value.getType();
    return lanes.min(lanes.max(value, lanes.integer(type, lo)),
                     lanes.integer(type, hi));
  };
  constexpr int64_t kFar = int64_t(1) << 61;
  Value first = widened(lanes.add(rowPlaces.lookup(iota).offset, chunk.col));
  Value distance =
      clamp(lanes.sub(clamp(number, -kFar, kFar), first), -1, lanes.width);
  Value lane = lanes.iota(b.getI32Type());
  Value limit =
      lanes.splat(b.create<arith::TruncIOp>(b.getI32Type(), distance));
  return emitElementwise(lanes, compare,
                         swapped ? ValueRange{limit, lane}
                                 : ValueRange{lane, limit});
}

Value Body::computeVector(Node *node, Chunk &chunk) {
  Type type = lanes.vectorOf(valueType(node->element));
  switch (node->kind) {
  case Node::Kind::Load:
  case Node::Kind::Iota: {
    RowPlace place = rowPlaces.lookup(node);
    Value extra;
    if (node->index && node->index->variesInRow()) {
      const Indirection &indirection = *node->view.indirection;
      const View &index = *indirection.index;
      RowPlace indexPlace = indexPlaces.lookup(node);
      Value number;
      if (index.base.getDefiningOp<nn::IotaOp>()) {
        number = lanes.add(lanes.splat(indexPlace.offset),
                           lanePlace(*node->index, {}, chunk, true).offset);
      } else {
        Value offset = indexPlace.offset;
        if (indexPlace.inBounds) {
          offset = lanes.select(indexPlace.inBounds, offset, lanes.index(0));
        }
        indexPlace.pointer =
            address(indexPlace.pointer, offset, elementOf(index.base));
        number = readVector(*node->index, indexPlace, elementOf(index.base),
                            index.padValue, {}, chunk);
      }
      extra = chosenRow(number, indirection);
    }
    if (node->kind == Node::Kind::Load) {
      return readVector(node->access, place, node->element, node->view.padValue,
                        extra, chunk, togetherOf(node));
    }
    LanePlace lane = lanePlace(node->access, place.inBounds, chunk, true);
    Value number = lanes.add(lanes.splat(place.offset), lane.offset);
    if (extra) {
      number = lanes.add(number, extra);
    }
    Value value = formula(node->element, number);
    Value inBounds = lane.inBounds;
    return inBounds ? lanes.select(inBounds, value,
                                   lanes.constant(type, node->view.padValue))
                    : value;
  }
  case Node::Kind::Op: {
    if (Value compared = compareWithIota(node, chunk)) {
      return compared;
    }
    SmallVector<Value> operands;
    for (Node *operand : node->operands) {
      operands.push_back(vector(operand, chunk));
    }
    return emitElementwise(lanes, node->op, operands);
  }
  case Node::Kind::Pad: {
    Value value = vector(node->operands[0], chunk);
    Value inBounds =
        lanePlace(node->access, rowPlaces.lookup(node).inBounds, chunk, false)
            .inBounds;
    return inBounds ? lanes.select(inBounds, value,
                                   lanes.constant(type, node->value))
                    : value;
  }
  case Node::Kind::Constant:
  case Node::Kind::Given:
  case Node::Kind::Reduce:
    break;
  }
  llvm_unreachable("reductions and what a form gives are set before");
}
