//===- Binary.cpp - functions of two values, element by element -----------===//

#include "frontend/emit/StableLog.h"
#include "frontend/ops/Ops.h"

#include "passes/ir/nn/Queries.h"

#include <cmath>

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::UnaryKind;
using onnx::NodeProto;

namespace zerograph::frontend {

namespace {

/// Finds the result of a Sub that ends a binary cross entropy of p and t, as
/// PyTorch decomposes it: (t - 1) * max(log(1 - p), -100) - t * max(log(p),
/// -100). Its gradient in PyTorch is (p - t) / max((1 - p) * p, 1e-12), which
/// is finite where p is 0 or 1, as that of these nodes is not. Null if it is
/// another Sub, or if p is a sigmoid, whose logarithms StableLog.h makes
/// finite.
class BinaryCrossEntropy {
public:
  explicit BinaryCrossEntropy(Op &op) : op(op) {}

  Value find(const NodeProto &sub) {
    const NodeProto *no = made(sub.input(0), "Mul", 2);
    const NodeProto *yes = made(sub.input(1), "Mul", 2);
    return no && yes ? ofProducts(*no, *yes) : Value();
  }

private:
  /// The node of this operator that computes `name`, or null.
  const NodeProto *made(const std::string &name, const char *type, int inputs) {
    const NodeProto *node = op.context.nodes.slotOf(name).node;
    return node && node->op_type() == type && node->input_size() >= inputs
               ? node
               : nullptr;
  }

  bool isNumber(const std::string &name, double number) {
    Slot &slot = op.context.nodes.slotOf(name);
    return slot.host
               ? slot.host->isFloat() && slot.host->size() > 0 &&
                     slot.host->isSplat() && slot.host->floatAt(0) == number
               : slot.value && Emitter::splatOf(slot.value) == number;
  }

  /// Returns the other input of `node` if one of its two is this number, else
  /// "".
  std::string beside(const NodeProto *node, double number) {
    return !node                              ? ""
           : isNumber(node->input(1), number) ? node->input(0)
           : isNumber(node->input(0), number) ? node->input(1)
                                              : "";
  }

  /// The Log of which `name` is the greater beside -100, or null.
  const NodeProto *boundedLog(const std::string &name) {
    std::string log = beside(made(name, "Max", 2), -100);
    if (const NodeProto *clip = made(name, "Clip", 2);
        clip && isNumber(clip->input(1), -100) &&
        (clip->input_size() < 3 || clip->input(2).empty())) {
      log = clip->input(0);
    }
    return log.empty() ? nullptr : made(log, "Log", 1);
  }

  /// Returns whether `name` is 1 - p.
  bool isComplement(const std::string &name, const std::string &p) {
    if (const NodeProto *sub = made(name, "Sub", 2)) {
      return isNumber(sub->input(0), 1) && sub->input(1) == p;
    }
    std::string minus = beside(made(name, "Add", 2), 1);
    const NodeProto *neg = minus.empty() ? nullptr : made(minus, "Neg", 1);
    return neg && neg->input(0) == p;
  }

  /// Returns whether `name` is t - 1.
  bool isLessOne(const std::string &name, const std::string &t) {
    const NodeProto *sub = made(name, "Sub", 2);
    return sub ? sub->input(0) == t && isNumber(sub->input(1), 1)
               : beside(made(name, "Add", 2), -1) == t;
  }

  Value ofProducts(const NodeProto &no, const NodeProto &yes) {
    for (int i : {0, 1}) {
      for (int k : {0, 1}) {
        const NodeProto *one = boundedLog(yes.input(1 - i));
        const NodeProto *other = boundedLog(no.input(1 - k));
        if (one && other && isComplement(other->input(0), one->input(0)) &&
            isLessOne(no.input(k), yes.input(i))) {
          return ofLogarithms(*one, *other, yes.input(i));
        }
      }
    }
    return {};
  }

  Value ofLogarithms(const NodeProto &one, const NodeProto &other,
                     const std::string &target) {
    Value p = op.materialize(op.context.nodes.slotOf(one.input(0)));
    Value t = op.materialize(op.context.nodes.slotOf(target));
    if (!Emitter::isFloat(p) || !Emitter::isFloat(t) || isSigmoid(p)) {
      return {};
    }
    op.context.log.forgetStable(one);
    op.context.log.forgetStable(other);
    return op.emit.binary(BinaryKind::cross_entropy, p, t);
  }

