//===- ReuseSums.cpp - sums that follow from others -----------------------===//

#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/Means.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_REUSESUMS
#include "passes/differentiate/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// The longest chain of ops that is followed; a BatchNorm's has five.
constexpr int kMostOps = 16;

/// What a sum follows from: those of the operands of the op that made its
/// elements. Each is of the sum's own dimensions.
class Derivation {
public:
  explicit Derivation(ReduceOp sum) : sum(sum) {}

  /// Returns whether the sum of such elements follows from sums that are there,
  /// by at most so many ops.
  bool isKnown(Value elements, int ops = kMostOps) {
    auto [place, isNew] = known.try_emplace(elements, false);
    if (!isNew) {
      return place->second;
    }
    bool follows = isCentered(elements, sum.getDims()) || sumOf(elements) ||
                   (ops > 0 && isLinear(elements) &&
                    llvm::all_of(summands(elements), [&](Value part) {
                      return isKnown(part, ops - 1);
                    }));
    return known[elements] = follows;
  }

  /// Makes that sum before this one; null: it is 0.
  Value make(Value elements, NNBuilder &b) {
    auto [place, isNew] = made.try_emplace(elements, Value());
    return isNew ? made[elements] = compute(elements, b) : place->second;
  }

private:
  /// Returns another sum of these elements; it may come later.
  ReduceOp sumOf(Value elements) {
    for (Operation *user : elements.getUsers()) {
      auto other = dyn_cast<ReduceOp>(user);
      if (other && other != sum && other.getKind() == ReduceKind::sum &&
          other.getDims() == sum.getDims()) {
        return other;
      }
    }
    return {};
  }

  /// Returns what is broadcast to a factor that all elements of a sum have;
  /// null: the value is no such factor.
  Value factorOf(Value value) {
    auto broadcast = value.getDefiningOp<BroadcastOp>();
    return broadcast &&
                   shapeOf(broadcast.getOperand()) == shapeOf(sum.getResult())
               ? broadcast.getOperand()
               : Value();
  }

  /// Returns whether the elements are a sum, a difference, or so many times
  /// others.
  bool isLinear(Value elements) {
    if (auto unary = elements.getDefiningOp<UnaryOp>()) {
      return unary.getKind() == UnaryKind::neg;
    }
    auto binary = elements.getDefiningOp<BinaryOp>();
    if (!binary) {
      return false;
    }
    switch (binary.getKind()) {
    case BinaryKind::add:
    case BinaryKind::sub:
      return true;
    case BinaryKind::mul:
      return factorOf(binary.getLhs()) || factorOf(binary.getRhs());
    case BinaryKind::div:
      return bool(factorOf(binary.getRhs()));
    default:
      return false;
    }
  }

  /// Returns the operands of linear elements that are elements too.
  SmallVector<Value> summands(Value elements) {
    Operation *op = elements.getDefiningOp();
    auto binary = dyn_cast<BinaryOp>(op);
    if (!binary || binary.getKind() == BinaryKind::add ||
        binary.getKind() == BinaryKind::sub) {
      return SmallVector<Value>(op->getOperands());
    }
    return {factorOf(binary.getRhs()) ? binary.getLhs() : binary.getRhs()};
  }

  Value compute(Value elements, NNBuilder &b) {
    if (isCentered(elements, sum.getDims())) {
      return {};
    }
    if (ReduceOp other = sumOf(elements)) {
      if (sum->isBeforeInBlock(other)) {
        other->moveBefore(sum); // which has the elements
      }
      return other;
    }
    auto binary = elements.getDefiningOp<BinaryOp>();
    SmallVector<Value> parts;
    for (Value part : summands(elements)) {
      parts.push_back(make(part, b));
    }
    if (!binary) {
      return parts[0] ? b.neg(parts[0]) : Value();
    }
    if (parts.size() == 1) {
      Value factor = factorOf(binary.getRhs());
      factor = factor ? factor : factorOf(binary.getLhs());
      return parts[0] ? b.binary(binary.getKind(), parts[0], factor) : Value();
    }
    if (parts[0] && parts[1]) {
      return b.binary(binary.getKind(), parts[0], parts[1]);
    }
    bool isNegative = !parts[0] && binary.getKind() == BinaryKind::sub;
    Value part = parts[0] ? parts[0] : parts[1];
    return isNegative && part ? b.neg(part) : part;
  }

  ReduceOp sum;
  llvm::SmallDenseMap<Value, bool> known;
  llvm::SmallDenseMap<Value, Value> made;
};

/// Makes a sum follow from others, where it does.
bool derive(ReduceOp sum) {
  Derivation derivation(sum);
  Value elements = sum.getOperand();
  // A sum of what has none besides is the one that others follow from.
  if (sum.getKind() != ReduceKind::sum || !derivation.isKnown(elements)) {
    return false;
  }
  OpBuilder builder(sum);
  NNBuilder b(builder, sum.getLoc());
  Value made = derivation.make(elements, b);
  sum.replaceAllUsesWith(made ? made : b.splat(sum, 0));
  sum.erase();
  return true;
}

struct ReuseSumsPass : mlir::zg::nn::impl::ReuseSumsBase<ReuseSumsPass> {
  void runOnOperation() override {
    auto micro = getOperation().lookupSymbol<ProgramOp>(kMicroFunction);
    if (!micro) {
      return;
    }
    Block &body = micro.getBody().front();
    for (auto sum : llvm::make_early_inc_range(body.getOps<ReduceOp>())) {
      derived += isa<FloatType>(elementOf(sum.getResult())) && derive(sum);
    }
    // Erases what was only added up, or it would look as if it were needed.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
      if (isOpTriviallyDead(&op)) {
        op.erase();
      }
    }
  }
};

} // namespace
