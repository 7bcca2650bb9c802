//===- NodeGradient.h - gradients of ONNX's node tests --------------------===//

#ifndef ZEROGRAPH_TESTS_PASSES_DIFFERENTIATE_NODEGRADIENT_H
#define ZEROGRAPH_TESTS_PASSES_DIFFERENTIATE_NODEGRADIENT_H

#include "absl/status/statusor.h"
#include "tests/frontend/NodeCase.h"

#include <map>
#include <string>
#include <vector>

namespace mlir::zg::testing {

/// Makes every float of a case a float64, in its data, constants and casts, so
/// that nothing is rounded to less. Constants that ONNX's functions write with
/// too few digits get them all.
void widen(zerograph::frontend::testing::NodeCase &test);

/// The model with the inputs of `data` as initializers of the same names, and
/// one output: all elements of its float outputs, shaped as those of `data`,
/// added up, each with a weight of its own.
onnx::ModelProto withLoss(const onnx::ModelProto &model,
                          const zerograph::frontend::testing::NodeCase &data);

/// Imports a model made by `withLoss`, differentiates it by the initializers
/// named and interprets the result in float64. Elements of the gradients by
/// name; "" is the loss. What reaches no gradient is not there.
absl::StatusOr<std::map<std::string, std::vector<double>>>
gradientsOf(const onnx::ModelProto &model,
            const std::vector<std::string> &trained);

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_PASSES_DIFFERENTIATE_NODEGRADIENT_H
