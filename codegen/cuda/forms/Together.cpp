//===- Together.cpp - neighbouring elements in one access -----------------===//

#include "codegen/cuda/forms/Together.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

/// Returns the alignment of `count` elements.
static unsigned alignmentOf(Type element, int64_t count) {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  return unsigned(std::min(count * bytes, kAccessBytes));
}

static Value addressOf(Lanes &l, Value pointer, Value offset, Type element) {
  return l.b.create<LLVM::GEPOp>(pointer.getType(), element, pointer,
                                 ArrayRef<LLVM::GEPArg>{offset});
}

static Type vectorType(Type element, int64_t count) {
  return count == 1 ? element : VectorType::get({count}, element);
}

Value cuda::loadTogether(Lanes &l, Value pointer, Value offset, Type element,
                         int64_t count) {
  return l.b.create<LLVM::LoadOp>(vectorType(element, count),
                                  addressOf(l, pointer, offset, element),
                                  alignmentOf(element, count));
}

void cuda::storeTogether(Lanes &l, Value pointer, Value offset, Value value) {
  Type element = getElementTypeOrSelf(value);
  auto vector = dyn_cast<VectorType>(value.getType());
  l.b.create<LLVM::StoreOp>(
      value, addressOf(l, pointer, offset, element),
      alignmentOf(element, vector ? vector.getDimSize(0) : 1));
}

SmallVector<Value> cuda::elementsOf(Lanes &l, Value value) {
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

Value cuda::joined(Lanes &l, ArrayRef<Value> values) {
  if (values.size() == 1) {
    return values[0];
  }
  Value vector = l.b.create<vector::BroadcastOp>(
      VectorType::get({int64_t(values.size())}, values[0].getType()),
      values[0]);
  for (size_t i = 1; i < values.size(); ++i) {
    vector = l.b.create<vector::InsertOp>(values[i], vector, int64_t(i));
  }
  return vector;
}
