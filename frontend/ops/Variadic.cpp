//===- Variadic.cpp - Max, Min, Mean, Sum and Clip ------------------------===//

#include "frontend/ops/Ops.h"
#include "frontend/quirks/PyTorchGradients.h"

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::CompareKind;

namespace zerograph::frontend {

namespace {

/// x, or the bound where x is below it (max) or above it (min). A max or a min
/// would share the gradient where both are equal. Here x gets it, or nobody.
Value clip(Op &op, BinaryKind kind, Value x, Value bound) {
  bool least = kind == BinaryKind::max;
  CompareKind beyond = least ? CompareKind::le : CompareKind::ge;
  if (passesAtBounds(op)) {
    beyond = least ? CompareKind::lt : CompareKind::gt;
  }
  return op.emit.select(op.emit.compare(beyond, x, bound), bound, x);
}

/// Exporters write clamp with one bound as Max or Min with a number.
bool emitClamp(Op &op, BinaryKind kind) {
  if (op.inputCount() != 2 ||
      (kind != BinaryKind::max && kind != BinaryKind::min)) {
    return false;
  }
  for (int i : {0, 1}) {
    const HostTensor *bound = op.host(i);
    if (bound != nullptr && bound->size() == 1 && op.host(1 - i) == nullptr &&
        bound->rank() <= static_cast<int64_t>(op.shape(1 - i).size())) {
      op.set(0, clip(op, kind, op.value(1 - i), op.value(i)));
      return true;
    }
  }
  return false;
}

template <BinaryKind kind, bool mean = false>
void emitVariadic(Op &op) {
  if (emitClamp(op, kind)) {
    return;
  }
  Value result = op.value(0);
  for (int i = 1; i < op.inputCount(); ++i) {
    result = op.emit.binary(kind, result, op.value(i));
  }
  if (mean && op.inputCount() > 1) {
    result = op.emit.mul(result, 1.0 / op.inputCount());
  }
  op.set(0, result);
}

template <BinaryKind kind>
void foldVariadic(Op &op) {
  HostTensor result = op.constant(0, "operand");
  for (int i = 1; i < op.inputCount(); ++i) {
    result = foldPair(kind, result, op.constant(i, "operand"));
  }
  op.set(0, result);
}

//===----------------------------------------------------------------------===//
// Clip
//===----------------------------------------------------------------------===//

/// Clips. A tie with a number gives its gradient to nobody, a tie with a bound
/// that is computed or trained shares it, as PyTorch does.
Value clipBy(Op &op, BinaryKind kind, Value x, int input) {
  if (!op.hasInput(input)) {
    return x;
  }
  Value bound = op.value(input);
  return op.host(input) != nullptr || passesAtBounds(op)
             ? clip(op, kind, x, bound)
             : op.emit.binary(kind, x, bound);
}

void emitClip(Op &op) {
  Value x = clipBy(op, BinaryKind::max, op.value(0), 1);
  op.set(0, clipBy(op, BinaryKind::min, x, 2));
}

void foldClip(Op &op) {
  HostTensor x = op.constant(0, "operand");
  if (op.hasInput(1)) {
    x = foldPair(BinaryKind::max, x, op.constant(1, "min"));
  }
  if (op.hasInput(2)) {
    x = foldPair(BinaryKind::min, x, op.constant(2, "max"));
  }
  op.set(0, x);
}

/// Before version 11 the bounds are attributes.
void emitClipAttributes(Op &op) {
  Value x = op.value(0);
  for (auto [name, kind] :
       {std::pair("min", BinaryKind::max), std::pair("max", BinaryKind::min)}) {
    if (op.hasAttribute(name)) {
      Value bound = op.emit.splatLike(op.floatAttribute(name, 0), x);
      x = clip(op, kind, x, bound);
    }
  }
  op.set(0, x);
}

const OpDef kOps[] = {
    {"Clip", 6, emitClipAttributes},
    {"Clip", 11, emitClip, foldClip},
    {"Max", 6, emitVariadic<BinaryKind::max>, foldVariadic<BinaryKind::max>},
    {"Mean", 6, emitVariadic<BinaryKind::add, true>},
    {"Min", 6, emitVariadic<BinaryKind::min>, foldVariadic<BinaryKind::min>},
    {"Sum", 6, emitVariadic<BinaryKind::add>, foldVariadic<BinaryKind::add>},
};

} // namespace

llvm::ArrayRef<OpDef> variadicOps() { return kOps; }

} // namespace zerograph::frontend
