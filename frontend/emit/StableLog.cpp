//===- StableLog.cpp - logarithms of what exponentials make ---------------===//

#include "frontend/emit/StableLog.h"

#include "frontend/emit/Exponentials.h"
#include "mlir/IR/IRMapping.h"
#include "passes/ir/nn/Queries.h"

#include <cmath>

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::ReduceKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

constexpr auto splatOf = Emitter::splatOf;

/// x of `kind(x)`, or null.
Value operandOf(Value value, UnaryKind kind) {
  auto op = value.getDefiningOp<nn::UnaryOp>();
  return op && op.getKind() == kind ? op.getOperand() : Value();
}

nn::BinaryOp binaryOf(Value value, BinaryKind kind) {
  auto op = value.getDefiningOp<nn::BinaryOp>();
  return op && op.getKind() == kind ? op : nn::BinaryOp();
}

/// y of 1 + y, or null.
Value besideOne(Value value) {
  nn::BinaryOp sum = binaryOf(value, BinaryKind::add);
  return !sum                           ? Value()
         : splatOf(sum.getLhs()) == 1.0 ? sum.getRhs()
         : splatOf(sum.getRhs()) == 1.0 ? sum.getLhs()
                                        : Value();
}

/// y of 1 - y, or null.
Value belowOne(Value value) {
  if (nn::BinaryOp sub = binaryOf(value, BinaryKind::sub)) {
    return splatOf(sub.getLhs()) == 1.0 ? sub.getRhs() : Value();
  }
  Value beside = besideOne(value);
  return beside ? operandOf(beside, UnaryKind::neg) : Value();
}

/// Returns whether a value is x less a maximum: its exponential is at most 1.
bool isShifted(Value value) {
  nn::BinaryOp sub = binaryOf(value, BinaryKind::sub);
  Value bound = sub ? sub.getRhs() : Value();
  while (mlir::Operation *op = bound ? bound.getDefiningOp() : nullptr) {
    if (auto reduce = mlir::dyn_cast<nn::ReduceOp>(op)) {
      return reduce.getKind() == ReduceKind::max;
    }
    if (auto select = mlir::dyn_cast<nn::SelectOp>(op)) {
      bound = select.getOnFalse(); // the other is taken of infinities
    } else if (nn::isPlainView(op)) {
      bound = op->getOperand(0);
    } else {
      return binaryOf(bound, BinaryKind::max) != nullptr;
    }
  }
  return false;
}

/// The most ops through which one logarithm is looked for: a graph may be deep,
/// and a sum may read another twice.
constexpr int kMostOps = 200;

class Finder {
public:
  explicit Finder(Emitter &emit) : emit(emit) {}

  /// The logarithm of what `value` is a view of, seen through the same views;
  /// null where `find` gives null.
  Value throughViews(Value value, llvm::function_ref<Value(Value)> find) {
    if (--opsLeft < 0) {
      return {};
    }
    mlir::Operation *op = value.getDefiningOp();
    if (op == nullptr || !nn::isView(op) || mlir::isa<nn::PadOp>(op)) {
      return find(value);
    }
    Value inner = throughViews(op->getOperand(0), find);
    if (!inner) {
      return {};
    }
    mlir::IRMapping mapping;
    mapping.map(op->getOperand(0), inner);
    return emit.builder.clone(*op, mapping)->getResult(0);
  }

  Value ofRoot(Value value) {
    if (Value x = operandOf(value, UnaryKind::sigmoid)) {
      form = "log(sigmoid(x))";
      return logSigmoid(x);
    }
    if (auto softmax = value.getDefiningOp<nn::SoftmaxOp>()) {
      form = "log(softmax(x))";
      return logSoftmax(emit, softmax.getOperand());
    }
    if (Value whole = belowOne(value)) {
      form = "log(1 - sigmoid(x))";
      return throughViews(whole, [&](Value y) {
        Value x = operandOf(y, UnaryKind::sigmoid);
        return x ? negate(softplus(emit, x)) : Value();
      });
    }
    form = "log(sum of exponentials)";
    return ofSum(value);
  }

  Value ofOneAndMore(Value value) {
    Value rest = besideOne(value);
    form.clear();
    return rest ? emit.unary(UnaryKind::log1p, rest) : Value();
  }

  std::string form;

private:
  Value negate(Value x) { return emit.unary(UnaryKind::neg, x); }
  Value logSigmoid(Value x) { return negate(softplus(emit, negate(x))); }

  /// The logarithm of a sum of exponentials, or null if it is none.
  Value ofSum(Value value) {
    return throughViews(value, [&](Value root) -> Value {
      if (Value x = operandOf(root, UnaryKind::exp)) {
        return isShifted(x) ? Value() : x;
      }
      if (auto reduce = root.getDefiningOp<nn::ReduceOp>()) {
        Value terms = reduce.getKind() == ReduceKind::sum
                          ? ofSum(reduce.getOperand())
                          : Value();
        return terms ? logSumExp(emit, terms, reduce.getDims().vec(), true)
                     : Value();
      }
      auto binary = root.getDefiningOp<nn::BinaryOp>();
      return binary ? ofTwo(binary) : Value();
    });
  }

