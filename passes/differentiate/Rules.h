//===- Rules.h - the gradient rules of the nn dialect ---------------------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_RULES_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_RULES_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::zg::nn {

/// Attaches a DifferentiableOpInterface to every op of the nn dialect that a
/// gradient can pass through, once the dialect is loaded. Ops without one
/// (constant, iota, compare, kernel) either take or give no floating-point
/// value, or appear only after differentiation.
void registerGradientRules(DialectRegistry &registry);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_RULES_H
