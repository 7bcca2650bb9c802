//===- Linear.cpp - the operands that a kernel adds up --------------------===//

#include "passes/kernels/Linear.h"

#include "passes/ir/nn/Queries.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zg;

namespace {

/// Says how a value depends on some operands.
enum Dependence { none, linear, other };

/// Says how the values of a kernel depend on `operands`.
class Dependences {
public:
  explicit Dependences(const DenseSet<Value> &operands) : operands(operands) {}

  Dependence of(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op) {
      return operands.contains(value) ? linear : none;
    }
    auto known = found.find(value);
    if (known != found.end()) {
      return known->second;
    }
    SmallVector<Dependence> on;
    for (Value operand : op->getOperands()) {
      on.push_back(of(operand));
    }
    return found[value] =
               llvm::is_contained(on, linear) || llvm::is_contained(on, other)
                   ? dependenceOf(op, on)
                   : none;
  }

private:
  /// Returns how the result of an op depends on them, if its operands do as
  /// `on` says.
  static Dependence dependenceOf(Operation *op, ArrayRef<Dependence> on) {
    Dependence most = *llvm::max_element(on);
    auto whereNone = [&](unsigned operand) {
      return on[operand] == none ? most : other;
    };
    return llvm::TypeSwitch<Operation *, Dependence>(op)
        .Case([&](nn::BinaryOp binary) {
          switch (binary.getKind()) {
          case nn::BinaryKind::add:
          case nn::BinaryKind::sub:
            return most;
          case nn::BinaryKind::mul:
            return on[0] == none || on[1] == none ? most : other;
          case nn::BinaryKind::div:
            return whereNone(1);
          default:
            return other;
          }
        })
        .Case([&](nn::UnaryOp unary) {
          return unary.getKind() == nn::UnaryKind::neg ? most : other;
        })
        .Case([&](nn::ReduceOp reduce) {
          return reduce.getKind() == nn::ReduceKind::sum ? most : other;
        })
        .Case([&](nn::ScatterOp scatter) {
          return scatter.getKind() == nn::ScatterKind::sum ? whereNone(0)
                                                           : other;
        })
        .Case([&](nn::SelectOp) { return whereNone(0); })
        .Case([&](nn::GatherOp) { return whereNone(1); })
        .Case<nn::ConvertOp, nn::CumsumOp>([&](auto) { return most; })
        .Default(
            [&](Operation *) { return nn::isPlainView(op) ? most : other; });
  }

  const DenseSet<Value> &operands;
  DenseMap<Value, Dependence> found;
};

} // namespace

SmallVector<unsigned> mlir::zg::kernels::linearOperands(Operation *op,
                                                        unsigned result) {
  if (auto product = dyn_cast<nn::MatmulOp>(op)) {
    SmallVector<unsigned> sum;
    if (product.getInto()) {
      sum.push_back(product.getIntoMutable().begin()->getOperandNumber());
    }
    return sum;
  }
  auto kernel = cast<nn::KernelOp>(op);
  Block &body = kernel.getBody().front();
  Value made = body.getTerminator()->getOperand(result);
  DenseSet<Value> together;
  SmallVector<unsigned> numbers;
  for (BlockArgument argument : body.getArguments()) {
    together.insert(argument);
    DenseSet<Value> alone = {argument};
    if (Dependences(alone).of(made) == linear &&
        Dependences(together).of(made) == linear) {
      numbers.push_back(argument.getArgNumber());
    } else {
      together.erase(argument);
    }
  }
  return numbers;
}
