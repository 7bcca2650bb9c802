//===- Bits.cpp - operators on the bits of integers -----------------------===//
//
// Exporters use them for shapes and masks; for data they are not supported.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Ops.h"

namespace zerograph::frontend {

namespace {

void emitNothing(Op &op) {
  fail("bits of data are not supported, only those of constants: the inputs "
       "depend on ",
       op.context.nodes.describeOrigins(op.proto().output(0)));
}

template <typename F>
void foldBits(Op &op, F combine) {
  op.set(0, foldBinary(op.constant(0, "operand"), op.constant(1, "operand"),
                       op.type(0), combine, [](double, double) -> double {
                         fail("the operator needs integers");
                       }));
}

void foldAnd(Op &op) {
  foldBits(op, [](int64_t a, int64_t b) { return a & b; });
}
void foldOr(Op &op) {
  foldBits(op, [](int64_t a, int64_t b) { return a | b; });
}
void foldXor(Op &op) {
  foldBits(op, [](int64_t a, int64_t b) { return a ^ b; });
}

void foldNot(Op &op) {
  op.set(0, foldUnary(
                op.constant(0, "operand"), op.type(0),
                [](int64_t v) { return ~v; },
                [](double) -> double { fail("the operator needs integers"); }));
}

void foldShift(Op &op) {
  std::string direction = op.stringAttribute("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    fail("direction='", direction, "' is not known; 'LEFT' and 'RIGHT' are");
  }
  bool left = direction == "LEFT";
  foldBits(op, [left](int64_t a, int64_t b) -> int64_t {
    auto bits = static_cast<uint64_t>(a), by = static_cast<uint64_t>(b);
    return by > 63 ? 0 : static_cast<int64_t>(left ? bits << by : bits >> by);
  });
}

const OpDef kOps[] = {
    {"BitShift", 11, emitNothing, foldShift},
    {"BitwiseAnd", 18, emitNothing, foldAnd},
    {"BitwiseNot", 18, emitNothing, foldNot},
    {"BitwiseOr", 18, emitNothing, foldOr},
    {"BitwiseXor", 18, emitNothing, foldXor},
};

} // namespace

llvm::ArrayRef<OpDef> bitsOps() { return kOps; }

} // namespace zerograph::frontend
