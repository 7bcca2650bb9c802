//===- LowerPrecision.cpp - products of numbers of 16 bits ----------------===//

#include "passes/differentiate/Passes.h"
#include "passes/differentiate/precision/Precision.h"
#include "passes/ir/nn/Queries.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_LOWERPRECISION
#include "passes/differentiate/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// Returns whether the op is computed with 16 bits. A product over one element
/// adds nothing up, as of positions by frequencies: it is a multiplication.
bool isLowered(Operation *op) {
  if (!isProduct(op) || !elementOf(op->getResult(0)).isF32()) {
    return false;
  }
  auto matmul = dyn_cast<MatmulOp>(op);
  return !matmul || shapeOf(matmul.getLhs())
                            .take_back(matmul.getTransposeA() ? 2 : 1)
                            .front() > 1;
}

/// Returns whether all that reads a frozen parameter multiplies by it, or takes
/// rows of it: it is a weight, and no table of angles or a mask.
bool isWeight(Value value) {
  return !value.use_empty() &&
         llvm::all_of(value.getUses(), [](OpOperand &use) {
           Operation *user = use.getOwner();
           if (isa<GatherOp>(user)) {
             return use.getOperandNumber() == 0;
           }
           return isLowered(user) ||
                  (moves(user) && isWeight(user->getResult(0)));
         });
}

class Lowering {
public:
  Lowering(ProgramOp program, Type half)
      : program(program), half(half), wide(Float32Type::get(half.getContext())),
        builder(half.getContext()) {}

  void run() {
    for (BlockArgument argument : program.getArguments()) {
      lowerParameter(argument);
    }
    Block &body = program.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(body)) {
      if (isLowered(&op)) {
        lowerProduct(&op);
      } else if (auto attention = dyn_cast<AttentionOp>(op)) {
        lowerAttention(attention);
      } else if (moves(&op)) {
        lowerMove(&op);
      }
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
      if (isa<ConvertOp>(op) && op.use_empty()) {
        op.erase();
      }
    }
    program.setFunctionType(builder.getFunctionType(
        body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  }

private:
  Value convert(Location location, Value value, Type element) {
    return builder.create<ConvertOp>(
        location, cast<RankedTensorType>(value.getType()).clone(element),
        value);
  }

  /// Gives each use of a parameter its own rounding, so that what the uses
  /// contribute to its gradient is added in f32.
  void lowerParameter(BlockArgument argument) {
    unsigned index = argument.getArgNumber();
    auto parameter =
        program.getArgAttrOfType<ParameterAttr>(index, kParameterAttr);
    if (!parameter || hasNextValue(program, parameter.getName())) {
      return;
    }
    if (!elementOf(argument).isF32() ||
        !(parameter.getTrainable() || isWeight(argument))) {
      return;
    }
    for (OpOperand &use : llvm::make_early_inc_range(argument.getUses())) {
      builder.setInsertionPoint(use.getOwner());
      Location location = argument.getLoc();
      Value rounded = convert(location, argument, half);
      use.set(convert(location, rounded, wide));
    }
  }

  /// `value` rounded, for its reader `op`. A view of what nothing else reads is
  /// one of rounded numbers, so that the product may take it over.
  Value rounded(Value value, Operation *op) {
    if (Value source = narrowSource(value);
        source && elementOf(source) == half) {
      return source;
    }
    Operation *view = value.getDefiningOp();
    if (view && moves(view) && isPlainView(view) && view->hasOneUse()) {
      view->setOperand(0, rounded(view->getOperand(0), view));
      setElement(value, half);
      return value;
    }
    builder.setInsertionPoint(op);
    return convert(op->getLoc(), value, half);
  }

  void lowerProduct(Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      operand.set(rounded(operand.get(), op));
    }
    makeHalf(op);
  }

  /// Rounds queries, keys and values, but not what scores are made of besides.
  void lowerAttention(AttentionOp op) {
    if (elementOf(op.getQ()).isF32()) {
      for (OpOperand *operand :
           {&op.getQMutable(), &op.getKMutable(), &op.getVMutable()}) {
        operand->set(rounded(operand->get(), op));
      }
      makeHalf(op);
    }
  }

  /// Lowers a move of numbers, which needs no more than 16 bits.
  void lowerMove(Operation *op) {
    Value result = op->getResult(0);
    SmallVector<std::pair<OpOperand *, Value>> sources;
    bool any = false;
    for (OpOperand &operand : op->getOpOperands()) {
      if (elementOf(operand.get()) != elementOf(result)) {
        continue; // a condition, or indices
      }
      Value source = narrowSource(operand.get());
      any |= source != nullptr;
      if (!source) {
        source = sameNumber(operand.get(), op);
      }
      if (!source || elementOf(source) != half) {
        return;
      }
      sources.push_back({&operand, source});
    }
    if (any) {
      for (auto [operand, source] : sources) {
        operand->set(source);
      }
      makeHalf(op);
    }
  }

  /// A constant that loses nothing, as 0 does not; else null.
  Value sameNumber(Value value, Operation *op) {
    auto constant = value.getDefiningOp<ConstantOp>();
    auto splat =
        constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : nullptr;
    if (!splat || !elementOf(value).isF32()) {
      return {};
    }
    auto number = splat.getSplatValue<APFloat>();
    bool loses = false;
    number.convert(cast<FloatType>(half).getFloatSemantics(),
                   APFloat::rmNearestTiesToEven, &loses);
    if (loses) {
      return {};
    }
    builder.setInsertionPoint(op);
    auto type = cast<RankedTensorType>(value.getType()).clone(half);
    return builder.create<ConstantOp>(
        constant.getLoc(), type,
        SplatElementsAttr::get(cast<ShapedType>(type), number));
  }

  /// Makes the op give numbers of 16 bits, which others read as f32.
  void makeHalf(Operation *op) {
    Value result = op->getResult(0);
    setElement(result, half);
    builder.setInsertionPointAfter(op);
    Value again = convert(op->getLoc(), result, wide);
    result.replaceAllUsesExcept(again, again.getDefiningOp());
  }

  ProgramOp program;
  Type half, wide;
  OpBuilder builder;
};

struct LowerPrecisionPass
    : mlir::zg::nn::impl::LowerPrecisionBase<LowerPrecisionPass> {
  using LowerPrecisionBase::LowerPrecisionBase;

  void runOnOperation() override {
    if (precision == "fp32") {
      return;
    }
    auto program = getOperation().lookupSymbol<ProgramOp>(kForwardFunction);
    Builder builder(&getContext());
    Type half = precision == "bf16"   ? Type(builder.getBF16Type())
                : precision == "fp16" ? Type(builder.getF16Type())
                                      : Type();
    if (!half || !program) {
      getOperation().emitError("needs a program @forward and precision fp32, "
                               "bf16 or fp16; found ")
          << precision;
      return signalPassFailure();
    }
    getOperation()->setAttr(kPrecisionAttr, TypeAttr::get(half));
    Lowering(program, half).run();
    // Lowers the evaluation as well: it is of what is trained.
    if (auto evaluate =
            getOperation().lookupSymbol<ProgramOp>(kEvaluateFunction)) {
      Lowering(evaluate, half).run();
    }
  }
};

} // namespace
