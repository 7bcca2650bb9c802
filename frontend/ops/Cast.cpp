//===- Cast.cpp - conversions to another element type ---------------------===//

#include "frontend/ops/Ops.h"

namespace zerograph::frontend {

namespace {

int32_t castType(Op &op) {
  int32_t type = op.inputCount() == 1 ? op.typeAttribute("to", 0) : op.type(1);
  if (typeBytes(type) == 0) {
    fail("conversion to ", typeName(type), " is not supported");
  }
  return type;
}

/// Only to a float type.
bool castCarriesGradient(const Graph &, const onnx::NodeProto &node, int) {
  const auto *to = findAttribute(node, "to");
  return to == nullptr || isFloatType(static_cast<int32_t>(to->i()));
}

void emitCast(Op &op) {
  int32_t type = castType(op);
  if (type == op.type(0)) {
    op.forward(0, 0);
    return;
  }
  const HostTensor *host = op.host(0);
  if (host != nullptr && op.inputCount() == 2 && !op.host(1)) {
    // CastLike: only the type of the second input matters.
    op.set(0, foldUnary(
                  *host, type, [](int64_t v) { return v; },
                  [](double v) { return v; }));
    return;
  }
  op.set(0, op.emit.convert(op.value(0),
                            elementTypeOf(op.emit.builder.getContext(), type)));
}

void foldCast(Op &op) {
  op.set(0, foldUnary(
                op.constant(0, "operand"), castType(op),
                [](int64_t v) { return v; }, [](double v) { return v; }));
}

const OpDef kOps[] = {
    {"Cast", 6, emitCast, foldCast, castCarriesGradient},
    {"CastLike", 15, emitCast, foldCast, gradientTo<0>},
};

} // namespace

llvm::ArrayRef<OpDef> castOps() { return kOps; }

} // namespace zerograph::frontend
