//===- Rule.h - how one gradient rule is written --------------------------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_RULES_RULE_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_RULES_RULE_H

#include "passes/differentiate/Backward.h"
#include "passes/ir/nn/NNBuilder.h"

namespace mlir::zg::nn {

/// Everything that a rule sees besides its op. A rule is a function
/// `LogicalResult rule(Op op, Gradient &g)`; it reads only the op's own
/// operands, results and attributes, what the program makes of the results, and
/// the sign of the operands (Sign.h).
class Gradient : public NNBuilder {
public:
  Gradient(OpBuilder &builder, Location location, ValueRange ofResults,
           function_ref<bool(unsigned)> isWanted,
           MutableArrayRef<Value> ofOperands)
      : NNBuilder(builder, location), ofResults(ofResults), isWanted(isWanted),
        ofOperands(ofOperands) {}

  /// The gradient of result `i`; null where none reaches it. A rule of an op
  /// with one result is only called with a gradient.
  Value of(unsigned i = 0) const { return ofResults[i]; }
  bool wants(unsigned operand) const { return isWanted(operand); }
  /// Gives an operand its gradient, of the operand's type. Ignored where the
  /// operand is not wanted; a rule asks `wants` before it builds ops.
  void set(unsigned operand, Value gradient) { ofOperands[operand] = gradient; }

private:
  ValueRange ofResults;
  function_ref<bool(unsigned)> isWanted;
  MutableArrayRef<Value> ofOperands;
};

/// Returns whether it puts zeros where its other operand, a softmax, is not a
/// number. A softmax is so in whole rows: where all of attention is masked.
bool givesZeroForNaN(SelectOp select);

/// The interface of `Op` by a rule.
template <typename Op, LogicalResult (*rule)(Op, Gradient &)>
struct RuleModel
    : DifferentiableOpInterface::ExternalModel<RuleModel<Op, rule>, Op> {
  LogicalResult buildGradient(Operation *op, OpBuilder &builder,
                              ValueRange resultGradients,
                              function_ref<bool(unsigned)> wanted,
                              MutableArrayRef<Value> operandGradients) const {
    Gradient gradient(builder, gradientLocation(op->getLoc()), resultGradients,
                      wanted, operandGradients);
    return rule(cast<Op>(op), gradient);
  }
};

template <typename Op, LogicalResult (*rule)(Op, Gradient &)>
void attachRule(MLIRContext *context) {
  Op::template attachInterface<RuleModel<Op, rule>>(*context);
}

// One function a family, each in the file of its name.
void attachAttentionRules(MLIRContext *context);
void attachElementwiseRules(MLIRContext *context);
void attachShapeRules(MLIRContext *context);
void attachReduceRules(MLIRContext *context);
void attachMatmulRules(MLIRContext *context);
void attachConvolutionRules(MLIRContext *context);
void attachPoolRules(MLIRContext *context);
void attachIndexRules(MLIRContext *context);
void attachCompositeRules(MLIRContext *context);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_RULES_RULE_H
