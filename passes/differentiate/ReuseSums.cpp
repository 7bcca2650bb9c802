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

/// Limits the chain of ops that is followed; a BatchNorm's has five.
constexpr int kMostOps = 16;

/// Says what a sum follows from.
enum class Source { none, zero, sum };

/// Finds what a sum follows from, and makes it of that. No two sums are added:
/// of elements that nearly cancel, their difference would be rounding.
class Derivation {
public:
  explicit Derivation(ReduceOp sum) : sum(sum) {}

  /// Returns what the sum of such elements, along the sum's dimensions, follows
  /// from, by at most so many ops.
  Source sourceOf(Value elements, int ops = kMostOps) {
    auto [place, isNew] = sources.try_emplace(elements, Source::none);
    return isNew ? sources[elements] = findSource(elements, ops)
                 : place->second;
  }

  /// Makes that sum before this one; null: it is 0.
  Value make(Value elements, NNBuilder &b) {
    if (sources.lookup(elements) == Source::zero) {
      return {};
    }
    if (ReduceOp other = sumOf(elements)) {
      if (sum->isBeforeInBlock(other)) {
        other->moveBefore(sum); // its elements are there
      }
      return other;
    }
    if (auto unary = elements.getDefiningOp<UnaryOp>()) {
      return b.neg(make(unary.getOperand(), b));
    }
    auto binary = elements.getDefiningOp<BinaryOp>();
    Value lhs = binary.getLhs(), rhs = binary.getRhs();
    if (Value factor = factorOf(rhs)) {
      return b.binary(binary.getKind(), make(lhs, b), factor);
    }
    if (Value factor = factorOf(lhs)) {
      return b.mul(make(rhs, b), factor);
    }
    if (sources.lookup(rhs) == Source::zero) {
      return make(lhs, b);
    }
    Value part = make(rhs, b);
    return binary.getKind() == BinaryKind::sub ? b.neg(part) : part;
  }

private:
  Source findSource(Value elements, int ops) {
    if (isCentered(elements, sum.getDims())) {
      return Source::zero;
    }
    if (sumOf(elements)) {
      return Source::sum;
    }
    auto unary = elements.getDefiningOp<UnaryOp>();
    if (ops > 0 && unary && unary.getKind() == UnaryKind::neg) {
      return sourceOf(unary.getOperand(), ops - 1);
    }
    auto binary = elements.getDefiningOp<BinaryOp>();
    return ops > 0 && binary ? findSource(binary, ops - 1) : Source::none;
  }

  Source findSource(BinaryOp op, int ops) {
    Value lhs = op.getLhs(), rhs = op.getRhs();
    switch (op.getKind()) {
    case BinaryKind::mul:
      return factorOf(rhs)   ? sourceOf(lhs, ops)
             : factorOf(lhs) ? sourceOf(rhs, ops)
                             : Source::none;
    case BinaryKind::div:
      return factorOf(rhs) ? sourceOf(lhs, ops) : Source::none;
    case BinaryKind::add:
    case BinaryKind::sub: {
      Source left = sourceOf(lhs, ops), right = sourceOf(rhs, ops);
      return left == Source::zero    ? right
             : right == Source::zero ? left
                                     : Source::none;
    }
    default:
      return Source::none;
    }
  }

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

  ReduceOp sum;
  llvm::SmallDenseMap<Value, Source> sources;
};

/// Makes a sum follow from others. Returns whether it does.
bool derive(ReduceOp sum) {
  Derivation derivation(sum);
  Value elements = sum.getOperand();
  if (sum.getKind() != ReduceKind::sum ||
      derivation.sourceOf(elements) == Source::none) {
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
