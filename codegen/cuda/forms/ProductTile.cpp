//===- ProductTile.cpp - an operand of a product in shared memory ---------===//

#include "codegen/cuda/forms/ProductTile.h"

#include "codegen/cuda/forms/Together.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

static int64_t bytesOf(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

Value Tile::placeOf(Lanes &l, int64_t size, Value thread, int64_t group) const {
  return l.add(l.mul(thread, l.index(kGroup)),
               l.index(group * (size / groups)));
}

TileOperand::TileOperand(CudaBody &body, const Tile &tile, OperandShape shape,
                         int64_t size, const std::string &name)
    : body(body), l(body.lanes), tile(tile), shape(shape), size(size) {
  int64_t most = kAccessBytes / bytesOf(shape.element);
  bool whole = (shape.alongK ? shape.k : shape.extent) % most == 0;
  together = whole ? most : 1;
  parts = size * tile.depth / together / tile.threads();
  // A group is read as one: the first of each k is aligned to it.
  shared =
      body.declareShared(name, shape.element, 2 * tile.depth * (size + kGroup));
}

void TileOperand::enter(Value newPointer, Value batch, Value newFirst) {
  pointer = newPointer;
  start = l.mul(batch, l.index(shape.extent * shape.k));
  first = newFirst;
}

// Neighbouring threads read what lies side by side.
TileOperand::Place TileOperand::placeOf(int64_t number) {
  Value item = l.add(threadOfBlock(l), l.index(number * tile.threads()));
  int64_t along = (shape.alongK ? tile.depth : size) / together;
  auto [across, within] = l.divide(item, along);
  Value vector = l.mul(within, l.index(together));
  return shape.alongK ? Place{vector, across} : Place{across, vector};
}

SmallVector<Value> TileOperand::read(Value k, int64_t depth) {
  int64_t ofK = shape.alongK ? together : 1;
  int64_t ofOther = shape.alongK ? 1 : together;
  SmallVector<Value> values;
  for (int64_t number = 0; number < parts; ++number) {
    Place place = placeOf(number);
    Value other = l.add(first, place.other);
    if (shape.extent % size != 0) {
      other = l.min(other, l.index(shape.extent - ofOther));
    }
    Value own =
        depth == tile.depth ? place.k : l.min(place.k, l.index(depth - ofK));
    own = l.add(k, own);
    Value offset = shape.alongK
                       ? l.add(l.mul(other, l.index(shape.k)), own)
                       : l.add(l.mul(own, l.index(shape.extent)), other);
    values.push_back(loadTogether(l, pointer, l.add(start, offset),
                                  shape.element, together));
  }
  return values;
}

Value TileOperand::sharedOffset(Value buffer, Value k, Value other) {
  int64_t pitch = size + kGroup;
  Value line = l.add(l.mul(buffer, l.index(tile.depth)), k);
  return l.add(l.mul(line, l.index(pitch)), other);
}

void TileOperand::write(Value buffer, ArrayRef<Value> values) {
  for (auto [number, value] : llvm::enumerate(values)) {
    Place place = placeOf(int64_t(number));
    Value offset = sharedOffset(buffer, place.k, place.other);
    if (!shape.alongK) {
      storeTogether(l, shared, offset, value);
      continue;
    }
    for (auto [i, element] : llvm::enumerate(elementsOf(l, value))) {
      Value below = l.index(int64_t(i) * (size + kGroup));
      storeTogether(l, shared, l.add(offset, below), element);
    }
  }
}

SmallVector<Value> TileOperand::column(Value buffer, Value k, Value thread) {
  SmallVector<Value> elements;
  for (int64_t group = 0; group < tile.groups; ++group) {
    Value other = tile.placeOf(l, size, thread, group);
    Value offset = sharedOffset(buffer, k, other);
    llvm::append_range(
        elements,
        elementsOf(l, loadTogether(l, shared, offset, shape.element, kGroup)));
  }
  return elements;
}

void cuda::storeGroup(CudaBody &body, Value place, Value col, int64_t n,
                      ArrayRef<Value> values, Addend addend) {
  Lanes &l = body.lanes;
  auto store = [&](Value at, Value column, ArrayRef<Value> neighbours) {
    Value value = joined(l, neighbours);
    if (addend != Addend::none) {
      Value added = loadTogether(
          l, body.operandPointer(2), addend == Addend::columns ? column : at,
          neighbours.front().getType(), int64_t(neighbours.size()));
      value = l.add(added, value);
    }
    storeTogether(l, body.resultPointer(0), at, value);
  };
  auto before = [&](Value column) {
    return l.compare(arith::CmpIPredicate::slt, column, l.index(n));
  };
  if (n % kGroup == 0) {
    body.when(before(col), [&] { store(place, col, values); });
    return;
  }
  for (auto [i, value] : llvm::enumerate(values)) {
    Value number = l.index(int64_t(i));
    Value column = l.add(col, number);
    body.when(before(column), [&, value = value] {
      store(l.add(place, number), column, value);
    });
  }
}
