//===- ProductTile.cpp - an operand of a product in shared memory ---------===//

#include "codegen/cuda/forms/ProductTile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

static int64_t bytesOf(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

/// `count` elements that lie at a multiple of their bytes, or of one access.
static unsigned alignmentOf(Type element, int64_t count) {
  return unsigned(std::min(count * bytesOf(element), kAccessBytes));
}

static Value addressOf(Lanes &l, Value pointer, Value offset, Type element) {
  return l.b.create<LLVM::GEPOp>(pointer.getType(), element, pointer,
                                 ArrayRef<LLVM::GEPArg>{offset});
}

static Type vectorType(Type element, int64_t count) {
  return count == 1 ? element : VectorType::get({count}, element);
}

static Value loadTogether(Lanes &l, Value pointer, Value offset, Type element,
                          int64_t count) {
  return l.b.create<LLVM::LoadOp>(vectorType(element, count),
                                  addressOf(l, pointer, offset, element),
                                  alignmentOf(element, count));
}

static void storeTogether(Lanes &l, Value pointer, Value offset, Value value) {
  Type element = getElementTypeOrSelf(value);
  auto vector = dyn_cast<VectorType>(value.getType());
  l.b.create<LLVM::StoreOp>(
      value, addressOf(l, pointer, offset, element),
      alignmentOf(element, vector ? vector.getDimSize(0) : 1));
}

static SmallVector<Value> elementsOf(Lanes &l, Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector) {
    return {value};
  }
  SmallVector<Value> elements;
  for (int64_t i = 0; i < vector.getDimSize(0); ++i) {
    elements.push_back(l.b.create<vector::ExtractOp>(value, i));
  }
  return elements;
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
  auto [across, within] = divide(l, item, along);
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

/// As a vector.
static Value joined(Lanes &l, ArrayRef<Value> values) {
  Value vector = l.b.create<vector::BroadcastOp>(
      VectorType::get({int64_t(values.size())}, values[0].getType()),
      values[0]);
  for (size_t i = 1; i < values.size(); ++i) {
    vector = l.b.create<vector::InsertOp>(values[i], vector, int64_t(i));
  }
  return vector;
}

void cuda::storeGroup(CudaBody &body, Value place, Value col, int64_t n,
                      ArrayRef<Value> values) {
  Lanes &l = body.lanes;
  auto before = [&](Value column) {
    return l.compare(arith::CmpIPredicate::slt, column, l.index(n));
  };
  if (n % kGroup == 0) {
    body.when(before(col), [&] {
      storeTogether(l, body.resultPointer(0), place, joined(l, values));
    });
    return;
  }
  for (auto [i, value] : llvm::enumerate(values)) {
    Value number = l.index(int64_t(i));
    body.when(before(l.add(col, number)), [&, value = value] {
      storeTogether(l, body.resultPointer(0), l.add(place, number), value);
    });
  }
}
