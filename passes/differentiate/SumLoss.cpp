//===- SumLoss.cpp - the sum that a mean loss divides ---------------------===//

#include "passes/differentiate/Loss.h"
#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_SUMLOSS
#include "passes/differentiate/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// The arguments that a value is computed from.
llvm::SetVector<BlockArgument> argumentsBehind(Value value) {
  llvm::SetVector<BlockArgument> arguments;
  llvm::SetVector<Operation *> ops;
  auto visit = [&](Value operand) {
    if (auto argument = dyn_cast<BlockArgument>(operand)) {
      arguments.insert(argument);
    } else {
      ops.insert(operand.getDefiningOp());
    }
  };
  visit(value);
  for (size_t i = 0; i < ops.size(); ++i) {
    llvm::for_each(ops[i]->getOperands(), visit);
  }
  return arguments;
}

/// A loss that is a sum divided by a count, but for factors that no input
/// changes.
struct Mean {
  BinaryOp division;
  /// From the division on, the loss last; each reads the one before it.
  SmallVector<Operation *> behind;
};

bool isNaN(Value value) {
  DenseElementsAttr number;
  return matchPattern(value, m_Constant(&number)) && number.isSplat() &&
         isa<FloatType>(number.getElementType()) &&
         number.getSplatValue<APFloat>().isNaN();
}

/// The operand of which `op` is a multiple; null where it is none. NaN, as a
/// loss is of a batch that does not fit, is one of every number.
Value multipliedBy(Operation *op) {
  if (isa<ReshapeOp, ConvertOp>(op)) {
    return op->getOperand(0);
  }
  if (auto unary = dyn_cast<UnaryOp>(op)) {
    return unary.getKind() == UnaryKind::neg ? unary.getOperand() : Value();
  }
  if (auto select = dyn_cast<SelectOp>(op)) {
    return isNaN(select.getOnFalse()) ? select.getOnTrue() : Value();
  }
  auto binary = dyn_cast<BinaryOp>(op);
  if (!binary) {
    return {};
  }
  bool product = binary.getKind() == BinaryKind::mul;
  bool quotient = binary.getKind() == BinaryKind::div;
  if ((product || quotient) && argumentsBehind(binary.getRhs()).empty()) {
    return binary.getLhs();
  }
  return product && argumentsBehind(binary.getLhs()).empty() ? binary.getRhs()
                                                             : Value();
}

bool hasOneElement(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements() == 1;
}

/// Returns whether the single number follows from what was added up.
bool isBehindSum(Value value) {
  Operation *op = value.getDefiningOp();
  return op && hasOneElement(value) &&
         (isa<ReduceOp>(op) || isProduct(op) ||
          llvm::any_of(op->getOperands(), isBehindSum));
}

/// Returns whether the sums of two halves of the samples add up to that of all.
/// A value of one sample, before anything is added up, is a sum of one.
bool isSum(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isBehindSum(value) || isProduct(op)) {
    return true;
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    return reduce.getKind() == ReduceKind::sum;
  }
  if (Value operand = multipliedBy(op)) {
    return isSum(operand);
  }
  auto binary = dyn_cast<BinaryOp>(op);
  return binary &&
         (binary.getKind() == BinaryKind::add ||
          binary.getKind() == BinaryKind::sub) &&
         isSum(binary.getLhs()) && isSum(binary.getRhs());
}

std::optional<Mean> meanBehind(Value loss) {
  Mean mean;
  while (Operation *op = loss.getDefiningOp()) {
    if (Value operand = multipliedBy(op)) {
      mean.behind.push_back(op);
      loss = operand;
      continue;
    }
    mean.division = dyn_cast<BinaryOp>(op);
    if (!mean.division || mean.division.getKind() != BinaryKind::div ||
        !hasOneElement(mean.division) || !isSum(mean.division.getLhs())) {
      return std::nullopt;
    }
    std::reverse(mean.behind.begin(), mean.behind.end());
    return mean;
  }
  return std::nullopt;
}

struct SumLossPass : mlir::zg::nn::impl::SumLossBase<SumLossPass> {
  using SumLossBase::SumLossBase;

  void runOnOperation() override {
    if (loss_mean != "tokens") {
      return;
    }
    auto func = getOperation().lookupSymbol<ProgramOp>(kForwardFunction);
    if (!func || func.isExternal()) {
      emitError(getOperation().getLoc(), "has no function @forward");
      return signalPassFailure();
    }
    auto evaluate = getOperation().lookupSymbol<ProgramOp>(kEvaluateFunction);
    if (failed(sumLoss(func)) || (evaluate && failed(sumLoss(evaluate)))) {
      signalPassFailure();
    }
  }