  Value ofTwo(nn::BinaryOp op) {
    Value x = op.getLhs(), y = op.getRhs();
    BinaryKind kind = op.getKind();
    if (kind == BinaryKind::add || kind == BinaryKind::mul) {
      if (std::optional<double> number = splatOf(x)) {
        return withNumber(kind, y, *number);
      }
    }
    if (std::optional<double> number = splatOf(y)) {
      return withNumber(kind, x, *number);
    }
    if (std::optional<double> base = splatOf(x)) {
      return kind == BinaryKind::pow && *base > 0 ? emit.mul(y, std::log(*base))
                                                  : Value();
    }
    if (kind != BinaryKind::add) {
      return {};
    }
    Value first = ofSum(x), second = first ? ofSum(y) : Value();
    return second ? logAddExp(emit, first, second) : Value();
  }

  /// Makes the logarithm of a sum of exponentials and a positive number,
  /// together.
  Value withNumber(BinaryKind kind, Value sum, double number) {
    bool known = kind == BinaryKind::add || kind == BinaryKind::mul ||
                 kind == BinaryKind::div;
    Value log = known && number > 0 ? ofSum(sum) : Value();
    if (!log) {
      return {};
    }
    double other = std::log(number);
    return kind == BinaryKind::mul   ? emit.add(log, other)
           : kind == BinaryKind::div ? emit.add(log, -other)
           : number == 1             ? softplus(emit, log)
                         : logAddExp(emit, log, emit.splatLike(other, log));
  }

  Emitter &emit;
  int opsLeft = kMostOps;
};

/// x of softplus(x) = max(x, 0) + log1p(exp(-|x|)), or null.
Value operandOfSoftplus(Value value) {
  nn::BinaryOp sum = binaryOf(value, BinaryKind::add);
  nn::BinaryOp max =
      sum ? binaryOf(sum.getLhs(), BinaryKind::max) : nn::BinaryOp();
  if (!max || splatOf(max.getRhs()) != 0.0) {
    return {};
  }
  Value inner = sum.getRhs();
  for (UnaryKind kind :
       {UnaryKind::log1p, UnaryKind::exp, UnaryKind::neg, UnaryKind::abs}) {
    inner = inner ? operandOf(inner, kind) : Value();
  }
  return inner == max.getLhs() ? inner : Value();
}

/// x of log(sigmoid(x)) = -softplus(-x), or null.
Value operandOfLogSigmoid(Value value) {
  Value softplus = operandOf(value, UnaryKind::neg);
  Value minus = softplus ? operandOfSoftplus(softplus) : Value();
  return minus ? operandOf(minus, UnaryKind::neg) : Value();
}

/// y of x * y, or null.
Value otherFactor(nn::BinaryOp product, Value x) {
  return product.getLhs() == x   ? product.getRhs()
         : product.getRhs() == x ? product.getLhs()
                                 : Value();
}

} // namespace

StableForm stableLog(Emitter &emit, Value x) {
  if (!Emitter::isFloat(x)) {
    return {};
  }
  Finder finder(emit);
  Value log = finder.throughViews(x, [&](Value y) { return finder.ofRoot(y); });
  if (!log) {
    log = finder.ofOneAndMore(x);
  }
  return {log, log ? finder.form : ""};
}

Value preciseDifference(Emitter &emit, Value a, Value b) {
  Value x = splatOf(b) == 1.0 ? operandOf(a, UnaryKind::exp) : Value();
  return x ? emit.unary(UnaryKind::expm1, x) : Value();
}

// t x - w log(sigmoid(x)) = t softplus(x) + (w - t) softplus(-x).
StableForm stableCrossEntropy(Emitter &emit, Value a, Value b) {
  nn::BinaryOp product = binaryOf(a, BinaryKind::mul);
  if (!product) {
    return {};
  }
  Value x = operandOfLogSigmoid(b), weight;
  if (nn::BinaryOp weighted = binaryOf(b, BinaryKind::mul); weighted && !x) {
    x = operandOfLogSigmoid(weighted.getLhs());
    weight = weighted.getRhs();
    if (!x) {
      x = operandOfLogSigmoid(weighted.getRhs());
      weight = weighted.getLhs();
    }
  }
  Value t = x ? otherFactor(product, x) : Value();
  if (!t) {
    return {};
  }
  weight = weight ? weight : emit.splatLike(1, t);
  Value minus = emit.unary(UnaryKind::neg, x);
  return {emit.add(emit.mul(t, softplus(emit, x)),
                   emit.mul(emit.sub(weight, t), softplus(emit, minus))),
          "binary cross entropy with logits"};
}

} // namespace zerograph::frontend
