//===- Variadic.cpp - Max, Min, Mean, Sum and Clip ------------------------===//

#include "frontend/ops/Arithmetic.h"

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::CompareKind;

namespace zerograph::frontend {

namespace {

/// x, or the bound where x is beyond it. This is not min or max: where x equals
/// the bound, the gradient passes to x, as in PyTorch.
Value clip(Emitter &emit, Value x, CompareKind beyond, Value bound) {
  return emit.select(emit.compare(beyond, x, bound), bound, x);
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
      op.set(0,
             clip(op.emit, op.value(1 - i),
                  kind == BinaryKind::max ? CompareKind::lt : CompareKind::gt,
                  op.value(i)));
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

void emitClip(Op &op) {
  Value x = op.value(0);
  if (op.hasInput(1)) {
    x = clip(op.emit, x, CompareKind::lt, op.value(1));
  }
  if (op.hasInput(2)) {
    x = clip(op.emit, x, CompareKind::gt, op.value(2));
  }
  op.set(0, x);
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
  if (op.hasAttribute("min")) {
    Value low = op.emit.splatLike(op.floatAttribute("min", 0), x);
    x = clip(op.emit, x, CompareKind::lt, low);
  }
  if (op.hasAttribute("max")) {
    Value high = op.emit.splatLike(op.floatAttribute("max", 0), x);
    x = clip(op.emit, x, CompareKind::gt, high);
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