  LogicalResult sumLoss(ProgramOp func) {
    FailureOr<unsigned> found = findLoss(func, loss);
    if (failed(found)) {
      return failure();
    }
    unsigned result = *found;
    Value loss = func.front().getTerminator()->getOperand(result);
    StringRef name = outputName(func, result);
    std::optional<Mean> mean = meanBehind(loss);
    if (!mean) {
      return emitError(loss.getLoc(), "the loss '")
             << name
             << "' is no sum divided by a count of what is summed, as cross "
                "entropy with ignored labels is, so --loss-mean tokens cannot "
                "tell what it counts: use --loss-mean micro-batches, which is "
                "the same where nothing is left out, or --loss cross_entropy";
    }
    if (failed(checkTypes(*mean, name)) ||
        failed(checkCount(func, *mean, name))) {
      return failure();
    }
    rewrite(func, result, *mean);
    return success();
  }

  /// A sum in 16 bits would overflow, and a count not be exact.
  LogicalResult checkTypes(Mean &mean, StringRef name) {
    auto isWide = [](Type type) {
      Type element = cast<RankedTensorType>(type).getElementType();
      return element.isF32() || element.isF64();
    };
    for (Operation *op : mean.behind) {
      if (!isWide(op->getResult(0).getType())) {
        return refuseType(op, name);
      }
    }
    return isWide(mean.division.getType()) ? success()
                                           : refuseType(mean.division, name);
  }

  LogicalResult refuseType(Operation *op, StringRef name) {
    return emitError(op->getLoc(), "the loss '")
           << name << "' is computed in "
           << cast<RankedTensorType>(op->getResult(0).getType())
                  .getElementType()
           << "; --loss-mean tokens needs it in f32: convert the scores before "
              "the loss";
  }

  /// A count is of what the samples bring: labels, a mask.
  LogicalResult checkCount(ProgramOp func, Mean &mean, StringRef name) {
    bool ofSamples = false;
    SmallVector<StringRef> shared;
    for (BlockArgument argument : argumentsBehind(mean.division.getRhs())) {
      auto input =
          func.getArgAttrOfType<InputAttr>(argument.getArgNumber(), kInputAttr);
      if (input && input.getPerSample()) {
        ofSamples = true;
      } else if (input) {
        shared.push_back(input.getName().getValue());
      }
      auto parameter = func.getArgAttrOfType<ParameterAttr>(
          argument.getArgNumber(), kParameterAttr);
      if (parameter && parameter.getTrainable()) {
        return emitError(mean.division.getLoc(), "the loss '")
               << name << "' is divided by what follows from the parameter '"
               << parameter.getName().getValue()
               << "', which is trained, so it is no count and --loss-mean "
                  "tokens cannot sum it: freeze the parameter (--freeze "
               << parameter.getName().getValue() << ")";
      }
    }
    if (!ofSamples) {
      return emitError(mean.division.getLoc(), "the loss '")
             << name << "' is divided by what follows from "
             << (shared.empty() ? "no input"
                                : "'" + llvm::join(shared, "', '") +
                                      "', which is not one value a sample")
             << ", so it is no count of what the samples bring and --loss-mean "
                "tokens cannot sum it: use --loss-mean micro-batches";
    }
    return success();
  }

  /// The same factors times the sum; and the count, an f64.
  void rewrite(ProgramOp func, unsigned result, Mean &mean) {
    Operation *terminator = func.front().getTerminator();
    OpBuilder builder(terminator);
    IRMapping mapping;
    mapping.map(mean.division.getResult(), mean.division.getLhs());
    for (Operation *op : mean.behind) {
      builder.clone(*op, mapping);
    }
    NNBuilder b(builder, mean.division.getLoc());
    Type wide = builder.getF64Type();
    Value loss = mean.behind.empty()
                     ? mean.division.getLhs()
                     : mapping.lookup(mean.behind.back()->getResult(0));
    Value count = b.reshape(b.convert(mean.division.getRhs(), wide), {1});
    terminator->setOperand(result, b.convert(loss, wide));
    terminator->insertOperands(terminator->getNumOperands(), count);
    SmallVector<DictionaryAttr> attributes;
    func.getAllResultAttrs(attributes);
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(kLossCountAttr, builder.getUnitAttr())));
    func.setFunctionType(builder.getFunctionType(
        func.getArgumentTypes(), terminator->getOperandTypes()));
    func.setAllResultAttrs(attributes);
  }
};

} // namespace
