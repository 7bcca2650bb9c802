//===- ModelFacts.h - what a model says to a configuration ----------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_MODELFACTS_H
#define ZEROGRAPH_TOOLS_CLI_MODELFACTS_H

#include "absl/status/status.h"
#include "config/Translation.h"

#include <string>

namespace zerograph {

/// Enters into `known` what the model's file says: the samples of a micro-batch
/// where it fixes them, and the model's hidden size where it has one. Reads no
/// weights.
absl::Status addModel(const std::string &model, config::Known &known);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_MODELFACTS_H
