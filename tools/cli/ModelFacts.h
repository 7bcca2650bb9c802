//===- ModelFacts.h - what a model's file says before it is compiled ------===//

#ifndef ZEROGRAPH_TOOLS_CLI_MODELFACTS_H
#define ZEROGRAPH_TOOLS_CLI_MODELFACTS_H

#include "absl/status/statusor.h"
#include "config/Translation.h"
#include "frontend/Import.h"

#include <string>

namespace zerograph {

/// Returns the inputs of a model. A file of another kind is refused with what
/// it is. Reads no weights.
absl::StatusOr<std::vector<frontend::InputSignature>>
inputsOf(const std::string &model);

/// Enters into `known` what the model's file says: the samples of a micro-batch
/// where it fixes them, and the model's hidden size where it has one. Reads no
/// weights.
absl::Status addModel(const std::string &model, config::Known &known);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_MODELFACTS_H
