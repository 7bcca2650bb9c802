//===- Means.cpp - sums that are divided by what they count ---------------===//

#include "passes/ir/nn/Means.h"

#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::zg::nn;

/// Returns whether every element of `value` is `number`, rounded to its type.
static bool isEverywhere(Value value, double number) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat))) {
    return false;
  }
  APFloat expected(number);
  bool loses;
  auto type = cast<FloatType>(splat.getElementType());
  expected.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &loses);
  return splat.getSplatValue<APFloat>() == expected;
}

double mlir::zg::nn::countOf(ReduceOp sum) {
  return double(elementsOf(sum.getOperand()) / elementsOf(sum.getResult()));
}

bool mlir::zg::nn::isMeanOf(BinaryOp op, ReduceOp sum) {
  double count = countOf(sum);
  return stripReshapes(op.getLhs()) == sum.getResult() &&
         ((op.getKind() == BinaryKind::mul &&
           isEverywhere(op.getRhs(), 1 / count)) ||
          (op.getKind() == BinaryKind::div &&
           isEverywhere(op.getRhs(), count)));
}

bool mlir::zg::nn::isCentered(Value value, ArrayRef<int64_t> dims) {
  auto difference = value.getDefiningOp<BinaryOp>();
  if (!difference || difference.getKind() != BinaryKind::sub) {
    return false;
  }
  Value lhs = difference.getLhs(), rhs = difference.getRhs();
  for (auto [x, mean] : {std::pair(lhs, rhs), std::pair(rhs, lhs)}) {
    auto broadcast = mean.getDefiningOp<BroadcastOp>();
    auto divided =
        broadcast
            ? stripReshapes(broadcast.getOperand()).getDefiningOp<BinaryOp>()
            : BinaryOp();
    auto sum = divided
                   ? stripReshapes(divided.getLhs()).getDefiningOp<ReduceOp>()
                   : ReduceOp();
    if (sum && sum.getKind() == ReduceKind::sum && sum.getOperand() == x &&
        sum.getDims() == dims &&
        shapeOf(broadcast.getOperand()) == shapeOf(sum.getResult()) &&
        isMeanOf(divided, sum)) {
      return true;
    }
  }
  return false;
}
