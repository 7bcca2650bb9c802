//===- CrossEntropy.cpp - binary cross entropy of probabilities -----------===//

#include "frontend/ops/CrossEntropy.h"

#include "passes/ir/nn/Queries.h"

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::UnaryKind;
using onnx::NodeProto;

namespace zerograph::frontend {

namespace {

class Finder {
public:
  explicit Finder(Op &op) : op(op) {}

  Value find(const NodeProto &sub) {
    const NodeProto *no = made(sub.input(0), "Mul", 2);
    const NodeProto *yes = made(sub.input(1), "Mul", 2);
    return no && yes ? ofProducts(*no, *yes) : Value();
  }

private:
  /// The node of this operator that computes `name`, or null.
  const NodeProto *made(const std::string &name, const char *type, int inputs) {
    const NodeProto *node = op.slotOf(name).node;
    return node && node->op_type() == type && node->input_size() >= inputs
               ? node
               : nullptr;
  }

  bool isNumber(const std::string &name, double number) {
    Slot &slot = op.slotOf(name);
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
    Value p = op.materialize(op.slotOf(one.input(0)));
    Value t = op.materialize(op.slotOf(target));
    if (!Emitter::isFloat(p) || !Emitter::isFloat(t) || isSigmoid(p)) {
      return {};
    }
    op.forgetStable(one);
    op.forgetStable(other);
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

} // namespace

Value binaryCrossEntropy(Op &sub) { return Finder(sub).find(sub.proto()); }

} // namespace zerograph::frontend
