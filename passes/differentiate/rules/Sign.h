//===- Sign.h - what is known of the sign of numbers ----------------------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_RULES_SIGN_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_RULES_SIGN_H

#include "mlir/IR/Value.h"

namespace mlir::zg::nn {

/// The sign of all elements; a NaN may be among them whatever is known.
enum class Sign { Any, NotNegative, Positive };

/// Derives the sign of a value from the ops that compute it: squares,
/// magnitudes, exponentials and lower bounds, and what sums, products and views
/// make of them. Data (inputs and frozen parameters) that weigh such numbers
/// are taken for weights, which are not negative.
Sign signOf(Value value);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_RULES_SIGN_H