  static bool isSigmoid(Value value) {
    mlir::Operation *def = value.getDefiningOp();
    while (def && nn::isView(def)) {
      def = def->getOperand(0).getDefiningOp();
    }
    auto unary = llvm::dyn_cast_or_null<nn::UnaryOp>(def);
    return unary && unary.getKind() == UnaryKind::sigmoid;
  }

  Op &op;
};

template <BinaryKind kind>
void emitBinary(Op &op) {
  Value x = op.value(0), y = op.value(1);
  op.set(0, op.emit.binary(kind, x, y));
}

void emitSub(Op &op) {
  Value x = op.value(0), y = op.value(1);
  if (Value loss = BinaryCrossEntropy(op).find(op.proto())) {
    op.set(0, loss);
    return;
  }
  if (Value precise = preciseDifference(op.emit, x, y)) {
    op.set(0, precise);
    return;
  }
  StableForm stable = stableCrossEntropy(op.emit, x, y);
  if (stable.value) {
    op.context.log.noteStable(op.proto(), stable.form);
  }
  op.set(0, stable.value ? stable.value : op.emit.sub(x, y));
}

template <BinaryKind kind>
void foldTwo(Op &op) {
  op.set(0,
         foldPair(kind, op.constant(0, "operand"), op.constant(1, "operand")));
}

BinaryKind modKind(Op &op) {
  return op.intAttribute("fmod", 0) != 0 ? BinaryKind::rem : BinaryKind::mod;
}

void emitMod(Op &op) {
  Value x = op.value(0), y = op.value(1);
  op.set(0, op.emit.binary(modKind(op), x, y));
}

void foldMod(Op &op) {
  op.set(0, foldPair(modKind(op), op.constant(0, "operand"),
                     op.constant(1, "operand")));
}

//===----------------------------------------------------------------------===//
// Pow
//===----------------------------------------------------------------------===//

/// x to a constant power as products and roots, or null.
Value simplePower(Emitter &emit, Value x, double exponent) {
  if (exponent == 1) {
    return x;
  }
  if (exponent == 2) {
    return emit.mul(x, x);
  }
  if (exponent == 3) {
    return emit.mul(emit.mul(x, x), x);
  }
  if (!Emitter::isFloat(x)) {
    return {};
  }
  if (exponent == 0.5) {
    return emit.unary(UnaryKind::sqrt, x);
  }
  if (exponent == -1) {
    return emit.unary(UnaryKind::reciprocal, x);
  }
  if (exponent == -0.5) {
    return emit.unary(UnaryKind::reciprocal, emit.unary(UnaryKind::sqrt, x));
  }
  return {};
}

void emitPow(Op &op) {
  Value x = op.value(0);
  const HostTensor *exponent = op.host(1);
  if (exponent != nullptr && exponent->isSplat() &&
      broadcastShapes(op.shape(0), exponent->shape()) == op.shape(0)) {
    if (Value power = simplePower(op.emit, x, exponent->floatAt(0))) {
      op.set(0, power);
      return;
    }
  }
  if (!Emitter::isFloat(x)) {
    fail("a power of integers needs the constant exponent 1, 2 or 3");
  }
  Value y = op.emit.convert(op.value(1), Emitter::elementOf(x));
  op.set(0, op.emit.binary(BinaryKind::pow, x, y));
}

void foldPow(Op &op) {
  const HostTensor &x = op.constant(0, "base");
  const HostTensor &exponent = op.constant(1, "exponent");
  HostTensor y = foldUnary(
      exponent, x.type(), [](int64_t v) { return v; },
      [](double v) { return v; });
  op.set(0, foldBinary(
                x, y, x.type(),
                [](int64_t a, int64_t b) {
                  return toInteger(
                      std::pow(static_cast<double>(a), static_cast<double>(b)));
                },
                [](double a, double b) { return std::pow(a, b); }));
}

const OpDef kOps[] = {
    {"Add", 7, emitBinary<BinaryKind::add>, foldTwo<BinaryKind::add>},
    {"Div", 7, emitBinary<BinaryKind::div>, foldTwo<BinaryKind::div>},
    {"Mod", 10, emitMod, foldMod},
    {"Mul", 7, emitBinary<BinaryKind::mul>, foldTwo<BinaryKind::mul>},
    {"Pow", 7, emitPow, foldPow},
    {"Sub", 7, emitSub, foldTwo<BinaryKind::sub>},
};

} // namespace

llvm::ArrayRef<OpDef> binaryOps() { return kOps; }

} // namespace zerograph::frontend
