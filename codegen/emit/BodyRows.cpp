//===- BodyRows.cpp - values that are the same for a whole row ------------===//

#include "codegen/emit/Body.h"

#include "codegen/emit/Elementwise.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

namespace {

Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

/// The data of a constant that is no splat, as a private global.
LLVM::GlobalOp makeGlobal(ImplicitLocOpBuilder &b, nn::ConstantOp constant) {
  auto elements = cast<DenseElementsAttr>(constant.getValue());
  Type storage = storageType(elements.getElementType());
  auto type = RankedTensorType::get({elements.getNumElements()}, storage);
  DenseElementsAttr data = elements;
  if (elements.getElementType().isInteger()) {
    data = elements.mapValues(storage, [&](const APInt &value) {
      return value.zextOrTrunc(storage.getIntOrFloatBitWidth());
    });
  } else if (storage.isInteger()) {
    data = elements.mapValues(
        storage, [](const APFloat &value) { return value.bitcastToAPInt(); });
  }
  data = data.reshape(type);
  auto module = b.getInsertionBlock()->getParent()->getParentOfType<ModuleOp>();
  unsigned number = 0;
  for (auto global : module.getOps<LLVM::GlobalOp>()) {
    (void)global;
    ++number;
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  return b.create<LLVM::GlobalOp>(
      LLVM::LLVMArrayType::get(storage, elements.getNumElements()),
      /*isConstant=*/true, LLVM::Linkage::Internal,
      "constant_" + std::to_string(number), data, /*alignment=*/64);
}

} // namespace

void Body::enterKernel() {
  for (Node &node : graph.getNodes()) {
    if (node.view.base) {
      for (const View *view = &node.view; view;
           view = view->indirection ? view->indirection->index.get()
                                    : nullptr) {
        auto constant = view->base.getDefiningOp<nn::ConstantOp>();
        if (constant && !constantPointers.count(view->base)) {
          constantPointers[view->base] =
              lanes.b.create<LLVM::AddressOfOp>(makeGlobal(lanes.b, constant));
        }
      }
    }
  }
  for (Node &node : graph.getNodes()) {
    if (node.level == Level::Kernel && node.kind != Node::Kind::Constant &&
        node.kind != Node::Kind::Reduce) {
      Value value = computeScalar(&node);
      kernelValues[&node] = value;
      kernelSplats[&node] = lanes.splat(value);
    }
  }
  rowIndices.clear();
}

void Body::enterRow(Value newRow) {
  row = newRow;
  rowValues.clear();
  rowSplats.clear();
  rowPlaces.clear();
  indexPlaces.clear();
  rowIndices.clear();
  prepared.clear();
}

void Body::setReduced(Node *node, Value scalar) {
  rowValues[node] = scalar;
  rowSplats[node] = lanes.splat(scalar);
}

void Body::endSweep() {
  for (auto &[node, kept] : scratch) {
    kept.filled |= kept.stored;
  }
}

void Body::prepare(Node *node) {
  if (!prepared.insert(node).second) {
    return;
  }
  if (node->level == Level::Row) {
    rowSplats[node] = lanes.splat(scalar(node));
    return;
  }
  if (node->level == Level::Kernel || node->kind == Node::Kind::Reduce) {
    return;
  }
  if (auto it = scratch.find(node); it != scratch.end() && it->second.filled) {
    prepared.erase(node);
    return;
  }
  if (node->view.base) {
    rowPlaceOf(node);
  }
  for (Node *operand : node->operands) {
    prepare(operand);
  }
}

/// The index of `dim`, whose following dimensions have `suffix` elements.
Value Body::rowIndex(int64_t suffix, const ViewDim &dim, bool outermost) {
  auto [it, inserted] = rowIndices.try_emplace(
      {suffix, outermost ? int64_t(0) : dim.size}, Value());
  if (inserted) {
    Value index = row;
    if (suffix > 1) {
      index = lanes.b.create<arith::DivUIOp>(index, lanes.index(suffix));
    }
    if (!outermost) {
      index = lanes.b.create<arith::RemUIOp>(index, lanes.index(dim.size));
    }
    it->second = index;
  }
  return it->second;
}

Value Body::both(Value x, Value y) {
  return x && y ? lanes.logicalAnd(x, y) : x ? x : y;
}

Body::RowPlace Body::rowPlace(const Access &access, Value base) {
  RowPlace place;
  place.offset = lanes.index(access.offset);
  int64_t suffix = 1;
  for (size_t d = access.outer.size(); d-- > 0;) {
    const ViewDim &dim = access.outer[d];
    if (dim.stride != 0 || dim.isBounded()) {
      Value index = rowIndex(suffix, dim, d == 0);
      place.offset =
          lanes.add(place.offset, lanes.mul(index, lanes.index(dim.stride)));
      if (dim.lo > 0) {
        place.inBounds =
            both(place.inBounds, lanes.compare(arith::CmpIPredicate::sge, index,
                                               lanes.index(dim.lo)));
      }
      if (dim.hi < dim.size) {
        place.inBounds =
            both(place.inBounds, lanes.compare(arith::CmpIPredicate::slt, index,
                                               lanes.index(dim.hi)));
      }
    }
    suffix *= dim.size;
  }
  place.pointer = basePointer(base);
  return place;
}

/// Elements to the chosen row of a table.
Value Body::chosenRow(Value index, const Indirection &indirection) {
  index = lanes.clampIndex(index, indirection.rows);
  return lanes.mul(index,
                   lanes.integer(index.getType(), indirection.rowStride));
}

/// The place of a leaf in this row, with the row that an index chooses for
/// all of it.
Body::RowPlace &Body::rowPlaceOf(Node *node) {
  auto [it, inserted] = rowPlaces.try_emplace(node);
  if (!inserted) {
    return it->second;
  }
  RowPlace place = rowPlace(node->access, node->view.base);
  if (node->view.indirection) {
    const View &index = *node->view.indirection->index;
    RowPlace indexPlace = rowPlace(*node->index, index.base);
    if (node->index->variesInRow()) {
      indexPlaces[node] = indexPlace;
    } else {
      Type element = elementOf(index.base);
      Value number = index.base.getDefiningOp<nn::IotaOp>()
                         ? indexPlace.offset
                         : readScalar(indexPlace, element, index.padValue);
      place.offset =
          lanes.add(place.offset, chosenRow(number, *node->view.indirection));
    }
  }
  if (place.pointer) {
    if (place.inBounds) {
      // Nothing outside the buffer is read, not even to be thrown away.
      place.offset = lanes.select(place.inBounds, place.offset, lanes.index(0));
    }
    place.pointer = address(place.pointer, place.offset, node->element);
  }
  return rowPlaces[node] = place;
}

Value Body::readScalar(const RowPlace &place, Type element,
                       TypedAttr padValue) {
  Value offset = place.offset;
  if (place.inBounds) {
    offset = lanes.select(place.inBounds, offset, lanes.index(0));
  }
  Value value = load(place.pointer, offset, element, /*asVector=*/false, {});
  if (place.inBounds) {
    value = lanes.select(place.inBounds, value,
                         lanes.constant(valueType(element), padValue));
  }
  return value;
}

Value Body::formula(Type element, Value number) {
  ImplicitLocOpBuilder &b = lanes.b;
  Type type = lanes.like(number.getType(), valueType(element));
  if (isa<FloatType>(element)) {
    return b.create<arith::SIToFPOp>(type, number);
  }
  unsigned from = getElementTypeOrSelf(number).getIntOrFloatBitWidth();
  unsigned to = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  if (from == to) {
    return number;
  }
  return from > to ? b.create<arith::TruncIOp>(type, number).getResult()
                   : b.create<arith::ExtSIOp>(type, number).getResult();
}

Value Body::scalar(Node *node) {
  if (node->kind == Node::Kind::Constant) {
    return lanes.constant(valueType(node->element), node->value);
  }
  if (Value value = kernelValues.lookup(node)) {
    return value;
  }
  Value &value = rowValues[node];
  if (!value) {
    Value computed = computeScalar(node);
    return rowValues[node] = computed;
  }
  return value;
}

Value Body::computeScalar(Node *node) {
  Type type = valueType(node->element);
  switch (node->kind) {
  case Node::Kind::Constant:
    return scalar(node);
  case Node::Kind::Load: {
    RowPlace place = rowPlaceOf(node);
    place.offset = lanes.index(0); // The pointer is at the element already.
    return readScalar(place, node->element, node->view.padValue);
  }
  case Node::Kind::Iota: {
    RowPlace place = rowPlaceOf(node);
    Value value = formula(node->element, place.offset);
    return place.inBounds
               ? lanes.select(place.inBounds, value,
                              lanes.constant(type, node->view.padValue))
               : value;
  }
  case Node::Kind::Op: {
    SmallVector<Value> operands;
    for (Node *operand : node->operands) {
      operands.push_back(scalar(operand));
    }
    return emitElementwise(lanes, node->op, operands);
  }
  case Node::Kind::Pad: {
    Value value = scalar(node->operands[0]);
    Value inBounds = rowPlaceOf(node).inBounds;
    return inBounds ? lanes.select(inBounds, value,
                                   lanes.constant(type, node->value))
                    : value;
  }
  case Node::Kind::Given:
  case Node::Kind::Reduce:
    break;
  }
  llvm_unreachable("a reduction is set before it is used");
}
