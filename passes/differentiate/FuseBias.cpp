//===- FuseBias.cpp - products that add their bias ------------------------===//

#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_FUSEBIAS
#include "passes/differentiate/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

/// Returns whether a row of the result has the numbers of one of the operand: a
/// reshape within rows, or a conversion from 16 bits to f32.
bool keepsRows(Operation *op) {
  if (!isa<ConvertOp, ReshapeOp>(op)) {
    return false;
  }
  Value from = op->getOperand(0), to = op->getResult(0);
  if (isa<ConvertOp>(op)) {
    return isHalf(elementOf(from)) && elementOf(to).isF32();
  }
  return !shapeOf(from).empty() && !shapeOf(to).empty() &&
         shapeOf(from).back() == shapeOf(to).back();
}

/// A product, and the ops from there to a summand: each has no reader but the
/// next.
struct Chain {
  MatmulOp product;
  SmallVector<Operation *> ops; // from the summand back
};

/// Finds the product that a sum adds to; null where another op reads it.
Chain chainOf(Value summand) {
  Chain chain;
  while (Operation *op = summand.getDefiningOp()) {
    if (!summand.hasOneUse()) {
      break;
    }
    if (auto product = dyn_cast<MatmulOp>(op)) {
      bool plain = !product.getInto() && !product.getBias();
      chain.product = plain ? product : MatmulOp();
      break;
    }
    if (!keepsRows(op)) {
      break;
    }
    chain.ops.push_back(op);
    summand = op->getOperand(0);
  }
  return chain;
}

bool isParameter(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto program = argument
                     ? dyn_cast<ProgramOp>(argument.getOwner()->getParentOp())
                     : ProgramOp();
  return program && program.getArgAttrOfType<ParameterAttr>(
                        argument.getArgNumber(), kParameterAttr);
}

/// Returns the vector of `columns` numbers of this element type that every row
/// of `summand` repeats, if it is a parameter, perhaps rounded and reshaped;
/// else null.
Value biasOf(Value summand, Type element, int64_t columns) {
  Value bias, value = summand;
  while (true) {
    bool isRow = elementsOf(value) == columns;
    if (isRow && elementOf(value) == element && !bias) {
      bias = value;
    }
    Operation *op = value.getDefiningOp();
    if (!op) {
      return isParameter(value) ? bias : Value();
    }
    auto broadcast = dyn_cast<BroadcastOp>(op);
    bool repeatsRow = broadcast && !bias &&
                      !shapeOf(broadcast.getOperand()).empty() &&
                      shapeOf(broadcast.getOperand()).back() == columns;
    bool reshapesRow = isRow && isa<ReshapeOp>(op);
    bool rounds = bias && isa<ConvertOp>(op);
    if (!repeatsRow && !reshapesRow && !rounds && !keepsRows(op)) {
      return {};
    }
    value = op->getOperand(0);
  }
}

/// Widens after the reshapes that follow, so that what narrows their results
/// again folds.
void sinkWidening(Value wide) {
  auto widening = wide.getDefiningOp<ConvertOp>();
  if (!widening) {
    return;
  }
  for (Operation *user : llvm::make_early_inc_range(wide.getUsers())) {
    if (auto reshape = dyn_cast<ReshapeOp>(user)) {
      OpBuilder builder(reshape);
      NNBuilder b(builder, reshape.getLoc());
      Value narrow =
          b.reshape(widening.getOperand(), shapeOf(user->getResult(0)));
      Value sunk = b.convert(narrow, elementOf(wide));
      reshape.replaceAllUsesWith(sunk);
      reshape.erase();
      sinkWidening(sunk);
    }
  }
}

struct FuseBiasPass : nn::impl::FuseBiasBase<FuseBiasPass> {
  void runOnOperation() override {
    SmallVector<BinaryOp> sums;
    getOperation().walk([&](BinaryOp binary) {
      if (binary.getKind() == BinaryKind::add) {
        sums.push_back(binary);
      }
    });
    for (BinaryOp sum : sums) {
      fused += fuse(sum, 0) || fuse(sum, 1);
    }
  }

private:
  /// Adds the other operand of `sum` in the product that operand `number` is.
  static bool fuse(BinaryOp sum, unsigned number) {
    Value summand = sum->getOperand(number);
    Chain chain = chainOf(summand);
    if (!chain.product) {
      return false;
    }
    Value result = chain.product.getResult();
    int64_t columns = shapeOf(result).back();
    Value bias =
        biasOf(sum->getOperand(1 - number), elementOf(result), columns);
    if (!bias) {
      return false;
    }
    // The bias may be made after the product.
    chain.product->moveBefore(sum);
    OpBuilder builder(chain.product);
    NNBuilder before(builder, sum.getLoc());
    chain.product.getBiasMutable().assign(before.reshape(bias, {columns}));
    builder.setInsertionPoint(sum);
    NNBuilder b(builder, sum.getLoc());
    Value biased = b.reshape(result, shapeOf(sum.getResult()));
    Value wide = b.convert(biased, elementOf(sum.getResult()));
    sum.replaceAllUsesWith(wide);
    sum.erase();
    for (Operation *op : chain.ops) {
      op->erase();
    }
    sinkWidening(wide);
    return true;
  }
};

} // namespace
