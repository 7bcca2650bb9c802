//===- ShiftMoments.cpp - means that elements are taken from --------------===//

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/ir/nn/Means.h"
#include "passes/ir/nn/Queries.h"
#include "passes/kernels/Passes.h"
#include "passes/kernels/decompose/Decomposition.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_SHIFTMOMENTS
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

/// Users of `value` and of its reshapes that are of the kind asked for, in
/// block order.
template <typename Op>
SmallVector<Op> usersOf(Value value) {
  SmallVector<Op> users;
  SmallVector<Value> names{value};
  while (!names.empty()) {
    for (Operation *user : names.pop_back_val().getUsers()) {
      if (auto reshape = dyn_cast<ReshapeOp>(user)) {
        names.push_back(reshape);
      }
      // A product with itself uses its operand twice.
      if (auto op = dyn_cast<Op>(user); op && !llvm::is_contained(users, op)) {
        users.push_back(op);
      }
    }
  }
  llvm::sort(users, [](Op a, Op b) { return a->isBeforeInBlock(b); });
  return users;
}

/// Returns the ops that divide the sum by the number of elements it adds up.
SmallVector<BinaryOp> meansOf(ReduceOp sum) {
  SmallVector<BinaryOp> means = usersOf<BinaryOp>(sum);
  llvm::erase_if(means, [&](BinaryOp op) { return !isMeanOf(op, sum); });
  return means;
}

/// Takes the mean from what it is the mean of, or the other way round.
SmallVector<BinaryOp> centeringsOf(ReduceOp sum, ArrayRef<BinaryOp> means) {
  SmallVector<BinaryOp> centerings;
  for (BinaryOp mean : means) {
    for (auto broadcast : usersOf<BroadcastOp>(mean)) {
      if (shapeOf(broadcast.getOperand()) != shapeOf(sum)) {
        continue;
      }
      for (Operation *user : broadcast->getUsers()) {
        auto difference = dyn_cast<BinaryOp>(user);
        if (difference && difference.getKind() == BinaryKind::sub &&
            llvm::is_contained(difference.getOperands(), sum.getOperand())) {
          centerings.push_back(difference);
        }
      }
    }
  }
  return centerings;
}

/// Sums of the squares of `centered` along the dimensions of `sum`.
SmallVector<ReduceOp> squaresOf(BinaryOp centered, ReduceOp sum) {
  SmallVector<ReduceOp> squares;
  for (Operation *square : centered->getUsers()) {
    auto product = dyn_cast<BinaryOp>(square);
    if (!product || product.getKind() != BinaryKind::mul ||
        product.getLhs() != product.getRhs()) {
      continue;
    }
    for (Operation *user : product->getUsers()) {
      auto reduce = dyn_cast<ReduceOp>(user);
      if (reduce && reduce.getKind() == ReduceKind::sum &&
          reduce.getDims() == sum.getDims() &&
          !llvm::is_contained(squares, reduce)) {
        squares.push_back(reduce);
      }
    }
  }
  return squares;
}

/// Shifts the means that follow from the sum, if the program takes them from
/// elements. Returns whether it does.
bool shift(ReduceOp sum) {
  SmallVector<BinaryOp> means = meansOf(sum);
  SmallVector<BinaryOp> centerings = centeringsOf(sum, means);
  if (centerings.empty()) {
    return false;
  }
  OpBuilder builder(sum);
  NNBuilder b(builder, sum.getLoc());
  Moments moments = momentsOf(b, sum.getOperand(), sum.getDims());
  auto replace = [&](Value value, Value by) {
    value.replaceAllUsesWith(b.reshape(by, shapeOf(value)));
  };
  for (BinaryOp centering : centerings) {
    for (ReduceOp squares : squaresOf(centering, sum)) {
      for (BinaryOp mean : meansOf(squares)) {
        replace(mean, moments.variance);
      }
      if (!squares->use_empty()) {
        replace(squares, b.scale(moments.variance, countOf(sum)));
      }
    }
  }
  for (BinaryOp centering : centerings) {
    bool turned = centering.getRhs() == sum.getOperand();
    replace(centering, turned ? b.neg(moments.centered) : moments.centered);
  }
  for (BinaryOp mean : means) {
    replace(mean, moments.mean);
  }
  return true;
}

struct ShiftMomentsPass : nn::impl::ShiftMomentsBase<ShiftMomentsPass> {
  void runOnOperation() override {
    SmallVector<ReduceOp> sums;
    getOperation().walk([&](ReduceOp op) {
      if (op.getKind() == ReduceKind::sum && isFloat(op)) {
        sums.push_back(op);
      }
    });
    unsigned count = 0;
    for (ReduceOp sum : sums) {
      count += shift(sum);
    }
    shifted += count;
    if (count == 0) {
      return markAllAnalysesPreserved();
    }
    // Erases what was replaced, or it would look as if it were needed.
    Block &body = getOperation().getBody().front();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
      if (isOpTriviallyDead(&op)) {
        op.erase();
      }
    }
  }
};

} // namespace
