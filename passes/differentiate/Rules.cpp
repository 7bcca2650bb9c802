//===- Rules.cpp - attaches the gradient rules to the nn dialect ----------===//

#include "passes/differentiate/Rules.h"

#include "passes/differentiate/rules/Rule.h"

void mlir::zg::nn::registerGradientRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, NNDialect *) {
    attachElementwiseRules(context);
    attachShapeRules(context);
    attachReduceRules(context);
    attachMatmulRules(context);
    attachConvolutionRules(context);
    attachPoolRules(context);
    attachIndexRules(context);
    attachCompositeRules(context);
    attachAttentionRules(context);
  });
}
